"""`workbench allowance`: how the account stands, beside a platform that knows the truth."""

import itertools
import random
import re
import shlex
import statistics
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

from tests.cases import first_of
from tests.compared_runs import record
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.unit.ledger.ledger_rows import intent
from workbench.api.frames import Frames
from workbench.ledger import ingest
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.state import State
from workbench.settings.clock import SET_BY

TOTAL = 40_000
SETTINGS = """
[account]
time_zone = "Europe/Berlin"
[allowance]
window = "month"
unit = "credits"
total_units = {total}
warn_at = {warn_at}
[[allowance.weights]]
model = "*"
since = 2026-01-01
prompt = 1000
completion = 1000
[[allowance.weights]]
model = "dear"
since = 2026-01-01
prompt = 3000
completion = 3000
"""


class Account(NamedTuple):
    bench: Workbench
    state: State
    name: str

    def used(self) -> float:
        """The truth, in units."""
        return self.state.drawn_units(self.name, 0)

    def elsewhere(self, tokens: int) -> None:
        self.state.add_draw(self.name, tokens, "chat UI")

    def read(self) -> None:
        """What the chat UI shows."""
        self.bench("allowance", "reading", "--used", f"{100 * self.used() / TOTAL:.0f}%")


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    config = platform_of({"id": "m"}, {"id": "dear", "weight": 3.0}, allowance={"units": TOTAL})
    state = State(tmp_path / "platform.sqlite")
    with ThreadedServer(config, state) as server:
        bench = Workbench(tmp_path, server)
        bench.write("workbench.toml", SETTINGS.format(total=TOTAL, warn_at=0.99))
        yield Account(bench, state, config.accounts[0].name)


@pytest.mark.slow
def test_what_was_drawn_elsewhere_lies_in_the_range_that_is_shown(account: Account) -> None:
    chosen, bench, elsewhere = random.Random(5), account.bench, 0
    for number in range(4):
        bench.write(f"{number}.jsonl", sums(3 + number))
        bench.write("job.toml", job("m", "dear", name=f"j{number}", dataset=f"{number}.jsonl"))
        bench("run", "job.toml", "--no-report")
        elsewhere += (more := chosen.randint(500, 4_000))
        account.elsewhere(more)
        account.read()
        found = bench.json("allowance", "status")
        assert found["seen"]["units"] == pytest.approx(account.used() - elsewhere), "our own share, to the token"
        newest = found["points"][-1]
        low, high = newest["low"] - newest["seen"][1], newest["high"] - newest["seen"][0]
        assert low <= elsewhere <= high
        assert high - low <= 0.01 * TOTAL + 1e-6, "the rounding of a percent"
        assert found["left"][0] <= TOTAL - account.used() <= found["left"][1]
    assert {part["name"]: part["drawn"]["calls"] for part in found["models"]} == {"m": 6, "dear": 6}, (
        "a row that was asked is not paid again"
    )
    assert [part["drawn"]["calls"] for part in found["jobs"]] == [6, 2, 2, 2]


def drawn_at_random(folder: Path, seed: int) -> tuple[bool, list[float]]:
    """An account over some days of work: own jobs, bursts and gaps elsewhere, and readings now and then.

    Returns:
        Whether what others drew lies in the range that is shown in the end, and the width of each stretch between readings, as
        a multiple of what their rounding leaves open.
    """
    chosen = random.Random(seed)
    weight, total = chosen.choice([1.0, 2.0, 3.0, 7.5]), chosen.randint(150_000, 500_000)
    config = platform_of({"id": "m"}, {"id": "dear", "weight": weight}, allowance={"units": total})
    state = State(folder / "platform.sqlite")
    with ThreadedServer(config, state) as server:
        bench, name, elsewhere = Workbench(folder, server), config.accounts[0].name, 0
        prices = SETTINGS.format(total=total, warn_at=0.99).replace("3000", f"{1000 * weight:.0f}")
        bench.write("workbench.toml", prices)
        for day in range(chosen.randint(3, 6)):
            if chosen.random() < 0.8 or not day:
                bench.write(f"{day}.jsonl", sums(chosen.randint(1, 20)))
                models = chosen.sample(["m", "dear"], chosen.randint(1, 2))
                bench.write("job.toml", job(*models, name=f"j{day}", dataset=f"{day}.jsonl"))
                bench("run", "job.toml", "--no-report")
            for _ in range(chosen.choice([0, 1, 1, 3])):  # a gap, a usual day, a burst
                elsewhere += (more := round(total * chosen.uniform(0, 0.03)))
                state.add_draw(name, more, "chat UI")
            if chosen.random() < 0.6 or not day:
                bench("allowance", "reading", "--used", f"{100 * state.drawn_units(name, 0) / total:.0f}%")
        bench("allowance", "reading", "--used", f"{100 * state.drawn_units(name, 0) / total:.0f}%")
        found, own = bench.json("allowance", "status"), state.drawn_units(name, 0) - elsewhere
    assert found["seen"]["units"] == pytest.approx(own), "our own share, to the token"
    points = found["points"]
    stretches = itertools.pairwise(points)
    widths = [
        (later["high"] - later["low"] + earlier["high"] - earlier["low"]) / (0.02 * total)
        for earlier, later in stretches
    ]
    return found["unseen"][0] <= elsewhere <= found["unseen"][1], widths


@pytest.mark.slow
@pytest.mark.parametrize("histories", [2, pytest.param(200, marks=pytest.mark.long)])
def test_what_others_drew_on_the_platform_lies_in_its_range(tmp_path: Path, histories: int) -> None:
    within, widths = 0, []
    for seed in range(histories):
        (folder := tmp_path / str(seed)).mkdir()
        inside, own = drawn_at_random(folder, seed)
        within += inside
        widths += own
    print(f"within {within}/{histories}; median width {statistics.median(widths):.2f} of the readings' rounding")
    assert within >= 0.9 * histories
    assert statistics.median(widths) <= 1.1


def test_a_threshold_has_its_exit_code_and_its_line(account: Account) -> None:
    bench = account.bench
    bench.environment[SET_BY] = "2026-11-20T12:00Z"  # in the first minutes of a month any reading is a steep rate
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("m"))
    bench("run", "job.toml", "--no-report")
    assert "warn=may_be_beyond" in bench("allowance", "status", "--line").stdout
    account.elsewhere(21_000)
    account.read()
    assert "warn=below" in bench("allowance", "status", "--line").stdout
    bench.write("workbench.toml", SETTINGS.format(total=TOTAL, warn_at=0.5))
    (line,) = bench("allowance", "status", "--line", code=100).stdout.splitlines()
    given = dict(part.split("=") for part in line.split()[1:])
    assert (given["warn"], given["unit"]) == ("beyond", "credits")
    assert float(given["left_low"]) <= TOTAL - account.used() <= float(given["left_high"])
    share = account.used() / TOTAL
    bench.write("workbench.toml", SETTINGS.format(total=TOTAL, warn_at=round(share + 0.003, 4)))
    assert "cannot be told" in bench("allowance", "status").stderr


@pytest.mark.slow
def test_the_first_reading_may_precede_every_run_and_is_of_the_account(account: Account) -> None:
    bench = account.bench
    bench("demo", "--no-report")
    said = bench("allowance", "reading", "--used", "12%").stdout
    assert "we used 0 credits" in said
    assert [one["said"] for one in bench.json("allowance", "readings")] == ["12%"]
    assert bench.json("allowance", "readings", "--local") == []
    missing = bench("allowance", "reading", "--used", "12%", "--ledger", "ledgr.duckdb", code=2)
    assert "there is no ledger at" in missing.stderr


def test_a_table_for_a_program_has_every_digit_of_a_large_number(account: Account) -> None:
    bench = account.bench
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("m"))
    bench("run", "job.toml", "--no-report")
    bench("allowance", "reading", "--used", "1.2M", "--of", "12345678")
    assert bench("allowance", "readings").stdout.split()[-1] == "12345678"


@pytest.mark.slow
def test_readings_are_listed_and_taken_back(account: Account) -> None:
    bench = account.bench
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("m"))
    bench("run", "job.toml", "--no-report")
    said = bench("allowance", "reading", "--left", "31k", "--of", "40k").stdout
    assert "others: 8" in said
    (one,) = bench.json("allowance", "readings")
    assert (one["of_what"], one["said"], one["total_units"]) == ("left", "31k", 40_000)
    bench("allowance", "reading", "--withdraw", one["reading_id"])
    assert bench.json("allowance", "readings") == []
    other = bench("allowance", "reading", "--used", "5%", "--ledger", "ledger.duckdb").stderr
    back = shlex.split(other.split("`")[1])
    assert back[-2:] == ["--ledger", "ledger.duckdb"]
    bench(*back[1:])
    (bench.folder / "broken.duckdb").write_text("no ledger")
    bench("allowance", "reading", "--used", "5%", "--ledger", "broken.duckdb", code=2)
    assert not list(bench.folder.glob("broken.duckdb.journal/*")), "what cannot be opened takes no reading"
    assert "others: unknown" in bench("allowance").stdout
    assert bench.json("allowance").keys() == bench.json("allowance", "status").keys(), (
        "options follow the group's name too"
    )
    assert "readings" in bench("allowance", "--help").stdout


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--used", "abc"), "--used: 'abc' is neither a share such as 37% nor units"),
        (("--used", "120%"), "--used: '120%' is more than everything"),
        (("--used", "50k", "--of", "40000"), "--used: 50k is more than the total of 40000"),
        (("--used", "41k"), "--used: 41k is more than the total of 40000 (that of workbench.toml; --of names another)"),
        (("--left", "41k"), "--left: 41k is more than the total of 40000"),
        (("--used", "3%", "--at", "tomorrow"), "--at: 'tomorrow' is not a time such as"),
        (("--used", "3%", "--at", "2999-01-01"), "--at: 2998-12-31 23:00 UTC is in the future"),
        (("--used", "3%", "--left", "97%"), "give one of --used, --left, --from-platform and --withdraw"),
        (("--withdraw", "abc"), "there is no reading 'abc'"),
        (("--used", "3%", "--of", "nan"), "--of: nan is not a total of units"),
        (("--used", "3%", "--of", "1e200"), "--of: 1e+200 is not a total of units"),
        (("--used", "9" * 40), "is more than any allowance"),
        (("--used", "3%", "--at", "0001-01-01"), "is not a time that a calendar has"),
    ],
)
def test_what_is_no_reading_is_refused(account: Account, options: tuple[str, ...], problem: str) -> None:
    record(account.bench, "r1", {"m": [1.0]})
    assert problem in account.bench("allowance", "reading", *options, code=2).stderr


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('window = "fortnight"', "workbench.toml:2: allowance.window: 'fortnight' is not a window"),
        ('window = "0h"', "'0h' is not a window"),
        ("anchor_day = 32", "allowance.anchor_day"),
        ('anchor_weekday = "Mon"', "allowance.anchor_weekday"),
        ("total_units = 0", "allowance.total_units"),
        ("total_units = inf", "allowance.total_units"),
        ("warn_at = 80", "allowance.warn_at"),
        ("price_per_unit = 0.1", "a price needs its currency"),
        (
            "[[allowance.weights]]\nmodel = 'm'\nsince = 2026-01-01\nprompt = 1",
            "allowance.weights[0]: completion missing",
        ),
    ],
)
def test_settings_that_say_nothing_are_refused(account: Account, line: str, problem: str) -> None:
    record(account.bench, "r1", {"m": [1.0]})
    account.bench.write("workbench.toml", f"[allowance]\n{line}\n")
    assert problem in account.bench("allowance", code=2).stderr


@pytest.mark.slow
def test_scheduled_jobs_are_estimated_from_their_runs_and_paid_out_of_what_is_left(account: Account) -> None:
    bench = account.bench
    schedule = '[schedule]\non_calendar = "*-*-* 02:00"\n'
    for number in range(1, 5):
        record(bench, f"r{number}", {"m": [1.0] * 10}, job_toml=f"models = ['m']\n{schedule}")
    found = bench.json("allowance", "forecast")
    (need,) = found["scheduled"]
    assert (need["runs"], need["each"], need["affordable"]) == (4, 140.0, "?" if need["occasions"] else "✓")
    assert need["low"] == need["high"] == 140 * need["occasions"], "four runs that drew alike"
    bench.write("workbench.toml", "")
    (need,) = bench.json("allowance", "forecast")["scheduled"]
    assert (need["each"], need["occasions"], need["low"]) == (100.0, None, None)
    assert "unknown: no window that ends is set" in bench("allowance", "forecast").stdout
    parts: tuple[dict[str, Any], ...] = (
        {"narrowed": "1 sample"},
        {"occasion": "2026-11-20", "generation": "j@2026-11-20", "status": "incomplete"},
        {"occasion": "2026-11-20", "generation": "j@2026-11-20"},
    )
    for number, fields in enumerate(parts, 5):
        record(bench, f"r{number}", {"m": [1.0] * number}, job_toml=f"models = ['m']\n{schedule}", **fields)
    (need,) = bench.json("allowance", "forecast")["scheduled"]
    assert (need["runs"], need["each"]) == (5, (4 * 100 + 60 + 70) / 5), "an occasion is all its runs, a part is none"
    ingest.record(bench.ledger, [intent("r4", 99)])
    (need,) = bench.json("allowance", "forecast")["scheduled"]
    assert (need["each"], need["why"]) == (None, "calls of it reported no usage"), (
        "one was sent, and its end is not known"
    )
    assert found["says"].startswith("When it runs out is unknown")


@pytest.mark.slow
def test_frames_have_the_window_and_its_readings(account: Account) -> None:
    bench = account.bench
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("m"))
    bench("run", "job.toml", "--no-report")
    frames = Frames(folder=bench.folder)
    empty = frames.readings()
    assert empty.empty
    assert frames.allowance()["used_low_units"].isna().all()
    account.elsewhere(4_000)
    account.read()
    course = frames.allowance()
    newest = course.iloc[-1]
    assert newest["seen_units"] <= account.used()
    assert newest["used_low_units"] <= account.used() <= newest["used_high_units"]
    assert str(course["at"].dtype) == "datetime64[us, UTC]"
    assert frames.readings().dtypes.to_dict() == empty.dtypes.to_dict()
    assert list(frames.readings()["said"]) == [f"{100 * account.used() / TOTAL:.0f}%"]
    bench.write("workbench.toml", "")
    assert Frames(folder=bench.folder).allowance().empty


@pytest.mark.slow
def test_what_is_certain_warns_though_the_rest_is_unknown(account: Account) -> None:
    bench = account.bench
    bench.write("sums.jsonl", sums(6))
    bench.write("job.toml", job("m", "dear"))
    bench("run", "job.toml", "--no-report")
    own = account.used()
    bench.write("workbench.toml", SETTINGS.format(total=own * 1.1, warn_at=0.8))
    assert "warn=beyond" in bench("allowance", "status", "--line", code=100).stdout, "our own part alone is beyond it"
    bench.write("workbench.toml", '[allowance]\nwindow = "month"\nwarn_at = 0.8\n')
    assert bench.json("allowance", "status")["warn"] == "not known"
    bench("allowance", "reading", "--used", "95%")
    assert (
        "Used: at least 94 % of a total that is not known; how much more others used is unknown."
        in bench("allowance", code=100).stdout
    )


@pytest.mark.slow
@pytest.mark.parametrize("window", ["5h", "1400h"])
def test_rolling_hours_have_no_forecast_and_take_no_reading_for_later(account: Account, window: str) -> None:
    bench = account.bench
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("m"))
    bench("run", "job.toml", "--no-report")
    bench.write("workbench.toml", f'[allowance]\nwindow = "{window}"\ntotal_units = 1000\n')
    bench("allowance", "reading", "--used", "90%")
    found = bench.json("allowance", "status")
    assert (found["points"], found["unseen"], found["forecast"]) == ([], None, None)
    assert found["left"] == [0.0, 1000 - found["seen"]["units"]]
    assert "of rolling hours a reading says nothing later on" in bench("allowance", "forecast").stdout
    bench("report", "last")


@pytest.mark.slow
def test_a_refusal_says_that_all_is_used(account: Account) -> None:
    """Also to somebody who knows no total; where one is known, what others drew follows."""
    bench = account.bench
    bench.write("sums.jsonl", sums(4))
    bench.write("job.toml", job("m"))
    bench("run", "job.toml", "--no-report")
    account.elsewhere(TOTAL)
    assert bench.json("run", "job.toml", "--fresh", "--no-report", code=7)["outcomes"].keys() == {"allowance_suspected"}
    found = bench.json("allowance", "status", code=100)
    assert found["left"] == [0.0, 0.0]
    assert found["used"][0] >= TOTAL, "at least so much"
    newest = found["points"][-1]
    assert newest["low"] == TOTAL
    assert found["unseen"][0] >= TOTAL - (account.used() - TOTAL), "all but our own"
    assert "used up" in Path(bench.json("report", "last")["report"]).with_name("allowance.html").read_text("utf-8")
    assert bench.json("allowance", "readings") == [], "nobody read it"
    bench.write("workbench.toml", '[allowance]\nwindow = "month"\n')
    assert bench.json("allowance", "status", code=None)["share_read"] == 1.0


@pytest.mark.slow
def test_what_has_no_weight_is_not_shown_as_nothing_and_little_money_not_as_none(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("sim/instant", "Abacus Large [careful]"))
    bench("run", "job.toml", "--no-report")
    weight = '[[allowance.weights]]\nmodel = "sim/instant"\nsince = 2026-01-01\nprompt = 1.0\ncompletion = 1.0\n'
    bench.write("workbench.toml", f'[allowance]\nprice_per_unit = 0.00001\ncurrency = "EUR"\n{weight}')
    lines = {line.split("  ")[0]: line for line in bench("allowance").stdout.splitlines()}
    assert re.search(r"  no weight +3 ", lines["Abacus Large [careful]"])
    assert re.search(r" 0\.000\d+$", lines["sim/instant"].rstrip()), lines["sim/instant"]
    assert "at least" in lines["sums"], "of a job whose other model has none"
    bench.write("workbench.toml", f'[[caps]]\nper = "day"\nunits = 5\n{weight}')
    said = bench("run", "job.toml", "--no-report", "--fresh", code=2).stderr
    assert "'Abacus Large [careful]' has no weight" in said


@pytest.mark.parametrize("lacks", first_of("a weight", "usage"))
def test_an_amount_that_may_be_more_is_said_to_be_at_least_so_much(tmp_path: Path, lacks: str) -> None:
    """In the table of models and jobs, in their prices, and on the pages."""
    silent = {"id": "silent", "simulated": "answers"} | ({"reports_usage": False} if lacks == "usage" else {})
    with ThreadedServer(platform_of({"id": "m"}, silent)) as server:
        bench = Workbench(tmp_path, server)
        weight = '[[allowance.weights]]\nmodel = "{}"\nsince = 2026-01-01\nprompt = 1000\ncompletion = 1000\n'
        weights = "".join(map(weight.format, ["m", "silent"] if lacks == "usage" else ["m"]))
        limits = 'window = "month"\ntotal_units = 1000\nprice_per_unit = 2.0\ncurrency = "EUR"\n'
        bench.write("workbench.toml", f"[allowance]\n{limits}{weights}")
        bench.write("sums.jsonl", sums(4))
        bench.write("job.toml", job("m", "silent"))
        bench("run", "job.toml", "--no-report")
        bench("report")
        used = bench.json("allowance")["seen"]["units"]
        (of_job,) = [line for line in bench("allowance").stdout.splitlines() if line.startswith("sums ")]
        assert re.findall(r"at least (\d+)", of_job) == [f"{used:.0f}", f"{2 * used:.0f}"]
        pages = {
            page.stem: re.sub(r"<[^>]*>", "", page.read_text("utf-8")) for page in (tmp_path / "reports").glob("*.html")
        }
        assert f"at least {2 * used:.0f} EUR" in pages["allowance"]
        assert re.search(rf"at least {used:.0f} of 1.?000 \(.*?\) since the window began on", pages["index"])


@pytest.mark.slow
def test_the_last_reading_is_in_the_zone_of_the_account(account: Account) -> None:
    bench = account.bench
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job("m"))
    bench("run", "job.toml", "--no-report")
    read_at = datetime.now(ZoneInfo("Europe/Berlin")).replace(second=0, microsecond=0) - timedelta(minutes=1)
    shown = bench("allowance", "reading", "--used", "5%", "--at", f"{read_at:%Y-%m-%dT%H:%M}").stdout
    page = Path(bench.json("report", "last")["report"]).with_name("allowance.html").read_text("utf-8")
    says = f"(last reading {read_at.day} {read_at:%b %H:%M})"
    assert says in shown
    assert says in re.sub(r"<[^>]*>", "", page)
    assert not re.search(r"\bdr(?:ew|awn) (?:by|a|how)\b", page), "the glossary says used"
