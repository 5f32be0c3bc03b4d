"""What a platform remembers across restarts: hashed keys and draws, in a small SQLite file."""

import contextlib
import hashlib
import secrets
import sqlite3
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from workbench.local_platform.clock import Clock

T = TypeVar("T")
_DRAWS = """
CREATE TABLE IF NOT EXISTS draws (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, account TEXT NOT NULL, source TEXT NOT NULL, requested TEXT,
    route TEXT, weight REAL NOT NULL, settled INTEGER NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER,
    total_tokens INTEGER, estimated_tokens INTEGER, note TEXT
) STRICT
"""
_DRAWS_BY_ACCOUNT = "CREATE INDEX IF NOT EXISTS draws_by_account ON draws (account, at)"
_FIRST_DRAWS = "ALTER TABLE draws ADD COLUMN first_draw INTEGER"
"""Of the call that a draw belongs to; NULL: it is the first one."""
_LINKS = """
CREATE TABLE IF NOT EXISTS links (
    hash BLOB PRIMARY KEY, account TEXT NOT NULL, kind TEXT NOT NULL, created_at REAL NOT NULL, expires_at REAL NOT NULL
) WITHOUT ROWID, STRICT
"""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS keys (
    hash BLOB PRIMARY KEY, account TEXT NOT NULL, created_at REAL NOT NULL, revoked_at REAL, last_used_at REAL,
    name TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID, STRICT;
{_LINKS};
{_DRAWS};
{_DRAWS_BY_ACCOUNT};
{_FIRST_DRAWS};
PRAGMA application_id = 1463962196;
PRAGMA user_version = 5;
"""
_STEPS = {
    1: ("ALTER TABLE keys ADD COLUMN last_used_at REAL",),
    2: (  # a draw's number is not given again when that draw is gone
        "ALTER TABLE draws RENAME TO earlier_draws",
        "DROP INDEX draws_by_account",
        _DRAWS,
        _DRAWS_BY_ACCOUNT,
        "INSERT INTO draws SELECT * FROM earlier_draws",
        "DROP TABLE earlier_draws",
    ),
    3: ("ALTER TABLE keys ADD COLUMN name TEXT NOT NULL DEFAULT ''", _LINKS),
    4: (_FIRST_DRAWS,),
}
"""Version -> what brings a file of it to the next one."""
_VERSION, _APPLICATION = 5, 1463962196
_ID_DIGITS = 8
MOST_NAME_CHARS = 100


LinkKind = Literal["invitation", "session"]
"""What a secret is for: to sign in once, or to stay signed in."""


class StateError(Exception):
    """The file cannot be used, or does not hold what was named; the message says which."""


class UnknownKeyError(StateError):
    """No active key has the id, or several do."""


class StateBusyError(StateError):
    """Another process is writing."""


class Key(msgspec.Struct, frozen=True):
    """What is known of a key once it was shown: never the key."""

    id: str
    """The first digits of its SHA-256."""
    account: str
    created_at: float
    revoked_at: float | None
    last_used_at: float | None
    """To the minute; None where it was not used since this is recorded."""
    name: str = ""
    """As whoever made it called it."""


class DailyDraws(msgspec.Struct, frozen=True):
    """What an account drew on one day (UTC) by calls for one model, or elsewhere."""

    day: str
    model: str | None
    """As it was asked for; None: of usage that was added by hand."""
    calls: int
    """Those that used something, or may have; the attempts of one are one call."""
    calls_without_usage: int
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    """Of the calls that reported them, and of what was added by hand."""
    units: float
    """By the routes' weights, estimates included."""
    estimated_units: float
    """Those of calls without usage."""


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
    """False where a request may have used tokens and none were reported: `estimated_tokens` counts instead."""
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    estimated_tokens: int | None
    note: str | None
    """Why the usage is not known, or what was said where a draw was added or settled by hand."""


def new_key() -> str:
    """Return a fresh API key: the prefix `sk-` and 32 hexadecimal digits."""
    return "sk-" + secrets.token_hex(16)


def is_a_name(name: str) -> bool:
    """Return whether a key may be called so."""
    return len(name) <= MOST_NAME_CHARS and name.isprintable()


def hashed(key: str) -> bytes:
    """SHA-256 of a key; keys have 128 random bits, so that no slower hash is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


class State:
    """Keys and draws; every change is durable when its method returns, also for a process that is then killed.

    Between `begin` and `commit` changes are durable with the commit.

    Args:
        path: Of the SQLite file; None keeps everything in memory.
        busy_s: How long a change waits, with all of its thread, for another process that writes.
        clock: What time it is; by default the machine's.

    Raises:
        StateError: The file is of another kind, or of a newer version.
    """

    def __init__(self, path: Path | None = None, *, busy_s: float = 5.0, clock: Clock | None = None) -> None:
        self.path, self._clock = path, clock or Clock()
        self._changes = 0
        try:
            if path is not None and not path.exists():
                path.touch(0o600)
            self._db = sqlite3.connect(
                path or ":memory:", timeout=busy_s, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._db.close)  # whoever forgets to: since Python 3.13 that is warned of
            self._adopt()
            self._db.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
            own = None if path is None else path.stat()
            self._file = None if own is None else (own.st_dev, own.st_ino)
        except (sqlite3.Error, OSError) as error:
            raise StateError(
                f"{path} cannot be used as a platform's state: {error} (--state names another path)"
            ) from error

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def _adopt(self) -> None:
        """Make the tables in a new file, and refuse one that is not ours."""
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        tables = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if tables and self._db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise StateError(f"{self.path} is another program's SQLite file (--state names another path)")
        if version > _VERSION:
            raise StateError(f"{self.path} has version {version}, made by a newer workbench; upgrade this one")
        if version == 0:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.executescript(_SCHEMA)
        elif version < _VERSION:
            self._db.execute("BEGIN IMMEDIATE")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]  # another process may have been first
            for step in range(version, _VERSION):
                for statement in _STEPS[step]:
                    self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {_VERSION}")
            self._db.execute("COMMIT")

    def begin(self) -> None:
        """Gather changes for one commit.

        Raises:
            StateBusyError: Another process is writing.
            StateError: The file is not there any more: what was written now would be gone with the process.
        """
        self._look_after_file()
        self._execute("BEGIN IMMEDIATE")

    def _look_after_file(self) -> None:
        """See that the file is still the one that was opened: SQLite keeps writing to one that has no name."""
        if self.path is None:
            return
        try:
            found = self.path.stat()
        except OSError as error:
            text = f"{self.path} is gone ({error.strerror}): put it back, or make other keys and restart the platform"
            raise StateError(text) from error
        if self._file != (found.st_dev, found.st_ino):
            raise StateError(f"{self.path} is another file than when the platform began: restart it")

    def commit(self) -> None:
        """Make what was gathered durable."""
        self._execute("COMMIT")

    def now_s(self) -> float:
        """Return the time of what is recorded now, in Unix seconds."""
        return self._clock.unix_s()

    def try_to_write(self) -> None:
        """Write something that changes nothing, as a disk that was full may have room again."""
        self._execute("INSERT OR REPLACE INTO links VALUES (x'00', '', 'form', 0, 0)")
        self._execute("DELETE FROM links WHERE hash = x'00'")

    def together(self, change: Callable[[], T]) -> T:
        """Make several changes, or none of them; within others, with those."""
        if self._db.in_transaction:
            return change()
        self.begin()
        try:
            found = change()
            self.commit()
        except BaseException:
            self.undo()
            raise
        return found

    def undo(self) -> None:
        """Drop what was gathered."""
        with contextlib.suppress(sqlite3.Error):
            self._db.rollback()

    def version(self) -> tuple[int, int]:
        """Return a number that changes with the keys, with draws made elsewhere,
        and with whatever another process changed in the file.
        """
        return int(self._execute("PRAGMA data_version").fetchone()[0]), self._changes

    def create_key(self, account: str, name: str = "") -> str:
        """Return a new key for an account; it cannot be read again."""
        key = new_key()
        self._execute(
            "INSERT INTO keys (hash, account, created_at, name) VALUES (?, ?, ?, ?)",
            (hashed(key), account, self.now_s(), name),
        )
        self._changes += 1
        return key

    def regenerate_key(self, key_id: str, account: str | None = None) -> str:
        """Return a new key of the same name in place of an old one, which is dead from then on.

        Args:
            account: Whose key it must be.

        Raises:
            UnknownKeyError: No active key has this id, or several do; the old key lives on.
        """
        names = {key.id: key.name for key in self.keys()}

        def replaced() -> str:
            return self.create_key(self.revoke_key(key_id, account), names[key_id.strip().lower()[:_ID_DIGITS]])

        return self.together(replaced)

    def revoke_key(self, key_id: str, account: str | None = None) -> str:
        """Revoke a key; return whose it was.

        Args:
            account: Whose key it must be.

        Raises:
            UnknownKeyError: No active key has this id, or several do.
        """
        wanted = key_id.strip().lower()
        living = {key: owner for key, owner in self.living_keys().items() if account is None or owner == account}
        found = [digest for digest in living if len(wanted) >= _ID_DIGITS and digest.hex().startswith(wanted)]
        if len(found) > 1:
            raise UnknownKeyError(f"several active keys begin with {key_id!r}")
        change = "UPDATE keys SET revoked_at = ? WHERE hash = ? AND revoked_at IS NULL"
        if not found or not self._execute(change, (self.now_s(), found[0])).rowcount:  # another process may be first
            raise UnknownKeyError(f"no active key has the id {key_id!r}; `workbench platform keys` lists them")
        self._changes += 1
        return living[found[0]]

    def keys(self) -> list[Key]:
        """Return every key that was ever made, oldest first."""
        rows = self._execute(
            "SELECT lower(hex(hash)), account, created_at, revoked_at, last_used_at, name FROM keys ORDER BY created_at"
        )
        return [Key(digits[:_ID_DIGITS], *rest) for digits, *rest in rows]

    def living_keys(self) -> dict[bytes, str]:
        """Hash -> account of the keys that are accepted."""
        return dict(self._execute("SELECT hash, account FROM keys WHERE revoked_at IS NULL"))

    def make_link(self, account: str, kind: LinkKind, lasts_s: float) -> str:
        """Return a secret that stands for an account until it expires; what has expired is forgotten, but for invitations."""
        secret, now = secrets.token_urlsafe(32), self.now_s()
        self._execute("DELETE FROM links WHERE expires_at <= ? AND kind <> 'invitation'", (now,))
        self._execute(
            "INSERT INTO links (hash, account, kind, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
            (hashed(secret), account, kind, now, now + lasts_s),
        )
        return secret

    def account_of_link(self, secret: str, kind: LinkKind) -> str | None:
        """Return the account that a secret stands for; None where it is none, was used, or has expired."""
        asked = "SELECT account FROM links WHERE hash = ? AND kind = ? AND expires_at > ?"
        row = self._execute(asked, (hashed(secret), kind, self.now_s())).fetchone()
        return None if row is None else str(row[0])

    def use_link(self, secret: str, kind: LinkKind) -> str | None:
        """Return the same, and use it up: of two that use one at once, one gets the account."""
        used = "UPDATE links SET expires_at = 0 WHERE hash = ? AND kind = ? AND expires_at > ? RETURNING account"
        row = self._execute(used, (hashed(secret), kind, self.now_s())).fetchone()
        return None if row is None else str(row[0])

    def take_form(self, form_id: str, account: str, lasts_s: float) -> bool:
        """Return whether a form is sent for the first time, and remember it for a while."""
        now = self.now_s()
        self._execute("DELETE FROM links WHERE expires_at <= ? AND kind = 'form'", (now,))
        row = (hashed(form_id), account, now, now + lasts_s)
        taken = "INSERT OR IGNORE INTO links (hash, account, kind, created_at, expires_at) VALUES (?, ?, 'form', ?, ?)"
        return bool(self._execute(taken, row).rowcount)

    def has_invited(self) -> bool:
        """Return whether anybody was ever invited."""
        return self._execute("SELECT 1 FROM links WHERE kind = 'invitation' LIMIT 1").fetchone() is not None

    def note_use(self, key: bytes, at: float) -> None:
        """Record when the key with a hash was used (Unix seconds)."""
        self._execute("UPDATE keys SET last_used_at = ? WHERE hash = ?", (at, key))

    def open_draw(
        self, account: str, requested: str, route: str, weight: float, estimated_tokens: int, first: int | None = None
    ) -> int:
        """Record, before a request is sent, that it may use tokens; unsettled until its usage is known.

        Args:
            first: The draw of the call's first attempt; None: this is it.
        """
        row = (self.now_s(), account, requested, route, weight, estimated_tokens, first)
        cursor = self._execute(
            "INSERT INTO draws (at, account, source, requested, route, weight, settled, estimated_tokens, first_draw) "
            "VALUES (?, ?, 'api', ?, ?, ?, 0, ?, ?)",
            row,
        )
        return cursor.lastrowid or 0

    def settle_draw(self, draw: int, prompt_tokens: int, completion_tokens: int, total_tokens: int) -> None:
        """Record what a route reported."""
        self._execute(
            "UPDATE draws SET settled = 1, prompt_tokens = ?, completion_tokens = ?, total_tokens = ? WHERE id = ?",
            (prompt_tokens, completion_tokens, total_tokens, draw),
        )

    def estimate_draw(self, draw: int, estimated_tokens: int, reason: str) -> None:
        """Record a better estimate of an unsettled draw, and why its usage is not known."""
        self._execute("UPDATE draws SET estimated_tokens = ?, note = ? WHERE id = ?", (estimated_tokens, reason, draw))

    def explain_left_open(self, reason: str) -> None:
        """Record why the usage of draws is not known that no process will settle any more; to be called where none serves."""
        self._execute("UPDATE draws SET note = ? WHERE NOT settled AND note IS NULL", (reason,))

    def release_draw(self, draw: int) -> None:
        """Take a draw back that certainly drew nothing."""
        self._execute("DELETE FROM draws WHERE id = ?", (draw,))

    def add_draw(self, account: str, tokens: int, note: str, at: float | None = None) -> int:
        """Record tokens used elsewhere, such as in the chat UI.

        Args:
            account: Whose allowance they count to.
            tokens: How many, prompt and answer together.
            at: When, in Unix seconds; None is now.
        """
        cursor = self._execute(
            "INSERT INTO draws (at, account, source, weight, settled, total_tokens, note) "
            "VALUES (?, ?, 'added', 1, 1, ?, ?)",
            (self.now_s() if at is None else at, account, tokens, note),
        )
        self._changes += 1
        return cursor.lastrowid or 0

    def remove_draw(self, draw: int) -> None:
        """Take back a draw that was added by hand.

        Raises:
            StateError: There is no such draw.
        """
        if not self._execute("DELETE FROM draws WHERE id = ? AND source = 'added'", (draw,)).rowcount:
            raise StateError(
                f"ID: there is no entry {draw} that was added by hand; expected a number that adding one printed"
            )
        self._changes += 1

    def settle_by_hand(self, draw: int, tokens: int, reason: str) -> None:
        """Settle a draw whose usage was not reported; it keeps its estimate, and the reason.

        Args:
            tokens: What it used, all in all; 0 releases it.

        Raises:
            StateError: There is no such draw, or its usage is known.
        """
        change = "UPDATE draws SET settled = 1, total_tokens = ?, note = ? WHERE id = ? AND NOT settled"
        if not self._execute(change, (tokens, reason, draw)).rowcount:
            raise StateError(f"there is no unsettled entry {draw}; `workbench platform usage --unsettled` lists them")
        self._changes += 1

    def draws(self, account: str | None = None, *, unsettled_only: bool = False, most: int = -1) -> list[Draw]:
        """Draws, the last recorded first.

        Args:
            unsettled_only: Only those whose usage was not reported.
            most: How many; -1 is all.
        """
        rows = self._execute(
            "SELECT id, at, account, source, requested, route, weight, settled, prompt_tokens, completion_tokens, total_tokens,"
            " estimated_tokens, note FROM draws WHERE (:account IS NULL OR account = :account)"
            " AND (NOT :unsettled_only OR NOT settled) ORDER BY id DESC LIMIT :most",
            {"account": account, "unsettled_only": unsettled_only, "most": most},
        )
        return [msgspec.convert(row, Draw, strict=False) for row in map(self._named, rows)]

    def daily_draws(self, account: str, since: float) -> list[DailyDraws]:
        """Return what an account drew since a time (Unix seconds) by day and model, the newest day first.

        A file is read through a connection of its own, so that another thread can do it.
        """
        self._look_after_file()
        try:
            if self.path is None:
                return _daily_draws(self._db, account, since)
            with contextlib.closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as db:
                return _daily_draws(db, account, since)
        except sqlite3.Error as error:
            raise StateError(f"{self.path or 'the platform state'}: {error}") from error

    def drawn_units(self, account: str, since: float) -> float:
        """Return what an account drew since a time (Unix seconds): tokens by their weights, estimates where unsettled."""
        row = self._execute(
            "SELECT total(weight * iif(settled, total_tokens, estimated_tokens)) FROM draws WHERE account = ? AND at >= ?",
            (account, since),
        ).fetchone()
        return float(row[0])

    def _execute(self, statement: str, parameters: tuple[object, ...] | dict[str, object] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, parameters)
        except sqlite3.Error as error:
            kind = StateBusyError if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY") else StateError
            raise kind(f"{self.path or 'the platform state'}: {error}") from error

    def _named(self, row: tuple[object, ...]) -> dict[str, object]:
        return dict(zip(Draw.__struct_fields__, row, strict=True))


def _daily_draws(db: sqlite3.Connection, account: str, since: float) -> list[DailyDraws]:
    rows = db.execute(
        "SELECT date(at, 'unixepoch') AS day, requested, count(DISTINCT iif(source = 'api', coalesce(first_draw, id), NULL)), "
        "count(DISTINCT iif(settled, NULL, coalesce(first_draw, id))), sum(prompt_tokens), "
        "sum(completion_tokens), sum(total_tokens), total(weight * iif(settled, total_tokens, estimated_tokens)), "
        "total(iif(settled, 0, weight * estimated_tokens)) "
        "FROM draws WHERE account = ? AND at >= ? GROUP BY day, requested ORDER BY day DESC, requested",
        (account, since),
    )
    return [DailyDraws(*row) for row in rows]
