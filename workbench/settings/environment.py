"""The environment, with what `.env` adds to it, and the folders that it names.

Read elsewhere, and not from `.env`: TZ, the clock that is set (`clock`), and proxies (`endpoint`).
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from workbench.errors import Fault, InputError, read_error_text

DOTENV = ".env"


class Environment(msgspec.Struct, frozen=True):
    """Variables by name; the process's own come before those of the file."""

    own: Mapping[str, str]
    """Of this process."""
    of_file: Mapping[str, str] = {}
    path: Path | None = None
    """The `.env` that was read."""

    def get(self, name: str) -> str:
        """Return a variable's value; empty where it is not set."""
        return self.own.get(name) or self.of_file.get(name, "")

    def values(self) -> dict[str, str]:
        """Return all variables, as `get` gives them: an empty one hides none of the file's."""
        return {**self.own, **{name: self.get(name) for name in self.of_file}}


def found_upward(folder: Path, name: str) -> Path | None:
    """Return a file in a folder or above it, up to the repository's root or the home folder; elsewhere in the folder only.

    Args:
        folder: The working folder; never a job's, as a downloaded job must not choose where a key is sent.
        name: Of the file.
    """
    folder = folder.absolute()
    ends = (n for n, above in enumerate((folder, *folder.parents)) if above == Path.home() or (above / ".git").exists())
    last = next(ends, 0)
    return next((above / name for above in (folder, *folder.parents)[: last + 1] if (above / name).is_file()), None)


def read_environment(folder: Path, *, of_shell: bool = True) -> Environment:
    """Return the environment, and what the nearest `.env` adds to it.

    Args:
        folder: The working folder.
        of_shell: Whether what only this process was given counts; a timer sees nothing of it.

    Raises:
        InputError: There is a `.env` that cannot be read, or with a line that sets nothing.
    """
    own = dict(os.environ) if of_shell else {}
    path = found_upward(folder, DOTENV)
    if path is None:
        return Environment(own)
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    try:
        with path.open(encoding="utf-8-sig") as stream:
            for line in parse_stream(stream):
                if line.error or (line.key is not None and line.value is None):
                    raise InputError(Fault(f"{path}:{line.original.line}", "expected NAME=VALUE"))
        with path.open(encoding="utf-8-sig") as stream:
            values = dotenv_values(stream=stream)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(str(path), f"cannot be read: {read_error_text(error)}")) from error
    return Environment(own, {name: value for name, value in values.items() if value is not None}, path)


def environment_without(names: set[str]) -> dict[str, str]:
    """Return this process's environment for another one that must not see some variables."""
    return {name: value for name, value in os.environ.items() if name not in names}


def cache_folder() -> Path:
    """Return where caches are kept (XDG Base Directory Specification)."""
    return _xdg("XDG_CACHE_HOME", "~/.cache") / "workbench"


def state_folder() -> Path:
    """Return where machine-local state is kept (XDG Base Directory Specification)."""
    return _xdg("XDG_STATE_HOME", "~/.local/state") / "workbench"


def moved_folders() -> dict[str, str]:
    """Return the variables that move the state folder, where they are set: another command must be given the same."""
    return {name: value for name in ("XDG_STATE_HOME",) if (value := os.environ.get(name))}


def unseen_by_timers() -> list[str]:
    """Return the names of variables of this shell on which a command depends, and which a timer is not given."""
    names = (
        "TZ",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    )
    return [name for name in names if os.environ.get(name)]


def unusable_certificates() -> str | None:
    """Return what SSL_CERT_FILE names where no certificate can be read from it: OpenSSL does not say that."""
    named = os.environ.get("SSL_CERT_FILE")
    if named:
        import ssl  # few commands fail so

        try:
            ssl.create_default_context(cafile=named)
        except (OSError, ValueError):  # an SSLError is an OSError
            return named
    return None


def systemd_folder() -> Path:
    """Return where systemd looks for a user's own units."""
    return _xdg("XDG_CONFIG_HOME", "~/.config") / "systemd" / "user"


def _xdg(variable: str, default: str) -> Path:
    named = os.environ.get(variable, "")
    return Path(named if Path(named).is_absolute() else os.path.expanduser(default))
