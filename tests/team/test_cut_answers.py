"""The ledger's server falls silent in the middle of an answer, wherever that is: right figures, or one clear line."""

import random
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.conftest import Workbench, job, sums
from tests.contract.asking import platform_of
from tests.team.proxy import Proxy
from workbench.errors import ExitCode
from workbench.ledger.address import SCHEME
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
        done = self.bench.here(*arguments, code=None)
        self.proxy.cut_at_bytes = None
        return done


@pytest.fixture(scope="module")
def behind(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    """With rows in files, and in the catalog."""
    from tests import postgres

    folder = tmp_path_factory.mktemp("behind")
    with (
        postgres.database(server) as conninfo,
        Proxy(conninfo) as proxy,
        ThreadedServer(platform_of({"id": "m"})) as to,
    ):
        address = SCHEME + proxy.conninfo
        bench = Workbench(folder, to)
        bench.here("ledger", "create", address, "--data", str(folder / "rows"))
        bench.write("workbench.toml", f'[ledger]\nurl = """{address}"""\n')
        for samples in (80, 20, 10):
            bench.write("sums.jsonl", sums(samples).replace("What", f"In {samples}, what"))
            bench.write("job.toml", job("m"))
            bench.here("run", "job.toml", "--no-report")
        yield Behind(bench, proxy)


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
