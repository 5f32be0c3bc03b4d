"""How far numbers, labels and fields in answers agree with the targets, as it is shown and as JSON has it."""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.compared_runs import record
from tests.conftest import Workbench, job
from tests.end_to_end.test_references import MODELS, grading
from workbench.api.frames import Frames
from workbench.evaluation.gates import gate_findings
from workbench.evaluation.run_figures import run_findings
from workbench.job.file import GatesTable
from workbench.ledger.queries import reading
from workbench.ledger.run_rows import RunItems
from workbench.records.outcomes import Outcome
from workbench.stats.agreement import agreement
from workbench.stats.jackknife import Missing
from workbench.stats.kappa import OTHER
from workbench.stats.label_agreement import label_agreement
from workbench.wording.gates import gate_text

EXACT = '{"name":"exact","ignore_case":true}'
LABELS = ["maybe", "no", "yes"]
TARGETS = [LABELS[number % 3] for number in range(45)]


def judged(
    bench: Workbench, given: dict[str, Sequence[str | None]], targets: Sequence[str] = TARGETS, **more: Any
) -> None:
    """Record a run whose models gave these labels; `values_of` are those that their scores are of, where these are others."""
    scored = more.pop("values_of", None)
    record(
        bench,
        more.pop("run_id", "r1"),
        {
            model: [
                None if one is None else float(one == target)
                for one, target in zip(scored or labels, targets, strict=False)
            ]
            for model, labels in given.items()
        },
        config=more.pop("config", EXACT),
        targets=targets,
        extracted=lambda model, sample: given[model][sample],
        **more,
    )


@pytest.fixture
def graded(bench: Workbench) -> Workbench:
    bench.environment.pop("WORKBENCH_BASE_URL", None)
    grading(bench, columns='second_target = "second"')
    bench("run", "job.toml", "--local")
    return bench


def test_labels_agree_with_the_targets_class_by_class(bench: Workbench) -> None:
    """An answer that is cut off has no label, another word is none of the classes, and a failed call could have been any."""
    often = [LABELS[(number + (number % 5 == 0)) % 3] for number in range(45)]
    some: list[str | None] = ["perhaps" if number % 9 == 0 else often[number] for number in range(45)]
    some[4] = some[5] = None
    ends = {("some", 4): Outcome.TRUNCATED, ("some", 5): Outcome.RATE_LIMITED}
    judged(bench, {"often": often, "some": some, "never": ["yes"] * 45}, outcomes=ends)
    shown = bench.json("show", "r1")["agreement"]
    assert (shown["kind"], shown["labels"], shown["samples"]) == ("labels", LABELS, 45)
    assert [side["name"] for side in shown["sides"]] == ["often", "some", "never"]
    places = {label: float(place) for place, label in enumerate(LABELS)} | {"perhaps": OTHER}
    given = [Missing.NOT_RIGHT if one is None else places[one] for one in some]
    given[5] = Missing.UNKNOWN
    expected = label_agreement(given, [places[one] for one in TARGETS], LABELS)
    found = shown["sides"][1]["found"]
    for name in ("accuracy", "kappa", "macro_f1"):
        assert found[name] == pytest.approx(msgspec.to_builtins(getattr(expected, name)))
    assert found["confusion"] == expected.confusion
    assert found["classes"][1]["label"] == "no"
    never = shown["sides"][2]["found"]
    assert never["kappa"]["value"] == pytest.approx(0)
    assert [one["precision"] for one in never["classes"]] == [None, None, pytest.approx(1 / 3)]
    said = bench("show", "r1", "--agreement").stdout
    assert "44 of 45; 1 not right" in said
    assert "other  none\n" in said
    assert bench.json("show", "r1", "--agreement") == shown


def test_requests_that_were_never_sent_are_unknown(bench: Workbench) -> None:
    judged(bench, {"whole": TARGETS, "stopped": TARGETS[:30]})
    whole, stopped = bench.json("show", "r1")["agreement"]["sides"]
    assert (whole["name"], whole["unknown"], stopped["unknown"], stopped["is_ranked"]) == ("whole", 0, 15, False)
    assert stopped["found"]["kappa"]["value"] == stopped["found"]["kappa"]["at_highest"] == pytest.approx(1)
    assert stopped["found"]["accuracy"]["at_lowest"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        (["yes"] * 20, "Every target is “yes”: kappa needs targets with two labels or more."),
        pytest.param([f"label {number // 2}" for number in range(60)], "no agreement to show", marks=pytest.mark.slow),
        pytest.param(["yes", "no"] * 4, "no agreement to show", marks=pytest.mark.slow),
        (["yes", "Yes", "no", "NO"] * 5, "yes"),
    ],
    ids=["one class", "thirty classes", "eight samples", "capitals"],
)
def test_targets_that_are_not_several_classes(bench: Workbench, targets: list[str], said: str) -> None:
    judged(bench, {"m": [target.casefold() for target in targets]}, targets)
    ended = bench("show", "r1", "--agreement")
    assert said in ended.stdout + ended.stderr
    found = bench.json("show", "r1")["agreement"]
    assert (None if found is None else found["labels"]) == {20: sorted({one.casefold() for one in targets})}.get(
        len(targets)
    )
    bench("report", "r1")


@pytest.mark.slow
def test_models_are_compared_beyond_chance(bench: Workbench) -> None:
    worse = [LABELS[(number + (number % 3 == 0)) % 3] for number in range(45)]
    judged(bench, {"good": TARGETS, "worse": worse, "same": TARGETS, "stopped": worse[:30]})
    found = bench.json("compare", "r1", "--baseline", "good", "--no-report")["agreement"]
    kappa = {one["model"]: one for one in found if one["figure"] == "kappa"}
    assert {model: one["verdict"] for model, one in kappa.items()} == {
        "worse": "worse", "same": "none shown", "stopped": "worse",
    }  # fmt: skip
    assert kappa["worse"]["found"]["difference"] == pytest.approx(-0.5)
    assert kappa["worse"]["low"] < -0.5 < kappa["worse"]["high"] < 0
    assert (kappa["same"]["found"]["differing"], kappa["same"]["adjusted_p"]) == (0, 1)
    assert (kappa["stopped"]["asked"], kappa["stopped"]["unknown"]) == (45, 15)
    assert kappa["stopped"]["at_lowest"]["difference"] < kappa["worse"]["found"]["difference"]
    reverse = bench.json("compare", "r1", "--baseline", "stopped", "--no-report")["agreement"]
    assert {one["model"]: one["verdict"] for one in reverse if one["figure"] == "kappa"} == {
        "good": "better", "worse": "none shown", "same": "better",
    }  # fmt: skip
    said = bench("compare", "r1", "--baseline", "good").stdout
    assert "worse − good: kappa 0.50 beside 1.00, −0.500 [" in said
    (page,) = (bench.folder / "reports").rglob("r1*compare.html")
    assert "worse − good: kappa 0.50 beside 1.00, −0.500 [" in page.read_text("utf-8")


def test_of_two_runs_what_says_the_same_everywhere_has_no_line_and_costs_the_rest_nothing(bench: Workbench) -> None:
    other = [LABELS[(number + (number % 7 == 0)) % 3] for number in range(45)]
    for run_id, changes in (("r1", TARGETS), ("r2", other)):
        judged(bench, {"one": changes, "two": other, "three": other}, run_id=run_id)
    said = bench("compare", "r1", "r2", "--no-report").stdout
    assert "one in r2 − one in r1: kappa 0.77 beside 1.00, −0.233" in said
    assert "two in r2 − two in r1" not in said
    found = {
        one["model"]: one
        for one in bench.json("compare", "r1", "r2", "--no-report")["agreement"]
        if one["figure"] == "kappa"
    }
    assert found["one"]["adjusted_p"] == found["one"]["found"]["p_value"]
    assert found["two"]["adjusted_p"] == 1


@pytest.mark.slow
def test_labels_are_read_by_the_settings_that_recorded_them(bench: Workbench) -> None:
    """Folded by one run's scorer and kept as they are by the other's, the same answers say the same."""
    targets = [one.title() for one in TARGETS]
    often = [targets[(number + (number % 3 == 0)) % 3] for number in range(45)]
    judged(bench, {"m": often}, targets, config='{"name":"exact"}')
    judged(bench, {"m": [one.lower() for one in often]}, targets, run_id="r2", values_of=often)
    for runs in (("r1", "r2"), ("r2", "r1")):
        found = bench.json("compare", *runs, "--no-report")
        assert {one["figure"]: (one["found"]["differing"], one["verdict"]) for one in found["agreement"]} == {
            figure: (0, "none shown") for figure in ("kappa", "accuracy", "macro F1")
        }
        assert "The settings of “exact” are not the same" in " ".join(found["notes"])
    judged(bench, {"m": often}, targets, run_id="r3", config='{"name":"match"}')
    assert bench.json("compare", "r1", "r3", "--no-report")["agreement"] == []


@pytest.mark.slow
def test_rows_that_are_one_sample_count_once_and_always_the_same(bench: Workbench) -> None:
    """Ten of fifty rows repeat an earlier one, and each is asked twice: eighty answers, whatever was sent of them."""
    bench.environment.pop("WORKBENCH_BASE_URL", None)
    grading(bench)
    essays = [json.loads(line) for line in (bench.folder / "essays.jsonl").read_text().splitlines()]
    again = [{**one, "id": f"again {one['id']}"} for one in essays[:10]]
    bench.write("essays.jsonl", "".join(json.dumps(one) + "\n" for one in [*essays, *again]))
    whole = (bench.folder / "job.toml").read_text().replace("[run]", "[run]\nepochs = 2")
    bench.write("job.toml", f"{whole}\n[budget]\nrequests = 100\n")
    bench("run", "job.toml", "--local", "--no-report", code=7)
    sides = bench.json("show", "--local")["agreement"]["sides"]
    assert {one["asked"] for one in sides if not one["is_people"]} == {80}
    assert sum(one["unknown"] for one in sides if not one["is_people"]) >= 60, "a hundred of 160 or fewer were sent"
    bench.write("job.toml", whole)
    bench("run", "job.toml", "--local", "--no-report")
    bench.write("job.toml", whole.replace("epochs = 2", "epochs = 3"))
    bench("run", "job.toml", "--local", "--no-report")
    newest, earlier = (run["run_id"] for run in bench.json("runs", "--local")[:2])
    found = bench.json("compare", newest, earlier, "--local", "--no-report")["agreement"]
    assert {(one["asked"], one["found"]["differing"]) for one in found} == {(80, 0)}


def test_classes_that_only_one_of_two_settings_tells_apart_are_not_compared(bench: Workbench) -> None:
    mixed = ["Yes" if number % 2 else "yes" for number in range(45)]
    judged(bench, {"m": mixed}, mixed, config='{"name":"exact"}')
    judged(bench, {"m": ["yes"] * 45}, mixed, run_id="r2", values_of=mixed)
    assert bench.json("compare", "r1", "r2", "--no-report")["agreement"] == []


@pytest.mark.slow
def test_a_model_is_compared_with_itself_in_an_earlier_run(bench: Workbench) -> None:
    """What an earlier run was to ask and did not is unknown; clusters change places together."""
    clusters = [f"c{number // 3}" for number in range(45)]
    worse = [LABELS[(number + (number % 3 == 0)) % 3] for number in range(45)]
    judged(bench, {"m": worse}, clusters=clusters)
    judged(bench, {"m": TARGETS}, clusters=clusters, run_id="r2")
    kappa, accuracy, _ = bench.json("compare", "r1", "r2", "--no-report")["agreement"]
    assert (kappa["run_id"], kappa["baseline_run_id"], kappa["verdict"]) == ("r2", "r1", "better")
    assert kappa["found"]["method"] == "permutation test over 15 clusters, 9999 draws"
    assert accuracy["found"]["difference"] == pytest.approx(1 / 3)
    expected = label_agreement(
        [float(LABELS.index(one)) for one in worse], [number % 3 for number in range(45)], LABELS, clusters
    )
    (side,) = bench.json("show", "r1")["agreement"]["sides"]
    assert side["found"]["kappa"] == pytest.approx(msgspec.to_builtins(expected.kappa))


def test_a_difference_that_unknown_answers_could_undo_is_open(bench: Workbench) -> None:
    worse = [LABELS[(number + (number % 3 == 0)) % 3] for number in range(45)]
    judged(bench, {"good": TARGETS[:24], "worse": worse})
    (kappa,) = (
        one
        for one in bench.json("compare", "r1", "--baseline", "worse", "--no-report")["agreement"]
        if one["figure"] == "kappa"
    )
    assert (kappa["verdict"], kappa["unknown"]) == ("open", 21)
    assert kappa["low"] < 0 < kappa["found"]["difference"]


@pytest.mark.slow
def test_a_gate_asks_for_agreement_beyond_chance(bench: Workbench) -> None:
    grading(bench)
    text = (bench.folder / "job.toml").read_text()
    bench.write("job.toml", f"{text}\n[gates]\nmin_kappa = {{ numeric = 0.999 }}\n")
    ended = bench.json("run", "job.toml", "--local", "--no-report", code=100)
    (mini,) = (gate for gate in ended["gates"] if gate["model"] == MODELS[1])
    assert (mini["gate"], mini["result"]) == ("min_kappa", "not met")
    assert f"{MODELS[1]} has a weighted kappa of 0." in mini["says"]
    bench.write("job.toml", f"{text}\n[gates]\nmin_kappa = {{ numeric = -0.9 }}\n")
    assert {gate["result"] for gate in bench.json("run", "job.toml", "--local", "--no-report")["gates"]} == {"met"}
    bench.write("job.toml", f"{text}\n[gates]\nmin_macro_f1 = {{ numeric = 0.5 }}\n")
    wrong = bench("run", "job.toml", "--local", code=2)
    assert "gates.min_macro_f1.numeric: 'numeric' does not read a label" in wrong.stderr


def test_agreement_is_a_tidy_frame(bench: Workbench) -> None:
    judged(bench, {"m": TARGETS, "n": ["yes"] * 45})
    frame = Frames(bench.ledger.path).agreement("r1")
    kappa = frame[frame.figure == "kappa"].set_index("model")
    assert list(kappa.loc["n", ["run_id", "scorer", "value", "n"]]) == ["r1", "exact", pytest.approx(0), 45]
    assert kappa.loc["m", "low"] < kappa.loc["m", "value"] == 1
    assert set(frame[frame.figure == "recall"].label) == set(LABELS)
    assert frame[(frame.figure == "precision") & (frame.model == "n")].label.tolist() == ["yes"]
    confusion = Frames(bench.ledger.path).confusion("r1")
    assert confusion.answers.sum() == 2 * 45
    assert len(confusion) == 2 * 3 * 5
    (given,) = confusion[(confusion.model == "n") & (confusion.target == "no") & (confusion.given == "yes")].answers
    assert given == 15
    record(bench, "r2", {"m": [1.0] * 45})
    assert Frames(bench.ledger.path).agreement().empty
    assert Frames(bench.ledger.path).confusion().empty


def objects(bench: Workbench) -> None:
    """Record a run that gave objects: grades as texts, one topic, one name, and the first answer without any."""
    targets = [
        {"grade": n % 4, "topic": ["Art", "law"][n % 2], "name": f"N{n}"} | ({"late": n % 4 < 2} if n % 3 else {})
        for n in range(45)
    ]
    said = [
        json.dumps({"grade": str(n % 4), "topic": "LAW", "name": "N0", "late": True if n % 2 else "true"})
        for n in range(45)
    ]
    record(
        bench, "r1", {"m": [0.5] * 45}, config='{"name":"json"}', targets=targets,
        extracted=lambda _, sample: said[sample] if sample else None,
    )  # fmt: skip


def test_a_gate_asks_for_agreement_of_one_field(bench: Workbench) -> None:
    objects(bench)
    gates = msgspec.convert(
        {
            "min_kappa": {"exact.topic": 0.5, "exact.grade": 0.2, "exact.name": 0.1, "exact.subject": 0.1},
            "max_mean_error": {"exact.grade": 1.0},
            "min_macro_f1": {"exact.late": 0.99},
        },
        GatesTable,
    )
    with reading(bench.ledger) as reader:
        found = gate_findings(reader, run_findings(reader, "r1"), reader.all(RunItems, run_id="r1"), gates)
    results = {(one.gate, one.scorer): one.result for one in found}
    assert results == {
        ("min_kappa", "exact.topic"): "not met",
        ("min_kappa", "exact.grade"): "met",
        ("min_kappa", "exact.name"): "cannot tell",
        ("min_kappa", "exact.subject"): "cannot tell",
        ("max_mean_error", "exact.grade"): "met",
        ("min_macro_f1", "exact.late"): "not met",
    }
    says = {one.scorer: gate_text(one) for one in found if one.gate != "min_kappa" or one.scorer == "exact.subject"}
    assert says["exact.subject"] == (
        "no field that ten targets or more have is named by “exact.subject” (fields: grade, topic, name, late)"
    )
    assert says["exact.grade"].endswith(" by “exact.grade”; at most 1 is wanted")


def test_fields_of_an_object_agree_each_by_its_kind(bench: Workbench) -> None:
    objects(bench)
    found = bench.json("show", "r1")["agreement"]
    assert (found["kind"], found["sides"], found["samples"]) == ("fields", [], 45)
    by_name = {part["field"]: part for part in found["fields"]}
    assert {name: (part["kind"], part["samples"]) for name, part in by_name.items()} == {
        "grade": ("numbers", 45), "topic": ("labels", 45), "name": ("shares", 45), "late": ("labels", 30),
    }  # fmt: skip
    grade, topic, name, late = (part["sides"][0] for part in by_name.values())
    assert (grade["found"]["numbers"], grade["not_right"], grade["found"]["pearson"]["value"]) == (
        44,
        1,
        pytest.approx(1),
    )
    assert topic["found"]["confusion"] == [[0, 22, 0, 1], [0, 22, 0, 0]]
    assert name["found"]["accuracy"]["value"] == 0
    assert late["found"]["confusion"][1][2] == 8  # “true” as a text is not true
    assert "The field “late” is in 30 of 45 targets." in " ".join(bench("show", "r1").stdout.split())


@pytest.mark.slow
def test_numbers_agree_with_the_targets_beyond_chance(graded: Workbench) -> None:
    shown = graded.json("show", "--ledger", "local.duckdb")["agreement"]
    rows = [json.loads(line) for line in (graded.folder / "essays.jsonl").read_text().splitlines()]
    by_name = {side["name"]: side for side in shown["sides"]}
    assert set(by_name) == {*MODELS, "second"}
    people = by_name["second"]["found"]
    expected = agreement([float(row["second"]) for row in rows], [float(row["target"]) for row in rows])
    assert people["weighted_kappa"] == pytest.approx(msgspec.to_builtins(expected.weighted_kappa))
    assert people["n"] == by_name["second"]["asked"] == 40
    assert "agreement with the targets" in graded("show", "--ledger", "local.duckdb").stdout
    (page,) = (graded.folder / "reports" / "local").glob("2*.html")
    assert "Agreement with the targets" in page.read_text("utf-8")


def test_numbers_that_are_left_out_do_not_help(bench: Workbench) -> None:
    """A model that gives a number where the essay is easy, or has another answer for it, does not lead."""
    targets = [str(number % 5) for number in range(40)]
    off_by_one = [str((number + (number % 4 == 0)) % 5) for number in range(40)]
    failed = {("few", number): Outcome.RATE_LIMITED for number in range(12, 24)}
    record(
        bench,
        "r1",
        {name: [1.0] * 40 for name in ("few", "many", "routed")},
        config='{"name":"numeric"}',
        targets=targets,
        extracted=lambda model, sample: (
            off_by_one[sample] if model == "many" else targets[sample] if sample < 24 or model == "routed" else None
        ),
        served_by={("routed", number): "another" for number in range(30)},
        outcomes=failed,
    )
    sides = bench.json("show", "r1")["agreement"]["sides"]
    assert [
        (side["name"], side["found"]["numbers"], side["not_right"], side["unknown"], side["is_ranked"])
        for side in sides
    ] == [
        ("many", 40, 0, 0, True),
        ("few", 12, 16, 12, False),
        ("routed", 10, 0, 30, False),
    ]
    many, few, routed = (side["found"]["weighted_kappa"] for side in sides)
    assert few["at_highest"] < many["value"]  # an essay without a number is graded as wrongly as can be
    assert routed["at_lowest"] < 0 < routed["at_highest"] == pytest.approx(1)
    assert "28 of 40; 16 not right; not ranked" in bench("show", "r1").stdout


@pytest.mark.slow
def test_targets_that_are_no_scale_have_no_agreement(bench: Workbench) -> None:
    bench.write("rows.jsonl", "".join(json.dumps({"input": f"{n}?", "target": 7 * n}) + "\n" for n in range(20)))
    bench.write("job.toml", job(MODELS[1], dataset="rows.jsonl"))
    bench("run", "job.toml", "--local", "--no-report")
    assert bench.json("show", "--ledger", "local.duckdb")["agreement"] is None


@pytest.mark.slow
def test_a_second_annotator_with_gaps_is_said_to_have_them(graded: Workbench) -> None:
    path = graded.folder / "essays.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for row in rows[:9]:
        row["second"] = None
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = graded("run", "job.toml", "--local", "--fresh", "--no-report")
    assert (
        "second has a value for 31 of 40 samples"
        in (shown := graded("show", "--ledger", "local.duckdb")).stdout + shown.stderr
    )
    assert done.returncode == 0


def test_a_scale_is_declared_where_targets_show_none(bench: Workbench) -> None:
    """Forty different targets are no few levels; of a declared scale they are, and an answer beyond it is not right."""
    targets = [str(round(0.1 * number, 1)) for number in range(40)]
    given = [*targets[:-1], "77.0"]
    values = {"m": [1.0] * 39 + [0.0]}
    for run_id, config in (("r1", '{"name":"numeric"}'), ("r2", '{"name":"numeric","target_scale":[0,5]}')):
        record(bench, run_id, values, config=config, targets=targets, extracted=lambda _, sample: given[sample])
    assert bench.json("show", "r1")["agreement"] is None
    shown = bench.json("show", "r2")["agreement"]
    (side,) = shown["sides"]
    assert (shown["kind"], shown["samples"], side["asked"], side["not_right"]) == ("numbers", 40, 40, 1)
    assert side["found"]["absolute_error"]["value"] == pytest.approx(3.9 / 40), "0 is the farthest from 3.9"


@pytest.mark.parametrize(
    ("missing", "verdict"),
    [pytest.param((), "not met", marks=pytest.mark.slow), ((3,), "cannot tell")],
    ids=["whole", "a gap"],
)
@pytest.mark.slow
def test_measurements_have_figures_without_a_scale_and_say_nothing_where_one_is_missing(
    bench: Workbench, missing: tuple[int, ...], verdict: str
) -> None:
    """Nothing is the farthest from a target, so that whoever leaves out the hard ones would be nearest."""
    targets = [str(7 * number) for number in range(40)]
    given = {"near": [7 * number + number % 3 for number in range(40)], "far": [9 * number for number in range(40)]}
    record(
        bench, "r1", {name: [0.5] * 40 for name in given}, config='{"name":"numeric","target_scale":"unbounded"}',
        targets=targets, extracted=lambda model, sample: None if sample in missing else str(given[model][sample]),
    )  # fmt: skip
    shown = bench.json("show", "r1")["agreement"]
    assert (shown["kind"], [side["name"] for side in shown["sides"]]) == ("measurements", ["near", "far"])
    assert {side["is_ranked"] for side in shown["sides"]} == {True}
    far = shown["sides"][1]["found"]
    assert (far["weighted_kappa"], far["n"]) == (None, 40 - len(missing))
    assert far["bias"]["value"] == pytest.approx(2 * (780 - sum(missing)) / (40 - len(missing)))
    said = bench("show", "r1", "--agreement").stdout
    assert "weighted kappa" not in said
    bench("report", "r1")
    assert "The numbers have no ends" in next(bench.folder.glob("reports/**/r1.html")).read_text("utf-8")
    gates = msgspec.convert({"max_mean_error": {"exact": 10.0}}, GatesTable)
    with reading(bench.ledger) as reader:
        found = gate_findings(reader, run_findings(reader, "r1"), reader.all(RunItems, run_id="r1"), gates)
    assert {one.model: one.result for one in found} == {"near": "met" if not missing else verdict, "far": verdict}
    compared = bench.json("compare", "r1", "--baseline", "near", "--no-report")["agreement"]
    verdicts = {one["figure"]: one["verdict"] for one in compared}
    assert set(verdicts) == {"mean error", "bias", "pearson", "spearman"}
    assert (verdicts["mean error"], verdicts["bias"]) == (("open",) * 2 if missing else ("worse",) * 2)


def test_a_gate_on_a_figure_that_the_targets_do_not_define_is_said_before_the_run(bench: Workbench) -> None:
    bench.write("sums.jsonl", "".join(json.dumps({"input": f"{n}?", "target": 7 * n}) + "\n" for n in range(20)))
    text = job() + "[gates]\nmax_mean_error = { numeric = 3 }\nmin_kappa = { numeric = 0.2 }\n"
    bench.write("job.toml", text)
    found = [one["where"].split(": ")[-1] for one in json.loads(bench("lint", "job.toml", "--json").stdout)]
    assert [one for one in found if "gates" in one] == ["gates.min_kappa.numeric", "gates.max_mean_error.numeric"]
    assert "target_scale declares one" in bench("lint", "job.toml").stdout
    for declared, left in (('"unbounded"', ["gates.min_kappa.numeric"]), ("[0, 200]", [])):
        bench.write("job.toml", text.replace('name = "numeric"\n', f'name = "numeric"\ntarget_scale = {declared}\n'))
        found = [one["where"].split(": ")[-1] for one in json.loads(bench("lint", "job.toml", "--json").stdout)]
        assert [one for one in found if "gates" in one] == left


def test_grades_that_are_all_alike_have_a_bias_and_the_reason_why_no_kappa(bench: Workbench) -> None:
    record(
        bench, "r1", {"m": [0.5] * 30}, config='{"name":"numeric","target_scale":[0,5]}', targets=["4"] * 30,
        extracted=lambda _, sample: str(3 + sample % 3),
    )  # fmt: skip
    (side,) = bench.json("show", "r1")["agreement"]["sides"]
    assert (side["found"]["weighted_kappa"], side["found"]["bias"]["value"]) == (None, pytest.approx(0))
    told = "Weighted kappa and correlations are not defined for m: the known targets are all the same."
    assert told in bench("show", "r1", "--agreement").stdout


def test_a_target_outside_the_declared_scale_stops_before_anything_is_sent(bench: Workbench) -> None:
    grading(bench, "target_scale = [0, 4]")
    for command in ("plan", "lint", "run"):
        said = bench(command, "job.toml", code=2).stderr
        assert "scorers[0].target_scale: the target 5 is outside 0 to 4: sample 'e" in said
        assert "(correct the scale or the target)" in said
    assert not bench.ledger.exists
    grading(bench, "target_scale = [4, 0]")
    assert (
        "target_scale: expected two finite numbers, the least and the most" in bench("lint", "job.toml", code=2).stderr
    )
    grading(bench, "target_scale = [0, 5]")
    assert bench.json("plan", "job.toml", "--local")["samples"] == 40


def test_a_field_s_scale_is_declared(bench: Workbench) -> None:
    """Forty different grades, as numbers and texts; one is given beyond the scale, and one as a truth value."""
    targets = [{"grade": round(0.1 * n, 1) if n % 2 else f"{0.1 * n:.1f}", "on": True} for n in range(40)]
    given = [*targets[:-2], {"grade": 77}, {"grade": True}]
    for run_id, more in (("r1", ""), ("r2", ',"target_scales":{"grade":[0,5]}')):
        record(
            bench, run_id, {"m": [1.0] * 40}, config=f'{{"name":"json"{more}}}', targets=targets,
            extracted=lambda _, sample: json.dumps(given[sample]),
        )  # fmt: skip
    kinds = {part["field"]: part["kind"] for part in bench.json("show", "r1")["agreement"]["fields"]}
    assert kinds == {"grade": "shares", "on": "labels"}
    grade, _ = bench.json("show", "r2")["agreement"]["fields"]
    (side,) = grade["sides"]
    assert (grade["kind"], side["asked"], side["not_right"], side["found"]["numbers"]) == ("numbers", 40, 2, 38)


def test_an_exact_field_s_number_is_no_text(bench: Workbench) -> None:
    targets = [{"grade": n % 5 if n % 4 else None} for n in range(40)]
    given = [{"grade": str(n % 5)} if n % 2 else {"grade": n % 5} for n in range(40)]
    config = '{"name":"json","types":"exact","target_scales":{"grade":[0,5]}}'
    record(
        bench, "r1", {"m": [1.0] * 40}, config=config, targets=targets, extracted=lambda _, sample: json.dumps(given[sample])
    )  # fmt: skip
    (grade,) = bench.json("show", "r1")["agreement"]["fields"]
    assert (grade["samples"], grade["sides"][0]["not_right"]) == (30, 20)


def test_the_ends_of_a_scale_are_on_it(bench: Workbench) -> None:
    rows = [{"id": f"s{n}", "input": f"{n}?", "target": {"grade": 0.7 if n else 0.1}} for n in range(2)]
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    scorer = 'name = "json"\ntarget_scales = { grade = [0.1, 0.7] }\n'
    bench.write("job.toml", job("sim/instant").replace('name = "numeric"\n', scorer))
    bench("lint", "job.toml")


@pytest.mark.parametrize(
    ("target", "scale", "said"),
    [
        (7, "[0, 5]", "scorers[0].target_scales: the target 7 of the field 'grade' is outside 0 to 5: sample 's1'"),
        ("high", "[0, 5]", "the target \"high\" of the field 'grade' is not a number"),
        (True, "[0, 5]", "the target true of the field 'grade' is not a number"),
        (1, "[5, 5]", "target_scales.grade: expected two finite numbers"),
    ],
)
def test_a_field_outside_its_declared_scale_stops_before_anything_is_sent(
    bench: Workbench, target: Any, scale: str, said: str
) -> None:
    rows = [{"id": f"s{n}", "input": f"{n}?", "target": {"grade": n and target}} for n in range(2)]
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    scorer = f'name = "json"\ntarget_scales = {{ grade = {scale} }}\n'
    bench.write("job.toml", job("sim/instant").replace('name = "numeric"\n', scorer))
    assert said in bench("lint", "job.toml", code=2).stderr
    assert not bench.ledger.exists


def test_a_scale_of_a_field_that_no_target_has_stops_too(bench: Workbench) -> None:
    rows = [{"id": f"s{n}", "input": f"{n}?", "target": {"grade": n} if n else {"mark": 1}} for n in range(3)]
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    scorer = 'name = "json"\ntarget_scales = {{ {0} = [0, 5] }}\n'
    bench.write("job.toml", job("sim/instant").replace('name = "numeric"\n', scorer.format("garde")))
    said = bench("lint", "job.toml", code=2).stderr
    assert "scorers[0].target_scales: no target has a field 'garde'" in said
    assert "did you mean 'grade'?" in said
    gates = '[gates]\nmin_kappa = { "json.garde" = 0.5 }\n'
    bench.write("job.toml", job("sim/instant").replace('name = "numeric"\n', f'name = "json"\n{gates}'))
    said = bench("lint", "job.toml", code=2).stderr
    assert "gates.min_kappa.json.garde: no target has a field 'garde' (did you mean 'grade'?)" in said
    text = job("sim/instant").replace('name = "numeric"\n', scorer.format("mark"))
    bench.write("job.toml", text)
    bench("lint", "job.toml")
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in reversed(rows)))
    bench("plan", "job.toml", "--limit", "1")
    bench.write("job.toml", text.replace('path = "sums.jsonl"', 'path = "sums.jsonl"\nlimit = 1'))
    bench("lint", "job.toml")  # the part that it takes lacks a field that the rest has


@pytest.mark.slow
def test_numbers_are_compared_by_every_figure_of_theirs(bench: Workbench) -> None:
    """A lower error is better; where an answer is not known, nothing is said by correlation."""
    targets = [str(n % 6) for n in range(60)]
    given = {"near": [float(n % 6) for n in range(60)], "wild": [float((n * 7 + n // 6) % 6) for n in range(60)]}
    record(
        bench, "r1", {name: [0.5] * 60 for name in given}, config='{"name":"numeric"}', targets=targets,
        extracted=lambda model, sample: str(given[model][sample]),
    )  # fmt: skip
    found = {
        one["figure"]: one for one in bench.json("compare", "r1", "--baseline", "near", "--no-report")["agreement"]
    }
    assert {name: one["verdict"] for name, one in found.items()} == {
        "weighted kappa": "worse", "mean error": "worse", "bias": "none shown", "pearson": "worse", "spearman": "worse",
    }  # fmt: skip
    assert found["mean error"]["found"]["difference"] > 1
    (line,) = [one for one in bench("compare", "r1", "--baseline", "near").stdout.splitlines() if "mean error" in one]
    assert re.search(
        r"wild − near: weighted kappa −?0\.\d\d beside 1\.00, −\S+ \[.*\]: worse; mean error \d\.\d\d beside 0\.00, \+\S+ \[.*\]: worse; size of the bias ",
        line,
    )
    values: dict[str, list[float | None]] = {name: [0.5] * 60 for name in given}
    values["wild"][3] = None
    record(
        bench, "r2", values, config='{"name":"numeric"}', targets=targets, outcomes={("wild", 3): Outcome.ROUTE_DOWN},
        extracted=lambda model, sample: str(given[model][sample]),
    )  # fmt: skip
    found = {
        one["figure"]: one for one in bench.json("compare", "r2", "--baseline", "near", "--no-report")["agreement"]
    }
    assert {name: one["verdict"] for name, one in found.items()} == {
        "weighted kappa": "worse", "mean error": "worse", "bias": "none shown", "pearson": "open", "spearman": "open",
    }  # fmt: skip
    assert found["pearson"]["at_lowest"] is None
    assert found["mean error"]["at_lowest"]["difference"] < found["mean error"]["at_highest"]["difference"]
    assert bench("compare", "r2", "--baseline", "near").stdout.count("1 of 60 answers unknown") >= 1


def test_a_perfect_model_meets_every_gate_on_numbers(bench: Workbench) -> None:
    """Nothing shows a spread: as many answers as may be unseen may be as far off as can be."""
    targets = [str(n % 6) for n in range(60)]
    record(
        bench, "r1", {"m": [1.0] * 60}, config='{"name":"numeric"}', targets=targets,
        extracted=lambda _, sample: targets[sample],
    )  # fmt: skip
    tables = {"max_bias": 0.5, "min_pearson": 0.6, "min_spearman": 0.6, "max_mean_error": 0.5, "min_kappa": 0.6}
    gates = msgspec.convert({name: {"exact": wanted} for name, wanted in tables.items()}, GatesTable)
    with reading(bench.ledger) as reader:
        found = gate_findings(reader, run_findings(reader, "r1"), reader.all(RunItems, run_id="r1"), gates)
    assert {one.gate: one.result for one in found} == dict.fromkeys(tables, "met")


@pytest.mark.slow
def test_fields_whose_targets_are_all_alike_are_compared_and_all_fields_are_one_family(bench: Workbench) -> None:
    right = [{"valid": True, "name": f"n{n}", "kind": LABELS[n % 3], "same": LABELS[n % 3]} for n in range(40)]
    off = [
        one | ({"valid": False} if n < 20 else {}) | ({"name": "?", "kind": "?"} if n < 6 else {})
        for n, one in enumerate(right)
    ]
    given = {"a": right, "b": off}
    record(
        bench, "r1", {"a": [1.0] * 40, "b": [0.5] * 40}, config='{"name":"json"}', targets=right,
        extracted=lambda model, sample: json.dumps(given[model][sample]),
    )  # fmt: skip
    every = bench.json("compare", "r1", "--baseline", "a", "--no-report")["agreement"]
    found = {one["field"]: one for one in reversed(every)}  # the first figure of each
    assert {field: (one["figure"], one["verdict"]) for field, one in found.items()} == {
        "valid": ("accuracy", "worse"), "name": ("accuracy", "none shown"), "kind": ("kappa", "none shown"),
        "same": ("kappa", "none shown"),
    }  # fmt: skip
    assert found["name"]["found"]["p_value"] == pytest.approx(1 / 32)
    assert found["name"]["adjusted_p"] == pytest.approx(2 / 32), "of three fields that could show anything"
    assert found["same"]["adjusted_p"] == 1
    assert [(one["field"], one["figure"]) for one in every].count(("valid", "accuracy")) == 1, (
        "a field of one label has no more"
    )
    assert {one["figure"] for one in every if one["field"] == "kind"} == {"kappa", "accuracy", "macro F1"}


def test_gates_ask_for_bias_and_correlation(bench: Workbench) -> None:
    """A model that gives no number where the essay is hard is not met by what is left."""
    targets = [str(n % 6) for n in range(60)]
    given = {"high": [min(5, n % 6 + 1) for n in range(60)], "shy": [n % 6 for n in range(60)]}
    record(
        bench, "r1", {name: [0.5] * 60 for name in given}, config='{"name":"numeric"}', targets=targets,
        extracted=lambda model, sample: None if model == "shy" and sample < 20 else str(given[model][sample]),
    )  # fmt: skip
    tables = {"max_bias": 0.2, "min_pearson": 0.8, "min_spearman": 0.999}
    gates = msgspec.convert({name: {"exact": wanted} for name, wanted in tables.items()}, GatesTable)
    with reading(bench.ledger) as reader:
        found = gate_findings(reader, run_findings(reader, "r1"), reader.all(RunItems, run_id="r1"), gates)
    assert {(one.gate, one.model): one.result for one in found} == {
        ("max_bias", "high"): "not met", ("max_bias", "shy"): "cannot tell",
        ("min_pearson", "high"): "met", ("min_pearson", "shy"): "cannot tell",
        ("min_spearman", "high"): "not met", ("min_spearman", "shy"): "cannot tell",
    }  # fmt: skip
    says = {(one.gate, one.model): gate_text(one) for one in found}
    assert says["max_bias", "high"].endswith("by “exact”; no more above or below than 0.2 is wanted")
    assert says["min_pearson", "shy"].startswith(
        "shy has a Pearson correlation of 1.000, without an interval, by “exact”"
    )
    assert says["min_pearson", "shy"].endswith("; 20 of 60 answers without a number are left out of it")


@pytest.mark.slow
def test_objects_are_compared_field_by_field(bench: Workbench) -> None:
    """All fields of all models are one family of tests; a field is told by one figure, and counted where none shows anything."""
    right = [{"topic": LABELS[n % 3], "tone": LABELS[n // 3 % 3]} for n in range(45)]
    off = [one | {"tone": LABELS[n % 3] if n % 2 else one["tone"]} for n, one in enumerate(right)]
    given = {"a": right, "b": off}
    record(
        bench, "r1", {"a": [1.0] * 45, "b": [0.5] * 45}, config='{"name":"json"}', targets=right,
        extracted=lambda model, sample: json.dumps(given[model][sample]),
    )  # fmt: skip
    every = bench.json("compare", "r1", "--baseline", "a", "--no-report")["agreement"]
    assert {(one["field"], one["figure"]): one["verdict"] for one in every} == {
        (field, figure): verdict
        for field, verdict in (("topic", "none shown"), ("tone", "worse"))
        for figure in ("kappa", "accuracy", "macro F1")
    }
    found = {one["field"]: one for one in every if one["figure"] == "kappa"}
    assert found["tone"]["adjusted_p"] >= found["tone"]["found"]["p_value"]
    said = bench("compare", "r1", "--baseline", "a").stdout
    assert re.search(r"b − a: “tone”: kappa \S+ beside 1\.00, −\S+ \[.*\]: worse; none in 1 other field\.", said)
    (page,) = (bench.folder / "reports").rglob("r1*compare.html")
    assert "none in 1 other field" in page.read_text("utf-8")
