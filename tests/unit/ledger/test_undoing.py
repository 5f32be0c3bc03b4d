"""A write of the ledger's file that stops in its middle, at every place, takes nothing that was acknowledged."""

import itertools
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.conftest import Workbench, job, sums
from tests.unit.ledger.ledger_rows import write_run
from workbench.errors import InputError
from workbench.ledger.database import opened_for_writing
from workbench.ledger.engine import Engine
from workbench.ledger.ingest import ingest
from workbench.ledger.kinds import store_of
from workbench.ledger.queries import reading
from workbench.ledger.rows import LedgerState
from workbench.ledger.store import Ledger, LedgerBusyError
from workbench.ledger.undoing import Undoing, undo_of, undo_torn_write
from workbench.zstd import ZstdDecompressor

HEADER_BYTES, BLOCK_BYTES, PAGE_BYTES = 3 * 4096, 2**16, 4096
CUTS = [PAGE_BYTES, 2 * PAGE_BYTES, 4 * PAGE_BYTES, BLOCK_BYTES // 2]
EVERY_CUT = list(range(PAGE_BYTES, BLOCK_BYTES, PAGE_BYTES))

pytestmark = pytest.mark.file_ledger


def torn(before: bytes, after: bytes, cuts: list[int]) -> Iterator[bytes]:
    """What the disk may hold where a checkpoint stopped within one of its writes: of a block, before or after the others, or of
    the header that ends it.
    """
    size = max(len(before), len(after))
    old, new = before.ljust(size, b"\0"), after + before[len(after) :]  # it is cut at the very end, after its header
    places = range(HEADER_BYTES, size, BLOCK_BYTES)
    changed = [place for place in places if old[place : place + BLOCK_BYTES] != new[place : place + BLOCK_BYTES]]
    whole = bytearray(old)
    for place in changed:
        whole[place : place + BLOCK_BYTES] = new[place : place + BLOCK_BYTES]
    for place, cut, others in itertools.product(changed, cuts, (old, bytes(whole))):
        state = bytearray(others)
        state[place : place + BLOCK_BYTES] = old[place : place + BLOCK_BYTES]
        state[place : place + cut] = new[place : place + cut]
        yield bytes(state)
    for page in range(0, HEADER_BYTES, PAGE_BYTES):
        if old[page : page + PAGE_BYTES] != new[page : page + PAGE_BYTES]:
            half = page + PAGE_BYTES // 2
            yield bytes(old[:page] + new[page:half] + bytes(whole)[half:])
            yield bytes(old[:page] + new[page : page + PAGE_BYTES] + bytes(whole)[page + PAGE_BYTES :])


def kept_before(path: Path, before: bytes) -> bytes:
    """What lies beside a file while it is written, from before its first write."""
    copy = path.with_name("copy.duckdb")
    copy.write_bytes(before)
    with Undoing(copy) as undoing:
        engine = Engine()
        engine.attach(copy, "ledger")
        undoing.keep(engine.started())
        content = undo_of(copy).read_bytes()
        engine.stop()
    copy.unlink()
    return content


def rows(ledger: Ledger) -> list[int]:
    """How many calls of each run are read, in one query: it is asked of every torn state."""
    with reading(ledger) as reader:
        found = Counter(reader.arrow("calls", run_id=None)["run_id"].to_pylist())
    assert set(found) <= {"r1", "r2", "r3"}
    return [found[run] for run in ("r1", "r2", "r3")]


FEW_CALLS = {"r1": 5, "r2": 5}
MANY_CALLS = {"r1": 40, "r2": 400, "r3": 40}


@pytest.mark.parametrize(
    ("cuts", "runs"),
    [
        pytest.param(CUTS[:2], FEW_CALLS, marks=pytest.mark.slow, id="halves of pages"),
        pytest.param(CUTS, MANY_CALLS, marks=pytest.mark.long, id="halves"),
        pytest.param(EVERY_CUT, MANY_CALLS, marks=pytest.mark.long, id="every page"),
    ],
)
def test_no_torn_write_of_an_ingest_loses_a_row(tmp_path: Path, cuts: list[int], runs: dict[str, int]) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    for run, calls in runs.items():
        write_run(ledger.journal_folder, run, calls)
        if run == "r1":
            ingest(ledger)
            continue
        before = ledger.file.read_bytes()
        undo = kept_before(ledger.file, before)
        pending = {journal: journal.read_bytes() for journal in ledger.journals()}
        ingest(ledger)
        assert not undo_of(ledger.file).exists()
        whole, after, broken, states = rows(ledger), ledger.file.read_bytes(), 0, 0
        for state in torn(before, after, cuts):
            ledger.file.write_bytes(state)
            broken += not opens(ledger.file)
            undo_of(ledger.file).write_bytes(undo)
            for journal, content in pending.items():
                journal.write_bytes(content)
            assert rows(ledger) == whole, "with what the journals hold"
            assert not undo_of(ledger.file).exists()
            ingest(ledger)
            assert rows(ledger) == whole
            states += 1
        assert 0 < broken < states, "without what was kept, some open no more"


def opens(path: Path) -> bool:
    try:
        with duckdb.connect(str(path), read_only=True) as db:
            for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                db.table(name).fetchall()
    except duckdb.Error:
        return False
    return True


@pytest.mark.slow
def test_what_is_kept_follows_each_checkpoint_of_a_session(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    states: list[tuple[bytes, bytes]] = []
    with (
        ledger.locked(exclusive=True),
        store_of(ledger).writing() as writer,
        opened_for_writing(ledger, writer=writer) as db,
    ):
        db.execute("CREATE TABLE own (i BIGINT, s VARCHAR)")
        for number in range(6):
            states.append((ledger.file.read_bytes(), undo_of(ledger.file).read_bytes()))
            rows_more = f"SELECT range, repeat(hash(range)::VARCHAR, 3) FROM range({2000 * (number + 1)})"  # noqa: S608 - ours
            db.execute(f"INSERT INTO own {rows_more}")
            writer.keep(db)
        states.append((ledger.file.read_bytes(), b""))
    expected = -1
    for number, ((before, undo), (after, _)) in enumerate(itertools.pairwise(states)):
        for state in torn(before, after, CUTS):
            ledger.file.write_bytes(state)
            undo_of(ledger.file).write_bytes(undo)
            undo_torn_write(ledger.file)
            with duckdb.connect(str(ledger.file), read_only=True) as db:
                found = db.execute("SELECT count(*), count(s) FROM own").fetchone() if number else (0, 0)
            done = (
                sum(2000 * (each + 1) for each in range(number)),
                sum(2000 * (each + 1) for each in range(number + 1)),
            )
            assert found is not None
            assert found[0] in done
            assert found[0] >= expected
        expected = done[0]


def test_a_torn_copy_of_what_was_kept_means_that_nothing_was_overwritten(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    before = ledger.file.read_bytes()
    undo = kept_before(ledger.file, before)
    for cut in (0, 10, len(undo) // 2, len(undo) - 1):
        undo_of(ledger.file).write_bytes(undo[:cut])
        assert rows(ledger) == [3, 0, 0]
        assert ledger.file.read_bytes() == before
        assert not undo_of(ledger.file).exists()


def test_what_another_program_writes_just_now_is_not_put_back(tmp_path: Path) -> None:
    """A notebook takes DuckDB's lock of the file alone."""
    ledger = Ledger(tmp_path / "ledger.duckdb")
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    undo = kept_before(ledger.file, ledger.file.read_bytes())
    undo_of(ledger.file).write_bytes(undo)
    notebook = "import duckdb, sys; db = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", notebook, str(ledger.file)], text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "open\n"
        with pytest.raises(LedgerBusyError, match="another program has the ledger open"):
            undo_torn_write(ledger.file)
        assert undo_of(ledger.file).exists()
        write_run(ledger.journal_folder, "r2", 3)
        assert ingest(ledger, patience_s=0).busy
        process.stdin.close()
    assert rows(ledger) == [3, 3, 0]
    assert not undo_of(ledger.file).exists()


def test_readers_do_not_wait_for_each_other(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    write_run(ledger.journal_folder, "r1", 3)
    ingest(ledger)
    with reading(ledger) as one:
        undo_of(ledger.file).write_bytes(b"stale")
        with reading(ledger, patience_s=0) as other:
            assert len(one.arrow("calls", run_id="r1")) == len(other.arrow("calls", run_id="r1")) == 3
    assert rows(ledger) == [3, 0, 0]
    assert not undo_of(ledger.file).exists()


def test_a_folder_where_it_belongs_is_named(tmp_path: Path) -> None:
    (tmp_path / "ledger.duckdb.undo").mkdir()
    with pytest.raises(InputError, match=r"ledger\.duckdb\.undo is in the way"):
        Ledger(tmp_path / "ledger.duckdb")


COMMANDS = (
    ("run", "job.toml", "--no-report"),
    ("run", "job.toml", "--no-report", "--fresh"),
    ("score", "last", "--job", "other.toml"),
    ("invalidate", "last", "--sample", "s1", "--reason", "wrong"),
    ("allowance", "reading", "--used", "37%"),
    ("ledger", "compact"),
)
RECORDING = """
import pathlib, shutil, sys
from workbench.ledger.undoing import Undoing, undo_of
folder, count = pathlib.Path(sys.argv.pop(1)), [0]
def copied(self):
    into = folder / f"{count[0]:03}"
    count[0] += 1
    into.mkdir()
    for path in (self._path, undo_of(self._path)):
        if path.exists(): shutil.copy(path, into / path.name)
    journals = self._path.with_name(self._path.name + ".journal")
    if journals.exists(): shutil.copytree(journals, into / journals.name, ignore=shutil.ignore_patterns("*.running", "slots*"))
keep, leave = Undoing.keep, Undoing.__exit__
def kept(self, db):
    keep(self, db)
    copied(self)
def left(self, *how):
    leave(self, *how)
    copied(self)
Undoing.keep, Undoing.__exit__ = kept, left
from workbench.cli.main import console
console()
"""
"""The command, which copies the ledger with what is beside it to a folder whenever what may be overwritten changes."""


def recorded(bench: Workbench, folder: Path, *command: str) -> list[Path]:
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RECORDING, str(folder), *command],
        cwd=bench.folder, env=bench.environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return sorted(folder.iterdir())


def held(folder: Path) -> LedgerState:
    with reading(Ledger(folder / "ledger.duckdb")) as reader:
        return reader.only(LedgerState)


def torn_steps(tmp_path: Path, steps: list[Path], cuts: list[int]) -> int:
    """How many torn states there are between the steps of a command, each of which has been read as the step before it."""
    states = 0
    for before, after in itertools.pairwise(steps):
        undo = before / "ledger.duckdb.undo"
        if not undo.exists():  # the end of a session
            continue
        whole, kept = held(shutil.copytree(before, tmp_path / "whole")), undo.read_bytes()
        shutil.rmtree(tmp_path / "whole")
        old, new = (folder.joinpath("ledger.duckdb").read_bytes() for folder in (before, after))
        for state in torn(old, new, cuts):
            found = shutil.copytree(before, tmp_path / "torn")
            found.joinpath("ledger.duckdb").write_bytes(state)
            found.joinpath(undo.name).write_bytes(kept)
            assert held(found) == whole
            shutil.rmtree(found)
            states += 1
    return states


@pytest.mark.slow
@pytest.mark.parametrize(
    "cuts",
    [CUTS[:1], *(pytest.param(cuts, marks=pytest.mark.long) for cuts in (CUTS[:2], EVERY_CUT))],
    ids=["one page", "halves", "every page"],
)
def test_no_torn_write_of_a_command_loses_anything(bench: Workbench, tmp_path: Path, cuts: list[int]) -> None:
    bench.write("sums.jsonl", sums(20))
    bench.write("job.toml", job("sim/instant"))
    bench.write("other.toml", job("sim/instant").replace("numeric", "exact"))
    states: dict[str, int] = {}
    for number, command in enumerate(COMMANDS):
        steps = recorded(bench, tmp_path / f"recorded {number}", *command)
        if found := torn_steps(tmp_path, steps, cuts):
            states[command[0]] = states.get(command[0], 0) + found
        assert bench.json("ledger", "check")["sound"]
    assert set(states) == {"run", "score", "invalidate", "allowance"}, "a compacted ledger is a new file"
    print(f"torn: {states}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "cuts", [CUTS[:1], pytest.param(EVERY_CUT, marks=pytest.mark.long)], ids=["one page", "every page"]
)
def test_no_torn_write_of_a_migration_loses_anything(tmp_path: Path, cuts: list[int]) -> None:
    """Of a ledger that an earlier version wrote, all of whose tables change."""
    folder = tmp_path / "bench"
    folder.mkdir()
    packed = Path(__file__).with_name("earlier") / "schema_2_ledger.zst"
    folder.joinpath("ledger.duckdb").write_bytes(ZstdDecompressor().decompress(packed.read_bytes()))
    bench = Workbench(folder, None)
    steps = recorded(bench, tmp_path / "recorded", "allowance", "reading", "--used", "37%")
    states = torn_steps(tmp_path, steps, cuts)
    assert states > 10
    assert bench.json("ledger", "check")["sound"]
    print(f"torn: {states}")
