"""Nights of a judged job by its timer's own command: a drop, and a cap that the judge shares with a colleague's job."""

import contextlib
import shlex
import sqlite3
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.conftest import Workbench, sums
from tests.contract.asking import platform_of
from workbench.local_platform.answer_key import AnswerKeyFile, Entry, KeyedAnswer
from workbench.local_platform.clock import Clock
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings

SAMPLES, COLLEAGUE, CAP = 30, 30, 80
LEFT = COLLEAGUE + 2 * SAMPLES - CAP
"""Judgements that the cap has no room for once a colleague's job was run."""
FIRST = datetime(2026, 10, 1, tzinfo=UTC)
JOB = """
name = "{name}"
models = ["m"]
[dataset]
path = "{name}.jsonl"
[request]
max_tokens = 64
[tags]
team = "optics"
"""
JUDGED = """
[run]
reuse = "occasion"
[schedule]
cron = "0 2 * * *"
[[scorers]]
name = "judge"
model = "grader"
[gates]
steady = ["judge"]
"""
SETTINGS = f'[[caps]]\nper = "day"\ntag = {{ team = "optics" }}\nrequests = {CAP}\n'


def routes(drop: datetime) -> list[dict[str, Any]]:
    """A model that answers worse from a day on, and one that judges it, with errors of its own."""
    answers = [{"right": 0.9}, {"right": 0.3, "from_date": drop.date().isoformat()}]
    return [
        {"id": "m", "simulated": "answers", "answers": answers},
        {"id": "grader", "simulated": "answers", "wrong_verdicts": 0.02},
    ]


class Calendar(Clock):
    """Tells the time that it is set to."""

    now = FIRST

    def unix_s(self) -> float:
        return self.now.timestamp()


class Nights:
    """The job, its timer and its platform, whose clocks are set together."""

    def __init__(self, folder: Path, server: ThreadedServer, calendar: Calendar, key: Path) -> None:
        self.bench, self._server, self._calendar, self._key = Workbench(folder, server), server, calendar, key
        self.by_day = Counter[date]()
        """Calls that came to the platform."""
        self.bench.write("workbench.toml", SETTINGS)
        self.bench.write("nightly.jsonl", sums(SAMPLES))
        self.bench.write("nightly.toml", JOB.format(name="nightly") + JUDGED)
        self.bench.write("colleague.jsonl", sums(COLLEAGUE).replace("What is", "By hand, what is"))
        self.bench.write("colleague.toml", JOB.format(name="colleague"))
        units = self.bench("schedule", "nightly.toml", "--systemd", "--no-report").stdout
        (started,) = (line for line in units.splitlines() if line.startswith("ExecStart="))
        self._timer = shlex.split(started.removeprefix("ExecStart="))[1:]
        assert self._timer[:4] == ["run", "nightly.toml", "--occasion", "due"]

    def word_anew(self, night: int) -> None:
        """Have the model say the same in other words: what a judge has said of an answer is not paid for again."""
        with contextlib.closing(AnswerKeyFile(self._key)) as file:
            with contextlib.closing(sqlite3.connect(self._key)) as db, db:
                db.execute("DELETE FROM answers")
            for n in range(SAMPLES):
                right, wrong = (KeyedAnswer(f"The {night}. time it is {n + n % 7 + off}.") for off in (0, 100))
                file.add([([{"role": "user", "content": f"What is {n} + {n % 7}?"}], Entry(right, wrong))])

    def fire(self, moment: datetime, calls: int) -> CompletedProcess[str]:
        """Do what the timer does at a moment, and check how many calls come to the platform."""
        return self.command(moment, calls, *self._timer, code=None)

    def command(self, moment: datetime, calls: int, *arguments: str, code: int | None = 0) -> CompletedProcess[str]:
        before = self._server.platform.statistics.requests.total()
        self._calendar.now = moment
        self.bench.environment["WORKBENCH_NOW"] = moment.isoformat()
        done = self.bench(*arguments, code=code)
        came = self._server.platform.statistics.requests.total() - before
        assert came == calls, (moment, arguments, done.stderr)
        self.by_day[moment.date()] += came
        return done

    def take(self, night: int) -> int:
        """A night with the cap to itself; returns the exit code."""
        self.word_anew(night)
        return self.fire(FIRST + timedelta(days=night - 1, hours=2), 2 * SAMPLES).returncode

    def take_busy(self, night: int) -> tuple[int, int]:
        """A night for which a colleague left too little; returns the exit code, and that of judging the rest the day after."""
        self.word_anew(night)
        day = FIRST + timedelta(days=night - 1)
        self.command(day + timedelta(hours=1), COLLEAGUE, "run", "colleague.toml", "--fresh", "--no-report")
        done = self.fire(day + timedelta(hours=2), 2 * SAMPLES - LEFT)
        assert f"{LEFT} judgements still to be asked for" in done.stderr
        assert "its gates are not decided" in done.stderr
        for minute in range(5, 25, 5):  # the timer goes on asking whether something is due
            self.fire(day + timedelta(hours=2, minutes=minute), 0)
        asks = shlex.split(done.stderr.split("still to be asked for: `")[1].split("`")[0])[1:]
        later = self.command(day + timedelta(days=1, minutes=30), LEFT, *asks, code=None)
        return done.returncode, later.returncode


@pytest.mark.parametrize(
    ("count", "drop", "busy"),
    [
        pytest.param(7, 6, {6}, marks=pytest.mark.slow),
        pytest.param(40, 25, {9, 17, 33}, marks=pytest.mark.long),
    ],
)
def test_a_drop_ends_its_night_with_100_and_no_call_goes_beyond_the_cap(
    count: int, drop: int, busy: set[int], tmp_path: Path
) -> None:
    calendar, key = Calendar(), tmp_path / "answers.sqlite"
    dropped_at = FIRST + timedelta(days=drop - 1)
    around = Surroundings(clock=calendar, answers=key)
    with ThreadedServer(platform_of(*routes(dropped_at)), around=around) as server:
        nights = Nights(tmp_path, server, calendar, key)
        codes = {night: (nights.take_busy if night in busy else nights.take)(night) for night in range(1, count + 1)}
        expected: dict[int, Any] = dict.fromkeys(range(1, count + 1), 0)
        expected |= dict.fromkeys(busy, (7, 0)) | {drop: (7, 100) if drop in busy else 100}
        assert codes == expected
        assert max(nights.by_day.values()) == CAP
        (alarm,) = nights.bench.json("schedule", "nightly.toml")["open_alarms"]
        assert (alarm["model"], alarm["began"]) == ("m", f"{dropped_at:%Y-%m-%d}T02:00Z")
        (used,) = [row for row in nights.bench.json("usage", "--by", "tag") if row["tag"] == "team = optics"]
        told = server.platform.statistics
        assert (used["calls"], used["total_tokens"]) == (told.requests.total(), told.tokens.total())
        assert used["calls"] == nights.by_day.total()
