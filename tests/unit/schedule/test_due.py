"""What a timer is to run: from the clock, the schedule and a ledger of what was."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import job
from tests.unit.ledger.ledger_rows import started
from workbench.errors import InputError
from workbench.job.job import Job, parse_job
from workbench.ledger.entries import RunEnded
from workbench.ledger.journal import JournalWriter
from workbench.ledger.store import Ledger
from workbench.schedule.due import due, meant_occasion, occasions_of

MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


def nightly(**schedule: str) -> Job:
    lines = "".join(f"{key} = {value}\n" for key, value in schedule.items())
    text = job().replace("passes = 1", 'reuse = "occasion"')
    return parse_job(f'{text}[schedule]\non_calendar = "02:00 UTC"\n{lines}', Path("sums.toml"))


class Nights:
    """A ledger of runs by occasion."""

    def __init__(self, folder: Path) -> None:
        self.ledger = Ledger(folder / "ledger.duckdb")
        self.count = 0

    def ran(self, day: int, status: str | None, job_name: str = "sums", **fields: object) -> str:
        self.count += 1
        run_id, at = f"r{self.count}", MIDNIGHT.replace(day=day, hour=2) + timedelta(minutes=self.count)
        writer = JournalWriter(self.ledger.journal_folder)
        given = {"generation": f"{job_name}@2026-11-{day:02}T02:00Z", "job_path": str(Path("sums.toml").absolute())}
        writer.append(started(run_id, 1, **({"job": job_name, "recorded_at": at} | given | fields)))
        if status is not None:
            writer.append(RunEnded(run_id, at + timedelta(minutes=1), status, 0, 60.0))
        writer.close()
        return run_id


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return Nights(tmp_path)


def at(day: int, hour: int = 2, minute: int = 0) -> datetime:
    return MIDNIGHT.replace(day=day, hour=hour, minute=minute)


def test_the_first_occasion_is_asked_on_time_and_not_made_up_for(nights: Nights) -> None:
    assert due(nights.ledger, nightly(), at(20)).occasion == "2026-11-20T02:00Z"
    assert due(nights.ledger, nightly(), at(20, 2, 39)).occasion == "2026-11-20T02:00Z"
    late = due(nights.ledger, nightly(), at(20, 9))
    assert late == (None, "the run scheduled for 2026-11-20T02:00Z was missed, and the first one never runs late")


def test_a_missed_one_is_made_up_for_once_and_only_the_newest(nights: Nights) -> None:
    nights.ran(17, "complete")
    assert due(nights.ledger, nightly(), at(20, 9)).occasion == "2026-11-20T02:00Z"
    off = due(nights.ledger, nightly(catch_up="false"), at(20, 9))
    assert off == (None, "the run scheduled for 2026-11-20T02:00Z was missed, and schedule.catch_up is off")
    nights.ran(20, "complete")
    assert due(nights.ledger, nightly(), at(20, 9)).occasion is None
    came = [(one.occasion[8:10], one.status) for one in occasions_of(nights.ledger, nightly(), at(20, 9))]
    assert came == [("17", "complete"), ("18", "missed"), ("19", "missed"), ("20", "complete")]


@pytest.mark.parametrize(
    ("status", "again"),
    [("complete", False), ("stopped", False), ("gate_failed", False), ("incomplete", True), ("interrupted", True), (None, True)],
)  # fmt: skip
def test_what_is_gone_on_with(nights: Nights, status: str | None, again: bool) -> None:
    run_id = nights.ran(20, status)
    found = due(nights.ledger, nightly(catch_up="false"), at(20, 9))
    assert (found.occasion is not None) is again
    assert run_id in found.reason
    assert due(nights.ledger, nightly(), at(21)).occasion == "2026-11-21T02:00Z", "a new night is a new occasion"


def test_what_is_on_time_is_due_and_what_goes_on_is_running(nights: Nights) -> None:
    """Both were shown as trouble: missed, and unfinished as a killed run is."""
    nights.ran(19, "complete")
    seen = [occasions_of(nights.ledger, nightly(), moment)[-1].status for moment in (at(20, 2, 1), at(20, 9))]
    assert seen == ["due", "due"], "the next command runs it, late or not"
    assert occasions_of(nights.ledger, nightly(catch_up="false"), at(20, 9))[-1].status == "missed"
    nights.ran(20, None)
    assert occasions_of(nights.ledger, nightly(), at(20, 9))[-1].status == "unfinished"
    with nights.ledger.running("sums"):
        assert occasions_of(nights.ledger, nightly(), at(20, 9))[-1].status == "running"


def test_it_is_left_after_so_many_retries(nights: Nights) -> None:
    for _ in range(3):
        nights.ran(20, "incomplete")
    nights.ran(20, "interrupted")  # somebody stopped it: that is no failure of its own
    assert due(nights.ledger, nightly(), at(20, 9)).occasion is not None
    nights.ran(20, None)
    assert "given up after 4 runs" in due(nights.ledger, nightly(), at(20, 9)).reason
    assert due(nights.ledger, nightly(retries="4"), at(20, 9)).occasion is not None
    (came,) = occasions_of(nights.ledger, nightly(), at(20, 9))
    assert (came.status, came.runs) == ("unfinished", 5)


def test_other_jobs_are_others(nights: Nights) -> None:
    nights.ran(20, "complete", job_name="sums@2026")
    assert due(nights.ledger, nightly(), at(20)).occasion is not None
    assert occasions_of(nights.ledger, nightly(), at(20)) == []


def test_a_rehearsal_by_hand_makes_nothing_due(nights: Nights) -> None:
    nights.ran(19, "complete", generation="sums@2026-11-19")
    nights.ran(19, "complete", generation="sums@2026-11-19T01:00Z")
    assert "first one never runs late" in due(nights.ledger, nightly(), at(20, 9)).reason
    assert [one.status for one in occasions_of(nights.ledger, nightly(), at(20, 9))] == ["complete", "complete"]


def test_occasions_are_in_their_order_and_the_newest_are_shown(nights: Nights) -> None:
    nights.ran(1, "complete")
    often = parse_job(nightly().text.replace("02:00 UTC", "*:*:0/30 UTC"), Path("sums.toml"))
    came = occasions_of(nights.ledger, often, at(2))
    assert [one.occasion for one in came[-3:]] == ["2026-11-02T01:59Z", "2026-11-02T01:59:30Z", "2026-11-02T02:00Z"]
    assert len(came) == 1000


def test_another_job_of_the_same_name_is_named(nights: Nights, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    nights.ran(20, "complete", job_path=str(other))
    assert due(nights.ledger, nightly(), at(20)).occasion is None, "a file that is gone was moved"
    other.touch()
    with pytest.raises(InputError, match=r"sums\.toml:2: name: another job named 'sums' shares its scheduled runs"):
        due(nights.ledger, nightly(), at(20))


def test_midnight_is_one_occasion_by_its_day_and_by_its_time(nights: Nights) -> None:
    """Asked by hand with `--occasion today`, what the schedule has at midnight is not paid for again."""
    daily = parse_job(
        job().replace("passes = 1", 'reuse = "occasion"') + '[schedule]\non_calendar = "daily"\n', Path("sums.toml")
    )
    midnight = datetime(2026, 11, 20).astimezone()
    nights.ran(20, "incomplete", occasion="2026-11-20", recorded_at=midnight + timedelta(hours=3))
    later = midnight + timedelta(hours=5)
    assert due(nights.ledger, daily, later) == ("2026-11-20", "run r1 left it incomplete")
    nights.ran(20, "complete", occasion="2026-11-20", recorded_at=midnight + timedelta(hours=4))
    assert due(nights.ledger, daily, later) == (None, "the run scheduled for 2026-11-20 is complete (run r2)")
    assert [(one.occasion, one.runs) for one in occasions_of(nights.ledger, daily, later)] == [("2026-11-20", 2)]


def test_a_day_is_no_other_occasion_than_its_midnight_where_it_has_no_other_time(nights: Nights) -> None:
    scheduled = job().replace("passes = 1", 'reuse = "occasion"') + "[schedule]\non_calendar = "
    daily, twice = (parse_job(f'{scheduled}"{times}"\n', Path("sums.toml")) for times in ("daily", "00,12:00"))
    midnight = datetime(2026, 11, 20).astimezone()
    name, later = f"{midnight.astimezone(UTC):%Y-%m-%dT%H:%MZ}", midnight + timedelta(hours=5)
    assert meant_occasion(nights.ledger, daily, "2026-11-20") == name, "no timer pays for it again"
    nights.ran(20, "incomplete", occasion=name, recorded_at=midnight + timedelta(minutes=1))
    assert meant_occasion(nights.ledger, daily, "2026-11-20") == name
    assert meant_occasion(nights.ledger, twice, "2026-11-20") == "2026-11-20", "which of the two is meant nothing says"
    nights.ran(20, "complete", occasion="2026-11-20", recorded_at=midnight + timedelta(hours=3))
    assert due(nights.ledger, daily, later) == (None, "the run scheduled for 2026-11-20 is complete (run r2)")
    assert due(nights.ledger, twice, later) == (name, "run r1 left it incomplete"), "the day was another occasion"
    came = [(one.occasion, one.status, one.runs) for one in occasions_of(nights.ledger, twice, later)]
    assert came == [("2026-11-20", "complete", 1), (name, "incomplete", 1)]


def test_a_day_that_was_asked_by_hand_makes_no_time_of_it_missed(nights: Nights) -> None:
    often = parse_job(
        job().replace("passes = 1", 'reuse = "occasion"') + '[schedule]\ncron = "*/10 * * * *"\n', Path("sums.toml")
    )
    midnight = datetime(2026, 11, 20).astimezone()
    nights.ran(20, "complete", occasion="2026-11-20", recorded_at=midnight + timedelta(hours=3))
    came = occasions_of(nights.ledger, often, midnight + timedelta(hours=5))
    assert [(one.occasion, one.status) for one in came] == [("2026-11-20", "complete")]
