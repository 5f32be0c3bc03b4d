"""What is right and what is wrong, by the messages that ask for it: simulated routes answer from it, and a command that has
jobs writes it, see `workbench.planning.answer_key`.
"""

import hashlib
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

_TABLE = "CREATE TABLE IF NOT EXISTS answers (messages BLOB PRIMARY KEY, entry BLOB NOT NULL) WITHOUT ROWID"
_ENCODER = msgspec.msgpack.Encoder()
_CANONICAL = msgspec.json.Encoder(order="sorted")


class KeyedAnswer(msgspec.Struct, frozen=True, array_like=True):
    """What a model may answer."""

    text: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    """The tools that it calls: their names, and their arguments as JSON text."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """What an answer key has for one list of messages."""

    right: KeyedAnswer
    wrong: KeyedAnswer | None = None
    """None where nothing is known to be wrong."""
    takes_words: bool = False
    """Whether words before the right text leave it right."""


class AnswerKey:
    """An answer key that is read, also while it is written.

    Args:
        path: Of its file; one that is missing answers nothing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._decoder = msgspec.msgpack.Decoder(Entry)

    def entry(self, messages: bytes) -> Entry | None:
        """Return what there is for the messages of this digest."""
        if self._db is None:
            if not self._path.exists():
                return None
            self._db = sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)
        found = self._db.execute("SELECT entry FROM answers WHERE messages = ?", (messages,)).fetchone()
        return None if found is None else self._decoder.decode(found[0])

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()


class AnswerKeyFile:
    """An answer key to write, readable by its user alone.

    Raises:
        OSError: The file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._db = sqlite3.connect(path)
        try:  # nothing here outlives the platform, so that nothing need be safe from a power cut
            self._db.executescript(f"PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; {_TABLE}")
        except sqlite3.OperationalError as error:
            self._db.close()
            raise OSError(str(error)) from error

    def add(self, entries: Iterable[tuple[Any, Entry]]) -> None:
        """Enter what lists of messages ask for; what was entered first for the same ones stays.

        Raises:
            OSError: The disk takes no more.
        """
        rows = [(digest_of(messages), _ENCODER.encode(entry)) for messages, entry in entries]
        try:
            with self._db:
                self._db.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", rows)
        except sqlite3.OperationalError as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def digest_of(messages: Any) -> bytes:
    """Return what messages are found by: a hash of their JSON with sorted keys,
    so that a preset or a model makes no difference.
    """
    return hashlib.blake2b(_CANONICAL.encode(messages), digest_size=16).digest()
