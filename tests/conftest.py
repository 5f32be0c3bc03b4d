"""A real platform, a real working folder, the real command line."""

import asyncio
import contextlib
import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TextIO
from unittest import mock

import hypothesis
import msgspec
import pytest
import tomli_w

from tests.waiting import all_shown
from workbench.api.session import Target, account_ledger
from workbench.cli.main import main
from workbench.ledger.database import attached
from workbench.ledger.store import Ledger
from workbench.local_platform.config import Answers, Latency, Limits, PlatformConfig, Route, load_config
from workbench.local_platform.server import ThreadedServer
from workbench.running.signals import handlers, restore
from workbench.settings.file import FILE_NAME as SETTINGS

if TYPE_CHECKING:
    from tests.team.postgres import SharedLedgers

for _number in (signal.SIGINT, signal.SIGHUP):  # `nohup pytest &` ignores them, and what a test starts would as well
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else lambda *_: None)

hypothesis.settings.register_profile(  # the same examples in every run, however busy the machine is
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-browser", action="store_true", help="fail where there is no Chromium, instead of skipping"
    )
    parser.addoption("--write-messages", action="store_true", help="write tests/messages.txt again, with -n 0")


_BEGIN_WITH = ("browser", "team", "crash")
"""Files that open pages follow each other, so that a worker starts Chromium once for all of its own; then what waits longest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order tests by folder, for who hands files out in the order of tests (`--no-loadscope-reorder`)."""
    places = {folder: place for place, folder in enumerate(_BEGIN_WITH)}
    tests = Path(__file__).parent
    items.sort(key=lambda item: places.get(item.path.relative_to(tests).parts[0], len(places)))


COMMAND = Path(sys.executable).with_name("workbench")
DATASETS = Path(__file__).parent.parent / "datasets"


def quick(config: PlatformConfig, latency_ms: float = 0.0) -> PlatformConfig:
    """The same platform with one latency for every route."""
    routes = tuple(msgspec.structs.replace(route, latency_ms=Latency(latency_ms)) for route in config.routes)
    return msgspec.structs.replace(config, routes=routes)


def answering(config: PlatformConfig, shares: dict[str, float]) -> PlatformConfig:
    """The same platform with routes that are right in these shares."""
    routes = (
        msgspec.structs.replace(route, answers=(Answers(shares[route.id]),)) if route.id in shares else route
        for route in config.routes
    )
    return msgspec.structs.replace(config, routes=tuple(routes))


@pytest.fixture(scope="session")
def catalogue() -> PlatformConfig:
    return quick(load_config())


@pytest.fixture
def platform(catalogue: PlatformConfig) -> Iterator[ThreadedServer]:
    with ThreadedServer(catalogue) as server:
        yield server


def one_route(**fields: Any) -> PlatformConfig:
    """A platform with a single route `m`."""
    route = msgspec.convert({"id": "m", "simulated": "answers", "upstream": "lab/m"} | fields, Route)
    return PlatformConfig(routes=(route,), limits=Limits(retry_pause_s=0))


class Workbench:
    """The command line, run in a folder against a platform."""

    shared: ClassVar["SharedLedgers | None"] = None
    """Where the ledgers of new folders are made; None: they are files, made by the first run."""

    def __init__(self, folder: Path, server: ThreadedServer | None) -> None:
        self.folder = folder
        if self.shared is not None and not (folder / SETTINGS).exists():
            self.write(SETTINGS, "")
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("WORKBENCH", "OPENAI"))
        } | {"XDG_STATE_HOME": str(folder / "state")}
        if server is not None:
            self.environment |= {"WORKBENCH_BASE_URL": server.base_url, "WORKBENCH_API_KEY": server.key}

    def process(self, *arguments: str, code: int | None = 0, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """The command in a process of its own, where the process is the point: signals, streams, limits, what it imports."""
        done = subprocess.run(
            [str(COMMAND), *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            **({"timeout": 120, "check": False} | kwargs),
        )
        if code is not None:
            assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def __call__(self, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """The command in the tests' own process: to start one would take most of the time."""
        if not _a_loop_runs():
            return self._called(*arguments, code=code)
        with ThreadPoolExecutor(1) as thread:  # the loop is a browser's, and a thread has one at the most
            return thread.submit(self._called, *arguments, code=code).result()

    def on_a_terminal(self, columns: int, *arguments: str) -> list[str]:
        """What the command prints on a terminal of that width, line by line."""
        ours, theirs = pty.openpty()
        with ThreadPoolExecutor(1) as reader:
            shown = reader.submit(all_shown, ours)
            with open(theirs, "w", encoding="utf-8") as terminal:
                returned = self._returned(arguments, terminal, terminal, {"COLUMNS": str(columns)})
        assert returned == 0, shown.result()
        return shown.result().splitlines()

    def _returned(self, arguments: tuple[str, ...], out: TextIO, errors: TextIO, more: dict[str, str]) -> int:
        streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors)
        surroundings = mock.patch.dict(os.environ, self.environment | more, clear=True), contextlib.chdir(self.folder)
        typed = mock.patch.multiple(sys, argv=["workbench", *arguments], stdin=io.StringIO())
        before = handlers()
        with surroundings[0], surroundings[1], streams[0], streams[1], typed:
            try:
                return main()
            finally:
                restore(before)

    def _called(self, *arguments: str, code: int | None) -> subprocess.CompletedProcess[str]:
        out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        returned = self._returned(arguments, out, errors, {})
        texts = (stream.buffer.getvalue().decode() for stream in (out, errors))
        done = subprocess.CompletedProcess([str(COMMAND), *arguments], returned, *texts)
        if code is not None:
            assert returned == code, f"{arguments}: {returned}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *arguments: str, code: int | None = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def lines(self, *arguments: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self(*arguments, "--json").stdout.splitlines()]

    def start(self, *arguments: str, **kwargs: Any) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [str(COMMAND), *arguments], cwd=self.folder, env=self.environment, text=True, **(pipes | kwargs)
        )

    @property
    def ledger(self) -> Ledger:
        """The account's ledger of the folder."""
        with mock.patch.dict(os.environ, self.environment, clear=True):
            return account_ledger(Target(self.folder))

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What a query finds in the account's ledger."""
        with attached(self.ledger) as engine:
            engine.started().execute("USE ledger")
            return engine.started().execute(statement).fetchall()

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        if name == SETTINGS and self.shared is not None:
            text += tomli_w.dumps({"ledger": {"url": self.shared.address(self.folder)}})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path


def _a_loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@pytest.fixture
def bench(tmp_path: Path, platform: ThreadedServer) -> Workbench:
    return Workbench(tmp_path, platform)


def sums(count: int) -> str:
    """A dataset of that many different additions, as JSON Lines."""
    rows = ({"id": f"s{n}", "input": f"What is {n} + {n % 7}?", "target": n + n % 7} for n in range(count))
    return "".join(json.dumps(row) + "\n" for row in rows)


JOB = """
name = "{name}"
models = {models}
[dataset]
path = "{dataset}"
[request]
max_tokens = 64
[run]
max_in_flight = {limit}
passes = 1
[[scorers]]
name = "numeric"
"""


def job(*models: str, name: str = "sums", dataset: str = "sums.jsonl", limit: int = 8) -> str:
    """A job over `sums`."""
    return JOB.format(name=name, models=json.dumps(models or ["sim/instant"]), dataset=dataset, limit=limit)
