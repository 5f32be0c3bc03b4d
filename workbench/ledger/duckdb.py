"""What we use of DuckDB, from the compiled module that the package `duckdb` re-exports.

The package makes a database of its own when it is imported, only to look up the name of a type. That took some 30 ms of
every command, 6 MiB and a thread. Both give the same objects, so that a notebook may import `duckdb` beside us.
"""

from _duckdb import (
    BinderException,
    CatalogException,
    DuckDBPyConnection,
    Error,
    IOException,
    OutOfMemoryException,
    TransactionException,
    connect,
)

__all__ = (
    "BinderException",
    "CatalogException",
    "DuckDBPyConnection",
    "Error",
    "IOException",
    "OutOfMemoryException",
    "TransactionException",
    "connect",
)
