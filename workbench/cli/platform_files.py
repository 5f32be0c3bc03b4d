"""Which configuration and which state a `workbench platform` command means."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from workbench.errors import Fault, InputError, nearest, why_unreadable
from workbench.local_platform.config import PlatformConfig, load_config, read_text, renamed
from workbench.local_platform.contradictions import contradictions
from workbench.local_platform.state import State, StateError
from workbench.strict import Problem, convert, faults, read_toml, without

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
    """What the command, or one above it, was given."""
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
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(str(path), f"the configuration cannot be read: {why_unreadable(error)}")) from error
    data = renamed(read_toml(text, str(path)))
    loaded, problems = convert(data, PlatformConfig)
    tables = {problem.path[:-1] for problem in problems}  # what else is wrong in these may follow from that
    readable = loaded or convert(without(data, [problem.path for problem in problems]), PlatformConfig)[0]
    problems += [
        Problem(found.place, found.text, nearest(found.wrong, found.known))
        for found in (contradictions(readable) if readable else ())
        if not any(table and found.place[: len(table)] == table for table in tables)
    ]
    if loaded is None or problems:
        raise InputError(*faults(problems, text, str(path)))
    return loaded


def open_state(files: Files, *, make: bool = False, busy_s: float = 5.0) -> State:
    """Open the state.

    Args:
        files: Which.
        make: Whether to create it if missing.
        busy_s: How long a change may wait for another process.

    Raises:
        InputError: There is none, or it cannot be used.
    """
    if not make and not files.state_path.exists():
        hint = "`workbench platform keys create ACCOUNT` creates one; `serve --ephemeral` needs none"
        raise InputError(Fault(str(files.state_path), "there is no platform state yet", hint))
    with explained():
        return State(files.state_path, busy_s=busy_s)


@contextmanager
def explained() -> Iterator[None]:
    """Report an unusable state like any other input error."""
    try:
        yield
    except StateError as error:
        raise InputError(Fault("", str(error))) from error


def known_account(files: Files, account: str) -> str:
    """An account of the configuration.

    Raises:
        InputError: It has none of that name.
    """
    names = [entry.name for entry in load(files).accounts]
    if account not in names:
        hint = nearest(account, names) or f"the configuration has {', '.join(names)}"
        raise InputError(Fault("ACCOUNT", f"{account!r} is not an account", hint))
    return account
