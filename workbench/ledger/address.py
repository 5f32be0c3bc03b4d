"""Which kind of ledger an address names: a DuckDB file, or a team's."""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Protocol

import msgspec

from workbench.errors import Fault, InputError

SCHEME = "ducklake:postgres:"
INSTALL = "in the clone: pip install -c constraints.txt '.[team]'"


class Address(Protocol):
    """Where a ledger is."""

    @property
    def name(self) -> str:
        """The address, for people."""

    @property
    def label(self) -> str:
        """The same in short, where the folder is known."""

    @property
    def path(self) -> Path:
        """The file; of a team's ledger what its locks and journals on this machine lie beside."""

    @property
    def is_shared(self) -> bool:
        """Whether several machines share it, so that it is made before anything is recorded."""

    @property
    def is_made(self) -> bool:
        """Whether it is there."""

    @property
    def size_bytes(self) -> int | None:
        """What it takes without its journals; None where that is not known on this machine."""

    @property
    def mode(self) -> int:
        """The rights of what lies beside it: whoever reads it may know what runs on it."""


class FileAddress(msgspec.Struct, frozen=True):
    """A DuckDB file, which need not exist yet."""

    path: Path
    is_shared = False

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def label(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def is_made(self) -> bool:
        """Whether there is a file."""
        return self.path.exists()

    @property
    def size_bytes(self) -> int:
        """The file's size; 0 where there is none yet."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def mode(self) -> int:
        """The file's own rights; those of its owner where there is none yet."""
        try:
            return self.path.stat().st_mode & 0o666
        except FileNotFoundError:
            return 0o600


def address_of(text: str, data: Path | None) -> Address:
    """Return the address that a user gives.

    Args:
        text: The path, or `SCHEME` and what PostgreSQL's clients are given.
        data: The folder of a team's rows, where this machine sees it elsewhere than the catalog says.

    Raises:
        InputError: It is neither, or a team's, for which packages are missing.
    """
    if text.startswith(SCHEME):
        found: Address = team_room().team_address(text, data)
        return found
    if not text:
        raise InputError(Fault("--ledger", "must not be empty", "expected the path of a file"))
    if not is_path(text):
        problem = f"{text!r} is neither a file nor a team's ledger"
        raise InputError(Fault("--ledger", problem, f'a path, or "{SCHEME}dbname=workbench host=db.lab.example"'))
    return FileAddress(Path(text).absolute())


def is_path(text: str) -> bool:
    """Return whether what a user names is a file, and not an address."""
    return bool(text) and "://" not in text and not text.startswith(("md:", "ducklake:", "postgres:"))


def team_room() -> ModuleType:
    """Return the package `workbench.team`, which is imported here alone, and only where an address names a team's ledger.

    Raises:
        InputError: What it needs is not installed.
    """
    try:
        return import_module("workbench.team")
    except ImportError as error:
        raise InputError(Fault("--ledger", "a team's ledger needs packages that are not installed", INSTALL)) from error
