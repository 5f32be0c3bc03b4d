"""`workbench compare`: models and runs on the samples that both sides answered, by paired tests."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.compared_runs import Values, one_journal, record
from tests.conftest import Workbench, job, sums
from tests.pages import Page
from workbench.api.frames import Frames
from workbench.local_platform.server import ThreadedServer
from workbench.records.outcomes import Outcome


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path, None)


def difference(bench: Workbench, *options: str) -> dict[str, Any]:
    (found,) = bench.json("compare", "--no-report", *options)["differences"]
    return dict(found)


def test_a_difference_is_shown_by_a_paired_test_though_the_intervals_overlap(bench: Workbench) -> None:
    record(bench, "r1", {"large": [1.0] * 20 + [0.0] * 29, "mini": [0.0] * 12 + [1.0] * 8 + [0.0] * 29})
    found = bench.json("compare", "--no-report")
    (beside,) = found["differences"]
    assert (beside["verdict"], len(beside["better"]), len(beside["worse"])) == ("worse", 0, 12)
    assert beside["says"] == (
        "mini − large = −24.5 points [−38.1, −11.5]: worse; 0 better, 12 worse, 37 same; 100 % more tokens an answer."
    )
    first, second = (side["interval"] for side in found["sides"])
    assert first["low"] < second["high"], "as two intervals they overlap"
    said = bench("compare", "--no-report").stdout
    assert beside["says"] in said
    assert "0:12:37" in said


@pytest.mark.parametrize(
    ("one", "other", "verdict", "words"),
    [
        ([1, 1, 1, 0, 0] * 10, [1, 1, 0, 1, 0] * 10, "none shown", "no difference shown (10:10, could have shown ±"),
        ([1] * 30 + [0] * 2, [1] * 28 + [0, 0, 1, 0], "too few", "too few samples differ to tell (1:2)"),
        ([0.5, 0.4, 0.9, 0.8], [0.1, 0.2, 0.4, 0.5], "worse", "worse"),
        ([2.0, 4.0, 6.0, 5.0], [1.0, 3.5, 4.0, 4.2], "worse", "worse"),
    ],
)
def test_the_words_follow_from_the_test(bench: Workbench, one: Values, other: Values, verdict: str, words: str) -> None:
    record(bench, "r1", {"a": [float(v or 0) for v in one], "b": [float(v or 0) for v in other]})
    found = difference(bench)
    assert found["verdict"] == verdict
    assert words in found["says"]
    assert ("points" in found["says"]) == all(0 <= (value or 0) <= 1 for value in (*one, *other))
    assert (found["low"] <= 0 <= found["high"]) == (verdict in ("none shown", "too few"))


def test_of_a_run_that_lacks_judgements_alone_no_answer_is_said_to_be_missing(bench: Workbench) -> None:
    record(bench, "r1", {"a": [1.0, 0.0, None], "b": [0.0, 1.0, 1.0]}, status="incomplete")
    says = "Run r1 is not complete (incomplete): every request is answered, and judgements are still to be asked for."
    assert says in bench.json("compare", "--no-report")["notes"]


def test_what_is_not_known_of_both_is_counted_and_widens_the_interval(bench: Workbench) -> None:
    record(bench, "r1", {"a": [1.0, 1.0, None, 1.0], "b": [0.0, None, 1.0, 0.0]})
    found = bench.json("compare", "--no-report")
    (beside,) = found["differences"]
    assert (beside["asked"], beside["shared"], beside["unknown"]) == (4, 2, 2)
    assert (beside["only_side"], beside["only_baseline"]) == (0, 0)
    assert [(beside[at]["better"], beside[at]["worse"]) for at in ("at_lowest", "at_highest")] == [(0, 3), (1, 2)]
    assert [(side["mean_of_scored"], side["scored"]) for side in found["sides"]] == [
        (1.0, 3),
        (pytest.approx(1 / 3), 3),
    ]
    ends = [
        (side["interval"]["at_worst"], side["interval"]["at_best"], side["interval"]["n"]) for side in found["sides"]
    ]
    assert ends == [(0.75, 1.0, 4), (0.25, 0.5, 4)]
    assert [(lost["model"], lost["reason"], lost["samples"]) for lost in beside["lost"]] == [
        ("b", "not judged by the scorer", 1), ("a", "not judged by the scorer", 1),
    ]  # fmt: skip
    said = "b: of 4 samples 2 are unknown, of which a rerun asks what failed; without a score: "
    assert f"{said}1 not judged by the scorer in b, 1 not judged by the scorer in a." in found["notes"]
    assert "a is not ranked: 3 of 4 answers have a result, and 80 % must." in found["notes"]


def test_low_scores_on_a_wider_scale_are_no_shares(bench: Workbench) -> None:
    """What is not known may be anything on the scale, however low what is known lies."""
    values: Values = [0.0, 1.0, None, 1.0, 0.0, None, None, 1.0, 0.0, 1.0, 1.0, None]
    failed = {("n", place): Outcome.ROUTE_DOWN for place, value in enumerate(values) if value is None}
    config = json.dumps({"name": "custom", "scale": [0, 10]})
    record(bench, "r1", {"m": [1.0] * 12, "n": values}, config=config, outcomes=failed, scorers=["exact"])
    found = bench.json("compare", "--no-report")
    (one,) = found["differences"]
    assert one["high"] >= (4 * 10 + 5 - 12) / 12, "were all that failed the best"
    assert (one["at_lowest"]["difference"], one["at_highest"]["difference"]) == pytest.approx((-7 / 12, 33 / 12))
    assert "points" not in one["says"]
    assert [side["tokens_per_right"] for side in found["sides"]] == [None, None], "nothing says what is right"
    assert bench("compare", "--margin", "2", "--no-report").returncode == 0, "in the scale's own unit"


def test_the_answers_of_a_fallback_do_not_count_for_the_model_that_was_asked(bench: Workbench) -> None:
    values: dict[str, Values] = {"large": [1.0] * 12, "classic": [0.0] * 12, "mini": [0.0] * 12, "tutor": [1.0] * 12}
    record(
        bench, "r1", values, served={"classic": "mini", "tutor": "large", "mini": "mini-2"}, listed={"tutor": "large"}
    )
    found = bench.json("compare", "--no-report")
    sides = {side["model"]: (side["fallbacks"], side["unnamed"], side["scored"]) for side in found["sides"]}
    assert sides == {"large": (0, 0, 12), "classic": (12, 0, 0), "mini": (0, 12, 12), "tutor": (0, 0, 12)}
    verdicts = {row["side"]["model"]: row["verdict"] for row in found["differences"]}
    assert verdicts == {"classic": "not comparable", "mini": "worse", "tutor": "too few"}
    assert "classic: 12 of 12 answers are of another model (mini) and are left out." in found["notes"]
    accepted = bench.json("compare", "--no-report", "--on-fallback", "accept")
    assert [row["verdict"] for row in accepted["differences"]] == ["worse", "worse", "too few"]
    assert "count all the same" in " ".join(accepted["notes"])


def test_runs_are_compared_model_by_model_with_the_first(bench: Workbench) -> None:
    record(bench, "r1", {"a": [1.0] * 20, "b": [0.0] * 20})
    record(bench, "r2", {"a": [0.0] * 20, "b": [0.0] * 20}, dataset_hash="other", config='{"ignore_case": true}')
    found = bench.json("compare", "--no-report", "r1", "r2")
    assert [(row["side"]["model"], row["baseline"]["run_id"], row["verdict"]) for row in found["differences"]] == [
        ("a", "r1", "worse"), ("b", "r1", "too few"),
    ]  # fmt: skip
    assert (
        found
        == bench.json("compare", "--no-report", "r2", "r1", "--baseline", "r1")
        == bench.json("compare", "--no-report", "--job", "j")
    )
    assert any("dataset is not the same" in note for note in found["notes"])
    assert any("settings of “exact” are not the same" in note for note in found["notes"])
    assert [
        row["side"]["model"] for row in bench.json("compare", "--no-report", "r1", "r2", "--model", "b")["differences"]
    ] == ["b"]


def test_p_values_are_adjusted_for_all_differences(bench: Workbench) -> None:
    base = [1.0] * 40
    record(bench, "r1", {"a": base} | {f"m{n}": [0.0] * 6 + [1.0] * 34 for n in range(5)})
    for row in bench.json("compare", "--no-report")["differences"]:
        assert row["found"]["p_value"] == pytest.approx(2 * 0.5**6)
        assert row["adjusted_p"] == pytest.approx(15 * 2 * 0.5**6), "for all pairs: another baseline shows them"
        assert row["verdict"] == "too few"
        assert row["low"] <= 0 <= row["high"]


def test_samples_of_clusters_are_tested_as_such(bench: Workbench) -> None:
    record(bench, "r1", {"a": [1.0] * 12, "b": [0.0] * 6 + [1.0] * 6}, clusters=["x"] * 6 + ["y"] * 6)
    found = bench.json("compare", "--no-report")
    assert found["differences"][0]["found"]["method"] == "t test over 2 clusters"
    assert "b: 2 clusters, which is few: the test may claim too much." in found["notes"]
    assert difference(bench, "--cluster", "none")["found"]["method"] == "McNemar's exact test"


@pytest.mark.slow
def test_one_interval_for_clusters_on_page_terminal_and_in_gates(bench: Workbench) -> None:
    clusters = [f"text {n // 10}" for n in range(100)]
    values = [float(n // 10 < 6) for n in range(100)]
    record(bench, "r1", {"m": values, "n": [1.0] * 100}, clusters=clusters, scorers=["exact"])
    (side,) = [side for side in bench.json("compare", "--no-report")["sides"] if side["model"] == "m"]
    (row,) = [row for row in bench.json("show", "r1")["scores"] if row["model"] == "m"]
    assert row["interval"] == side["interval"]
    assert row["interval"]["clusters"] == 10
    assert row["interval"]["high"] - row["interval"]["low"] > 0.55, "as of ten answers, not of a hundred"
    assert "100 samples in 10 clusters" in Page(bench.json("report", "last")["report"]).text


def test_a_frame_says_the_same(bench: Workbench) -> None:
    record(bench, "r1", {"a": [1.0] * 12, "b": [0.0] * 12, "c": [1.0] * 12})
    found = bench.json("compare", "--no-report", "--baseline", "b")["differences"]
    frame = Frames(folder=bench.folder).compare("r1", baseline="b")
    assert list(frame["says"]) == [row["says"] for row in found]
    assert list(frame["adjusted_p_value"]) == [row["adjusted_p"] for row in found]
    assert list(frame["better"]) == [12, 12]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--scorer", "exakt"), "no score is by 'exakt' (did you mean 'exact'?)"),
        (("--model", "aa"), "no answer is of 'aa'"),
        (("--baseline", "c"), "no answer is of 'c'"),
        (("--job", "k"), "no run of 'k' has ended"),
        (("--job", "j"), "'j' has one run"),
        (("--model", "a"), "there is one model to compare, 'a'"),
        (("r9",), "there is no run 'r9'"),
        (("r1", "--job", "j"), "give either runs or --job"),
    ],
)
def test_what_cannot_be_compared_is_said(bench: Workbench, options: tuple[str, ...], problem: str) -> None:
    record(bench, "r1", {"a": [1.0], "b": [0.0]})
    assert problem in bench("compare", "--no-report", *options, code=2).stderr


def test_a_question_asked_since_does_not_take_the_place_of_the_newest_run_with_scores(bench: Workbench) -> None:
    record(bench, "r1", {"a": [1.0] * 20, "b": [0.0] * 20})
    record(bench, "r2", {"a": [None]})
    assert bench.json("compare", "--no-report")["runs"][0]["run_id"] == "r1"


def test_runs_without_scores_or_shared_models_are_said(bench: Workbench) -> None:
    record(bench, "r1", {"a": [1.0], "b": [0.0]})
    record(bench, "r2", {"c": [1.0]})
    assert "the runs share no model" in bench("compare", "--no-report", "r1", "r2", code=2).stderr
    record(bench, "r3", {"a": [None], "b": [None]})
    assert "nothing is scored" in bench("compare", "--no-report", "r3", code=2).stderr


def test_clusters_that_are_all_alike_show_a_difference(bench: Workbench) -> None:
    names = [f"text{number // 2}" for number in range(24)]
    record(bench, "r1", {"m": [1.0] * 24, "n": [0.0] * 24}, clusters=names)
    (found,) = bench.json("compare", "--no-report")["differences"]
    assert (found["verdict"], found["found"]["method"]) == ("worse", "exact bound over 12 clusters")
    assert found["found"]["p_value"] == pytest.approx(2 / 2**12)


def test_a_column_of_clusters_that_is_not_there_is_said(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0] * 4, "n": [0.0] * 4}, clusters=["a", "a", "b", "b"])
    assert "no sample has a column 'clutser'" in bench("compare", "--no-report", "--cluster", "clutser", code=2).stderr
    bench.json("compare", "--no-report", "--cluster", "cluster")


def test_the_order_of_a_job_decides_what_is_the_baseline(bench: Workbench) -> None:
    record(bench, "r1", {"n": [0.0] * 12, "m": [1.0] * 12}, limits={"m": "8 in flight", "n": "8 in flight"})
    (found,) = bench.json("compare", "--no-report")["differences"]
    assert (found["side"]["model"], found["baseline"]["model"]) == ("n", "m")


def test_what_is_compared_with_nothing_is_no_baseline(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0] * 4, "n": [0.0] * 4})
    record(bench, "r2", {"m": [1.0] * 4, "o": [0.0] * 4})
    told = bench("compare", "r1", "r2")
    assert told.stdout.count("baseline") == 1
    page = told.stderr.partition("page: ")[2].strip()
    assert Path(page).read_text("utf-8").count("not compared</span>") == 2


@pytest.mark.slow
def test_models_that_are_chosen_are_looked_for_among_all(bench: Workbench) -> None:
    record(bench, "r1", {"mini": [1.0] * 12, "large": [0.0] * 12, "other": [0.0] * 12})
    assert "did you mean 'mini'?" in bench("compare", "--no-report", "--model", "mni", code=2).stderr
    (found,) = bench.json("compare", "--no-report", "--model", "large", "--baseline", "mini")["differences"]
    assert (found["side"]["model"], found["baseline"]["model"]) == ("large", "mini")
    assert "there is one model to compare" in bench("compare", "--no-report", "--model", "mini", code=2).stderr


def test_the_baseline_has_a_score_where_any_model_has(bench: Workbench) -> None:
    record(bench, "r1", {"silent": [None] * 3, "m": [1.0] * 3, "n": [0.0] * 3})
    found = bench.json("compare", "--no-report")
    assert found["baseline"] == "m"
    assert bench.json("compare", "--no-report", "--baseline", "silent")["baseline"] == "silent"


@pytest.mark.slow
def test_many_runs_have_a_page(bench: Workbench) -> None:
    with one_journal(bench) as journal:
        for number in range(1, 13):
            record(bench, f"r{number}", {"m": [1.0] * 3}, journal=journal)
    found = bench.json("compare", *(f"r{number}" for number in range(1, 13)))
    assert Path(found["report"]).name.startswith("r1.r12.12-runs-")


def test_a_run_that_was_not_finished_is_said(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0] * 4, "n": [0.0] * 4}, status="interrupted")
    assert any("r1 is not complete (interrupted)" in note for note in bench.json("compare", "--no-report")["notes"])


@pytest.mark.slow
def test_answers_that_are_the_same_ones_are_said(tmp_path: Path, platform: ThreadedServer) -> None:
    bench = Workbench(tmp_path, platform)
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("sim/instant"))
    first, again = (bench.json("run", "job.toml", "--no-report")["run_id"] for _ in range(2))
    notes = bench.json("compare", "--no-report", first, again)["notes"]
    assert f"3 of 3 answers of run {again} are reused, the same as of run {first}: they cannot differ." in notes


def test_answers_that_are_left_out_cost_nothing_and_are_marked(bench: Workbench) -> None:
    record(bench, "r1", {"m": [1.0] * 12, "n": [0.0] * 11 + [1.0]}, served_by={("n", 0): "m"})
    found = bench.json("compare", "--no-report")
    side = found["differences"][0]["side"]
    assert (side["left_out"], side["scored"], side["completion_tokens"]) == (1, 11, 20.0)
    assert [(lost["model"], lost["reason"], lost["samples"]) for lost in found["differences"][0]["lost"]] == [
        ("n", "answered by another model", 1)
    ]


@pytest.mark.slow
def test_parts_of_the_dataset_are_compared_by_themselves_and_adjusted_together(bench: Workbench) -> None:
    topics: list[Any] = ["algebra"] * 12 + ["logic"] * 12 + [["algebra", "logic"], None]
    record(
        bench, "r1", {"m": [1.0] * 26, "n": [0.0] * 12 + [1.0] * 14}, metadata=[{"topic": topic} for topic in topics]
    )
    parts = bench.json("compare", "--no-report", "--by", "topic")["slices"]
    assert [(part["value"], part["samples"], part["worse"], part["verdict"]) for part in parts] == [
        ("algebra", 13, 12, "worse"), ("logic", 13, 0, "too few"), ("(not given)", 1, 0, "too few"),
    ]  # fmt: skip
    assert parts[0]["p_value"] == pytest.approx(2 / 2**12)
    assert parts[0]["adjusted_p_value"] == pytest.approx(3 * 2 / 2**12)
    assert (parts[0]["mean"], parts[0]["baseline_mean"]) == (pytest.approx(1 / 13), 1.0)
    frame = Frames(folder=bench.folder).compare("r1", by="topic")
    assert list(frame["adjusted_p_value"]) == [part["adjusted_p_value"] for part in parts]
    said = bench("compare", "--by", "topic", "--no-report").stdout
    assert [line.split()[0] for line in said.splitlines()[-3:]] == ["algebra", "logic", "(not"]
    assert bench.json("compare", "--no-report")["slices"] == parts, "columns of few values are looked at unasked"


@pytest.mark.slow
def test_a_column_of_many_values_is_sliced_only_where_it_is_named(bench: Workbench) -> None:
    record(
        bench, "r1", {"m": [1.0] * 70, "n": [0.0] * 70}, metadata=[{"row": row, "part": row % 20} for row in range(70)]
    )
    assert bench.json("compare", "--no-report")["slices"] == []
    assert len(bench.json("compare", "--no-report", "--by", "part")["slices"]) == 20
    said = bench("compare", "--no-report", "--by", "row", code=2).stderr
    assert "--by: 'row' has 70 values" in said
    assert (
        "no sample has a column 'prat' (did you mean 'part'?)"
        in bench("compare", "--no-report", "--by", "prat", code=2).stderr
    )


@pytest.mark.parametrize("n", [6, 7, 40, 101])
def test_the_interval_of_a_median_holds_at_least_95_percent_of_the_binomial(bench: Workbench, n: int) -> None:
    record(bench, "r1", {"m": [1.0] * n, "n": [0.0] * n}, latency_ms=lambda _place, sample: float(sample + 1))
    low, high = bench.json("compare", "--no-report")["sides"][0]["p50_bounds_ms"]
    assert low + high == n + 1, "ranks, as many below as above"
    within = sum(math.comb(n, below) for below in range(int(low), int(high))) / 2**n
    assert within >= 0.95
    assert low == 1 or sum(math.comb(n, below) for below in range(int(low) + 2, int(high) - 2)) / 2**n < 0.95


def test_a_page_that_cannot_be_written_does_not_cost_the_figures(bench: Workbench) -> None:
    record(bench, "r1", {"a": [1.0] * 20, "b": [0.0] * 20})
    bench.write("taken", "")
    done = bench("compare", "--reports", "taken/pages", code=2)
    assert done.stdout == bench("compare", "--no-report").stdout
    assert "taken/pages: Not a directory" in done.stderr


def test_the_best_is_listed_first_and_what_is_not_ranked_last(bench: Workbench) -> None:
    values: dict[str, Values] = {
        "poor": [0.0] * 15 + [1.0] * 5,
        "hardly known": [1.0] + [None] * 19,
        "good": [1.0] * 20,
        "fair": [0.0] * 5 + [1.0] * 15,
    }
    lost = {("hardly known", sample): Outcome.ROUTE_DOWN for sample in range(1, 20)}
    record(bench, "r1", values, outcomes=lost, scorers=["exact"])
    said = bench("compare", "--no-report", "--baseline", "poor").stdout
    rows = [line.split("  ")[0] for line in said.splitlines() if re.match(r"(good|fair|poor|hardly known)  ", line)]
    assert rows == ["good", "fair", "poor", "hardly known"]


def test_a_run_and_its_comparison_adjust_for_the_same_pairs(bench: Workbench) -> None:
    """Of a model that nothing is known of, too: what is missing makes no other difference surer, and leaves none open."""
    a = [1.0] * 31 + [0.0] * 9
    b = [0.0] * 8 + [1.0] * 24 + [0.0] * 8
    record(bench, "r1", {"A": a, "B": b, "D": [None] * 40}, scorers=["exact"])
    (found,) = [row for row in bench.json("compare", "--no-report")["differences"] if row["side"]["model"] == "B"]
    assert found["verdict"] in ("none shown", "too few"), "nothing of A and B is unknown"
    assert found["adjusted_p"] > 0.05
    assert "A scores higher than B by “exact”, 0.775 and 0.600, but" in (shown := bench("show", "r1").stdout)
    assert "A is better than" not in shown
    assert "0 of 40 are unknown" not in shown
