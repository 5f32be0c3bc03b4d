"""Folders for their user alone; temporary ones are removed by the next one should a kill leave one behind."""

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Self

_PREFIX = ".workbench-scratch-"
_NAME = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}")


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, with mode 0700; one that is there keeps its own.

    Raises:
        OSError: It cannot be made.
    """
    for missing in _missing(folder):
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # fails where a file is in the way


def make_readable(folder: Path) -> None:
    """Make a folder, and those above it that are missing, with mode 0755; one that is there keeps its own.

    Raises:
        OSError: It cannot be made.
    """
    for missing in _missing(folder):
        missing.mkdir(exist_ok=True)
        missing.chmod(0o755)  # whatever the umask: others are meant to read it


def _missing(folder: Path) -> list[Path]:
    """Return which of a folder and those above it are not there, the topmost first."""
    return [one for one in reversed((folder, *folder.parents)) if not one.exists()]


def sync(path: Path) -> None:
    """Put a file's content, or the names in a folder, on the disk for good.

    Raises:
        OSError: It cannot be done.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class ScratchFolder:
    """A new folder (mode 0700) under the system's temporary folder, locked for as long as its process lives.

    Making one removes those whose processes are dead: they may hold prompts and answers.

    Raises:
        OSError: No folder can be made there.
    """

    def __init__(self) -> None:
        _remove_abandoned()
        self.path, self._fd = _made()

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _remove_abandoned() -> None:
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):  # in use, removed meanwhile, or another user's
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(path: Path) -> None:
    fd = _opened(path)
    try:
        found = os.fstat(fd)
        if found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) == stat.S_IRWXU:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(fd)


def _made() -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        try:
            fd = _opened(path)
        except FileNotFoundError:  # taken for abandoned before it was locked
            continue
        fcntl.flock(fd, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(fd), path.stat()):
                return path, fd
        os.close(fd)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
