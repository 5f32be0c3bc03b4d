"""Values written into SQL come back from DuckDB as they were."""

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.ledger.engine import literal, with_values

_TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["'", "''", "\\'", "'; DROP TABLE runs; --", "/* $job */", "$job", "\0", "a\0'\0b", "\n", "‘", "é", "\U0001f600"]
)
_ZONES = st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours)))
_TIMES = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=_ZONES)  # noqa: DTZ001 - bounds are naive
_SCALARS = {
    "text": _TEXTS,
    "flag": st.booleans(),
    "integer": st.integers(-(2**127) + 1, 2**127 - 1),
    "float": st.floats(allow_nan=False),
    "day": st.dates(),
}


@pytest.fixture(scope="module")
def db() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _read(db: duckdb.DuckDBPyConnection, value: object) -> object:
    found = db.execute(f"SELECT {literal(value)}").fetchone()
    assert found is not None
    return found[0]


@pytest.mark.parametrize("kind", _SCALARS)
def test_a_scalar_comes_back(db: duckdb.DuckDBPyConnection, kind: str) -> None:
    @given(_SCALARS[kind])
    def check(value: object) -> None:
        found = _read(db, value)
        assert (type(found), found) == (type(value), value)

    check()


@pytest.mark.parametrize("kind", _SCALARS)
def test_lists_and_dictionaries_come_back(db: duckdb.DuckDBPyConnection, kind: str) -> None:
    @given(st.lists(_SCALARS[kind]), st.dictionaries(_TEXTS, _SCALARS[kind]))
    def check(several: list[object], table: dict[str, object]) -> None:
        assert _read(db, several) == several
        assert _read(db, table) == table

    check()


@given(_TIMES)
def test_a_time_comes_back_in_utc(db: duckdb.DuckDBPyConnection, value: datetime) -> None:
    found = _read(db, value)
    assert isinstance(found, datetime)
    assert found.replace(tzinfo=UTC) == value


def test_nan_and_nothing_come_back(db: duckdb.DuckDBPyConnection) -> None:
    found = _read(db, math.nan)
    assert isinstance(found, float)
    assert math.isnan(found)
    assert _read(db, None) is None
    assert _read(db, [None, "a"]) == [None, "a"]


def test_enumerations_are_their_values(db: duckdb.DuckDBPyConnection) -> None:
    class Word(StrEnum):
        ONE = "one's"

    class OldWord(str, Enum):  # noqa: UP042 - the older kind is what is tested
        ONE = "one's"

    class Number(IntEnum):
        ONE = 1

    assert [_read(db, each) for each in (Word.ONE, OldWord.ONE, Number.ONE)] == ["one's", "one's", 1]


@pytest.mark.parametrize(
    "value",
    [b"a", ("a",), {"a"}, Path("a"), Decimal("0.5"), datetime(2026, 1, 2), timedelta(1), UTC, str, 1j],  # noqa: DTZ001
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_refused(value: object) -> None:
    for given_value in (value, [value], {"a": value}):
        with pytest.raises(TypeError, match="no SQL"):
            literal(given_value)


@given(_TEXTS)
def test_parameters_are_replaced_where_they_stand_as_values(db: duckdb.DuckDBPyConnection, value: str) -> None:
    query = """
        SELECT $job AS "$job", '$job ''$job' AS texts -- $job isn't replaced here
        /* $job; it's not here
           either */
        WHERE $job = $job
    """
    assert db.execute(with_values(query, {"job": value})).fetchall() == [(value, "$job '$job")]
    assert [column[0] for column in db.description or ()] == ["$job", "texts"]


def test_a_parameter_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="job"):
        with_values("SELECT $job", {})
