"""What charts draw, as their specifications say it."""

from itertools import pairwise
from typing import Any

import pytest

from workbench.ledger.run_rows import LatencySpan, RunLatency, RunTokens
from workbench.report.charts import cost_chart, latency_chart, token_chart
from workbench.report.drawing import MOST_CHARS, Colours, Drawable
from workbench.report.run_charts import TOKEN_PARTS
from workbench.report.time_charts import course_chart, lines_over_time


def side(model: str, tokens: float, low: float, high: float) -> dict[str, Any]:
    bounds = {"cost_low": low, "cost_high": high, "p50_low": 1.0, "p50_high": 1.0}
    return {"model": model, "of": model, "mean": 0.5, "low": 0.4, "high": 0.6, "cost": tokens, "p50": 1.0, **bounds}


def panels(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    spec: dict[str, Any] = cost_chart(
        rows, ("completion tokens an answer", "completion tokens, logarithmic"), Colours([row["model"] for row in rows])
    )
    return list(spec["vconcat"])


def test_an_interval_that_begins_at_nothing_has_its_place_on_a_logarithmic_scale() -> None:
    tokens, seconds = panels(side("a", 4.0, 0.0, 9.0), side("b", 9000.0, 8000.0, 10_000.0))
    axis = tokens["layer"][0]["encoding"]["x"]
    assert (axis["scale"], axis["title"]) == ({"type": "log"}, "completion tokens, logarithmic")
    assert len(axis["title"]) <= MOST_CHARS
    assert [row["cost_low"] for row in tokens["data"]["values"]] == [2.0, 8000.0]
    axis = seconds["layer"][0]["encoding"]["x"]
    assert (axis["scale"], axis["title"]) == ({"zero": True}, "median seconds to the answer")
    tokens, _ = panels(side("a", 4.0, 0.0, 9.0), side("b", 9.0, 8.0, 10.0))
    assert [row["cost_low"] for row in tokens["data"]["values"]] == [0.0, 8.0], "an even scale begins at 0"


def test_the_names_of_points_stand_beside_them_and_never_on_each_other() -> None:
    first, _ = panels(*(side(model, cost, 1.0, 90.0) for model, cost in (("a", 5.0), ("b", 6.0), ("c", 80.0))))
    named = [layer for layer in first["layer"] if layer["mark"]["type"] == "text"]
    assert [layer["mark"]["align"] for layer in named] == ["left", "right"], (
        "to the right of it, and at the edge to the left"
    )
    heights = sorted(row["named_at"] for layer in named for row in layer["data"]["values"])
    assert min(after - before for before, after in pairwise(heights)) > 0.04
    assert first["encoding"]["color"]["legend"] is None
    for mean in (0.0, 1.0):  # eight points on each other at an end of the scale
        same = [side(f"m{number}", 5.0, 1.0, 9.0) | {"mean": mean, "low": mean, "high": mean} for number in range(8)]
        named = [layer for layer in panels(*same)[0]["layer"] if layer["mark"]["type"] == "text"]
        heights = [row["named_at"] for layer in named for row in layer["data"]["values"]]
        assert len(heights) == len(set(heights)) == 8
    panels(
        side("a", 5.0, 1.0, 9.0) | {"low": None, "high": None}, side("b", 6.0, 1.0, 9.0)
    )  # nothing says where it ends
    many, _ = panels(*(side(f"m{number}", 5.0, 1.0, 9.0) for number in range(9)))
    assert not [layer for layer in many["layer"] if layer["mark"]["type"] == "text"]


@pytest.mark.parametrize(("slowest", "kind", "title"), [(9.0, None, ""), (900.0, "log", ", logarithmic")])
def test_latencies_far_apart_have_a_logarithmic_scale(slowest: float, kind: str | None, title: str) -> None:
    rows = [RunLatency("a", 5, 1000, 1000, 1000, 1000, 1000, 1000 * slowest, 1000 * slowest)]
    axis = latency_chart(rows, Colours(["a"]))["layer"][0]["encoding"]["x"]
    assert (axis.get("scale", {}).get("type"), axis["title"]) == (kind, f"seconds to the answer{title}")


def test_the_parts_of_a_completion_are_named_and_add_up() -> None:
    used = RunTokens("a", 1, 5, 30, 20, 35, 0, 0)
    spec = token_chart([used], TOKEN_PARTS, "model")
    drawn = {row["part"]: row["tokens"] for row in spec["data"]["values"]}
    assert drawn == {"prompt": 5, "completion without reasoning": 10, "reasoning": 20}


def test_usage_that_was_not_reported_is_no_bar_of_nothing() -> None:
    used = [RunTokens("a", 1, 5, 30, 20, 35, 0, 0), RunTokens("b", 1, None, None, None, None, 1, 0)]
    bars, said = token_chart(used, TOKEN_PARTS, "model")["layer"]
    assert bars["mark"]["type"] == "bar"
    assert said["data"]["values"] == [{"by": "b", "says": "not reported"}]
    assert said["encoding"]["y"]["sort"] == ["a", "b"]
    assert said["encoding"]["text"]["field"] == "says"


def test_a_legend_is_not_as_faint_as_the_intervals() -> None:
    rows = [
        {"series": name, "at": f"2026-11-0{day}T00:00:00Z", "when": "", "mean": 0.5, "low": 0.4, "high": 0.6}
        for name in "ab"
        for day in (1, 2)
    ]
    spec = lines_over_time(rows, "mean", "mean score", Colours(["a", "b"]).scale(["a", "b"]))
    assert [layer["encoding"]["color"]["legend"] for layer in spec["layer"]] == [{"symbolOpacity": 1}] * 2


@pytest.mark.parametrize(("models", "title"), [(8, "seconds since the first call"), (9, None)])
def test_small_charts_have_no_title_of_their_own_below(models: int, title: str | None) -> None:
    names = [f"m{number}" for number in range(models)]
    rows = [LatencySpan(name, 1.0, 2, 5.0, 5.0) for name in names]
    spec = course_chart(rows, 10, Colours(names))
    assert spec.get("spec", spec)["encoding"]["x"]["title"] == title


def test_models_of_like_colours_are_told_apart() -> None:
    names = [f"m{number}" for number in range(48)]
    colours = Colours(names)
    assert len({colours.of(name) for name in names}) == 48
    like = ["m1", "m13", "m25", "m37", "m2"]
    rows = [
        {"series": name, "at": f"2026-11-0{day}T00:00:00Z", "when": "", "mean": 0.5} for name in like for day in (1, 2)
    ]
    (line,) = lines_over_time(rows, "mean", "mean score", colours.scale(like))["layer"]
    dashes = line["encoding"]["strokeDash"]["scale"]["range"]
    assert dashes[0] == dashes[4] == [1, 0]
    assert len({tuple(dash) for dash in dashes}) == 4
    course = course_chart([LatencySpan(name, 1.0, 2, 5.0, 5.0) for name in like], 10, colours)
    assert course["encoding"]["strokeDash"]["scale"]["range"] == dashes
    unlike = course_chart([LatencySpan(name, 1.0, 2, 5.0, 5.0) for name in names[:8]], 10, colours)
    assert "strokeDash" not in unlike["encoding"]


def test_a_colour_is_never_cut_however_many_models_there_are() -> None:
    models = [f"model {number}" for number in range(30)]
    scale = Colours(models).scale(models)
    assert Drawable()({"color": {"scale": scale}})["color"]["scale"]["range"] == scale["range"]
