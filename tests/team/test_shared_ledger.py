"""One ledger that several machines write and read: nothing lost, nothing twice, and the figures of a file's ledger."""

import json
import os
import random
import re
import secrets
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import duckdb
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

import workbench as wb
from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.team import postgres
from tests.team.rows import rows
from tests.unit.ledger.ledger_rows import write_run
from workbench.ledger.address import SCHEME
from workbench.ledger.engine import Engine
from workbench.ledger.ingest import ingest
from workbench.ledger.store import Ledger
from workbench.local_platform.server import ThreadedServer
from workbench.team.address import address_of_team
from workbench.team.lake import attach

Machine = Callable[[str], Workbench]


def journals_of(bench: Workbench) -> Path:
    """Where a machine keeps what its team's ledger has not taken in."""
    (folder,) = Path(bench.environment["XDG_STATE_HOME"]).glob("workbench/teams/*")
    return folder / "ledger.journal"


def test_what_one_machine_records_another_reads(machine: Machine) -> None:
    first, second = machine("first"), machine("second")
    assert first.json("runs") == []
    write_run(journals_of(first), "r1", 20)
    assert [run["run_id"] for run in first.json("runs")] == ["r1"], "from its journal"
    assert second.json("runs") == []
    assert first.json("ledger", "recover")["journals"] == 1
    assert first.json("ledger", "recover")["journals"] == 0
    for bench in (first, second):
        (run,) = bench.json("runs")
        assert (run["run_id"], run["completed"]) == ("r1", 20)
        assert bench.json("ledger", "check")["sound"]
    second("report", "--all")
    assert (second.folder / "reports" / "r1.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("machines", [4, pytest.param(10, marks=pytest.mark.long)])
def test_many_machines_ingest_at_once(machine: Machine, url: str, machines: int) -> None:
    benches = [machine(f"m{number}") for number in range(machines)]
    for number, bench in enumerate(benches):
        assert bench.json("runs") == []
        write_run(journals_of(bench), f"r{number}", 200)  # the samples and bodies of all are the same
    processes = [bench.start("ledger", "recover", "--json") for bench in benches]
    ends = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert [(end["journals"], end["deferred"]) for end in ends] == [(1, "")] * machines
    found = benches[0].json("ledger", "check")
    assert (found["runs"], found["attempts"], found["sound"]) == (machines, 200 * machines, True)
    assert rows(url, "SELECT count(*), count(DISTINCT sample_key) FROM samples") == [(200, 200)]


@pytest.mark.parametrize("kills", [pytest.param(3, marks=pytest.mark.slow), pytest.param(25, marks=pytest.mark.long)])
def test_an_ingest_killed_at_any_moment_loses_nothing_and_repeats_nothing(machine: Machine, kills: int) -> None:
    luck, bench = random.Random(kills), machine("one")
    assert bench.json("runs") == []
    for number in range(kills):
        write_run(journals_of(bench), f"r{number}", 50)
        process = bench.start("ledger", "recover")
        time.sleep(luck.uniform(0.3, 1.2))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    bench.process("ledger", "recover")
    found = bench.json("ledger", "check")
    assert (found["runs"], found["attempts"], found["sound"], found["journals"]) == (kills, 50 * kills, True, 0)


NAMED = """
    SELECT path FROM workbench.ducklake_data_file UNION ALL SELECT path FROM workbench.ducklake_delete_file
"""


@pytest.mark.slow
def test_every_file_is_on_the_disk_before_the_catalog_names_it(
    machine: Machine, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an ingest, of a copy and of a compaction: after a power cut nothing is named that may be torn."""
    bench, folder, synced, too_late = machine("one"), tmp_path / "team-rows", set[str](), set[str]()
    real = os.fsync

    def named() -> set[str]:
        with psycopg.connect(url.removeprefix(SCHEME)) as catalog:
            return {str(name) for (name,) in catalog.execute(NAMED)}

    def fsync(fd: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{fd}"))
        if path.is_relative_to(folder) and path.suffix:
            synced.add(path.name)
            too_late.update(named() & {path.name})
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    assert bench.json("runs") == []
    for run in ("r1", "r2"):
        write_run(journals_of(bench), run, 200)
        assert bench.json("ledger", "recover")["journals"] == 1
    own = Ledger(bench.folder / "ledger.duckdb")
    write_run(own.journal_folder, "r3", 200)
    ingest(own)
    bench("ledger", "copy", "ledger.duckdb", url)
    bench("ledger", "compact")
    assert named()
    assert named() <= synced
    assert too_late == set()
    assert bench.json("ledger", "check")["sound"]


DIES = """
import os
from workbench.team.lake import TeamTransactions
class Dying:
    def __init__(self, db): self.db = db
    def __getattr__(self, name): return getattr(self.db, name)
    def execute(self, text, *more):
        if text == "COMMIT": os._exit(9)
        return self.db.execute(text, *more)
commit = TeamTransactions.commit
def dies(self):
    if self.db.execute("SELECT count(*) FROM ingested_journals").fetchone()[0] > {known}:
        self.db = Dying(self.db)
    commit(self)
TeamTransactions.commit = dies
from workbench.cli.main import console
console()
"""
"""The command, which dies when its ingest commits."""


@pytest.mark.parametrize(
    "cuts",
    [
        pytest.param([0.5], marks=pytest.mark.slow),
        pytest.param([0.0, 0.01, 0.25, 0.75, 0.99, None], marks=pytest.mark.slow),
    ],
)
def test_no_torn_write_of_a_team_s_ingest_loses_a_row(
    machine: Machine, tmp_path: Path, cuts: list[float | None]
) -> None:
    """Whatever part of its files reached the disk; None: none of their bytes, and their whole length."""
    bench, torn = machine("one"), 0
    assert bench.json("runs") == []
    for number, cut in enumerate(cuts):
        write_run(journals_of(bench), f"r{number}", 200)
        before = set((tmp_path / "team-rows").rglob("*.parquet"))
        command = [sys.executable, "-c", DIES.format(known=number), "ledger", "recover"]
        died = subprocess.run(
            command, cwd=bench.folder, env=bench.environment, capture_output=True, timeout=60, check=False
        )
        assert died.returncode == 9, died.stderr
        for path in set((tmp_path / "team-rows").rglob("*.parquet")) - before:
            size = path.stat().st_size
            if cut is None:
                path.write_bytes(bytes(size))
            else:
                os.truncate(path, int(size * cut))
            torn += 1
        assert bench.json("runs")[0]["completed"] == 200, "from the journal"
        assert bench.json("ledger", "recover")["journals"] == 1
        found = bench.json("ledger", "check")
        assert (found["runs"], found["attempts"], found["sound"]) == (number + 1, 200 * (number + 1), True)
    assert torn >= len(cuts)


@pytest.mark.slow
def test_a_file_is_copied_once_and_then_what_is_new(machine: Machine, url: str) -> None:
    bench = machine("one")
    with ThreadedServer(
        platform_of({"id": "m", "simulated": "answers", "faults": [{"status": 500, "share": 0.2}]})
    ) as server:
        own = Workbench(bench.folder, server)
        bench.write("sums.jsonl", sums(20))
        bench.write("job.toml", job("m"))
        own.process("run", "job.toml", "--ledger", "ledger.duckdb", "--no-report", code=None)
        copied = bench.json("ledger", "copy", "ledger.duckdb", url)
        assert copied["attempts"] == 20
        assert not any(bench.json("ledger", "copy", "ledger.duckdb", url).values()), "nothing is new"
        own.process("run", "job.toml", "--ledger", "ledger.duckdb", "--no-report", code=None)
    again = bench.json("ledger", "copy", "ledger.duckdb", url)
    assert 0 < again["attempts"] < 20
    assert bench("ledger", "copy", "ledger.duckdb", url).stdout.strip() == "nothing new"
    sums_of = {}
    for table in ("attempts", "requests", "responses", "run_items", "runs", "samples", "request_bodies", "scores"):
        query = f"SELECT count(*), sum(hash(t)) FROM {table} AS t"  # noqa: S608 - a name from above
        with duckdb.connect(str(bench.folder / "ledger.duckdb"), read_only=True) as file:
            sums_of[table] = file.execute(query).fetchall()
        assert rows(url, query) == sums_of[table], table
    for command in (("runs",), ("usage", "--by", "model"), ("routes",), ("allowance",), ("show", "last")):
        told, wanted = (bench.json(*command, *more) for more in ((), ("--ledger", "ledger.duckdb")))
        assert _without_place(told) == _without_place(wanted), command


@pytest.mark.slow
def test_python_reads_it(machine: Machine, url: str) -> None:
    bench = machine("one")
    assert bench.json("runs") == []
    write_run(journals_of(bench), "r1", 5)
    bench("ledger", "recover")
    assert len(wb.open(url).calls()) == 5


def _without_place(found: object) -> object:
    return (
        {name: value for name, value in found.items() if name not in ("ledger", "at")}
        if isinstance(found, dict)
        else found
    )


@pytest.mark.slow
def test_compacting_keeps_every_row(machine: Machine, url: str) -> None:
    bench = machine("one")
    assert bench.json("runs") == []
    for number in range(4):
        write_run(journals_of(bench), f"r{number}", 200)
        bench("ledger", "recover")
    before = rows(url, "SELECT count(*), sum(hash(t)) FROM attempts AS t")
    sizes = bench.json("ledger", "compact")
    assert 0 < sizes["older_bytes"] < sizes["after_bytes"], "the files that were merged stay for a day"
    told = bench("ledger", "compact").stdout
    assert re.fullmatch(
        r"[\d\u202f]+ bytes before, [\d\u202f]+ after; [\d\u202f]+ of them in files of older states, kept for 1 day\n",
        told,
    )
    assert rows(url, "SELECT count(*), sum(hash(t)) FROM attempts AS t") == before
    assert bench.json("ledger", "check")["sound"]


@pytest.mark.slow
def test_a_folder_that_is_not_mounted_is_refused(machine: Machine, url: str, tmp_path: Path) -> None:
    bench = machine("one")
    (tmp_path / "team-rows").rename(tmp_path / "unmounted")
    (tmp_path / "team-rows").mkdir()
    assert "is not the folder with the rows of" in bench("runs", code=2).stderr
    bench.write("workbench.toml", f'[ledger]\nurl = """{url}"""\ndata = "{tmp_path / "unmounted"}"\n')
    assert bench.json("runs") == []
    assert "ok    ledger: ducklake:postgres:" in bench("doctor", code=None).stdout


def test_what_is_wrong_with_an_address_is_said(machine: Machine, url: str, server: str) -> None:
    bench = machine("one")

    def told(address: str, code: int = 2) -> str:
        return bench("runs", "--ledger", address, code=code).stderr

    for malformed in (
        "postgresql://me:secret@h/x",
        "postgresql://me:se/secret@h/x",
        "dbname=x password=se secret",
        "Password = 'secret",
    ):
        assert "the address holds a password" in (said := told(SCHEME + malformed))
        assert "secret" not in said
    assert "did not accept the connection: " in told(f"{SCHEME}postgresql://127.0.0.1:9/x?passfile=/my/password", 6)
    assert "not an address of PostgreSQL" in told(f"{SCHEME}nonsense")
    assert "workbench ledger create" in told(SCHEME + server), "a server without a ledger"
    assert "the ledger's server did not accept the connection: " in told(f"{SCHEME}host=127.0.0.1 port=9 dbname=x", 6)
    assert "is neither a file nor a team's ledger" in told("ducklake:sqlite:x")
    assert "connect_timeout is 'soon', not a number of seconds" in told(f"{SCHEME}dbname=x connect_timeout=soon")
    bench.write("workbench.toml", '[ledger]\nurl = "ducklake:postgres:password=secret"\n')
    assert "workbench.toml:2: ledger.url: the address holds a password" in bench("runs", code=2).stderr


def test_a_server_that_is_silent_is_not_waited_for(url: str) -> None:
    assert "connect_timeout=10" in address_of_team(Ledger(url)).patient
    assert "connect_timeout=3" in address_of_team(Ledger(f"{url} connect_timeout=3")).patient


def test_an_older_version_meets_a_newer_schema(machine: Machine, url: str) -> None:
    engine = Engine()
    ledger = Ledger(url)
    attach(engine, address_of_team(ledger), "write")
    engine.started().execute(
        "INSERT INTO ledger.schema_versions VALUES (9999, '9999_later.sql', 'x', now()::TIMESTAMP)"
    )
    engine.stop()
    bench = machine("one")
    assert "made by a newer version of workbench" in bench("runs", code=2).stderr


@pytest.mark.slow
def test_a_ledger_of_the_schema_before_is_summed_up_when_it_is_opened(machine: Machine, url: str) -> None:
    bench = machine("one")
    assert bench.json("runs") == []
    for run_id in ("r1", "r2"):
        write_run(journals_of(bench), run_id, 60)  # too many rows for the catalog
        bench("ledger", "recover")
    used = bench.json("usage", "--by", "job")
    engine = Engine()
    attach(engine, address_of_team(Ledger(url)), "write")
    engine.started().execute("DROP TABLE ledger.call_quarters; DELETE FROM ledger.schema_versions WHERE version >= 26")
    engine.stop()
    assert bench.json("usage", "--by", "job") == used
    checked = bench.json("ledger", "check")
    assert (checked["sound"], checked["contradicting_sums"], checked["attempts"]) == (True, 0, 120)


@pytest.mark.slow
def test_making_it_again_changes_nothing(machine: Machine, url: str, tmp_path: Path) -> None:
    bench = machine("one")
    assert bench.json("runs") == []
    write_run(journals_of(bench), "r1", 5)
    bench("ledger", "recover")
    bench("ledger", "create", url, "--data", str(tmp_path / "team-rows"))
    assert len(bench.json("runs")) == 1
    assert "does not match" in bench("ledger", "create", url, "--data", str(tmp_path / "other"), code=2).stderr


def test_a_server_that_is_gone_leaves_journals_where_they_are(machine: Machine, url: str) -> None:
    bench = machine("one")
    assert bench.json("runs") == []
    write_run(journals_of(bench), "r1", 5)
    conninfo = url.removeprefix(SCHEME)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        name = connection.info.dbname
        other = psycopg.connect(conninfo, autocommit=True, dbname="postgres")
    with other:
        other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        done = bench("ledger", "recover", code=None)
        assert done.returncode in (3, 5)
        assert len(os.listdir(journals_of(bench))) == 1
        other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert bench.json("ledger", "recover")["journals"] == 1


@pytest.mark.slow
def test_a_role_that_may_only_read_reads_and_cannot_run(machine: Machine, url: str) -> None:
    writer = machine("one")
    assert writer.json("runs") == []
    write_run(journals_of(writer), "r1", 20)
    writer("ledger", "recover")
    conninfo = url.removeprefix(SCHEME)
    role = f"reader_{secrets.token_hex(4)}"
    with psycopg.connect(conninfo, autocommit=True) as db:
        db.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        for right in (
            "USAGE ON SCHEMA workbench, workbench_live",
            "SELECT ON ALL TABLES IN SCHEMA workbench, workbench_live",
        ):
            db.execute(sql.SQL("GRANT {} TO {}").format(sql.SQL(right), sql.Identifier(role)))
    reader = machine("two")
    with ThreadedServer(platform_of({"id": "m"})) as server:
        reader.environment |= {"WORKBENCH_BASE_URL": server.base_url, "WORKBENCH_API_KEY": server.key}
        reader.write("workbench.toml", f'[ledger]\nurl = """{SCHEME}{make_conninfo(conninfo, user=role)}"""\n')
        assert [run["completed"] for run in reader.json("runs")] == [20]
        assert reader.json("slots") == []
        reader.write("sums.jsonl", sums(3))
        reader.write("job.toml", job("m"))
        for command in (("run", "job.toml"), ("score", "r1"), ("ledger", "compact"), ("allowance", "reading", "--used", "3%"),
                        ("invalidate", "r1", "--sample", "s1", "--reason", "x"), ("accept", "sums", "--reason", "x")):  # fmt: skip
            assert (
                "its server's role lacks a right that writing needs: it may only read"
                in reader(*command, code=2).stderr
            )
        assert not list(journals_of(reader).glob("*.zst"))
        checked = {check["check"]: check for check in reader.json("doctor", code=2)}
        assert "it may only read" in checked["team"]["text"]
        assert server.platform.statistics.requests.total() == 0
    with psycopg.connect(conninfo, autocommit=True) as db:
        db.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(role)))


@pytest.mark.slow
def test_the_lines_of_the_topic_make_a_team(server: str, tmp_path: Path) -> None:
    text = resources.files("workbench.starter").joinpath("topics", "ledger.md").read_text("utf-8")
    (command,) = re.findall(r"^    workbench (ledger create .*)$", text, re.MULTILINE)
    with postgres.database(server) as conninfo, ThreadedServer(platform_of({"id": "m"})) as platform:
        address = SCHEME + conninfo
        command = command.replace("ducklake:postgres:host=db.lab.example dbname=workbench", address)
        words = shlex.split(command.replace("/srv/workbench/data", str(tmp_path / "data")))
        lines = Workbench(tmp_path, None)(*words).stdout
        assert len(lines.splitlines()) == 2
        for name in ("first", "second"):
            (folder := tmp_path / name).mkdir()
            bench = Workbench(folder, platform)
            bench.write("workbench.toml", lines)
            bench.write("sums.jsonl", sums(3))
            bench.write("job.toml", job("m"))
            assert bench.json("run", "job.toml", "--no-report")["completed"] == (3 if name == "first" else 0)
