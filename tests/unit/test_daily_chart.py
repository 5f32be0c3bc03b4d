"""The chart of tokens by day: what is not known is hatched, and never a bar of zero."""

from datetime import date
from typing import Any

from workbench.report.daily_chart import daily_chart
from workbench.report.drawing import Colours


def row(day: int, model: str, tokens: int | None, calls: int = 1, unknown: int = 0) -> dict[str, Any]:
    return {
        "day": date(2026, 11, day),
        "model": model,
        "calls": calls,
        "total_tokens": tokens,
        "calls_without_usage": unknown,
    }


def layers(*rows: dict[str, Any]) -> list[list[dict[str, Any]]]:
    spec = daily_chart(rows, Colours([one["model"] for one in rows])).to_dict(validate=False)
    return [(layer.get("data") or spec["data"])["values"] for layer in spec["layer"]]


def test_calls_without_usage_are_hatched_upon_what_is_known() -> None:
    known, unknown = layers(row(1, "m", 300, 4, 1), row(1, "n", 50), row(3, "m", None, 2, 2))
    assert [(one["day"], one["tokens"]) for one in known] == [("2026-11-01", 300), ("2026-11-01", 50)]
    assert [(one["day"], one["low"], one["high"], one["calls"]) for one in unknown] == [
        ("2026-11-01", 350, 450, "1"), ("2026-11-03", 0, 200, "2"),
    ]  # fmt: skip


def test_a_model_that_never_reported_has_no_bar_at_all() -> None:
    (known,) = layers(row(1, "m", 300), row(1, "silent", None, 2, 2))
    assert [one["model"] for one in known] == ["m"]


def test_many_models_share_a_colour_but_the_largest() -> None:
    (known,) = layers(*(row(1, f"m{number}", 100 * number + 1) for number in range(12)))
    assert [one["model"] for one in known] == ["all others"] * 5 + [f"m{number}" for number in range(5, 12)]
