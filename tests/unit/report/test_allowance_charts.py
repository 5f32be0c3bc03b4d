"""The charts of the allowance's page: what is known is solid, what may be more is hatched, and never a bar of zero."""

from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from tests.account_histories import NOW, history, recorded
from tests.unit.ledger.ledger_rows import answer, intent, started
from workbench.allowance.account import account_state
from workbench.allowance.caps import CapUse
from workbench.allowance.draws import Drawn
from workbench.allowance.readings import take_reading
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.ledger.usage_rows import DailyUsage
from workbench.report.allowance_charts import OTHERS, daily_chart, window_chart
from workbench.report.drawing import Colours
from workbench.wording.allowance import cap_row


def test_what_others_drew_at_least_is_solid_and_only_what_is_beyond_it_hatched(tmp_path: Path) -> None:
    truth = history(1)
    ledger = recorded(tmp_path, truth)
    for at in truth.read_at:
        take_reading(ledger, "used", truth.said(at), at, None)
    with reading(ledger) as reader:
        found = account_state(reader, ledger.allowance, ledger.zone, NOW)
    chart = window_chart(found, "UTC")
    assert chart is not None
    areas = [layer for layer in chart["layer"] if isinstance(layer["mark"], dict) and layer["mark"]["type"] == "area"]

    def bounds(layer: dict[str, Any]) -> tuple[str, str | None]:
        return layer["encoding"]["y"]["field"], layer["encoding"].get("y2", {}).get("field")

    hatched = [layer for layer in areas if isinstance(layer["mark"]["color"], dict)]
    assert [bounds(layer) for layer in hatched] == [("low", "high")]
    solid = [bounds(layer) for layer in areas if layer["mark"]["color"] == "var(--others)"]
    assert solid == [("seen", "low")]
    assert {stop["color"] for stop in hatched[0]["mark"]["color"]["stops"]} == {"transparent", "var(--others)"}
    by_job: dict[str, Drawn] = {}
    for part in found.parts:
        by_job[part.job] = by_job.get(part.job, Drawn()) + part.drawn
    assert {name: part.units for name, part in by_job.items()} == {part.name: part.drawn.units for part in found.jobs}


def test_a_cap_is_a_bar_of_what_is_used_reserved_and_left() -> None:
    cap = CapUse("at most 200 calls a day", "requests", 200, 80, 41, 0, None)
    assert cap_row(cap, "UTC")["bar"] == "████▒▒░░░░"
    full = CapUse("at most 200 calls a day", "requests", 200, 230, 0, 0, None)
    assert cap_row(full, "UTC")["bar"] == "█" * 10
    unknown = CapUse("a share of the total", None, None, 0, 0, 0, None, "the total is not known")
    assert cap_row(unknown, "UTC")["bar"] == "–"


def row(day: int, model: str, tokens: int | None, calls: int = 1, unknown: int = 0) -> DailyUsage:
    return DailyUsage(date(2026, 11, day), model, calls, tokens, unknown)


def layers(*rows: DailyUsage) -> list[list[dict[str, Any]]]:
    spec = daily_chart(rows, Colours([one.model for one in rows]))
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


def test_many_models_share_a_colour_but_the_largest(tmp_path: Path) -> None:
    writer = JournalWriter(Ledger(tmp_path / "l.duckdb").journal_folder)
    writer.append(started("r1", 12))
    for number in range(1, 13):
        writer.append(msgspec.structs.replace(intent("r1", number), model=f"m{number}"))
        writer.append(answer("r1", number, model=f"m{number}", total_tokens=100 * number))
    writer.close()
    with reading(Ledger(tmp_path / "l.duckdb")) as reader:
        rows = reader.all(DailyUsage, most=8, others=OTHERS)
        assert len(reader.all(DailyUsage, most=12, others=OTHERS)) == 12
    used = {one.model: (one.total_tokens, one.calls) for one in rows}
    assert used == {f"m{number}": (100 * number, 1) for number in range(6, 13)} | {OTHERS: (1500, 5)}
    (known,) = layers(*rows)
    assert sum(one["tokens"] for one in known) == 7800
