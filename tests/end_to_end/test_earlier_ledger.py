"""A ledger that an earlier version wrote (schema 2, runs with failures in two generations) opens and reports the same."""

import json
from pathlib import Path

import pytest

from tests.conftest import Workbench
from workbench.api.frames import Frames
from workbench.ledger.schema import migrations
from workbench.records.outcomes import EFFECTS, Outcome
from workbench.zstd import ZstdDecompressor

EARLIER = Path(__file__).parents[1] / "unit" / "ledger" / "earlier"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    packed = (EARLIER / "schema_2_ledger.zst").read_bytes()
    (tmp_path / "local.duckdb").write_bytes(ZstdDecompressor().decompress(packed))
    return Workbench(tmp_path, None)


def test_an_earlier_ledger_reports_the_same_figures(bench: Workbench) -> None:
    expected = json.loads((EARLIER / "schema_2.json").read_text())
    for command, before in (("runs", expected["runs"]), ("usage", expected["usage"])):
        now = bench.json(command, "--local")
        assert len(now) == len(before)
        assert all(was.items() <= row.items() for row, was in zip(now, before, strict=True)), command
    shown = bench.json("show", expected["show"]["run_id"], "--local")
    scores, before = shown.pop("scores"), expected["show"].pop("scores")
    assert expected["show"].items() <= shown.items()
    assert all(was.items() <= row.items() for row, was in zip(scores, before, strict=True))


@pytest.mark.slow
@pytest.mark.file_ledger
def test_an_earlier_ledger_is_brought_up_to_date_and_goes_on(bench: Workbench) -> None:
    assert len(Frames(folder=bench.folder).calls()) == 32
    assert bench.json("ledger", "check", "--local")["problems"] == []
    bench("ask", "Abacus Large [careful]", "What is 6 * 7?", "--local")
    assert [run["job"] for run in bench.json("runs", "--local")] == ["ask", "sums", "sums"]
    bench("ledger", "compact", "--local")
    assert bench.json("ledger", "check", "--local")["sound"]
    assert len(bench.json("report", "--all", "--local")["pages"]) == 3 + 3
    assert len(migrations()) > 2


@pytest.mark.file_ledger
def test_a_corrected_rule_holds_for_stored_answers(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = json.loads((EARLIER / "schema_2.json").read_text())["show"]["run_id"]
    before, usage = bench.json("show", run_id, "--local"), bench.json("usage", "--local")
    refused = before["outcomes"]["route_down"]
    assert bench.json("ledger", "check", "--local")["reinterpreted_attempts"] == 0
    corrected = EFFECTS[Outcome.ROUTE_DOWN]._replace(accepted=True, rerun=False, drew="yes")
    monkeypatch.setitem(EFFECTS, Outcome.ROUTE_DOWN, corrected)
    after = bench.json("show", run_id, "--local")
    assert after["completed"] == before["completed"] + refused
    assert after["failed"] == before["failed"] - refused
    assert after["usage"]["calls_without_usage"] == before["usage"]["calls_without_usage"] + refused
    assert sum(row["accepted"] for row in bench.json("usage", "--local")) > sum(row["accepted"] for row in usage)
    checked = bench.json("ledger", "check", "--local")
    assert checked["sound"]
    assert checked["reinterpreted_attempts"] >= refused
    assert "today's rules read" in bench("ledger", "check", "--local").stdout
