"""The ledger's server falls silent in the middle of an answer, wherever that is: right figures, or one clear line."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.team.proxy import Proxy
from tests.unit.ledger.ledger_rows import intent, started
from workbench.errors import ExitCode
from workbench.ledger.address import SCHEME
from workbench.ledger.journal import JournalWriter
from workbench.local_platform.server import ThreadedServer

LOST = "error: the connection to the ledger's server was lost; the same command tries again\n"
COMMANDS = {
    "runs": ("runs", "--json"),
    "usage": ("usage", "--json"),
    "show": ("show", "last", "--calls", "--json"),
    "report": ("report", "--json"),
    "check": ("ledger", "check", "--json"),
    "rerun": ("run", "job.toml", "--no-report", "--json"),
    "compact": ("ledger", "compact"),
}


class Behind(NamedTuple):
    """A machine whose ledger is behind what can be cut."""

    bench: Workbench
    proxy: Proxy

    def done(self, *arguments: str, cut_at_bytes: int | None = None) -> subprocess.CompletedProcess[str]:
        """Carry out a command; its connections are cut when the server has sent so much."""
        self.proxy.answered_bytes, self.proxy.cut_at_bytes = 0, cut_at_bytes
        done = self.bench(*arguments, code=None)
        self.proxy.cut_at_bytes = None
        return done


@pytest.fixture(scope="module")
def behind(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    """With rows in files, and in the catalog."""
    from tests.team import postgres

    folder = tmp_path_factory.mktemp("behind")
    with (
        postgres.database(server) as conninfo,
        Proxy(conninfo) as proxy,
        ThreadedServer(platform_of({"id": "m"})) as to,
    ):
        address = SCHEME + proxy.conninfo
        bench = Workbench(folder, to)
        bench("ledger", "create", address, "--data", str(folder / "rows"))
        bench.write("workbench.toml", f'[ledger]\nurl = """{address}"""\n')
        for samples in (80, 20, 10):
            bench.write("sums.jsonl", sums(samples).replace("What", f"In {samples}, what"))
            bench.write("job.toml", job("m"))
            bench("run", "job.toml", "--no-report")
        yield Behind(bench, proxy)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "cuts"), [("usage", 2), *(pytest.param(command, 40, marks=pytest.mark.long) for command in COMMANDS)]
)
def test_an_answer_that_is_cut_is_never_taken_for_a_whole_one(behind: Behind, command: str, cuts: int) -> None:
    whole = behind.done(*COMMANDS[command])
    assert whole.returncode == 0
    chosen, most = random.Random(command), behind.proxy.answered_bytes
    codes = set[int]()
    for _ in range(cuts):
        done = behind.done(*COMMANDS[command], cut_at_bytes=chosen.randrange(1, most))
        assert "Traceback" not in done.stderr
        if done.returncode == 0:  # what was cut was asked again, or nothing that counted
            assert command not in ("runs", "usage", "show", "check") or done.stdout == whole.stdout
        else:
            assert done.returncode == ExitCode.UNREACHABLE, done.stderr
            assert done.stderr.endswith(LOST) or "the ledger's server did not accept the connection" in done.stderr
        codes.add(done.returncode)
    assert ExitCode.UNREACHABLE in codes
    assert behind.done(*COMMANDS[command]).returncode == 0
    assert behind.bench.json("ledger", "check")["sound"]


@pytest.mark.parametrize("cuts", [pytest.param(3, marks=pytest.mark.slow), pytest.param(60, marks=pytest.mark.long)])
def test_an_ingest_that_is_cut_ends_by_itself(behind: Behind, tmp_path: Path, cuts: int) -> None:
    """DuckDB once ended the process: the database met an internal error, and was closed within a transaction."""

    def recovered(number: int, cut_at_bytes: int | None = None) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / f"{cuts}-{number}"
        writer = JournalWriter(folder)
        writer.append(started(f"cut{cuts}-{number}", 1, simulated=True))
        writer.append(intent(f"cut{cuts}-{number}", 1))
        writer.close()
        behind.proxy.answered_bytes, behind.proxy.cut_at_bytes = 0, cut_at_bytes
        return behind.bench.process("ledger", "recover", "--journals", str(folder), code=None)

    assert recovered(0).returncode == 0
    chosen, most = random.Random(cuts), behind.proxy.answered_bytes
    for number in range(1, cuts + 1):
        done = recovered(number, int(most * chosen.uniform(0.8, 1)))
        assert done.returncode in (ExitCode.DONE, ExitCode.INCOMPLETE, ExitCode.UNREACHABLE), done.stderr
        assert "Error" not in done.stderr
    behind.proxy.cut_at_bytes = None
    for number in range(1, cuts + 1):
        assert behind.bench("ledger", "recover", "--journals", str(tmp_path / f"{cuts}-{number}")).returncode == 0
    assert behind.bench.json("ledger", "check")["sound"]
