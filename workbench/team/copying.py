"""A file's ledger copied into a team's."""

import duckdb

from workbench.errors import Fault, InputError, WorkbenchError
from workbench.ledger.database import opened_for_writing
from workbench.ledger.engine import READING_MEMORY_MIB, Engine, first_line, literal
from workbench.ledger.ingest import INGEST_PATIENCE_S, ingest
from workbench.ledger.queries import reading
from workbench.ledger.rows import LedgerKind
from workbench.ledger.store import Ledger
from workbench.team.address import address_of_team
from workbench.team.lake import TeamTransactions, losses_explained

KEYS = {"samples": "sample_key", "request_bodies": "body_key", "ingested_journals": "name"}
"""What the rows of tables are known by in which each is there once."""
OWNERS = {"readings": "reading_id", "acceptances": "job"}
"""To what the rows of the other tables belong, where that is not a run."""
_OF_ITS_OWN = ("turns", "schema_versions")
_NEW_ROWS = """
    INSERT INTO ledger.{table} ({columns})
    SELECT {columns} FROM source.{table} WHERE {key} NOT IN (SELECT {key} FROM ledger.{table})
"""
_MISSING_ROWS = """
    INSERT INTO ledger.{table} ({columns})
    WITH both_have AS (SELECT {key} FROM source.{table} INTERSECT SELECT {key} FROM ledger.{table})
    SELECT {columns} FROM source.{table} WHERE {key} NOT IN (FROM both_have)
    UNION ALL (
        SELECT {columns} FROM source.{table} WHERE {key} IN (FROM both_have)
        EXCEPT ALL SELECT {columns} FROM ledger.{table} WHERE {key} IN (FROM both_have)
    )
"""
_REPLACED_ITEMS = """
    DELETE FROM ledger.run_items AS copied WHERE run_id IN (SELECT run_id FROM source.run_items) AND NOT EXISTS (
        SELECT 1 FROM source.run_items AS item
        WHERE item.run_id = copied.run_id AND item.request_key = copied.request_key
            AND item.answer_run_id = copied.answer_run_id AND item.answer_call_no = copied.answer_call_no
    )
"""


def copy_ledger(source: Ledger, team: Ledger) -> dict[str, int]:
    """Copy what a file's ledger holds and a team's does not; when done again, what came since.

    Args:
        source: The file; what its journals hold is ingested first.

    Returns:
        How many rows of each table were copied.

    Raises:
        InputError: They hold data of different kinds.
        WorkbenchError: The file is in use, or the rows cannot be written.
    """
    done = ingest(source)
    if done.deferred:
        raise WorkbenchError(done.deferred)
    _refuse_mixing(source, team)
    engine = Engine(READING_MEMORY_MIB, threads=None)
    with (
        source.locked(exclusive=False),
        team.locked(exclusive=True),
        opened_for_writing(team, INGEST_PATIENCE_S, engine) as db,
    ):
        try:
            with losses_explained():
                engine.attach(source.file, "source", read_only=True)
                transactions = TeamTransactions(db, address_of_team(team))
                copied = {table: _copied(transactions, table) for table in _tables(db)}
        except duckdb.Error as error:
            raise WorkbenchError(f"{source.name} cannot be copied to {team.name}: {first_line(error)}") from error
    return copied


def _tables(db: duckdb.DuckDBPyConnection) -> list[str]:
    query = (
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'ledger' AND schema_name = 'main' ORDER BY ALL"
    )
    return [table for (table,) in db.execute(query).fetchall() if table not in _OF_ITS_OWN]


def _copied(transactions: TeamTransactions, table: str) -> int:
    """Copy one table in a transaction of its own; returns how many rows were not there."""
    db = transactions.db
    described = db.execute(
        f"SELECT column_name FROM duckdb_columns() WHERE database_name = 'ledger' AND table_name = {literal(table)}"  # noqa: S608
    ).fetchall()
    columns = ", ".join(name for (name,) in described)
    statement = _NEW_ROWS if table in KEYS else _MISSING_ROWS
    key = KEYS.get(table) or OWNERS.get(table, "run_id")

    def write() -> int:
        transactions.begin()
        if table == "run_items":  # of a request that was sent again since the last copy
            db.execute(_REPLACED_ITEMS)
        found = db.execute(statement.format(table=table, columns=columns, key=key)).fetchone()
        transactions.commit()
        return int(found[0]) if found else 0

    return transactions.alone(write)


def _refuse_mixing(source: Ledger, team: Ledger) -> None:
    kinds: dict[bool, str] = {}
    for ledger in (source, team):
        with reading(ledger) as reader:
            kinds |= {kind.simulated: ledger.name for kind in reader.all(LedgerKind)}
    if len(kinds) > 1:
        problem = f"{kinds[True]} holds simulated data, {kinds[False]} an account's"
        raise InputError(Fault("--ledger", problem, "each kind needs its own ledger"))
