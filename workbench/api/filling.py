"""A spreadsheet in, the same spreadsheet with answers out: an ordinary run of a job, whose dataset is the sheet."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from workbench.api.session import Target, connected, ledger_to_write
from workbench.dataset.filled import Sheet, read_sheet, write_sheet
from workbench.dataset.new_columns import Cell, NewColumns, named
from workbench.dataset.placing import beside, put, why_not_in_place
from workbench.dataset.spool import Spool
from workbench.display.text import visible
from workbench.errors import Fault, InputError
from workbench.evaluation.exports import safe_for_a_spreadsheet
from workbench.evaluation.row_answers import Flag, Kind, RowAnswer, row_answers
from workbench.job.job import Job
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.planning.again import of_kind, with_earlier_caps
from workbench.planning.expand import Plan
from workbench.planning.models import PlannedModel, planned_models, with_cap
from workbench.planning.sheet_job import only_model, sheet_job
from workbench.running.options import RunOptions
from workbench.scoring.judge import Judge
from workbench.scoring.scorer import Scorer
from workbench.scoring.structure import object_in
from workbench.scratch import ScratchFolder
from workbench.wording.filling import flag_text

_MOST_TRIES = 5
"""As often a file is read again that is saved meanwhile."""
_PRIVATE = 0o600
_NOT_ASKED = RowAnswer(flags=(Flag("not asked yet"),))
_MOST_FIELDS = 50
"""Of JSON answers that get a column of their own: what varies more has no common form."""
_LEAST_SHARE_OF_OBJECTS = 0.5


class SheetRows(NamedTuple):
    """The rows of a sheet as requests, in their order."""

    keys: list[str]
    ids: list[str]
    idle: frozenset[str]
    """Scorers that have a target in no row."""


class ToFill(NamedTuple):
    """What somebody wants filled."""

    sheet: Sheet
    variant: str | None = None
    """Its name, where the job has several."""
    out: Path | None = None
    """The file to write, in place of the sheet's own."""


class Filling(NamedTuple):
    """A sheet that is to be filled, checked before anything is sent."""

    wanted: ToFill
    job: Job
    """As its file says."""
    models: tuple[PlannedModel, ...]
    """The one that is asked."""
    identity: str
    """Of the platform."""
    content: bytes
    """The sheet's file, as it was."""
    rows: SheetRows
    """The same as requests."""
    limit: int | None
    """Only so many rows are asked."""


class Filled(msgspec.Struct, frozen=True):
    """A sheet that was filled."""

    file: str
    rows: int
    filled: int
    """Those with an answer and without a flag."""
    flagged: dict[Kind, int]
    """The others, by why."""
    beyond_limit: int
    """Those that were not to be asked, and are left as they were."""
    not_in_place: str = ""
    """Why it is not the file that was given; empty where it is, or `--out` says so."""

    @property
    def is_left(self) -> bool:
        """Whether there are rows that the same command asks."""
        return "changed" in self.flagged or "not asked yet" in self.flagged


async def checked(where: Target, job: Job, asked: Job, wanted: ToFill, options: RunOptions) -> Filling:
    """Check a sheet and its job against the platform; nothing is sent.

    Args:
        job: As its file says.
        asked: The same for the sheet, as far as it is to be asked.

    Raises:
        InputError: The sheet lacks a column, a prompt has a fault, or the job asks several models.
    """
    async with connected(where, asked.ids) as session:
        models = only_model(planned_models(asked, session.models, session.endpoint.gateway_limit_s))
        identity = session.endpoint.identity
    models, path = with_cap(models, options.max_tokens), wanted.sheet.path
    content = path.read_bytes()
    try:
        rows = _rows(sheet_job(job, wanted.sheet, wanted.variant), models, identity, ledger_to_write(where), options)
    except InputError as error:  # of a prompt, for one: it knows its rows as samples
        raise InputError(*(_naming(path, fault) for fault in error.faults)) from error
    return Filling(wanted, job, models, identity, content, rows, asked.part.limit)


def _naming(path: Path, fault: Fault) -> Fault:
    """Return a fault that names the file."""
    if str(path) in str(fault):
        return fault
    return Fault(fault.where, f"{path.name}: {fault.problem}", fault.hint)


def write_filled(filling: Filling, ledger: Ledger, run_id: str, options: RunOptions) -> Filled:
    """Write what a run answered beside the rows of its sheet, as they are now.

    Args:
        filling: The sheet, and its rows as they were when the run began.

    Raises:
        OSError: The file cannot be written.
    """
    name = filling.wanted.sheet.path.name
    with reading(ledger, frugal=True) as reader:
        answers = row_answers(reader, run_id, filling.job.scorers, filling.rows.idle)
    with ScratchFolder() as scratch:
        rows_of = partial(_rows, models=filling.models, identity=filling.identity, ledger=ledger, options=options)
        writer = _Writer(filling, answers, rows_of, scratch.path / name)
        for _ in range(_MOST_TRIES):
            try:
                done = writer.as_it_is_now()
            except (InputError, FileNotFoundError) as error:
                why = str(error).replace(f"{scratch.path}{os.sep}", "")
                return writer.as_it_was(f"{name} is not what it was when the run began: {why}")
            if done is not None:
                return done
        return writer.as_it_was(f"{name} is being saved again and again")


def _rows(job: Job, models: tuple[PlannedModel, ...], identity: str, ledger: Ledger, options: RunOptions) -> SheetRows:
    """Return the rows of a job's sheet as requests."""
    with Spool() as spool:
        plan = Plan(job, models, identity, spool)
        plan.expand()
        if ledger.exists:  # with a higher cap, they are other requests
            with reading(ledger, frugal=True) as reader:
                again = with_earlier_caps(reader, job.name, of_kind(options.again, options.max_tokens))
                if again.max_tokens is not None or again.earlier_caps:
                    plan.take_answers(reader, None, again)
        idle = frozenset(name for name, samples in plan.unjudged.items() if samples == plan.samples)
        keys = [plan.request_key_of(number) for number in range(len(plan))]
        return SheetRows(keys, [plan.sample(number).id for number in range(plan.samples)], idle)


class _Writer:
    """Writes the answers of a run into its sheet.

    Args:
        answers: By request key.
        rows_of: Returns the rows of a job's sheet.
        copy: Where the file is copied to: what is read must be what is written, whoever saves it meanwhile.
    """

    def __init__(
        self, filling: Filling, answers: dict[str, RowAnswer], rows_of: Callable[[Job], SheetRows], copy: Path
    ) -> None:
        self._filling, self._answers, self._rows_of, self._copy = filling, answers, rows_of, copy
        before = filling.rows
        self._asked, self._known, self._ids = set(before.keys[: filling.limit]), set(before.keys), set(before.ids)

    def as_it_is_now(self) -> Filled | None:
        """Write the file with its rows as they are now; None where it was changed while that went on.

        Raises:
            InputError: It cannot be read for this job any more, or has none of the rows that were asked.
        """
        given = self._filling.wanted
        path = given.sheet.path
        before = path.stat()

        def is_current() -> bool:
            now = path.stat()
            return (now.st_ino, now.st_size, now.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)

        sheet, rows = self._read(path.read_bytes())
        if not {*rows.keys} & (self._known | self._answers.keys()):
            raise InputError(Fault("", "it has none of the rows that were asked"))
        why = "" if given.out is not None else why_not_in_place(given.sheet)
        target = given.out or (beside(given.sheet) if why else path)
        return self._written(sheet, rows, partial(put, target, mode=before.st_mode, is_current=is_current), why, target)

    def as_it_was(self, why: str) -> Filled:
        """Write the rows as they were when the run began to a file beside it.

        Args:
            why: It is not the file itself.
        """
        given = self._filling.wanted
        sheet, rows = self._read(self._filling.content)
        target = given.out or beside(given.sheet)
        done = self._written(sheet, rows, partial(put, target, mode=_PRIVATE, is_current=lambda: True), why, target)
        if done is None:
            raise FileNotFoundError(str(target))
        return done

    def _read(self, content: bytes) -> tuple[Sheet, SheetRows]:
        self._copy.write_bytes(content)
        sheet = read_sheet(self._copy, self._filling.wanted.sheet.name)
        return sheet, self._rows_of(sheet_job(self._filling.job, sheet, self._filling.wanted.variant))

    def _written(
        self, sheet: Sheet, rows: SheetRows, place: Callable[..., bool], why: str, target: Path
    ) -> Filled | None:
        """Write a sheet, and return what it holds then; None where it is not current any more."""
        found = [self._of_row(key, name) for key, name in zip(rows.keys, rows.ids, strict=True)]
        columns = SheetColumns(sheet, self._filling.job.scorers, [one for one in found if one is not None])
        lines = [columns.row(one or _NOT_ASKED) for one in found]
        is_kept = [one is None and columns.names[-1] in sheet.own for one in found]
        # what an earlier `fill` wrote and this one does not would be of other answers: it is emptied, or goes where it can
        stale = [name for name in sheet.header if name in sheet.own and name not in columns.names]
        stale = stale if sheet.is_workbook or any(is_kept) else []
        emptied = (None,) * len(stale)
        new = NewColumns(
            (*columns.names[:-1], *stale, columns.names[-1]),
            [
                None if kept else (*line.cells[:-1], *emptied, line.cells[-1])
                for kept, line in zip(is_kept, lines, strict=True)
            ],
            sheet.own,
        )
        if not place(write=partial(write_sheet, sheet, new)):
            return None
        kinds = [line.kind for one, line in zip(found, lines, strict=True) if one is not None]
        flagged = Counter(kind for kind in kinds if kind is not None)
        return Filled(str(target), len(found), kinds.count(None), dict(flagged), found.count(None), why)

    def _of_row(self, key: str, sample_id: str) -> RowAnswer | None:
        """Return what a row gets; None: it was not to be asked."""
        if key in self._answers:
            return self._answers[key]
        if key in self._asked:
            return _NOT_ASKED
        if key in self._known:
            return None
        columns = self._filling.wanted.sheet.columns
        if self._filling.job.dataset.fields.id is None and "id" not in columns:
            return RowAnswer(flags=(Flag("changed", "changed or added since the run began"),))
        what = "changed since it was asked" if sample_id in self._ids else "added since the run began"
        return RowAnswer(flags=(Flag("changed", what),))


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
