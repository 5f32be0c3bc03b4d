"""Records kept on disk by number while a command lasts: texts stay out of memory, and a file that changes under a
running job changes nothing.
"""

import os
import tempfile
from array import array
from typing import Self

_BUFFER_BYTES = 2**20


class Spool:
    """An anonymous temporary file of byte strings; nothing is left of it, whatever ends the process."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=_BUFFER_BYTES)
        self._ends = array("Q", [0])

    def append(self, record: bytes) -> None:
        """Add a record; its number is how many there were before."""
        self._file.write(record)
        self._ends.append(self._ends[-1] + len(record))

    def seal(self) -> None:
        """Make every record readable; none is added after it."""
        self._file.flush()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> bytes:
        start, end = self._ends[number], self._ends[number + 1]
        return os.pread(self._file.fileno(), end - start, start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
