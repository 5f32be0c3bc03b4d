"""Every test twice: on a file's ledger and, marked `team`, on a team's. A server of odd replies, and a workbench that asks it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Workbench
from tests.end_to_end.odd_server import KEY, OddServer

FILE, TEAM = pytest.param("file", id=pytest.HIDDEN_PARAM), pytest.param("team", marks=pytest.mark.team)


@pytest.fixture(scope="session")
def conninfo() -> Iterator[str]:
    from tests.team import postgres  # where tests are run on a team's ledger

    with postgres.server() as conninfo:
        yield conninfo


@pytest.fixture(scope="module", autouse=True, params=[FILE, TEAM])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where the ledgers of a module's folders are."""
    if request.param == "file":
        yield
        return
    from tests.team import postgres

    server = request.getfixturevalue("conninfo")
    with (
        postgres.SharedLedgers(server, tmp_path_factory.mktemp("template")) as shared,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(Workbench, "shared", shared)
        yield


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a team's ledger keeps its journals on this machine, also where a test reads it itself."""
    if Workbench.shared is not None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out on a team's ledger what is about a file's."""
    about_files = [item for item in items if item.get_closest_marker("file_ledger") and item.get_closest_marker("team")]
    if about_files:
        config.hook.pytest_deselected(items=about_files)
        items[:] = [item for item in items if item not in about_files]


class MadeOnce:
    """Puts into the folder of a test what a function makes there: called once for all tests of a module, and copied."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._made: dict[tuple[object, ...], tuple[Path, Any]] = {}

    def __call__(self, bench: Workbench, make: Callable[..., Any], *arguments: object) -> Any:
        """Return what the function returned."""
        if Workbench.shared is not None:  # a team's ledger is in no folder
            return make(bench, *arguments)
        if (key := (make, *arguments)) not in self._made:
            first = Workbench(self._folders.mktemp("made"), None)
            first.environment = bench.environment | {"XDG_STATE_HOME": first.environment["XDG_STATE_HOME"]}
            self._made[key] = first.folder, make(first, *arguments)
        folder, returned = self._made[key]
        shutil.copytree(folder, bench.folder, dirs_exist_ok=True)
        return returned


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    return MadeOnce(tmp_path_factory)


@pytest.fixture
def odd() -> Iterator[OddServer]:
    with OddServer() as server:
        yield server


@pytest.fixture
def oddly(tmp_path: Path, odd: OddServer) -> Workbench:
    bench = Workbench(tmp_path, None)
    bench.environment |= {"WORKBENCH_BASE_URL": odd.base_url, "WORKBENCH_API_KEY": KEY}
    return bench
