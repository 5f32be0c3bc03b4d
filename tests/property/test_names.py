"""A folder, a ledger or a job may be called anything: its records are those of a plain one."""

import functools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.asked_rows import rows_of
from tests.conftest import Workbench, job, sums
from tests.unit.ledger.ledger_rows import answer, intent, started
from workbench.errors import InputError
from workbench.ledger.check import check_ledger
from workbench.ledger.entries import SampleSeen
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger

HIVE = ("accepted=false", "model=llama", "epoch=7", "total_tokens=1", "outcome=empty", "generation=x", "answer=42",
        "run_id=r9", "kind=score", "accepted=false/model=q", "sent_at=2020-01-01", "worth=%20")  # fmt: skip
ODD = ("**", "a*b", "[ab]", "[", "{a,b}", "it's", 'say "so"', " blank ", "ünïcode-名前", "~", "$HOME", "a#b", "a;b", "-- x",
       "s3:", "new\nline", "back\\slash", "%41", "a.jsonl.zst", "x.parquet")  # fmt: skip
letters = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/?"), min_size=1, max_size=20)
names = st.sampled_from(HIVE + ODD) | letters.filter(lambda name: name not in (".", "..") and len(name.encode()) < 60)
QUERIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("run_summary", {"run_id": "r1"}),
    ("calls", {"run_id": None}),
    ("answers", {"run_id": None}),
    ("usage_by", {"by": "model", "since": None, "until": None}),
    ("accepted_per_request", {}),
)


def recorded(ledger: Ledger, job: str) -> dict[str, Any]:
    """What is read of a run, before and after its ingest; neither may differ."""
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 3, job=job))
    for number in (1, 2, 3):
        writer.append(SampleSeen(f"sample{number}", '{"input": "q"}'))
        writer.append(intent("r1", number))
        writer.append(answer("r1", number, answer="2024-01-01"))
    writer.close()
    before = read(ledger)
    done = ingest(ledger, whole=writer.whole)
    assert (done.journals, done.deferred) == (1, "")
    assert read(ledger) == before
    assert check_ledger(ledger)["problems"] == []
    return before


def read(ledger: Ledger) -> dict[str, Any]:
    with reading(ledger) as reader:
        found = {query: rows_of(reader, query, **given) for query, given in QUERIES}
    return {query: sorted(repr(row | {"job": "j"}) for row in rows) for query, rows in found.items()} | {
        "jobs": {row["job"] for row in found["calls"]}
    }


@pytest.mark.slow
@given(names, names, names, names)
@example("accepted=false", "model=q.duckdb", "kind=intent", "accepted=false")
@example("**", "*", "[x]", "**")
@example("plain", "what?.duckdb", "why?", "who?")
@settings(max_examples=15)
def test_no_name_changes_a_record(folder: str, name: str, job: str, temporary: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        place, scratch = Path(root, "a", folder), Path(root, "b", temporary)
        for made in (place, scratch):
            made.mkdir(parents=True)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(tempfile, "tempdir", str(scratch))
            found = recorded(Ledger(place / name.replace("/", "-")), job)
            assert list(scratch.iterdir()) == []
        assert found.pop("jobs") == {job}
    assert found.items() <= plain().items()


@functools.cache
def plain() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return recorded(Ledger(Path(folder) / "l.duckdb"), "j")


@pytest.mark.parametrize(
    "folder",
    [
        "model=llama/epoch=3",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("**/[a]", 'it\'s a "folder" ü')),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("accepted=false", "kind=x")),
    ],
)
def test_a_rerun_pays_for_nothing_whatever_the_folder_is_called(bench: Workbench, folder: str) -> None:
    bench.folder = bench.folder / folder
    bench.write("sums.jsonl", sums(4))
    bench.write("job.toml", job(name=folder.replace('"', "'")))
    first = bench.json("run", "job.toml")
    assert (first["completed"], first["usage"]["total_tokens"] > 0) == (4, True)
    assert Path(first["report"]).exists()
    again = bench.json("run", "job.toml", "--no-report")
    assert (again["reused"], again["completed"]) == (4, 0)
    calls = bench.lines("show", first["run_id"], "--calls")
    assert {(call["requested_model"], call["epoch"], call["outcome"]) for call in calls} == {("sim/instant", 1, "ok")}
    assert bench.json("ledger", "check")["sound"]


def test_a_folder_in_which_duckdb_cannot_write_is_refused_before_anything_is_sent(bench: Workbench) -> None:
    bench.folder = bench.folder / "what?"
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job())
    done = bench("run", "job.toml", code=2)
    assert "question mark" in done.stderr
    assert "--ledger PATH" in done.stderr
    with pytest.raises(InputError):
        Ledger(bench.folder / "l.duckdb")
    elsewhere = bench.folder.parent / "l.duckdb"
    assert bench.json("run", "job.toml", "--no-report", "--ledger", str(elsewhere))["completed"] == 2
