"""A team: a server, a ledger made there, and machines that are folders with a state of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import postgres
from tests.conftest import Workbench
from workbench.ledger.address import SCHEME


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with postgres.server(tmp_path_factory.mktemp("server")) as conninfo:
        yield conninfo


@pytest.fixture
def url(server: str, tmp_path: Path) -> Iterator[str]:
    """The address of a ledger that was made."""
    with postgres.database(server) as conninfo:
        address = SCHEME + conninfo
        maker = Workbench(tmp_path, None)
        maker.here("ledger", "create", address, "--data", str(tmp_path / "data"))
        yield address


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
