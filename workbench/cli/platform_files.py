"""Which configuration and which state a `workbench platform` command means."""

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.api.session import checked_config
from workbench.cli.output import say
from workbench.errors import Fault, InputError, LockHeldError, nearest
from workbench.local_platform.clock import Clock
from workbench.local_platform.config import PlatformConfig, load_config
from workbench.local_platform.state import State, StateError

CONFIG, STATE = "platform.toml", "platform.sqlite"
_RELOAD_S, _BETWEEN_S = 10.0, 0.02
F = TypeVar("F", bound=Callable[..., Any])


class Files(msgspec.Struct, frozen=True):
    """What the command line says about both."""

    config: Path | None = None
    state: Path | None = None

    @property
    def config_path(self) -> Path | None:
        """The configuration to use; None is the built-in catalogue."""
        return self.config if self.config is not None else Path(CONFIG) if os.path.lexists(CONFIG) else None

    @property
    def state_path(self) -> Path:
        """The state file to use."""
        beside = self.config_path
        return self.state or (beside.with_name(STATE) if beside is not None else Path(STATE))


def with_files(command: F) -> F:
    """`--config` and `--state`, which may also be given to the parent command."""
    command = click.option(
        "--config",
        type=click.Path(path_type=Path),
        help=f"Routes, accounts and limits [default: {CONFIG} in this folder, or else the built-in catalogue].",
    )(command)
    return click.option(
        "--state", type=click.Path(path_type=Path), help=f"Keys and usage [default: {STATE} beside the configuration]."
    )(command)


def given_files(ctx: click.Context) -> Files:
    """Return what the command, or one above it, was given."""
    found: dict[str, Any] = {}
    level: click.Context | None = ctx
    while level is not None:
        for name in ("config", "state"):
            if found.get(name) is None:
                found[name] = level.params.get(name)
        level = level.parent
    return Files(found["config"], found["state"])


def load(files: Files) -> PlatformConfig:
    """Read and check the configuration."""
    path = files.config_path
    if path is None:
        return load_config()
    loaded, is_earlier = checked_config(path)
    if is_earlier:
        say(
            f"note: {path}: `skill` is called `simulated` now; see `{commands.HELP_PLATFORM}`. The next version refuses it"
        )
    return loaded


def platform_clock(speed: float = 1.0) -> Clock:
    """Return the clock of a platform: the machine's, or as the environment sets it."""
    return Clock(speed, clock.now() if clock.is_set() else None)


def open_state(files: Files, *, make: bool = False, busy_s: float = 5.0) -> State:
    """Open the state.

    Args:
        busy_s: How long a change may wait for another process.

    Raises:
        InputError: There is none, or it cannot be used.
    """
    if not make and not files.state_path.exists():
        hint = f"`{commands.create_key()}` creates one; `serve --ephemeral` needs none"
        raise InputError(Fault(str(files.state_path), "there is no platform state yet", hint))
    with explained():
        return State(files.state_path, busy_s=busy_s, clock=platform_clock())


class Served(msgspec.Struct, frozen=True):
    """What the file beside a state says of the process that serves with it."""

    pid: int
    taken: int
    """How often it has taken a configuration on; 0 while it starts, when a signal would end it."""
    base_url: str
    """Empty while it starts."""
    config: str
    """The absolute path of its configuration; empty for the built-in catalogue."""


class Serving:
    """Says in a file that this process serves with a state.

    Args:
        fd: Of the file, which this process has locked.
    """

    def __init__(self, fd: int, config: Path | None) -> None:
        self._fd, self._taken, self._base_url = fd, 0, ""
        self._config = _absolute(config)
        self._write()

    def took(self, base_url: str | None = None) -> None:
        """Note that requests are answered by a configuration that was just read.

        Args:
            base_url: Where, once that is known.
        """
        self._taken += 1
        self._base_url = base_url or self._base_url
        self._write()

    def _write(self) -> None:
        line = f"{os.getpid()} {self._taken} {self._base_url}\n{self._config}\n".encode("utf-8", "surrogateescape")
        os.pwrite(self._fd, line, 0)
        os.ftruncate(self._fd, len(line))


def _serving_path(files: Files) -> Path:
    path = files.state_path.resolve()  # a link and what it names are one state
    return path.with_name(f"{path.name}.serving")


def served_by(files: Files) -> Served | None:
    """Return the process that serves with the state; None where none does."""
    try:
        fd = os.open(_serving_path(files), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        head, _, config = os.pread(fd, 8_000, 0).decode("utf-8", "surrogateescape").partition("\n")
        pid, taken, base_url = [*head.split(" "), "", "", ""][:3]
        is_whole = pid.isdigit() and taken.isdigit()
        return Served(int(pid), int(taken), base_url, config.strip("\n")) if is_whole else Served(0, 0, "", "")
    finally:
        os.close(fd)
    return None


def _absolute(path: Path | None) -> str:
    return "" if path is None else str(path.absolute())


def reload_served(files: Files) -> Served | None:
    """Have the platform that serves with the state read its configuration again; return it, None where none serves.

    Raises:
        InputError: The configuration has a fault or is another than the platform's, or the platform did not take it.
    """
    load(files)
    ends_at = time.monotonic() + _RELOAD_S
    before: int | None = None
    while (served := served_by(files)) is not None and (before is None or served.taken == before):
        if served.taken and before is None:
            if served.config != _absolute(files.config_path):
                problem = f"process {served.pid} serves {served.config or 'the built-in catalogue'}"
                raise InputError(Fault("--config", problem, "name that one, or another --state"))
            before = served.taken
            os.kill(served.pid, signal.SIGHUP)
        if time.monotonic() > ends_at:
            problem = f"process {served.pid} did not take the configuration within {_RELOAD_S:g} s"
            raise InputError(Fault(str(files.config_path or ""), problem, "its own messages say why"))
        time.sleep(_BETWEEN_S)
    return served


def tell_served(files: Files) -> None:
    """Have a platform that serves learn of an account that may be new to it; where it does not, that is said alone."""
    try:
        reload_served(files)
    except InputError as error:
        say(f"note: the running platform does not know of it yet: {error}; then `{commands.RELOAD_PLATFORM}`")


@contextmanager
def serving(files: Files) -> Iterator[Serving]:
    """Keep other processes from serving with the same state: its slots, limits and cooldowns are those of one platform.

    Raises:
        LockHeldError: One does.
    """
    fd = os.open(_serving_path(files), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 20, 0).decode("ascii", "replace").partition(" ")[0].strip() or "unknown"
            problem = (
                f"process {holder} serves a platform with the state {files.state_path}, whose limits are those of one"
            )
            raise LockHeldError(f"{problem}; --state FILE names another") from None
        yield Serving(fd, files.config_path)
    finally:
        os.close(fd)


@contextmanager
def explained() -> Iterator[None]:
    """Report an unusable state like any other input error."""
    try:
        yield
    except StateError as error:
        raise InputError(Fault("", str(error))) from error


def known_account(files: Files, account: str) -> str:
    """Return an account of the configuration.

    Raises:
        InputError: It has none of that name.
    """
    names = [entry.name for entry in load(files).accounts]
    if account not in names:
        hint = nearest(account, names) or f"the configuration has {', '.join(names)}"
        raise InputError(Fault("ACCOUNT", f"{account!r} is not an account", hint))
    return account
