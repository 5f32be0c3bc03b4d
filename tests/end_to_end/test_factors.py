"""A run of several models and variants: its grid, main effects, and where the effect of a variant differs between models."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.compared_runs import Values, record
from tests.conftest import Workbench
from tests.pages import Page
from workbench.api.frames import Frames
from workbench.errors import InputError
from workbench.records.outcomes import Outcome

MODELS, VARIANTS = ("Large", "Medium", "Mini", "Tiny"), ("plain", "rubric", "terse")
SAMPLES = 60


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path, None)


def grid(helps: Mapping[str, float], *, samples: int = SAMPLES, seed: int = 1) -> dict[str, Values]:
    """Scores of a grid: `rubric` adds so much to the chance of each model, `terse` nothing."""
    draws, found = random.Random(seed), dict[str, Values]()
    hard = [draws.uniform(-0.2, 0.2) for _ in range(samples)]
    for model, chance in zip(MODELS, (0.62, 0.61, 0.6, 0.59), strict=True):
        for variant in VARIANTS:
            more = helps[model] if variant == "rubric" else 0.0
            found[f"{model} · {variant}"] = [float(draws.random() < chance + more + own) for own in hard]
    return found


def record_grid(bench: Workbench, values: Mapping[str, Values], run_id: str = "r1", **more: Any) -> None:
    limits = dict.fromkeys(MODELS, "8 in flight")
    record(bench, run_id, values, variants=list(VARIANTS), limits=limits, scorers=["exact"], **more)


def mean(values: Values) -> float:
    return sum(value or 0.0 for value in values) / len(values)


def test_a_prompt_that_helps_every_model_is_the_first_sentence_though_no_combination_shows_it(bench: Workbench) -> None:
    values = grid(dict.fromkeys(MODELS, 0.14))
    record_grid(bench, values)
    found = bench.json("compare", "--no-report")
    assert all(one["verdict"] in ("none shown", "too few") for one in found["differences"])
    rubric = next(one for one in found["factors"]["effects"] if one["level"] == "rubric")
    assert (rubric["effect"], rubric["baseline"], rubric["over"]) == ("variant", "plain", list(MODELS))
    by_hand = [mean(values[f"{model} · rubric"]) - mean(values[f"{model} · plain"]) for model in MODELS]
    assert rubric["difference"] == pytest.approx(sum(by_hand) / len(MODELS))
    assert (rubric["verdict"], rubric["asked_samples"]) == ("better", SAMPLES)
    says = found["factors"]["says"]
    assert says.startswith("Over all 4 models, “rubric” is better than “plain”: +")
    assert bench("compare", "--no-report").stdout.startswith(says)
    frame = Frames(folder=bench.folder).effects()
    assert list(frame["says"]) == [one["says"] for one in found["factors"]["effects"]]
    assert rubric["says"] in list(frame["says"])


@pytest.mark.slow
def test_a_run_shows_its_grid_and_says_of_it_what_its_comparison_says(bench: Workbench) -> None:
    record_grid(bench, grid(dict.fromkeys(MODELS, 0.14)))
    compared, shown = bench.json("compare", "--no-report")["factors"], bench.json("show")["factors"]
    assert shown == compared
    there, here = bench("compare", "--no-report").stdout, bench("show").stdout
    table = there.partition("by model and variant:\n")[2].partition("\n\n")[0]
    assert table in here
    assert compared["says"] in here
    page = Page(bench.json("report", "last")["report"])
    assert compared["says"] in page.text
    assert page.text.partition('<table id="grid">')[2].partition("</table>")[0].count("<tr>") == 1 + len(MODELS) + 1
    record(bench, "r2", {"Large": [1.0, 0.0], "Mini": [0.0, 0.0]}, scorers=["exact"])
    assert bench.json("show", "r2")["factors"] is None
    assert "by model and variant" not in bench("show", "r2").stdout


def test_the_grid_has_every_combination_and_the_means_over_them(bench: Workbench) -> None:
    values = grid(dict.fromkeys(MODELS, 0.1))
    record_grid(bench, values)
    found = bench.json("compare")
    rows = {(row["model"], row["variant"]): row for row in found["factors"]["grid"]}
    assert len(rows) == 12 + 4 + 3
    for model in MODELS:
        own = [mean(values[f"{model} · {variant}"]) for variant in VARIANTS]
        assert [rows[model, variant]["mean"] for variant in VARIANTS] == [pytest.approx(one) for one in own]
        assert rows[model, None]["mean"] == pytest.approx(sum(own) / 3)
        assert rows[model, None]["low"] < rows[model, None]["mean"] < rows[model, None]["high"]
    best = max(values, key=lambda side: mean(values[side]))
    assert [f"{model} · {variant}" for (model, variant), row in rows.items() if row["is_best"]] == [best]
    table = bench("compare", "--no-report").stdout.partition("by model and variant:\n")[2].splitlines()
    assert table[0].split() == ["model", "plain", "rubric", "terse", "all"]
    assert [line.split()[0] for line in table[1:6]] == [*MODELS, "all"]
    assert "\n".join(table).count("] best") == 1
    page = Page(found["report"]).text
    assert found["factors"]["says"] in page
    assert f"{rows['Large', 'rubric']['mean']:.3f}" in page
    frame = Frames(folder=bench.folder).grid("r1")
    assert list(frame["mean"]) == [row["mean"] for row in found["factors"]["grid"]]


def test_a_prompt_that_helps_some_models_and_harms_another_says_which(bench: Workbench) -> None:
    helps = {"Large": 0.0, "Medium": 0.0, "Mini": 0.35, "Tiny": -0.45}
    record_grid(bench, grid(helps, samples=150))
    factors = bench.json("compare", "--no-report")["factors"]
    shown = {
        (one["model"], one["verdict"]) for one in factors["effects"] if one["effect"] == "interaction" and one["level"] == "rubric"
    }  # fmt: skip
    assert {("Mini", "better"), ("Tiny", "worse")} <= shown
    assert "differs between models: " in factors["says"]
    assert "It helps Mini and harms Tiny; for Large and Medium alone no difference is shown." in factors["says"]
    assert not any(
        one["verdict"] in ("better", "worse")
        for one in factors["effects"] if one["effect"] == "interaction" and one["level"] == "terse"
    )  # fmt: skip


@pytest.mark.slow
def test_where_no_effect_is_shown_it_says_what_could_have_been(bench: Workbench) -> None:
    record_grid(bench, grid(dict.fromkeys(MODELS, 0.0)))
    effects = bench.json("compare", "--no-report")["factors"]["effects"]
    assert {one["verdict"] for one in effects if one["effect"] == "variant"} == {"none shown"}
    reach = max(one["detectable"] for one in effects if one["effect"] == "variant")
    said = (
        f"Over all 4 models, no variant is shown to differ from “plain” (could have shown ±{100 * reach:.1f} points)."
    )
    assert said in bench("compare", "--no-report").stdout


@pytest.mark.slow
def test_what_is_said_between_combinations_is_the_same_without_the_grid(bench: Workbench) -> None:
    values = grid(dict.fromkeys(MODELS, 0.14))
    record_grid(bench, values)
    record(bench, "r2", {side.replace(" · ", " "): scores for side, scores in values.items()}, scorers=["exact"])
    there, flat = (bench.json("compare", "--no-report", run_id) for run_id in ("r1", "r2"))
    assert (there["factors"] is None, flat["factors"]) == (False, None)
    same = ("adjusted_p", "low", "high", "verdict", "detectable", "asked", "shared")
    assert [[one[key] for key in same] for one in there["differences"]] == [
        [one[key] for key in same] for one in flat["differences"]
    ]


@pytest.mark.slow
def test_a_model_of_which_nothing_is_known_leaves_the_effects_over_the_others(bench: Workbench) -> None:
    values = grid(dict.fromkeys(MODELS, 0.14))
    silent = [f"Tiny · {variant}" for variant in VARIANTS]
    record_grid(bench, values | {side: [None] * SAMPLES for side in silent})
    found = bench.json("compare", "--no-report")
    rubric = next(one for one in found["factors"]["effects"] if one["level"] == "rubric")
    assert rubric["over"] == ["Large", "Medium", "Mini"]
    assert rubric["unknown_samples"] == 0
    assert found["factors"]["says"].startswith("Over 3 of 4 models, “rubric”")
    assert any(f"nothing is known of: {silent[0]}, {silent[1]} and {silent[2]}." in note for note in found["notes"])
    shown = bench("show").stdout
    assert f"Not ranked: {silent[0]}, {silent[1]} and {silent[2]} (each: 0 of {SAMPLES} answers have a result" in shown
    cells = Page(bench.json("report", "last")["report"]).text.partition('<table id="grid">')[2].partition("</table>")[0]
    assert cells.count("not scored") == shown.partition("by model and variant:\n")[2].count("not scored") == 3


@pytest.mark.slow
def test_missing_answers_of_a_combination_do_not_help_its_variant(bench: Workbench) -> None:
    values = {side: list(scores) for side, scores in grid(dict.fromkeys(MODELS, 0.14)).items()}
    wrong = [place for place, value in enumerate(values["Mini · rubric"]) if value == 0.0]
    record_grid(bench, values)
    values["Mini · rubric"] = [None if place in wrong else value for place, value in enumerate(values["Mini · rubric"])]
    record_grid(bench, values, "r2")
    whole, gone = (
        next(
            one
            for one in bench.json("compare", "--no-report", run_id)["factors"]["effects"]
            if one["level"] == "rubric"
        )
        for run_id in ("r1", "r2")
    )
    assert (whole["unknown_samples"], gone["unknown_samples"]) == (0, len(wrong))
    assert (gone["asked_samples"], gone["shared_samples"]) == (SAMPLES, SAMPLES - len(wrong))
    assert gone["adjusted_p_value"] >= whole["adjusted_p_value"]
    assert gone["low"] == pytest.approx(whole["low"], abs=0.02), "at worst they are what they were"
    notes = bench.json("compare", "--no-report", "r2")["notes"]
    assert any(
        note.startswith(f"Main effects: of {SAMPLES} samples up to {len(wrong)} have an unknown") for note in notes
    )


@pytest.mark.slow
def test_samples_that_belong_together_are_one_of_a_main_effect_too(bench: Workbench) -> None:
    clusters = [f"text {place // 5}" for place in range(SAMPLES)]
    record_grid(bench, grid(dict.fromkeys(MODELS, 0.14)), clusters=clusters)
    effects = bench.json("compare", "--no-report")["factors"]["effects"]
    assert {one["method"] for one in effects} == {"t test over 12 clusters"}


@pytest.mark.slow
def test_a_model_is_taken_with_all_its_variants_or_with_one(bench: Workbench) -> None:
    record_grid(bench, grid(dict.fromkeys(MODELS, 0.0)))
    both = bench.json("compare", "--no-report", "--model", "Large", "--model", "Tiny · terse")
    assert [side["model"] for side in both["sides"]] == [
        "Large · plain", "Large · rubric", "Large · terse", "Tiny · terse",
    ]  # fmt: skip
    assert [(side["requested_model"], side["variant"]) for side in both["sides"]][-1] == ("Tiny", "terse")
    assert both["factors"]["effects"] == [], "one model is nothing to take a mean over"
    missing = "both sides have; not compared: Tiny · plain and Tiny · rubric."
    assert f"Main effects are over the models and variants that {missing}" in both["notes"]
    wrong = bench("compare", "--no-report", "--model", "Larg", code=2).stderr
    assert "--model: no answer is of 'Larg' (did you mean 'Large'?)" in wrong
    assert list(Frames(folder=bench.folder).compare("r1", models="Large")["model"]) == [
        "Large · rubric",
        "Large · terse",
    ]


def test_a_run_without_variants_has_no_grid(bench: Workbench) -> None:
    record(bench, "r1", {"a": [1.0], "b": [0.0]})
    assert bench.json("compare", "--no-report")["factors"] is None
    with pytest.raises(InputError, match="has no grid of models and variants"):
        Frames(folder=bench.folder).grid()


def test_a_list_of_runs_names_the_best_and_the_worst_combination(bench: Workbench) -> None:
    values = grid(dict.fromkeys(MODELS, 0.1))
    values["Tiny · terse"] = [None, *values["Tiny · terse"][1:]]
    record_grid(bench, values)
    record(bench, "r2", {"m": [1.0, 0.0]}, scorers=["exact"])
    one, several = bench.json("runs")
    ends = {side: sum(value or 0.0 for value in scores) / SAMPLES for side, scores in values.items()}
    best, worst = max(ends, key=ends.__getitem__), min(ends, key=ends.__getitem__)
    assert (several["best"]["model"], several["worst"]["model"]) == (best, worst)
    assert several["best"]["at_worst"] == pytest.approx(ends[best])
    assert several["mean_score"] == pytest.approx(
        mean([value for own in values.values() for value in own if value is not None]), abs=1e-3
    )
    assert one["best"] == one["worst"] == {"model": "m", "mean": 0.5, "at_worst": 0.5, "at_best": 0.5}
    heading, _, row = bench("runs").stdout.splitlines()
    assert heading.split()[-5:] == ["best", "best-by", "worst", "worst-by", "scorer"]
    assert f"{ends[best]:.3f}  {best}  {ends[worst]:.3f}" in row


@pytest.mark.slow
def test_a_run_after_another_leads_with_what_changed(bench: Workbench) -> None:
    before = grid(dict.fromkeys(MODELS, 0.0))
    jobs = [
        '[dataset]\npath = "d"\n[[variants]]\nname = "plain"\n[[variants]]\nname = "rubric"\n'
        f'prompt = {{ system = "{system}" }}\n[[variants]]\nname = "terse"\ntemperature = 0\n'
        for system in ("Mark it.", "Mark it by the rubric.")
    ]
    after = before | {
        "Mini · rubric": [1.0] * SAMPLES,
        "Tiny · rubric": [1.0 - (value or 0.0) for value in before["Tiny · rubric"]],
    }
    record_grid(bench, before, job_toml='models = ["m"]\n' + jobs[0])
    record_grid(bench, after, "r2", job_toml='models = ["m"]\n' + jobs[1])
    found = bench.json("compare", "r1", "r2")
    assert [one["side"]["model"] for one in found["differences"]][:2] == ["Mini · rubric", "Tiny · rubric"]
    assert found["factors"] is None, "of one run alone"
    changed = "variants[1].prompt.system differs: “Mark it.” (r1); “Mark it by the rubric.” (r2)."
    same = "10 unchanged combinations: the same on every sample."
    said = bench("compare", "--no-report", "r1", "r2")
    first, _, second, _, *rest = said.stdout.splitlines()
    assert [first, second] == [one["says"] for one in found["differences"][:2]]
    assert rest[:2] == [changed, same]
    assert [line.split("  ")[0] for line in rest[4:]] == [
        "Mini · rubric in r1", "Mini · rubric in r2", "Tiny · rubric in r1", "Tiny · rubric in r2",
    ]  # fmt: skip
    assert changed in found["notes"]
    assert changed not in said.stderr, "it stands with what changed"
    page = Page(found["report"]).text
    assert page.count(changed) == 1
    assert same in page


def test_what_is_unknown_in_a_run_is_not_unchanged(bench: Workbench) -> None:
    values: dict[str, Values] = {side: [1.0, 0.0, None] for side in ("a · plain", "b · plain")}
    known: dict[str, Values] = {side: [1.0, 0.0, 1.0] for side in ("c · plain", "d · plain")}
    for run_id in ("r1", "r2"):
        record(bench, run_id, values | known, variants=["plain"], scorers=["exact"])
    told = bench("compare", "--no-report", "r1", "r2").stdout
    assert "2 unchanged combinations: the same on every sample." in told
    assert ["a · plain in r2" in told, "c · plain in r2" in told] == [True, False]


@pytest.mark.slow
def test_a_right_answer_costs_the_tokens_of_the_wrong_ones_too(bench: Workbench) -> None:
    values: dict[str, Values] = {
        "half": [1.0, 0.0] * 20,
        "hardly": [1.0] + [0.0] * 39,
        "unknown": [1.0] * 30 + [None] * 10,
    }
    record(bench, "r1", values, scorers=["exact"])  # each answer takes ten tokens
    half, hardly, unknown = (side["tokens_per_right"] for side in bench.json("compare", "--no-report")["sides"])
    assert half["amount"] == pytest.approx(20)
    assert half["low"] < 20 < half["high"]
    assert hardly["high"] is None
    assert unknown["amount"] == pytest.approx(10)
    assert unknown["low"] == pytest.approx(10), "were they all right"
    assert unknown["high"] > 400 / 30, "were none of them right"
    said = bench("compare", "--no-report").stdout
    assert f"at least {hardly['low']:.0f}" in said
    assert f"20.0 [{half['low']:.1f}, {half['high']:.1f}]" in said
    frame = Frames(folder=bench.folder).compare("r1", baseline="half")
    assert list(frame["tokens_per_right_low"]) == [hardly["low"], unknown["low"]]
    record(bench, "r2", {"a": [2.0, 4.0], "b": [1.0, 3.0]}, scorers=["exact"])
    assert [side["tokens_per_right"] for side in bench.json("compare", "--no-report", "r2")["sides"]] == [None, None]


def test_a_right_answer_costs_the_tokens_of_answers_without_a_text_too(bench: Workbench) -> None:
    """Whatever a model does instead of answering is paid for, and makes it no cheaper."""
    ends = [Outcome.OK, Outcome.EMPTY, Outcome.TRUNCATED, Outcome.REFUSED, Outcome.REASONING_EXHAUSTED]
    values: dict[str, Values] = {str(end): [1.0, 0.0 if end is Outcome.OK else None] * 20 for end in ends}
    outcomes = {(str(end), sample): end for end in ends for sample in range(1, 40, 2)}
    record(bench, "r1", values, outcomes=outcomes, scorers=["exact"])
    found = bench.json("compare", "--no-report", "r1")
    assert [side["tokens_per_right"]["amount"] for side in found["sides"]] == pytest.approx([20] * len(ends))


@pytest.mark.slow
def test_a_right_answer_costs_units_where_its_model_has_a_weight(bench: Workbench) -> None:
    record(bench, "r1", {"half": [1.0, 0.0] * 20, "unweighted": [1.0, 0.0] * 20}, scorers=["exact"])
    assert {side["units_per_right"] for side in bench.json("compare", "--no-report")["sides"]} == {None}
    weight = '[[allowance.weights]]\nmodel = "half"\nsince = 2026-01-01\nprompt = 1000\ncompletion = 4000\n'
    bench.write("workbench.toml", f'[allowance]\nunit = "credits"\n{weight}')
    calls = Frames(folder=bench.folder).calls().query("requested_model == 'half'")
    half, unweighted = (side["units_per_right"] for side in bench.json("compare", "--no-report")["sides"])
    assert half["amount"] == pytest.approx(calls["units"].sum() / 20)
    assert half["low"] < half["amount"] < half["high"]
    assert unweighted is None, "unweighted is not free"
    assert "credits/right" in bench("compare", "--no-report").stdout
    frame = Frames(folder=bench.folder).compare("r1", baseline="unweighted")
    assert list(frame["units_per_right"]) == [half["amount"]]
