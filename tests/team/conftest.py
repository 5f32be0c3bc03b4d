"""A team: a server, a ledger made there, and machines that are folders with a state of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Workbench
from tests.team import postgres


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with postgres.server() as conninfo:
        yield conninfo


@pytest.fixture(scope="session")
def shared(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[postgres.SharedLedgers]:
    with postgres.SharedLedgers(server, tmp_path_factory.mktemp("template")) as shared:
        yield shared


@pytest.fixture
def url(shared: postgres.SharedLedgers, tmp_path: Path) -> str:
    """The address of a ledger that was made, with its rows in `tmp_path / "team-rows"`."""
    return shared.address(tmp_path)


@pytest.fixture
def machine(tmp_path: Path, url: str) -> Callable[[str], Workbench]:
    """A machine by name, whose settings name the ledger."""

    def made(name: str) -> Workbench:
        folder = tmp_path / "machines" / name
        folder.mkdir(parents=True, exist_ok=True)
        bench = Workbench(folder, None)
        bench.write("workbench.toml", f'[ledger]\nurl = """{url}"""\n')
        return bench

    return made
