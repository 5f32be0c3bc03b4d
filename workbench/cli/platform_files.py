"""Which configuration and which state a `workbench platform` command means."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

import workbench.display.commands as commands
from workbench.api.session import checked_config
from workbench.cli.output import say
from workbench.errors import Fault, InputError, LockHeldError, nearest
from workbench.local_platform.config import PlatformConfig, load_config
from workbench.local_platform.state import State, StateError

CONFIG, STATE = "platform.toml", "platform.sqlite"
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
    """Read and check the configuration.

    Raises:
        InputError: With every fault, named by line.
    """
    path = files.config_path
    if path is None:
        return load_config()
    loaded, is_earlier = checked_config(path)
    if is_earlier:
        say(
            f"note: {path}: `skill` is called `simulated` now; see `{commands.HELP_PLATFORM}`. The next version refuses it"
        )
    return loaded


def open_state(files: Files, *, make: bool = False, busy_s: float = 5.0) -> State:
    """Open the state.

    Args:
        make: Whether to create it if missing.
        busy_s: How long a change may wait for another process.

    Raises:
        InputError: There is none, or it cannot be used.
    """
    if not make and not files.state_path.exists():
        hint = f"`{commands.create_key()}` creates one; `serve --ephemeral` needs none"
        raise InputError(Fault(str(files.state_path), "there is no platform state yet", hint))
    with explained():
        return State(files.state_path, busy_s=busy_s)


@contextmanager
def serving(files: Files) -> Iterator[None]:
    """Keep other processes from serving with the same state: its slots, limits and cooldowns are those of one platform.

    Raises:
        LockHeldError: One does.
    """
    path = files.state_path.with_name(f"{files.state_path.name}.serving")
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip() or "unknown"
            problem = (
                f"process {holder} serves a platform with the state {files.state_path}, whose limits are those of one"
            )
            raise LockHeldError(f"{problem}; --state FILE names another") from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield
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
