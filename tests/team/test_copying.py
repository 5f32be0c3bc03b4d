"""What a copy into a team's ledger knows the rows of each table by."""

import duckdb

from workbench.ledger.engine import Transactions
from workbench.ledger.schema import migrate
from workbench.team.copying import KEYS, OWNERS


def test_the_rows_of_every_table_are_known_by_something() -> None:
    asked = "SELECT table_name, list(column_name) FROM duckdb_columns() WHERE NOT internal GROUP BY ALL"
    with duckdb.connect() as empty:
        migrate(Transactions(empty))
        tables = {name for (name,) in empty.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        found = dict(empty.execute(asked).fetchall())
    for table in tables - {"schema_versions"}:
        assert (KEYS.get(table) or OWNERS.get(table, "run_id")) in found[table], table
