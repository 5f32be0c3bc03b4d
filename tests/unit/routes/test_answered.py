from collections.abc import Sequence
from datetime import UTC, date, datetime

from workbench.ledger.route_rows import RouteServed, RouteSubstitute
from workbench.routes.answered import AnsweredMatrix, answered_matrix

AT = datetime(2026, 11, 26, tzinfo=UTC)


def served(model: str, name: str | None, answers: int, identity: str) -> RouteServed:
    return RouteServed(model, name, answers, identity, "why", False, AT, AT)


def other(model: str, name: str, day: int, answers: int, *run_ids: str) -> RouteSubstitute:
    return RouteSubstitute(model, name, "fallback", "why", date(2026, 11, day), answers, AT, AT, list(run_ids))


def matrix(rows: Sequence[RouteServed], others: Sequence[RouteSubstitute]) -> AnsweredMatrix:
    return answered_matrix(sorted({row.requested_model for row in rows}), rows, others)


def test_an_alias_is_on_the_diagonal_and_what_is_not_known_is_neither() -> None:
    rows = [
        served("a", "a", 5, "as_requested"),
        served("a", "lab/a", 3, "known_alias"),
        served("a", None, 2, "unknown"),
    ]
    assert matrix(rows, []) == AnsweredMatrix((), (), True, 1)
    found = matrix(
        [*rows, served("a", "b", 1, "fallback"), served("b", "b", 9, "as_requested")], [other("a", "b", 3, 1, "r1")]
    )
    (row,) = found.rows
    assert (row.answers, row.own, row.unknown, found.columns, found.others) == (11, 8, 2, ("a", "b"), 1)


def test_a_cell_has_its_days_and_its_newest_runs() -> None:
    rows = [served("a", "b", 9, "fallback")]
    (row,) = matrix(rows, [other("a", "b", 3, 4, "r2", "r1"), other("a", "b", 9, 5, "r5", "r4", "r2")]).rows
    cell = row.by("b")
    assert cell is not None
    assert (cell.answers, cell.first_day.day, cell.last_day.day, cell.run_ids) == (9, 3, 9, ("r5", "r4", "r2"))
    assert row.by("a") is None


def test_of_many_models_only_what_is_off_the_diagonal_has_rows_and_columns() -> None:
    models = [f"m{number:02}" for number in range(38)]
    rows = [served(model, model, 5, "as_requested") for model in models]
    off = [other(model, "m37", 3, 1, "r1") for model in models[:10]]
    found = matrix([*rows, *(served(model, "m37", 1, "fallback") for model in models[:10])], off)
    assert ([row.model for row in found.rows], found.columns) == (models[:10], ("m37",))
    assert (found.has_diagonal, found.others) == (False, 28)
