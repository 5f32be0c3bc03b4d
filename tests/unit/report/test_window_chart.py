"""The chart of a window: what is known is solid, and only what lies between two bounds is hatched."""

from pathlib import Path
from typing import Any

from tests.account_histories import NOW, history, recorded
from workbench.allowance.account import account_state
from workbench.allowance.caps import CapUse
from workbench.allowance.draws import Drawn
from workbench.allowance.readings import take_reading
from workbench.ledger.queries import reading
from workbench.report.allowance_charts import window_chart
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
