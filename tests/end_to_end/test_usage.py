"""Token usage by day, week and month, in the account's time zone, and between two days."""

from datetime import datetime
from pathlib import Path

import pytest

from tests.asked_rows import rows_of
from tests.conftest import Workbench, job, sums
from tests.pages import Page
from tests.unit.ledger.ledger_rows import answer, intent, started
from workbench.api.frames import Frames
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.local_platform.server import ThreadedServer

SENT = ["2026-10-31 22:30", "2026-10-31 23:30", "2026-11-01 12:00", "2026-11-02 23:59"]


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    bench = Workbench(tmp_path, None)
    journal = JournalWriter(bench.ledger.journal_folder)
    journal.append(started("r1", len(SENT)))
    for number, moment in enumerate(SENT, 1):
        at = datetime.fromisoformat(f"{moment}+00:00")
        asked = intent("r1", number)
        journal.append(
            type(asked)(**({name: getattr(asked, name) for name in asked.__struct_fields__} | {"sent_at": at}))
        )
        journal.append(answer("r1", number, sent_at=at, ended_at=at, total_tokens=10**number))
    journal.close()
    return bench


def used(bench: Workbench, by: str, *options: str) -> dict[str, int]:
    return {row[by]: row["total_tokens"] for row in bench.json("usage", "--by", by, *options)}


def test_days_weeks_and_months_are_utc_unless_said_otherwise(bench: Workbench) -> None:
    assert used(bench, "day") == {"2026-10-31": 110, "2026-11-01": 1000, "2026-11-02": 10000}
    assert used(bench, "week") == {"2026-10-26": 1110, "2026-11-02": 10000}
    assert used(bench, "month") == {"2026-10": 110, "2026-11": 11000}
    assert "day (UTC)" in bench("usage").stdout


def test_days_are_those_of_the_accounts_time_zone_everywhere(bench: Workbench) -> None:
    bench.write("workbench.toml", '[account]\ntime_zone = "Europe/Berlin"\n')
    berlin = {"2026-10-31": 10, "2026-11-01": 1100, "2026-11-03": 10000}
    assert used(bench, "day") == berlin
    assert used(bench, "month") == {"2026-10": 10, "2026-11": 11100}
    assert "day (Europe/Berlin)" in bench("usage").stdout
    frame = Frames(folder=bench.folder).usage()
    assert {
        f"{day:%Y-%m-%d}": tokens for day, tokens in zip(frame["day"], frame["total_tokens"], strict=True)
    } == berlin
    pages = bench.json("report")["pages"]
    allowance = next(page for page in pages if page.endswith("allowance.html"))
    assert "day (Europe/Berlin)" in Path(allowance).read_text()
    assert Page(allowance)


def test_only_some_days(bench: Workbench) -> None:
    assert used(bench, "day", "--since", "2026-11-01") == {"2026-11-01": 1000, "2026-11-02": 10000}
    assert used(bench, "day", "--until", "2026-11-01") == {"2026-10-31": 110, "2026-11-01": 1000}
    assert used(bench, "tag", "--since", "2026-11-01", "--until", "2026-11-01") == {"team = optics": 1000}
    assert "--since is after --until" in bench("usage", "--since", "2026-11-02", "--until", "2026-11-01", code=2).stderr
    assert "is not a day such as" in bench("usage", "--since", "yesterday", code=2).stderr


def test_sums_by_day_model_job_and_tag_agree_to_the_token(tmp_path: Path, platform: ThreadedServer) -> None:
    bench = Workbench(tmp_path, platform)
    bench.write("sums.jsonl", sums(12))
    for name, model, team in (
        ("one", "sim/instant", "optics"),
        ("two", "Abacus Mini [fast]", "voice"),
        ("three", "sim/instant", "voice"),
    ):
        bench.write(f"{name}.toml", job(model, name=name) + f'\n[tags]\nteam = "{team}"\n')
        bench.json("run", f"{name}.toml", "--no-report", "--fresh")
    with reading(bench.ledger) as reader:
        (whole,) = rows_of(reader, "spend")
    names = ("calls", "prompt_tokens", "completion_tokens", "total_tokens")
    for by in ("day", "week", "month", "model", "job", "tag"):
        rows = bench.json("usage", "--by", by)
        assert {name: sum(row[name] for row in rows) for name in names} == {name: whole[name] for name in names}, by
