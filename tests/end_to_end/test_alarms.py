"""What is open of a job's models, in every place that says it, until it is over or somebody accepts it."""

import html
import json
import random
import re
import shlex
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from tests.compared_runs import one_journal, record
from tests.conftest import Workbench, job, sums
from tests.end_to_end.conftest import MadeOnce
from tests.unit.ledger.ledger_rows import STARTED_AT, started
from workbench.api.pipeline import evaluate_gates
from workbench.evaluation.alarms import Alarm, alarms, watches
from workbench.job.file import MIN_ANSWERED, GatesTable
from workbench.job.job import parse_job
from workbench.ledger.entries import ChangeAccepted, GateDecided
from workbench.ledger.ingest import record as record_entries
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.records.outcomes import Outcome
from workbench.wording.changes import alarm_text

DROP, OUTAGE, ACCEPTED, NIGHTS, SAMPLES = 25, 31, 35, 40, 120
TOML = '[gates]\nsteady = ["exact"]\n'
JOB = f"""name = "j"
models = ["quill", "other"]
[run]
reuse = "occasion"
[dataset]
path = "d.jsonl"
[[scorers]]
name = "exact"
{TOML}"""


def occasion(night: int) -> str:
    month, day = (10, night) if night <= 31 else (11, night - 31)
    return f"2026-{month}-{day:02}T02:00Z"


def put(
    bench: Workbench,
    night: int,
    *,
    lower: range = range(DROP, 1000),
    run: int | None = None,
    toml: str = TOML,
    **more: Any,
) -> None:
    """Record the run of a night: both models are right in 85 of a hundred, and `quill` in 60 from some night on."""
    chance = random.Random(night)
    right = {"quill": 0.6 if night in lower else 0.85, "other": 0.85}
    values: dict[str, list[float | None]] = {
        model: [float(chance.random() < share) for _ in range(SAMPLES)] for model, share in right.items()
    }
    if night == OUTAGE:
        values["quill"] = [None] * SAMPLES
        lost = {("quill", sample): Outcome.ROUTE_DOWN for sample in range(SAMPLES)}
        more |= {"outcomes": lost, "status": "incomplete"}
    record(
        bench,
        f"r{night if run is None else run}",
        values,
        occasion=occasion(night),
        generation=f"j@{night}",
        scorers=["exact"],
        job_toml=toml,
        **more,
    )


def decided(bench: Workbench, night: int) -> list[str]:
    """What the gate says of a night's run, of which model."""
    job = parse_job(JOB, Path("j.toml"))
    return [f"{one.model or 'all'} {one.result}" for one in evaluate_gates(bench.ledger, f"r{night}", job)[0]]


def pages(bench: Workbench, night: int) -> dict[str, str]:
    """The texts of the pages, as a reader sees them."""
    report = Path(bench.json("report", f"r{night}")["report"])
    found = {"run": report, "index": report.with_name("index.html"), "job": next(report.parent.glob("job-*.html"))}
    texts = {name: re.sub(r"<[^>]+>", "", path.read_text("utf-8").split("<main", 1)[1]) for name, path in found.items()}
    return {name: " ".join(html.unescape(text).split()) for name, text in texts.items()}


SAYS = re.compile(
    r"quill is (\d+\.\d) points below its level before 25 Oct by “exact”(?: \(\d+ samples\))?; (\d+) nights; open"
)


def said(texts: Iterable[str]) -> set[tuple[float, int]]:
    """What is said to be open: by how much, for how many nights."""
    return {(float(points), int(nights)) for text in texts for points, nights in SAYS.findall(text)}


def looked(bench: Workbench, night: int, *, everywhere: bool) -> tuple[str, int | None, str]:
    """What a night's gate says, for how many nights something is open by every place that says it, and how the index counts."""
    gates = [] if night == OUTAGE else decided(bench, night)
    shown = pages(bench, night)
    (row,) = [run for run in bench.json("runs") if run["run_id"] == f"r{night}"]
    places = {
        **shown,
        "runs": bench("runs").stderr,
        "runs --json": " ".join(one["says"] for one in row["open_alarms"]),
    }
    if everywhere:
        compared = bench.json("compare", f"r{night}", "--no-report")
        scheduled = bench.json("schedule", "j.toml")["open_alarms"]
        places |= {
            "show": bench("show", f"r{night}").stderr, "compare": " ".join(compared["notes"]),
            "schedule": bench("schedule", "j.toml").stderr, "schedule --json": " ".join(one["says"] for one in scheduled),
        }  # fmt: skip
    each = {name: said([text]) for name, text in places.items()}
    assert shown["run"].count("; open") == len(each["run"]), "said once"
    assert len({frozenset(found) for found in each.values()}) == 1, each
    nights = {count for found in each.values() for _, count in found}
    index = re.search(r"1 job: 1 [a-z ]+", shown["index"])
    assert index is not None, shown["index"][:300]
    return ", ".join(gates), nights.pop() if nights else None, index[0]


FINE, OPEN, ACTION = "1 job: 1 fine", "1 job: 1 with an open alarm", "1 job: 1 needs action"
TABLE = {
    1: ("other cannot tell, quill cannot tell", None, FINE),  # there is nothing to compare it with
    **{night: ("all met", None, FINE) for night in range(2, 25)},
    25: ("all met", None, "1 job: 1 regressed"),  # beside the night before; one night alone is no lasting change
    26: ("quill not met", 2, ACTION),  # the night that opens it ends with 100
    **{night: ("quill open", night - 24, OPEN) for night in range(27, 31)},
    31: ("", 6, ACTION),  # the outage neither closes it nor counts
    **{night: ("quill open", night - 25, OPEN) for night in range(32, 35)},
    35: ("quill open", None, FINE),  # accepted after the run
    **{night: ("all met", None, FINE) for night in range(36, 41)},
}
LOOKED = (26, 31, 35)


def nights(bench: Workbench, look: Iterable[int], *, everywhere: bool) -> dict[int, tuple[str, int | None, str]]:
    """Forty nights, and what each of these says."""
    bench.write("d.jsonl", "\n".join(json.dumps({"input": f"q{n}", "target": "t"}) for n in range(SAMPLES)))
    bench.write("j.toml", JOB + '[schedule]\ncron = "0 2 * * *"\n')
    found, last = {}, 0
    for night in sorted({*look, ACCEPTED, NIGHTS}):
        with one_journal(bench) as journal:
            for one in range(last + 1, night + 1):
                put(bench, one, journal=journal)
        last = night
        if night == ACCEPTED:
            gates = ", ".join(decided(bench, night))
            then = STARTED_AT + timedelta(hours=night, minutes=30)
            bench.environment["WORKBENCH_NOW"] = then.isoformat()
            bench("accept", "j", "--model", "quill", "--reason", "the new version is cheaper")
            del bench.environment["WORKBENCH_NOW"]
            found[night] = (gates, *looked(bench, night, everywhere=everywhere)[1:])
        elif night in look:
            found[night] = looked(bench, night, everywhere=everywhere)
    return found


def test_a_night_counts_by_the_samples_that_it_sent(bench: Workbench) -> None:
    """Of ten requests two were never sent, the second ones to samples that have an answer: all five samples are known."""
    bench.write("sums.jsonl", sums(5))
    several = job().replace("passes = 1", 'passes = 1\nepochs = 2\nreuse = "occasion"')
    bench.write("job.toml", several + "[budget]\nrequests = 8\n")
    night = bench.json("run", "job.toml", "--occasion", occasion(1), "--no-report", code=7)["run_id"]
    with reading(bench.ledger) as reader:
        found = watches(reader, "sums", GatesTable(steady=["numeric"]), MIN_ANSWERED)
    (by_scorer,) = (one for one in found if one.scorer == "numeric")
    assert (by_scorer.coverage.known, by_scorer.coverage.wanted, by_scorer.counting) == (5, 5, frozenset([night]))


@pytest.mark.slow
@pytest.mark.file_ledger
def test_forty_nights_with_a_drop_an_outage_and_an_acceptance(bench: Workbench) -> None:
    found = nights(bench, LOOKED, everywhere=True)
    assert found == {night: TABLE[night] for night in LOOKED}
    job = pages(bench, NIGHTS)["job"]
    assert "10 nights; accepted: the new version is cheaper" in job, job
    assert re.search(r"quill, “exact”: a drop of \d+\.\d points is found within three runs, nine times in ten", job)


@pytest.mark.long
@pytest.mark.file_ledger
def test_each_of_the_forty_nights(bench: Workbench) -> None:
    assert nights(bench, range(1, NIGHTS + 1), everywhere=False) == TABLE


def dropped(bench: Workbench, count: int = 28, **more: Any) -> None:
    with one_journal(bench) as journal:
        for night in range(1, count + 1):
            put(bench, night, journal=journal, **more)


@pytest.mark.slow
def test_a_change_is_accepted_and_opened_again(bench: Workbench, made_once: MadeOnce) -> None:
    made_once(bench, dropped)
    opened = bench.json("runs")[0]["open_alarms"]
    assert [(one["model"], one["state"], one["kind"]) for one in opened] == [("quill", "open", "worse")]
    done = bench("accept", "j", "--reason", "known: Q3 moved")
    assert done.stdout.startswith("accepted: quill is ")
    assert "`workbench accept --reopen j` takes that back" in done.stderr
    assert bench.json("runs")[0]["open_alarms"] == []
    with reading(bench.ledger) as reader:
        (alarm,) = alarms(reader)
    assert (alarm.state, alarm.reason) == ("accepted", "known: Q3 moved")
    gate = GateDecided("r28", datetime(2020, 1, 1, tzinfo=UTC), "steady", "open", "quill is below", "exact", "quill")
    record_entries(bench.ledger, [gate])
    since = "he gates stand as they were decided; since then: accepted: known: Q3 moved"
    assert f"t{since}" in bench("show").stdout
    assert f"T{since}." in pages(bench, 28)["run"]
    assert bench("accept", "j", "--reopen").stdout.startswith("open again: quill is ")
    assert bench.json("runs")[0]["open_alarms"] == opened, "as if it had never been accepted"


@pytest.mark.slow
@pytest.mark.file_ledger
def test_the_pages_begin_with_what_changed_since_yesterday(bench: Workbench, made_once: MadeOnce) -> None:
    made_once(bench, dropped)
    bench.environment["WORKBENCH_NOW"] = "2026-10-26T08:30Z"  # of the night that opened it
    shown = pages(bench, 28)
    since = shown["index"].split("Since yesterday")[1].split("Needs attention")[0]
    assert since.strip().startswith("Alarm opened: j: quill is ")
    assert "workbench accept --reason TEXT" in since
    assert re.search(r"\d+ scheduled runs of j: \d+ complete|\d+ scheduled runs of j: complete", since), since
    assert re.search(r"quill scores 0\.\d\d since 25 Oct, 0\.\d\d before", shown["job"]), "the chart says what it shows"
    assert "Dashed lines: the level before, and when it was left." in shown["job"]
    bench("accept", "j", "--reason", "known")
    bench.environment["WORKBENCH_NOW"] = "2026-10-27T09:30Z"
    later = pages(bench, 28)["index"].split("Since yesterday")[1].split("Jobs")[0]
    assert "Alarm opened" not in later


@pytest.mark.slow
@pytest.mark.file_ledger
def test_pages_say_what_a_job_shows_that_watches_for_nothing(bench: Workbench) -> None:
    """Its chart shows the drop; that it is no alarm is said with how to have one."""
    dropped(bench, toml='[[scorers]]\nname = "exact"\n')
    shown = pages(bench, 28)
    said = r"quill is \d+\.\d points below its level before 25 Oct by “exact”; 4 nights\."
    hint = 'No alarm is set for it: steady = ["exact"] under [gates] sets one.'
    for name in ("index", "job"):
        assert re.search(said, shown[name]), shown[name][:600]
        assert hint in shown[name]
    assert "1 job: 1 regressed" in shown["index"]
    assert re.search(r"quill scores 0\.\d\d since 25 Oct, 0\.\d\d before", shown["job"]), "the chart says what it shows"
    assert "below its level" not in shown["run"] + bench("runs").stderr
    assert bench.json("runs")[0]["open_alarms"] == []
    assert "workbench accept --reason TEXT" in shown["index"]
    bench("accept", "j", "--reason", "the new version is cheaper")
    shown = pages(bench, 28)
    assert "1 job: 1 fine" in shown["index"]
    assert "accepted: the new version is cheaper" in shown["job"]
    assert "since then" not in shown["run"] + bench("show").stdout, "no gate is open"


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_drop_that_is_over_closes_by_itself(bench: Workbench) -> None:
    dropped(bench, 34, lower=range(DROP, 29))
    with reading(bench.ledger) as reader:
        (alarm,) = alarms(reader)
    assert alarm.state == "recovered"
    assert alarm.ended in (occasion(29), occasion(30))
    assert "4 nights; recovered on" in pages(bench, 34)["job"]


@pytest.mark.slow
@pytest.mark.file_ledger
def test_unusable_answers_that_rise_are_not_told_as_worse_answers(bench: Workbench) -> None:
    with one_journal(bench) as journal:
        for night in range(1, 14):
            cut = {("m", sample): Outcome.TRUNCATED for sample in range(0, SAMPLES, 3) if night >= 10}
            chance = random.Random(night)
            values = [None if ("m", n) in cut else float(chance.random() < 0.8) for n in range(SAMPLES)]
            record(
                bench, f"r{night}", {"m": values}, journal=journal, outcomes=cut, occasion=occasion(night),
                generation=f"j@{night}", scorers=["exact"], job_toml=TOML,
            )  # fmt: skip
    (alarm,) = bench.json("runs")[0]["open_alarms"]
    assert alarm["kind"] == "unusable"
    assert alarm["says"].startswith("unusable answers of m rose: it is ")


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_route_that_takes_longer_is_an_alarm_like_any_other(bench: Workbench) -> None:
    with one_journal(bench) as journal:
        for night in range(1, 16):
            chance = random.Random(night)
            slow = 1.8 if night >= 12 else 1.0
            taken = [slow * chance.lognormvariate(8, 0.4) for _ in range(SAMPLES)]
            record(
                bench, f"r{night}", {"m": [1.0] * SAMPLES}, latency_ms=lambda _place, sample, taken=taken: taken[sample],
                journal=journal, occasion=occasion(night), generation=f"j@{night}", scorers=["exact"], job_toml=TOML,
            )  # fmt: skip
    (alarm,) = bench.json("runs")[0]["open_alarms"]
    assert (alarm["kind"], alarm["began"]) == ("slower", occasion(12))
    assert re.fullmatch(r"m takes 1\.[78] times as long as before 12 Oct; 4 nights; open", alarm["says"])
    bench("accept", "j", "--model", "m", "--reason", "a larger model server")
    assert bench.json("runs")[0]["open_alarms"] == []


@pytest.mark.slow
@pytest.mark.file_ledger
def test_before_eight_nights_it_says_what_it_assumes(bench: Workbench) -> None:
    with one_journal(bench) as journal:
        for night in range(1, 7):
            values = [float(n % 10 < (9 if night < 5 else 4)) for n in range(SAMPLES)]
            record(
                bench, f"r{night}", {"m": values}, journal=journal, occasion=occasion(night), generation=f"j@{night}",
                scorers=["exact"], job_toml=TOML,
            )  # fmt: skip
    job = parse_job(JOB, Path("j.toml"))
    told = [
        one.says
        for night in (5, 6)
        for one in evaluate_gates(bench.ledger, f"r{night}", job)[0]
        if one.result == "not met"
    ]
    assert len(told) == 1
    assert "assuming that nights differ by 3.0 points for reasons of their own: 4 nights before it" in told[0]


@pytest.mark.slow
@pytest.mark.file_ledger
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("j",), "say why with --reason TEXT"),
        (("k", "--reason", "x"), "JOB: the ledger has no run of 'k' (it has: j)"),
        (("j", "--reason", "x", "--model", "quil"), "--model: nothing of 'quil' is open (did you mean 'quill'?)"),
        (("j", "--reopen"), "JOB: nothing of 'j' is accepted"),
        (("no.toml", "--reason", "x"), "no.toml: the job cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_accepted_is_refused(
    bench: Workbench, made_once: MadeOnce, arguments: tuple[str, ...], said: str
) -> None:
    made_once(bench, dropped, 27)
    assert said in bench("accept", *arguments, code=2).stderr


@pytest.mark.slow
@pytest.mark.file_ledger
def test_there_is_nothing_to_accept_of_a_quiet_job(bench: Workbench) -> None:
    dropped(bench, 10)
    assert "JOB: nothing of 'j' is open" in bench("accept", "j", "--reason", "x", code=2).stderr


PLATFORM = """[[routes]]
id = "quill"
upstream = "q"
simulated = "answers"
[[routes.answers]]
right = 0.9
[[routes.answers]]
right = 0.4
from_date = 2026-10-09
"""


@pytest.mark.slow
def test_scheduled_runs_open_an_alarm_once_and_keep_it(bench: Workbench) -> None:
    """The same with the command line, the platform and its answer key: the clock says which night it is."""
    bench.environment = {name: value for name, value in bench.environment.items() if not name.startswith("WORKBENCH")}
    bench.write("platform.toml", PLATFORM)
    bench.write(
        "d.jsonl", "".join(json.dumps({"input": f"Who is number {n}?", "target": f"a{n}"}) + "\n" for n in range(40))
    )
    bench.write("j.toml", JOB.replace(', "other"', "").replace("exact", "includes"))
    ended = []
    for night in range(1, 13):
        bench.environment["WORKBENCH_NOW"] = occasion(night)
        end = json.loads(
            bench("run", "j.toml", "--local", "--occasion", occasion(night), "--no-report", "--json", code=None).stdout
        )
        ended.append((end["status"], [gate["result"] for gate in end["gates"]]))
    failed = [night for night, (status, _) in enumerate(ended, 1) if status == "gate_failed"]
    assert failed in ([9], [10])
    assert ended[failed[0] :] == [("complete", ["open"])] * (12 - failed[0])
    assert "is found within three runs" not in bench("plan", "j.toml", "--local").stdout, "one is open"
    assert "level before 9 Oct" in bench("runs", "--local").stderr
    page = Path(bench.json("report", "last", "--local")["report"]).read_text("utf-8")
    assert re.sub(r"<[^>]+>", "", page).count("; open") == 1, "its gate says it"
    assert "accept what is open" in page
    bench("accept", "j.toml", "--reason", "known", "--local")
    plan = bench("plan", "j.toml", "--local").stdout
    assert re.search(r"alarm: quill, “includes”: (no drop|a drop of \d+\.\d points) is found within three runs", plan)
    bench("ledger", "check", "--local")


def only(bench: Workbench) -> Alarm:
    with reading(bench.ledger) as reader:
        (alarm,) = alarms(reader)
    return alarm


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_night_that_is_run_again_moves_and_closes_nothing(bench: Workbench, made_once: MadeOnce) -> None:
    made_once(bench, dropped, 27)
    before = only(bench)
    put(bench, 1, run=28)
    put(bench, 26, run=29)
    assert msgspec.structs.replace(only(bench), fails_run_id=before.fails_run_id) == before
    assert decided(bench, 28) == ["all cannot tell"], "it is not the newest occasion"
    short: dict[str, Any] = {"quill": [1.0] * 10, "other": [1.0] * 10}
    record(
        bench,
        "r30",
        short,
        occasion=occasion(26),
        generation="j@26",
        scorers=["exact"],
        job_toml=TOML,
        status="interrupted",
    )
    assert msgspec.structs.replace(only(bench), fails_run_id=before.fails_run_id) == before


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_drop_that_an_incomplete_night_shows_fails_the_next_complete_one(bench: Workbench) -> None:
    with one_journal(bench) as journal:
        for night in range(1, 29):
            put(bench, night, journal=journal, status="incomplete" if night == 26 else "complete")
    assert only(bench).seen == occasion(26)
    assert [decided(bench, night) for night in (27, 28)] == [["quill not met"], ["quill open"]]


@pytest.mark.file_ledger
def test_nights_without_any_answer_are_of_no_level_whatever_share_is_enough(bench: Workbench) -> None:
    toml = TOML + "[compare]\nmin_answered = 0\n"
    with one_journal(bench) as journal:
        for night in range(1, 13):
            lost = {("m", sample): Outcome.ROUTE_DOWN for sample in range(8)} if night > 3 else {}
            values: dict[str, Any] = {"m": [None if lost else 1.0] * 8}
            record(
                bench, f"r{night}", values, journal=journal, outcomes=lost, occasion=occasion(night), generation=f"j@{night}",
                scorers=["exact"], job_toml=toml, min_answered=0.0,
            )  # fmt: skip
    assert bench.json("runs")[0]["open_alarms"] == []


@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_model_that_is_asked_no_more_stays_open(bench: Workbench, made_once: MadeOnce) -> None:
    made_once(bench, dropped)
    values: dict[str, Any] = {"other": [1.0] * SAMPLES}
    record(bench, "r29", values, occasion=occasion(29), generation="j@29", scorers=["exact"], job_toml=TOML)
    assert only(bench).state == "open"
    assert decided(bench, 29) == ["quill open"]
    writer = JournalWriter(bench.ledger.journal_folder)  # another run begins, by a job file that watches nothing
    writer.append(started("r30", 1, occasion=occasion(30), job_toml="", recorded_at=STARTED_AT + timedelta(hours=30)))
    writer.close()
    assert only(bench).state == "open"


@pytest.mark.slow
@pytest.mark.file_ledger
def test_of_two_acceptances_either_is_taken_back(bench: Workbench) -> None:
    with one_journal(bench) as journal:
        for night in range(1, 29):
            chance = random.Random(night)
            share = 0.85 if night < DROP else 0.5
            values = {model: [float(chance.random() < share) for _ in range(SAMPLES)] for model in ("a", "b")}
            record(
                bench, f"r{night}", values, journal=journal, occasion=occasion(night), generation=f"j@{night}",
                scorers=["exact"], job_toml=TOML,
            )  # fmt: skip
    for model in "ab":
        bench("accept", "j", "--model", model, "--reason", f"{model} is cheaper")
    assert bench("accept", "j", "--model", "a", "--reopen").stdout.startswith("open again: a is ")
    (alarm,) = bench.json("accept", "j", "--reopen")
    assert (alarm["model"], alarm["state"]) == ("b", "open")
    assert "says" in alarm
    now = STARTED_AT + timedelta(days=400)
    for reason in ("one", "another"):  # two accept it at once
        writer = JournalWriter(bench.ledger.journal_folder)
        writer.append(ChangeAccepted("j", now, True, reason, "a"))
        writer.close()
    assert bench("accept", "j", "--reopen").stdout.startswith("still accepted: a is ")
    assert bench("accept", "j", "--reopen").stdout.startswith("open again: a is ")
    writer = JournalWriter(bench.ledger.journal_folder)  # two took it back at once
    writer.append(ChangeAccepted("j", now, False, "reopened", "a"))
    writer.close()
    assert len(bench.json("runs")[0]["open_alarms"]) == 2


@pytest.mark.slow
@pytest.mark.file_ledger
@pytest.mark.parametrize("name", ["x.toml", "-j"])
def test_the_command_that_is_printed_accepts_whatever_the_job_is_called(bench: Workbench, name: str) -> None:
    dropped(bench, 27, job=name)
    (line,) = [line for line in bench("runs").stderr.splitlines() if line.startswith("accept it with: ")]
    words = shlex.split(line.removeprefix("accept it with: workbench "))
    assert bench(*words).stdout.startswith("accepted: ")
    assert bench.json("runs")[0]["open_alarms"] == []


@pytest.mark.slow
@pytest.mark.file_ledger
def test_what_cannot_be_compared_is_not_met(bench: Workbench) -> None:
    for night in range(1, 4):
        record(
            bench,
            f"r{night}",
            {"m": [1.0] * 4},
            occasion=occasion(night),
            generation=f"j@{night}",
            scorers=["exact"],
            job_toml=TOML,
        )
    assert decided(bench, 3) == ["m cannot tell"], "four samples are never compared"
    job = parse_job(
        JOB.replace('"exact"]', '"never"]').replace('name = "exact"', 'name = "exact"\nlabel = "never"'), Path("j.toml")
    )
    (result,) = evaluate_gates(bench.ledger, "r3", job)[0]
    assert result.says == "nothing is scored by “never”"


def test_an_alarm_names_the_night_by_the_account_s_clock(bench: Workbench) -> None:
    """At two in the morning of Tokyo it is the day before in UTC."""
    bench.write("workbench.toml", '[account]\ntime_zone = "Asia/Tokyo"\n')
    with one_journal(bench) as journal:
        for night in range(1, 31):
            chance = random.Random(night)
            values = {"quill": [float(chance.random() < (0.5 if night >= 20 else 0.9)) for _ in range(60)]}
            record(
                bench, f"r{night}", values, journal=journal, occasion=f"2026-10-{night:02}T17:00Z", generation=f"j@{night}",
                scorers=["exact"], job_toml=TOML,
            )  # fmt: skip
    with reading(bench.ledger) as reader:
        (alarm,) = alarms(reader)
    assert (alarm.found.began, alarm.found.began_here) == ("2026-10-20T17:00Z", "2026-10-21T02:00")
    assert "below its level before 21 Oct by" in alarm_text(alarm)


@pytest.mark.slow
def test_nights_are_nights_where_the_clocks_change(bench: Workbench) -> None:
    """At one in the morning two nights have one date in UTC where the clocks are put forward between them."""
    bench.write("workbench.toml", '[account]\ntime_zone = "Europe/Berlin"\n')
    with one_journal(bench) as journal:
        for number in range(1, 31):
            chance, day = random.Random(number), datetime(2026, 3, 9, 1, tzinfo=ZoneInfo("Europe/Berlin"))
            night = (day + timedelta(days=number)).astimezone(UTC)
            values = {"quill": [float(chance.random() < (0.5 if number >= 20 else 0.9)) for _ in range(60)]}
            record(
                bench, f"r{number}", values, journal=journal, occasion=f"{night:%Y-%m-%dT%H:%MZ}", generation=f"j@{number}",
                scorers=["exact"], job_toml=TOML,
            )  # fmt: skip
    with reading(bench.ledger) as reader:
        (alarm,) = alarms(reader)
    assert alarm.found.are_nights
    assert "below its level before 29 Mar by" in alarm_text(alarm)
