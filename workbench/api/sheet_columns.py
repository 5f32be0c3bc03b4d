"""The columns that answers make in a spreadsheet, and the cells of each row in them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from workbench.dataset.filled import Sheet
from workbench.dataset.new_columns import Cell, named
from workbench.display.text import visible
from workbench.evaluation.exports import safe_for_a_spreadsheet
from workbench.evaluation.row_answers import Flag, Kind, RowAnswer
from workbench.scoring.judge import Judge
from workbench.scoring.scorer import Scorer
from workbench.scoring.structure import object_in
from workbench.wording.filling import flag_text

_MOST_FIELDS = 50
"""Of JSON answers that get a column of their own: what varies more has no common form."""
_LEAST_SHARE_OF_OBJECTS = 0.5


class FilledRow(NamedTuple):
    """The cells of a row, and why it is flagged."""

    cells: tuple[Cell, ...]
    flags: tuple[Flag, ...]

    @property
    def kind(self) -> Kind | None:
        """The first reason of its flag; None where all is well."""
        return self.flags[0].kind if self.flags else None


class SheetColumns:
    """The columns of a sheet's answers: `answer`, its fields where answers are JSON objects, scores, and a flag."""

    def __init__(self, sheet: Sheet, scorers: Sequence[Scorer], rows: Sequence[RowAnswer]) -> None:
        self._sheet, self._scorers = sheet, scorers
        self._fields = _fields_of([row.answer for row in rows if row.answer])
        self.names = tuple(named([*self._wanted(), sheet.flag], sheet.header, sheet.own))
        """Under which they are written; the last one is the flag's."""

    def row(self, given: RowAnswer) -> FilledRow:
        """Return what is written of a row."""
        found = object_in(given.answer, None) or {} if self._fields and given.answer else {}
        values: list[Any] = [given.answer, *(found.get(name) for name in self._fields.values())]
        for scorer in self._scorers:
            values.append(given.scores.get(scorer.named))
            values += [given.reasons.get(scorer.named)] if isinstance(scorer, Judge) else []
        cells, flags = list[Cell](), list(given.flags)
        for name, value in zip(self.names, values, strict=False):
            cell, more = self._cell(value, name)
            cells.append(cell)
            flags += more
        flag, _ = self._cell(flag_text(flags) or None, self.names[-1])
        return FilledRow((*cells, flag), tuple(flags))

    def _wanted(self) -> Iterator[str]:
        yield "answer"
        yield from self._fields
        for scorer in self._scorers:
            yield f"score.{scorer.named}"
            if isinstance(scorer, Judge):
                yield f"reason.{scorer.named}"

    def _cell(self, value: Any, name: str) -> tuple[Cell, list[Flag]]:
        """Return a value as a cell of the sheet, and what does not fit in."""
        if isinstance(value, list | dict):
            value = json.dumps(value, ensure_ascii=False)
        if not isinstance(value, str):
            is_whole = isinstance(value, float) and value.is_integer()
            return int(value) if is_whole else value, []
        held, is_short, is_other = self._sheet.fitted(value)
        flags = [Flag("shortened", name)] if is_short else []
        flags += [Flag("characters replaced", name)] if is_other else []
        return held if self._sheet.is_workbook else safe_for_a_spreadsheet(held), flags


def _fields_of(answers: Sequence[str]) -> dict[str, str]:
    """Return the columns of the fields that answers have, with the fields; none where most answers are not JSON objects."""
    objects = [found for answer in answers if (found := object_in(answer, None))]
    if len(objects) < _LEAST_SHARE_OF_OBJECTS * len(answers):
        return {}
    columns: dict[str, str] = {}
    for name in dict.fromkeys(name for one in objects for name in one):
        columns.setdefault(f"answer.{' '.join(visible(name).split())}", name)
    return columns if len(columns) <= _MOST_FIELDS else {}
