"""Asked and answered as a matrix: which models answered for which routes, apart from what every route answered itself."""

from collections.abc import Sequence
from datetime import date

import msgspec

from workbench.ledger.route_rows import RouteServed, RouteSubstitute

MOST_RUNS = 3
_MOST_COLUMNS = 8
"""With more, what routes answered themselves is one column: a diagonal would be as wide as the list of models."""


class Substitute(msgspec.Struct, frozen=True):
    """What another model answered for a route: a cell off the diagonal."""

    served_model: str
    identity: str
    evidence: str
    answers: int
    first_day: date
    last_day: date
    run_ids: tuple[str, ...]
    """The newest runs that got them, the newest first."""


class AnsweredRow(msgspec.Struct, frozen=True):
    """A route for which another model answered."""

    model: str
    answers: int
    """All of them."""
    own: int
    """Under its own name or another name of its own: the diagonal."""
    unknown: int
    """Of which it is not known who gave them."""
    substitutes: tuple[Substitute, ...]

    def by(self, served_model: str) -> Substitute | None:
        """Return what one model answered for it."""
        return next((one for one in self.substitutes if one.served_model == served_model), None)


class AnsweredMatrix(msgspec.Struct, frozen=True):
    """Asked by answered, without the routes and names that have nothing off the diagonal."""

    rows: tuple[AnsweredRow, ...]
    columns: tuple[str, ...]
    """Served models; those of the rows first, where `has_diagonal`."""
    has_diagonal: bool
    """Whether rows are among the columns; else what they answered themselves stands apart."""
    others: int
    """Routes that have answers, none of them another model's."""


def answered_matrix(
    models: Sequence[str], served: Sequence[RouteServed], substitutes: Sequence[RouteSubstitute]
) -> AnsweredMatrix:
    """Return who answered for whom; another name of the same model is on the diagonal.

    Args:
        models: In order.
        served: Who answered for whom, over everything.
        substitutes: What is off the diagonal, by day.
    """
    off: dict[str, dict[str, Substitute]] = {}
    for one in substitutes:  # from the oldest day of a model and a name to the newest
        of_model = off.setdefault(one.model, {})
        of_model[one.served_model] = _joined(of_model.get(one.served_model), one)
    answers = {model: [row for row in served if row.requested_model == model] for model in models}
    rows = tuple(
        AnsweredRow(
            model,
            sum(row.answers for row in answers[model]),
            sum(row.answers for row in answers[model] if row.identity in ("as_requested", "known_alias")),
            sum(row.answers for row in answers[model] if row.identity == "unknown"),
            tuple(sorted(off[model].values(), key=lambda one: -one.answers)),
        )
        for model in models
        if model in off
    )
    total: dict[str, int] = {}
    for cell in (cell for row in rows for cell in row.substitutes):
        total[cell.served_model] = total.get(cell.served_model, 0) + cell.answers
    names = sorted(total, key=lambda name: -total[name])
    asked = [row.model for row in rows]
    whole = [*asked, *(name for name in names if name not in asked)]
    has_diagonal = len(whole) <= _MOST_COLUMNS
    others = sum(1 for model in models if answers[model] and model not in off)
    return AnsweredMatrix(rows, tuple(whole if has_diagonal else names), has_diagonal, others)


def _joined(before: Substitute | None, day: RouteSubstitute) -> Substitute:
    """Return what one model answered for another with a newer day added."""
    answers, first, runs = (0, day.day, ()) if before is None else (before.answers, before.first_day, before.run_ids)
    newest = tuple(dict.fromkeys((*day.run_ids, *runs)))[:MOST_RUNS]
    return Substitute(day.served_model, day.identity, day.evidence, answers + day.answers, first, day.day, newest)
