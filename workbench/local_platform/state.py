"""What a platform remembers across restarts: hashed keys and draws, in a small SQLite file."""

import hashlib
import secrets
import sqlite3
import time
from pathlib import Path

import msgspec

_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    hash BLOB PRIMARY KEY, account TEXT NOT NULL, created_at REAL NOT NULL, revoked_at REAL
) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS draws (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, account TEXT NOT NULL, source TEXT NOT NULL, requested TEXT, route TEXT,
    weight REAL NOT NULL, settled INTEGER NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER,
    total_tokens INTEGER, estimated_tokens INTEGER, note TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS draws_by_account ON draws (account, at);
PRAGMA user_version = 1;
"""
_VERSION = 1
_ID_DIGITS = 8
_BUSY_S = 5.0


class StateError(Exception):
    """The file cannot be used, or does not hold what was named; the message says which."""


class Key(msgspec.Struct, frozen=True):
    """What is known of a key once it was shown: never the key."""

    id: str
    """The first digits of its SHA-256."""
    account: str
    created_at: float
    revoked_at: float | None


class Draw(msgspec.Struct, frozen=True):
    """One draw on an account's allowance."""

    id: int
    at: float
    account: str
    source: str
    """`api`, or `added` for one made elsewhere."""
    requested: str | None
    route: str | None
    weight: float
    settled: bool
    """False where a request may have drawn and nobody said how much: `estimated_tokens` stands for it."""
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    estimated_tokens: int | None
    note: str | None


def new_key() -> str:
    """A fresh API key: the prefix `sk-` and 32 hexadecimal digits."""
    return "sk-" + secrets.token_hex(16)


def hashed(key: str) -> bytes:
    """SHA-256 of a key; keys have 128 random bits, so that no slower hash is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


class State:
    """Keys and draws; every change is durable when its method returns, also for a process that is then killed.

    Between `begin` and `commit` changes are durable with the commit.

    Args:
        path: Of the SQLite file; None keeps everything in memory.

    Raises:
        StateError: The file is of another kind, or of a newer version.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._changes = 0
        try:
            if path is not None and not path.exists():
                path.touch(0o600)
            self._db = sqlite3.connect(
                path or ":memory:", timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > _VERSION:
                raise StateError(f"{path} is of version {version}, made by a newer workbench; upgrade this one")
            self._db.executescript(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise StateError(f"{path} cannot be used as a platform's state: {error}") from error

    def close(self) -> None:
        """Let the file go."""
        if self.has_begun:
            self.commit()
        self._db.close()

    @property
    def has_begun(self) -> bool:
        """Whether changes wait for a commit."""
        return self._db.in_transaction

    def begin(self) -> None:
        """Gather changes for one commit."""
        self._execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Make what was gathered durable.

        Raises:
            StateError: It cannot be, and nothing of it is kept.
        """
        try:
            self._execute("COMMIT")
        except StateError:
            self._db.rollback()
            raise

    def version(self) -> tuple[int, int]:
        """Changes with the keys, with draws made elsewhere, and with whatever another process changed in the file."""
        return int(self._execute("PRAGMA data_version").fetchone()[0]), self._changes

    def create_key(self, account: str) -> str:
        """A new key for an account; nobody can read it again."""
        key = new_key()
        self._changes += 1
        self._execute("INSERT INTO keys VALUES (?, ?, ?, NULL)", (hashed(key), account, time.time()))
        return key

    def regenerate_key(self, key_id: str) -> str:
        """A new key in place of an old one, which is dead from then on.

        Raises:
            StateError: No living key has this id, or several do.
        """
        old = self._living(key_id)
        self._changes += 1
        key, now = new_key(), time.time()
        self._execute("SAVEPOINT regenerate")
        self._execute("UPDATE keys SET revoked_at = ? WHERE hash = ?", (now, old))
        self._execute("INSERT INTO keys SELECT ?, account, ?, NULL FROM keys WHERE hash = ?", (hashed(key), now, old))
        self._execute("RELEASE regenerate")
        return key

    def revoke_key(self, key_id: str) -> None:
        """Let a key be refused from now on.

        Raises:
            StateError: No living key has this id, or several do.
        """
        digest = self._living(key_id)
        self._changes += 1
        self._execute("UPDATE keys SET revoked_at = ? WHERE hash = ?", (time.time(), digest))

    def keys(self) -> list[Key]:
        """Every key that was ever made, oldest first."""
        rows = self._execute("SELECT lower(hex(hash)), account, created_at, revoked_at FROM keys ORDER BY created_at")
        return [Key(digits[:_ID_DIGITS], *rest) for digits, *rest in rows]

    def living_keys(self) -> dict[bytes, str]:
        """Hash -> account of the keys that are accepted."""
        return dict(self._execute("SELECT hash, account FROM keys WHERE revoked_at IS NULL"))

    def open_draw(self, account: str, requested: str, route: str, weight: float, estimated_tokens: int) -> int:
        """Put down, before a request is sent, that it may draw; unsettled until its usage is known."""
        row = (time.time(), account, requested, route, weight, estimated_tokens)
        cursor = self._execute(
            "INSERT INTO draws (at, account, source, requested, route, weight, settled, estimated_tokens) "
            "VALUES (?, ?, 'api', ?, ?, ?, 0, ?)",
            row,
        )
        return cursor.lastrowid or 0

    def settle_draw(self, draw: int, prompt_tokens: int, completion_tokens: int, total_tokens: int) -> None:
        """Put down what a route reported."""
        self._execute(
            "UPDATE draws SET settled = 1, prompt_tokens = ?, completion_tokens = ?, total_tokens = ? WHERE id = ?",
            (prompt_tokens, completion_tokens, total_tokens, draw),
        )

    def estimate_draw(self, draw: int, estimated_tokens: int) -> None:
        """Put down a better estimate of an unsettled draw."""
        self._execute("UPDATE draws SET estimated_tokens = ? WHERE id = ?", (estimated_tokens, draw))

    def release_draw(self, draw: int) -> None:
        """Take a draw back that certainly drew nothing."""
        self._execute("DELETE FROM draws WHERE id = ?", (draw,))

    def add_draw(self, account: str, tokens: int, note: str) -> int:
        """Put down a draw made elsewhere, such as in the chat UI."""
        self._changes += 1
        cursor = self._execute(
            "INSERT INTO draws (at, account, source, weight, settled, total_tokens, note) "
            "VALUES (?, ?, 'added', 1, 1, ?, ?)",
            (time.time(), account, tokens, note),
        )
        return cursor.lastrowid or 0

    def draws(self, account: str | None = None, *, unsettled_only: bool = False, most: int = -1) -> list[Draw]:
        """Draws, newest first.

        Args:
            account: Only this one's.
            unsettled_only: Only those whose usage nobody reported.
            most: How many; -1 is all.
        """
        rows = self._execute(
            "SELECT * FROM draws WHERE (?1 IS NULL OR account = ?1) AND (NOT ?2 OR NOT settled) ORDER BY id DESC LIMIT ?3",
            (account, unsettled_only, most),
        )
        return [msgspec.convert(row, Draw, strict=False) for row in map(self._named, rows)]

    def drawn_units(self, account: str, since: float) -> float:
        """What an account drew since a time (Unix seconds): tokens by their weights, estimates where unsettled."""
        row = self._execute(
            "SELECT total(weight * iif(settled, total_tokens, estimated_tokens)) FROM draws WHERE account = ? AND at >= ?",
            (account, since),
        ).fetchone()
        return float(row[0])

    def _execute(self, statement: str, parameters: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, parameters)
        except sqlite3.Error as error:
            raise StateError(f"{self.path or 'the platform state'}: {error}") from error

    def _named(self, row: tuple[object, ...]) -> dict[str, object]:
        return dict(zip(Draw.__struct_fields__, row, strict=True))

    def _living(self, key_id: str) -> bytes:
        wanted = key_id.strip().lower()
        found = [digest for digest in self.living_keys() if wanted and digest.hex().startswith(wanted)]
        if len(found) != 1:
            raise StateError(f"{'several living keys begin' if found else 'no living key begins'} with {key_id!r}")
        return found[0]
