"""Two users of one machine, one team's ledger in a folder of their group: each sees all, and nothing is paid twice."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import COMMAND, Workbench, job, sums
from tests.contract.asking import platform_of
from tests.team.postgres import database
from workbench.ledger.address import SCHEME
from workbench.local_platform.server import ThreadedServer

GROUP, ANN, BEN = 61_000, 61_001, 61_002
CALLS = 100
AS_USER = [
    "setpriv",
    f"--regid={GROUP}",
    f"--groups={GROUP}",
    "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
]
"""May read Python wherever it is, and write as the user may."""
IS_ROOT = os.geteuid() == 0 and shutil.which(AS_USER[0]) is not None

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not IS_ROOT, reason="only root becomes two users")]


class Users:
    """Users with a folder each, in one group.

    Args:
        folder: Where.
        url: Of the ledger.
        server: The platform.
    """

    def __init__(self, folder: Path, url: str, server: ThreadedServer) -> None:
        self._folder, self._url, self._server = folder, url, server

    def run(self, user: int, *arguments: str, umask: int = 0o022, code: int = 0) -> subprocess.CompletedProcess[str]:
        home = self._folder / str(user)
        bench = Workbench(home, self._server)
        environment = bench.environment | {
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "TMPDIR": str(home),
        }
        done = subprocess.run(
            [*AS_USER, f"--reuid={user}", str(COMMAND), *arguments],
            cwd=home, env=environment, capture_output=True, text=True, timeout=300, check=False, umask=umask,
        )  # fmt: skip
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def joins(self, user: int, *jobs: str, samples: int = CALLS) -> None:
        """Give a user a folder with jobs."""
        home = self._folder / str(user)
        home.mkdir(mode=0o755)
        home.joinpath("workbench.toml").write_text(f'[ledger]\nurl = """{self._url}"""\n')
        home.joinpath("sums.jsonl").write_text(sums(samples))
        for name in jobs:
            home.joinpath(f"{name}.toml").write_text(job("m", name=name, limit=32))
        for path in (home, *home.iterdir()):
            os.chown(path, user, GROUP)


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that others may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="team-") as made:
        os.chmod(made, 0o755)
        yield Path(made)


@pytest.fixture
def platform() -> Iterator[ThreadedServer]:
    with ThreadedServer(platform_of({"id": "m", "simulated": "answers"})) as server:
        yield server


@pytest.fixture
def users(folder: Path, server: str, platform: ThreadedServer) -> Iterator[Users]:
    with database(server) as conninfo:
        yield Users(folder, f"{SCHEME}{conninfo}", platform)


def group_folder(folder: Path, mode: int = 0o2770) -> Path:
    made = folder / "rows"
    made.mkdir()
    os.chown(made, ANN, GROUP)
    made.chmod(mode)
    return made


def runs(users: Users, user: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(users.run(user, "runs", "--json").stdout)
    return found


def test_two_users_of_a_group_s_folder_see_all_and_pay_once(
    folder: Path, users: Users, platform: ThreadedServer
) -> None:
    rows = group_folder(folder)
    users.joins(ANN, "first", "second")
    users.joins(BEN, "first", "second")
    users.run(ANN, "ledger", "create", users._url, "--data", str(rows))
    users.run(ANN, "run", "first.toml", "--no-report")
    users.run(BEN, "run", "first.toml", "--no-report")
    users.run(BEN, "run", "second.toml", "--no-report", "--fresh")
    for user in (ANN, BEN):
        users.run(user, "ledger", "check")
        found = runs(users, user)
        assert [(run["job"], run["calls"]) for run in found] == [("second", CALLS), ("first", 0), ("first", CALLS)]
    assert platform.platform.statistics.requests.total() == 2 * CALLS
    users.run(BEN, "ledger", "compact")
    users.run(ANN, "run", "second.toml", "--no-report")
    assert platform.platform.statistics.requests.total() == 2 * CALLS
    assert {path.stat().st_mode & 0o7777 for path in rows.rglob("*") if path.is_dir()} == {0o2770}


def test_a_missing_right_is_told_before_anything_is_spent(folder: Path, users: Users, platform: ThreadedServer) -> None:
    rows = group_folder(folder)
    users.joins(ANN, "first", samples=40)
    users.joins(BEN, "first", samples=40)
    users.run(ANN, "ledger", "create", users._url, "--data", str(rows))
    users.run(ANN, "run", "first.toml", "--no-report")
    sent = platform.platform.statistics.requests.total()
    attempts = next(path for path in rows.rglob("attempts") if path.is_dir())
    attempts.chmod(0o755)  # as DuckDB makes it
    for command in (("run", "first.toml"), ("run", "first.toml", "--fresh"), ("score", "last"), ("ledger", "compact"),
                    ("invalidate", "last", "--sample", "s1", "--reason", "x"), ("allowance", "reading", "--used", "3%")):  # fmt: skip
        told = users.run(BEN, *command, code=2).stderr
        assert f"{attempts} cannot be written: Permission denied (whoever made it: `chmod" in told
    assert "cannot be written: Permission denied" in users.run(BEN, "doctor", code=2).stdout
    assert platform.platform.statistics.requests.total() == sent
    assert not list(folder.glob(f"{BEN}/state/**/*.zst"))
    users.run(ANN, "run", "first.toml", "--no-report", "--fresh")  # its owner's next write opens it again
    users.run(BEN, "run", "first.toml", "--no-report")


def test_a_ledger_is_not_half_made_where_its_folder_cannot_be_written(folder: Path, users: Users) -> None:
    rows = group_folder(folder, 0o2750)
    users.joins(ANN, "first", samples=3)
    users.joins(BEN, "first", samples=3)
    told = users.run(BEN, "ledger", "create", users._url, "--data", str(rows), code=2).stderr
    assert f"{rows} cannot be written: Permission denied" in told
    other = folder / str(BEN) / "rows"
    users.run(BEN, "ledger", "create", users._url, "--data", str(other))
    users.run(BEN, "run", "first.toml", "--no-report")
