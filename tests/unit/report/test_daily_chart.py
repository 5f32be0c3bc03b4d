"""The chart of tokens by day: what is not known is hatched, and never a bar of zero."""

from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from tests.unit.ledger.ledger_rows import answer, intent, started
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.ledger.usage_rows import DailyUsage
from workbench.report.daily_chart import OTHERS, daily_chart
from workbench.report.drawing import Colours


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
