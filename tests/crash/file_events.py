"""Changes to the files of a folder and of those below it, as the kernel tells of them."""

import ctypes
import os
import select
import struct
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_MODIFY, _MOVED_TO, _CREATE, _DELETE, _FOLDER = 0x2, 0x80, 0x100, 0x200, 0x40000000  # inotify(7)
_EVENT = struct.Struct("iIII")


class FileEvents:
    """Watches a folder, and every folder that is made below it.

    Args:
        folder: Where.
    """

    def __init__(self, folder: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        assert self._fd >= 0
        self._folders: dict[int, Path] = {}
        for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            self._watch(path)

    def wait(self, count: int, timeout_s: float) -> int:
        """Wait for so many changes, and return how many there were; fewer if the time ends before."""
        seen, deadline = 0, time.monotonic() + timeout_s
        while seen < count and (left_s := deadline - time.monotonic()) > 0:
            if not select.select([self._fd], [], [], left_s)[0]:
                break
            content, start = os.read(self._fd, 65536), 0
            while start < len(content):
                watch, mask, _, size = _EVENT.unpack_from(content, start)
                start += _EVENT.size
                name = content[start : start + size].rstrip(b"\0").decode()
                start += size
                seen += 1
                if mask & _CREATE and mask & _FOLDER and watch in self._folders:
                    self._watch(self._folders[watch] / name)
        return seen

    def _watch(self, path: Path) -> None:
        watch = self._libc.inotify_add_watch(self._fd, os.fsencode(path), _MODIFY | _MOVED_TO | _CREATE | _DELETE)
        if watch >= 0:  # else it is gone already
            self._folders[watch] = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)
