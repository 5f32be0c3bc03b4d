"""What scores without a model, worked out from targets and columns alone."""

import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from workbench.records.calls import Sample
from workbench.scoring.choice import Choice
from workbench.scoring.custom import Custom
from workbench.scoring.exact import Exact
from workbench.scoring.json_fields import JsonFields
from workbench.scoring.judge import Judge
from workbench.scoring.length import Length
from workbench.scoring.numeric import Numeric
from workbench.scoring.reference import ReferenceScores, column_scores, reference_scores
from workbench.scoring.scorer import Scorer
from workbench.scoring.tool_call import CalledTool


def samples(targets: Sequence[Any], **columns: Sequence[Any]) -> dict[str, Sample]:
    return {
        f"s{n}": Sample(f"s{n}", "?", target, metadata={name: values[n] for name, values in columns.items()})
        for n, target in enumerate(targets)
    }


def found(
    there: Mapping[str, Sample], scorer: Scorer, columns: Mapping[str, str] | None = None, people: str | None = None
) -> dict[str, ReferenceScores]:
    return {
        one.column if one.reference == "column" else one.reference: one
        for one in (*reference_scores(there, scorer), *column_scores(there, scorer, columns or {}, people))
    }


def mean(one: ReferenceScores) -> float:
    return statistics.fmean(one.values.values())


def test_a_constant_between_two_grades_holds_both_by_their_tolerance() -> None:
    there = samples([4, 5] * 20 + [0] * 5)
    of = found(there, Numeric(tolerance=0.5))
    assert (of["constant"].answer, mean(of["constant"])) == ("4.5", 40 / 45)
    assert of["majority"].answer == "4"
    assert mean(of["majority"]) == 20 / 45


def test_a_target_at_random_is_the_mean_over_the_others() -> None:
    targets = ["a", "a", "a", "b", "b", "c"]
    counts, n = Counter(targets), len(targets)
    expected = [(counts[target] - 1) / (n - 1) for target in targets]
    assert list(found(samples(targets), Exact())["random"].values.values()) == pytest.approx(expected)


def test_a_constant_does_not_know_the_sample_that_it_is_scored_on() -> None:
    """Every target once: what only one sample says is not known to it."""
    of = found(samples([str(n) for n in range(40)]), Exact())
    assert mean(of["constant"]) == 0.0
    assert "majority" not in of, "none is more frequent than another"


def test_two_balanced_classes_are_not_taken_for_impossible() -> None:
    """Left out one by one, each sample would be scored by the other class."""
    assert mean(found(samples(["yes", "no"] * 50), Exact())["constant"]) == 0.5
    assert mean(found(samples(["a", "b", "c"] * 8), Exact())["constant"]) == pytest.approx(1 / 3)


def test_the_constant_scores_what_the_named_answer_does() -> None:
    of = found(samples(["cat"] * 6 + ["dog"] * 4), Exact())
    assert (of["constant"].answer, mean(of["constant"])) == ("cat", 0.6)
    assert mean(of["random"]) < 0.6


def test_the_samples_of_a_cluster_are_chosen_for_together() -> None:
    """Each cluster has a target of its own, so that no other cluster's is right."""
    targets = [f"{n // 4}" for n in range(40)]
    there = samples(targets, cluster=[n // 4 for n in range(40)])
    of = found(there, Exact())
    assert mean(of["constant"]) == mean(of["random"]) == 0.0


def test_columns_are_scored_as_answers_and_gaps_are_left_out() -> None:
    there = samples([1, 2, 3, 4], second=[1, 2, None, 5], old=["1", "x", "3", ""])
    of = found(there, Numeric(), {"last year": "old"}, "second")
    assert of["people"].values == {"s0": 1.0, "s1": 1.0, "s3": 0.0}
    assert of["last year"].values == {"s0": 1.0, "s1": 0.0, "s2": 1.0}


def test_an_option_is_answered_by_its_letter() -> None:
    there = {
        f"s{n}": Sample(f"s{n}", "?", target, choices=("red", "green"), metadata={"second": "green"})
        for n, target in enumerate(["red"] * 12 + ["green"] * 4)
    }
    of = found(there, Choice(), people="second")
    assert (of["constant"].answer, mean(of["constant"])) == ("A", 0.75)
    assert mean(of["people"]) == 0.25


def test_objects_and_tool_calls_have_constants_too() -> None:
    objects = found(samples([{"a": 1, "b": 2}] * 9 + [{"a": 1, "b": 3}] * 3), JsonFields())
    assert mean(objects["constant"]) == pytest.approx((9 + 3 * 0.5) / 12)
    calls = found(samples([{"name": "f", "arguments": {"x": 1}}] * 12), CalledTool())
    assert (calls["constant"].answer, mean(calls["constant"])) == ('f({"x": 1})', 1.0)


def test_an_object_of_the_most_frequent_values_is_a_constant() -> None:
    """No sample has both of them; what one sample alone has is not known of it."""
    targets = [{"a": "x", "b": n} for n in range(8)] + [{"a": f"p{n}", "b": 9} for n in range(8)]
    constant = found(samples(targets), JsonFields())["constant"]
    assert json.loads(constant.answer or "") == {"a": "x", "b": 9}
    assert list(constant.values.values()) == [0.5] * 16
    apart = found(samples([{"a": letter, "b": letter} for letter in "pqrs"]), JsonFields())["constant"]
    assert set(apart.values.values()) == {0.0}
    twice = found(samples([{"a": 1}, {"a": 1}, {"a": 2}], cluster=["c", "c", "d"]), JsonFields())["constant"]
    assert list(twice.values.values()) == [0.0, 0.0, 0.0], "the other cluster says 2 to the first, and 1 to the second"


def test_of_two_values_that_are_as_frequent_the_constant_keeps_its_own() -> None:
    """Six fields, each half one value and half another: left out one by one, the other one would be right nowhere."""
    chance = random.Random(7)
    columns = [chance.sample([0, 1] * 10, 20) for _ in range(6)]
    targets = [{f"f{n}": column[place] for n, column in enumerate(columns)} for place in range(20)]
    of = found(samples(targets), JsonFields())
    shown = json.loads(of["constant"].answer or "")
    rights = [sum(target[name] == value for name, value in shown.items()) / 6 for target in targets]
    assert list(of["constant"].values.values()) == pytest.approx(rights)
    assert mean(of["constant"]) >= 0.5


def test_objects_with_many_fields_have_no_constant_put_together() -> None:
    """Each sample with names of its own: to put one together would take the square of their number."""

    def taken_s(targets: Sequence[Any]) -> float:
        started = time.process_time()
        reference_scores(samples(targets), JsonFields())
        return time.process_time() - started

    shared = min(taken_s([{f"name {place}": n for place in range(5)} for n in range(400)]) for _ in range(2))
    own = min(taken_s([{f"name {n} {place}": n for place in range(5)} for n in range(400)]) for _ in range(2))
    assert own < 2 * shared


def test_the_samples_of_another_column_s_cluster_are_chosen_for_together() -> None:
    targets = [{"a": place // 3} for place in range(12)]
    there = samples(targets, text=[f"t{place // 3}" for place in range(12)], cluster=[""] * 12)
    (apart, *_) = reference_scores(there, JsonFields(), "text")
    assert set(apart.values.values()) == {0.0}, "no other text has the value"
    (one_by_one, *_) = reference_scores(there, JsonFields())
    assert sum(one_by_one.values.values()) == 3


def test_what_compares_with_no_target_has_no_constant(tmp_path: Path) -> None:
    there = samples(["a", "b"] * 5, second=["a"] * 10)
    (tmp_path / "own.py").write_text("def right(answer, sample): return answer.text == sample.target\n")
    own = Custom(function="own.py:right").in_folder(tmp_path)
    assert found(there, Length(at_most=9)) == {}
    assert found(there, Judge(model="m"), people="second") == {}
    assert {name: mean(one) for name, one in found(there, own, people="second").items()} == {"people": 0.5}


def test_nothing_is_said_of_a_single_sample_or_of_none() -> None:
    assert found(samples(["a"]), Exact()) == found({}, Exact()) == found(samples([None, None]), Exact()) == {}


@pytest.mark.parametrize(
    ("count", "tolerance"),
    [(150, 40), pytest.param(500, 20, marks=pytest.mark.slow), pytest.param(3000, 20, marks=pytest.mark.slow)],
)
def test_of_many_targets_the_constant_and_one_at_random_are_near_what_all_of_them_give(
    count: int, tolerance: int
) -> None:
    """No more than some are tried; taken in the order of their texts they would be those that begin with 1."""
    chance = random.Random(count)
    targets = [round(chance.gauss(300, 60), 4) for _ in range(count)]
    of = found(samples(targets), Numeric(tolerance=tolerance))
    scores = [
        statistics.fmean(abs(one - other) <= tolerance for other in targets) for one in targets[:: max(1, count // 500)]
    ]
    assert mean(of["constant"]) >= max(scores) - 0.05, "a few are tried on all, chosen by what they score on some"
    at_random = statistics.fmean((count * score - 1) / (count - 1) for score in scores)
    assert mean(of["random"]) == pytest.approx(at_random, abs=0.02)
    assert of["random"].values == found(samples(targets), Numeric(tolerance=tolerance))["random"].values


def test_of_many_grades_the_constant_lies_between_two_of_them() -> None:
    there = samples([4, 5] * 1000 + [0, 1, 2, 3, 6, 7] * 166)
    of = found(there, Numeric(tolerance=0.5))
    assert (of["constant"].answer, mean(of["constant"])) == ("4.5", 2000 / 2996)
    assert of["majority"].answer == "4"


def test_a_frequent_label_among_many_is_found_wherever_it_stands_in_their_order() -> None:
    targets = [f"name {number}" for number in range(400)] + ["zebra"] * 40
    of = found(samples(targets), Exact())
    assert (of["constant"].answer, mean(of["constant"])) == ("zebra", 40 / 440)
    assert mean(of["random"]) == pytest.approx((40 * 39) / (440 * 439), abs=0.01)


@pytest.mark.parametrize(("refusals", "constant", "mean"), [(10, "1", 0.5), (30, "a refusal", 0.75)])
def test_where_a_refusal_is_right_a_constant_answer_is_not(refusals: int, constant: str, mean: float) -> None:
    samples = {f"t{n}": Sample(f"t{n}", "q", "1") for n in range(10)}
    samples |= {f"r{n}": Sample(f"r{n}", "q", metadata={"refusal": "right"}) for n in range(refusals)}
    (found,) = [one for one in reference_scores(samples, Exact()) if one.reference == "constant"]
    assert (found.answer, len(found.values)) == (constant, 10 + refusals)
    assert sum(found.values.values()) / len(found.values) == pytest.approx(mean)
