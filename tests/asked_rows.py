"""The answers of queries as dictionaries, whatever structs they have."""

from typing import Any

from workbench.ledger.queries import Reader


def rows_of(reader: Reader, query: str, **parameters: Any) -> list[dict[str, Any]]:
    """All rows of a query."""
    rows: list[dict[str, Any]] = reader.arrow(query, **parameters).to_pylist(maps_as_pydicts="strict")
    return rows
