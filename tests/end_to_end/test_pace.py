"""The limit that adapts, as a server feels it and as the run page draws it."""

from pathlib import Path
from typing import Any

import pytest

from tests.asked_rows import rows_of
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.server import ThreadedServer


def run(folder: Path, config: PlatformConfig, *options: str, limit: int = 16) -> tuple[list[dict[str, Any]], int, str]:
    with ThreadedServer(config) as server:
        bench = Workbench(folder, server)
        bench.write("sums.jsonl", sums(300))
        bench.write("job.toml", job("m", limit=limit).replace("passes = 1", "passes = 6"))
        result = bench.json("run", "job.toml", *options, code=None)
        most = server.platform.statistics.most_in_flight
    with reading(Ledger(result["ledger"])) as reader:
        rows = rows_of(reader, "run_pace", run_id=result["run_id"], spans=60)
    assert result["completed"] == 300
    return rows, most, Path(result["report"]).read_text("utf-8")


@pytest.mark.slow
def test_it_grows_to_the_limit_and_the_page_draws_it(tmp_path: Path) -> None:
    config = platform_of({"id": "m", "simulated": "answers", "latency_ms": {"median": 20}})
    rows, most, page = run(tmp_path, config)
    allowed = [row["allowed"] for row in rows]
    assert allowed[0] == 4
    assert max(allowed) == 16 == most  # and fewer again where the machine slows down at the end
    assert [row["reason"] for row in rows][:2] == ["start", "growth"]
    assert rows[-1]["reason"] == "end"
    assert "How many calls were in flight?" in page


@pytest.mark.slow
def test_a_run_without_an_answer_draws_it_too(tmp_path: Path) -> None:
    config = platform_of({"id": "m", "faults": [{"status": 429}]}, limits={"retries": 0}, silent={"cooldown_s": 0.1})
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(40))
        bench.write("job.toml", job("m", limit=16))
        result = bench.json("run", "job.toml", code=3)
    assert result["completed"] == 0
    page = Path(result["report"]).read_text("utf-8")
    assert "How many calls were in flight?" in page
    assert "rate_limited" in page.split("How many calls were in flight?")[-1].split("</details>")[0]
    assert "Did the answers slow down" not in page


@pytest.mark.slow
def test_refusals_cut_it(tmp_path: Path) -> None:
    config = platform_of(
        {"id": "m", "simulated": "answers", "latency_ms": {"median": 30}}, limits={"in_flight": 6, "retries": 0}
    )
    rows, _, _ = run(tmp_path, config, limit=16)
    assert "rate_limited" in {row["reason"] for row in rows}
    assert max(int(str(row["allowed"])) for row in rows) <= 12


@pytest.mark.slow
def test_fixed_turns_it_off(tmp_path: Path) -> None:
    config = platform_of({"id": "m", "simulated": "answers", "latency_ms": {"median": 20}})
    rows, most, _ = run(tmp_path, config, "--fixed")
    assert {row["allowed"] for row in rows} == {16}
    assert most == 16
