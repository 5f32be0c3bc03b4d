"""Rows become samples: columns get the workbench's names, and the job's selection is applied."""

import fnmatch
import hashlib
import itertools
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import workbench.display.commands as commands
from workbench.dataset.files import Format, delimiter_of, expand, format_of
from workbench.dataset.filled_table import marked_columns as filled_columns
from workbench.dataset.json_rows import PlacedRow, array_rows, decoded, jsonl_rows
from workbench.dataset.layouts.known import in_our_columns, layout_named
from workbench.dataset.layouts.layout import PLAIN, Layout
from workbench.dataset.new_columns import has_values
from workbench.dataset.one_object import object_in, refuse_one_object
from workbench.dataset.repeated_ids import RepeatedIds
from workbench.dataset.table_rows import delimited_rows, parquet_rows, table_notes
from workbench.errors import Fault, InputError, nearest
from workbench.job.faults import limit_range
from workbench.job.file import DatasetTable, FieldNames
from workbench.job.job import Job
from workbench.job.prompt import prompts_of
from workbench.job.request_fields import tools_problems
from workbench.records.calls import CLUSTER, Sample
from workbench.strict import kind_of


class IdGlobs:
    """Ids and globs of ids; a job may list thousands of ids, each of which is looked up at once.

    Args:
        globs: As a job has them; none matches every sample.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        self._ids = frozenset(glob for glob in globs if not set("*?[") & set(glob))
        self._patterns = [glob for glob in globs if glob not in self._ids]
        self.unmatched = set(globs)
        """Those that match no sample that was taken."""

    def match(self, sample_id: str) -> bool:
        """Return whether a sample is among those that are meant."""
        if not self._ids and not self._patterns:
            return True
        return sample_id in self._ids or any(fnmatch.fnmatchcase(sample_id, glob) for glob in self._patterns)

    def take(self, sample_id: str) -> None:
        """Note that a sample is taken."""
        self.unmatched.discard(sample_id)
        if self._patterns:
            self.unmatched -= {glob for glob in self._patterns if fnmatch.fnmatchcase(sample_id, glob)}


class Row(NamedTuple):
    """A sample, and what its row says beside it."""

    sample: Sample
    number: int
    """Which of the rows with its id it is, from 1."""
    cluster: str | None
    """What it belongs to, by the column that the job names."""

    @property
    def numbered(self) -> str:
        """Its id with its number, as it is called where the id repeats."""
        return f"{self.sample.id}#{self.number}"

    def is_meant(self, globs: IdGlobs) -> bool:
        """Return whether a job takes it, by its id or with its number."""
        return globs.match(self.sample.id) or globs.match(self.numbered)


_CANONICAL = msgspec.json.Encoder(order="sorted")
_MOST_LAYOUTS = 1000
_NAMES = ("input", "target", "choices", "id", "tools")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def selected_samples(job: Job) -> Iterator[Sample]:
    """Return the samples a job takes, in file order, streamed.

    Raises:
        InputError: A file is missing or broken, a named column is missing, or no sample is left.
    """
    return (row.sample for row in selected_rows(job, RepeatedIds()))


def selected_rows(job: Job, ids: RepeatedIds) -> Iterator[Row]:
    """Return the same with what their rows say beside them.

    Args:
        ids: Told of every row that is read, also of those that are not taken.
    """
    files = expand(job.dataset_paths, job.where("dataset", "path")) if job.rows is None else []
    taken = 0
    chosen = _shuffled_choice(job, files)
    first, last = limit_range(job.dataset.limit) if chosen is None else (1, None)
    matching = 0
    reader, globs = _SampleReader(job.dataset, job.where, ids), IdGlobs(job.dataset.sample_ids)
    for number, row in enumerate(_rows(job, files, reader)):
        if not row.is_meant(globs):
            continue
        matching += 1
        if (chosen is not None and number not in chosen) or matching < first:
            continue
        if last is not None and matching > last:
            break
        taken += 1
        yield row
    if taken or reader.count:  # where there are no rows, no column is at fault
        reader.check_columns()
    if not taken:
        raise InputError(_nothing_taken(job, files, matching, reader.count))


def _nothing_taken(job: Job, files: list[Path], matching: int, rows: int) -> Fault:
    """Return why a job takes no sample."""
    if not rows:
        named = ", ".join(str(path) for path in files) or job.where("dataset")
        return no_rows(named)
    if job.dataset.sample_ids and not matching:
        globs = ", ".join(map(repr, job.dataset.sample_ids))
        hint = f"`{commands.SHOW_DATASET}` shows the first ones"
        return Fault(job.where("dataset", "sample_ids"), f"none of {rows} samples has an id like {globs}", hint)
    return Fault(
        job.where("dataset", "limit"), f"there are only {matching} samples", f"at most {matching}, or no limit"
    )


def no_rows(where: str) -> Fault:
    """Return what is wrong with a dataset that holds nothing: a table with a header only, or an empty JSON array."""
    return Fault(where, "the dataset has no rows", "expected at least one sample")


class ContentHash:
    """The hash of a dataset as a job takes it: of what the samples say and of their order, whatever the format."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256(b"workbench dataset 1")

    def add(self, sample: Sample) -> None:
        """Add one more sample."""
        content = _CANONICAL.encode(sample)
        self._digest.update(len(content).to_bytes(8, "big") + content)

    def hexdigest(self) -> str:
        """Return the hash of the samples so far, as 64 hexadecimal digits."""
        return self._digest.hexdigest()


def _shuffled_choice(job: Job, files: list[Path]) -> set[int] | None:
    """Return which rows a seeded draw of `limit` takes; None without a seed."""
    if job.dataset.shuffle_seed is None:
        return None
    globs = IdGlobs(job.dataset.sample_ids)
    rows = [
        number
        for number, row in enumerate(_rows(job, files, _SampleReader(job.dataset, job.where, RepeatedIds())))
        if row.is_meant(globs)
    ]
    random.Random(job.dataset.shuffle_seed).shuffle(rows)  # not for secrets: a repeatable draw
    first, last = limit_range(job.dataset.limit)
    return set(rows[first - 1 : last])


def _rows(job: Job, files: list[Path], reader: "_SampleReader") -> Iterator[Row]:
    layout = _layout(job)
    for place, columns in in_our_columns(_given_rows(job), Path(), layout):
        yield reader.row(place, columns)
    for path in files:
        for place, columns in in_our_columns(_rows_of_job(job, path), path, layout):
            yield reader.row(place, columns)


def _rows_of_job(job: Job, path: Path) -> Iterator[PlacedRow]:
    given = job.dataset
    is_told = given.layout is not None or given.fields != FieldNames()
    _refuse_keys_of_others(job, path)
    rows = rows_of(path, given.format, given.delimiter, given.sheet, as_they_are=is_told, needed=_columns_read(job))
    return rows if job.filled_columns is None else _without_columns(rows, job.filled_columns)


def _refuse_keys_of_others(job: Job, path: Path) -> None:
    """Refuse a delimiter where there are no cells to separate, and a sheet where there are no sheets."""
    given = job.dataset
    of_tables, of_workbooks = given.delimiter is not None, given.sheet is not None
    if not of_tables and not of_workbooks:
        return
    found = given.format or format_of(path)
    if of_tables and found not in ("csv", "tsv"):
        problem = f"separates the cells of tables, and {path} is {found}"
        raise InputError(Fault(job.where("dataset", "delimiter"), problem, "remove it"))
    if of_workbooks and found != "xlsx":
        problem = f"names a sheet of a workbook, and {path} is {found}"
        raise InputError(Fault(job.where("dataset", "sheet"), problem, "remove it"))


_READ_ANYWAY = (CLUSTER, "refusal")
"""Columns with a meaning wherever they are."""


def _columns_read(job: Job) -> frozenset[str] | None:
    """Return the columns that a job reads by their names; None where it may read any."""
    given = job.dataset
    if given.fields.input is None or any(one.asks_a_model or one.kind == "custom" for one in job.scorers):
        return None
    mapped = [column for name in _NAMES for column in _columns(getattr(given.fields, name) or name)]
    beside = [*given.reference.values(), *_columns(given.second_target), *_columns(given.cluster), *_READ_ANYWAY]
    return frozenset({*mapped, *beside}).union(*(prompt.named for _, prompt in prompts_of(job)))


def _without_columns(rows: Iterator[PlacedRow], own: Collection[str]) -> Iterator[PlacedRow]:
    for place, columns in rows:
        if has_values(columns, own):
            yield place, {name: value for name, value in columns.items() if name not in own}


def _given_rows(job: Job) -> Iterator[PlacedRow]:
    """Return the rows of a job made in Python."""
    for number, columns in enumerate(job.rows or (), 1):
        yield f"row {number}", dict(columns)


def _layout(job: Job) -> Layout | None:
    """Return what a job says its rows are; None leaves it to the first row.

    Raises:
        InputError: No layout has that name.
    """
    named = job.dataset.layout
    if named is None:  # who names columns means those of the file
        return PLAIN if job.dataset.fields != FieldNames() else None
    try:
        return layout_named(named)
    except ValueError as error:
        raise InputError(Fault(job.where("dataset", "layout"), str(error))) from error


def samples_in(
    path: Path,
    layout: Layout | None = None,
    rows: Iterator[PlacedRow] | None = None,
    ids: RepeatedIds | None = None,
) -> Iterator[Sample]:
    """Return all samples of one file, without a job.

    Args:
        layout: By default the one that its first row has.
        rows: Those of the file, by default as they are there.
        ids: Told of every row.

    Raises:
        InputError: The file is broken, or holds what cannot be asked.
    """
    reader = _SampleReader(DatasetTable(""), lambda *place: ".".join(map(str, place)), ids or RepeatedIds())
    for place, columns in in_our_columns(rows or rows_of(path), path, layout):
        yield reader.row(place, columns).sample


def rows_of(
    path: Path,
    kind: Format | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    *,
    as_they_are: bool = False,
    needed: Collection[str] | None = None,
) -> Iterator[PlacedRow]:
    """Return the rows of a file as they are there.

    Args:
        kind: Its format; detected from its content by default.
        delimiter: What separates the cells of a table; detected from its content by default.
        sheet: Of a workbook; by default the only one that has rows.
        as_they_are: Whether somebody says what the rows are: then an only one is not looked into.
        needed: The columns that somebody reads: in the others of a workbook a formula need not have a value. None: all.

    Raises:
        InputError: The file cannot be read, or is broken.
    """
    found = kind or format_of(path)
    match found:
        case "jsonl":
            return jsonl_rows(path) if kind or as_they_are else _not_one_object(path)
        case "json":
            return array_rows(path)
        case "csv" | "tsv":
            rows = delimited_rows(path, delimiter or ("\t" if found == "tsv" else delimiter_of(path)))
            return rows if as_they_are else _without_filled(rows)
        case "parquet":
            return parquet_rows(path)
        case "xlsx":
            from workbench.dataset.filled_workbook import marked_columns
            from workbench.dataset.workbook import sheet_head, workbook_rows

            rows = workbook_rows(path, sheet, needed)
            return rows if as_they_are else _without_columns(rows, marked_columns(sheet_head(path, sheet)))


def _without_filled(rows: Iterator[PlacedRow]) -> Iterator[PlacedRow]:
    """Return the rows of a table without what `fill` wrote there: a model's answer says nothing of what is right."""
    own: list[str] | None = None
    for place, columns in rows:
        if own is None:
            own = filled_columns(list(columns))
        yield place, {name: value for name, value in columns.items() if name not in own}


def notes_on(
    path: Path, kind: Format | None = None, delimiter: str | None = None, sheet: str | None = None
) -> list[str]:
    """Return what is unusual of a file, and read all the same: its encoding, a column without a name, merged cells."""
    found = kind or format_of(path)
    if found == "xlsx":
        from workbench.dataset.workbook import workbook_notes

        return list(workbook_notes(path, sheet))
    if found not in ("csv", "tsv"):
        return []
    return list(table_notes(path, "\t" if found == "tsv" else delimiter or delimiter_of(path)))


def _not_one_object(path: Path) -> Iterator[PlacedRow]:
    """Return the rows of a file that is JSON Lines as far as its first byte tells.

    Raises:
        InputError: It is one object around the rows.
    """
    rows = jsonl_rows(path)
    try:
        first = list(itertools.islice(rows, 2))
    except InputError:
        if (value := object_in(path)) is not None:  # printed for people, over several lines
            refuse_one_object(path, value)
        raise
    if len(first) == 1:
        refuse_one_object(path, first[0][1])
    return itertools.chain(first, rows)


class _Layout(NamedTuple):
    """Where the parts of a sample are in rows with the same columns."""

    sources: tuple[str | list[str], ...]
    """By name, in the order of `_NAMES`: a column, which need not be there, or several that make a list."""
    has_input: bool
    rest: tuple[str, ...]
    used: frozenset[str]


class _SampleReader:
    def __init__(self, dataset: DatasetTable, where: Callable[..., str], ids: RepeatedIds) -> None:
        self._fields, self._where, self._ids, self._cluster = dataset.fields, where, ids, dataset.cluster
        fields = dataset.fields
        self._beside: dict[tuple[str, ...], str] = {
            ("reference", name): column for name, column in dataset.reference.items()
        }
        if dataset.second_target is not None:
            self._beside["second_target",] = dataset.second_target
        self._mapped = {name: column for name in _NAMES if (column := getattr(fields, name)) is not None}
        self.count = 0
        """Rows that were read."""
        self._unseen = set(self._beside.values()) | {
            column for name in ("target", "choices", "tools") for column in _columns(self._mapped.get(name))
        }
        self._unseen |= set(_columns(self._cluster))
        self._known: dict[str, None] = {}
        self._layouts: dict[tuple[str, ...], _Layout] = {}

    def row(self, place: str, columns: dict[str, Any]) -> Row:
        sample = self._sample(place, columns)
        return Row(sample, self._ids.take(sample.id), self._cluster_of(sample, columns))

    def _cluster_of(self, sample: Sample, columns: dict[str, Any]) -> str | None:
        if self._cluster is None:
            return None
        if self._cluster == id_column(self._fields):
            return sample.id
        value = columns.get(self._cluster)
        if value in (None, ""):
            return None
        return value if isinstance(value, str) else _CANONICAL.encode(value).decode()

    def _sample(self, place: str, columns: dict[str, Any]) -> Sample:
        self.count += 1
        sources, has_input, others, _ = self._layouts.get(tuple(columns)) or self._lay_out(place, columns)
        given, target, choices, name, tools = [
            columns.get(source) if isinstance(source, str) else _collected(columns, source) for source in sources
        ]
        if isinstance(sources[2], list):
            choices = self._options_of_columns(columns, sources[2], place)
        rest = {column: columns[column] for column in others}
        is_of_messages = sources[0] == "messages" and self._fields.input is None
        if is_of_messages and isinstance(given, str) and given.lstrip().startswith("["):  # as tables carry it
            given = list(_listed(given, place, "messages"))
        if has_input and given in (None, "", []):
            raise InputError(Fault(place, "the input is empty", "fill it in, or remove the row"))
        sample = Sample(
            id=str(self.count) if name in (None, "") else str(name),
            input=given if has_input else rest,  # a row without an input column stands for itself
            target=None if target == "" else target,
            choices=_options(choices, place, _named(sources[2], "choices")),
            tools=_tools(tools, place, _named(sources[4], "tools")),
            metadata=rest,
        )
        if is_of_messages and isinstance(given, list) and not sample.is_chat:
            raise InputError(Fault(f"{place}: messages", "expected a list of messages, each with a role"))
        if sample.is_chat:
            _check_messages(sample.input, f"{place}: {_named(sources[0], 'input')}")
        return sample

    def _options_of_columns(self, columns: dict[str, Any], names: list[str], place: str) -> list[Any]:
        """Return an option from each column; the last may be empty, but a gap would give those after it other letters."""
        options = [columns.get(name) for name in names]
        while options and options[-1] in (None, ""):
            options.pop()
        for name, option in zip(names, options, strict=False):
            if name not in columns:
                raise InputError(self._no_column(("fields", "choices"), name, columns, place))
            if option in (None, ""):
                problem = f"an empty option before {names[len(options) - 1]!r}, which has a text"
                raise InputError(Fault(f"{place}: {name}", problem, "only the last options of a row may be empty"))
        return options

    def _lay_out(self, place: str, columns: dict[str, Any]) -> _Layout:
        """Work out the layout of a set of columns that was not seen before, or not recently."""
        self._known |= dict.fromkeys(columns)
        self._unseen -= columns.keys()
        for name, mapped in (("input", self._fields.input), ("id", self._fields.id)):
            if mapped is not None and mapped not in columns:
                raise InputError(self._no_column(("fields", name), mapped, columns, place))
        by_name = dict(zip(_NAMES, _NAMES, strict=True)) | self._mapped
        if self._fields.input is None and "input" not in columns:
            by_name["input"] = "messages"
        sources = tuple(by_name[name] for name in _NAMES)
        used = {column for source in sources for column in _columns(source)}
        has_input = self._fields.input is not None or "input" in columns or "messages" in columns
        layout = _Layout(sources, has_input, tuple(column for column in columns if column not in used), frozenset(used))
        if len(self._layouts) >= _MOST_LAYOUTS:
            self._layouts.clear()
        self._layouts[tuple(columns)] = layout
        return layout

    def check_columns(self) -> None:
        """Refuse a column that is named and that no row had, of those that were read."""
        for place, column in self._beside.items():
            if column in self._unseen:
                raise InputError(self._no_column(place, column, self._known, ""))
            if any(column in layout.used for layout in self._layouts.values()):
                problem = f"the column {column!r} is a part of the sample already"
                raise InputError(
                    Fault(self._where("dataset", *place), problem, "name one that [dataset.fields] leaves free")
                )
        if self._cluster is not None and self._cluster in self._unseen:
            raise InputError(self._no_column(("cluster",), self._cluster, self._known, ""))
        for name, mapped in self._mapped.items():
            for column in _columns(mapped):
                if column in self._unseen:
                    raise InputError(self._no_column(("fields", name), column, self._known, ""))

    def _no_column(self, name: tuple[str, ...], column: str, known: Any, place: str) -> Fault:
        there = f"no column {column!r}; the columns are: {', '.join(known)}" if known else "the dataset has no rows"
        field = self._where("dataset", *name)
        return Fault(field, f"{place}: {there}" if place else there, nearest(column, known))


def id_column(fields: FieldNames) -> str:
    """Return the column that has the ids."""
    return fields.id or "id"


def _columns(mapped: str | list[str] | None) -> list[str]:
    return [mapped] if isinstance(mapped, str) else mapped or []


def _collected(columns: dict[str, Any], names: list[str]) -> list[Any] | None:
    """Return a list from several columns, without the empty ones; None where all are."""
    return [columns[name] for name in names if columns.get(name) not in (None, "")] or None


def _named(source: str | list[str], name: str) -> str:
    """Return the column that a part of a sample is from, for messages."""
    return source if isinstance(source, str) else name


def _listed(value: Any, place: str, name: str) -> tuple[Any, ...]:
    """Return a list column; tables carry it as JSON text."""
    if value in (None, ""):
        return ()
    if isinstance(value, str):
        try:
            value = decoded(value.encode())
        except ValueError as error:
            raise InputError(Fault(f"{place}: {name}", f"expected a JSON list, found {kind_of(value)}")) from error
    if not isinstance(value, list):
        raise InputError(Fault(f"{place}: {name}", f"expected a list, found {kind_of(value)}"))
    return tuple(value)


def _check_messages(messages: Sequence[dict[str, Any]], place: str) -> None:
    """Refuse messages that no platform takes; what a model says may be calls of tools alone."""
    for number, message in enumerate(messages):
        role = message["role"]
        if role not in _ROLES:
            hint = nearest(role, _ROLES) or f"one of {', '.join(_ROLES)}"
            raise InputError(Fault(f"{place}[{number}].role", f"{role!r} is not a role", hint))
        if role != "assistant" and message.get("content") is None:
            raise InputError(
                Fault(f"{place}[{number}].content", "the message has no content", "a text, or a list of parts")
            )


def _options(value: Any, place: str, name: str) -> tuple[str, ...]:
    options = _listed(value, place, name)
    for number, option in enumerate(options):
        if option is None or isinstance(option, list | dict):
            problem = f"expected an option's text, found {kind_of(option)}"
            raise InputError(Fault(f"{place}: {name}[{number}]", problem))
    return tuple(map(str, options))


def _tools(value: Any, place: str, name: str) -> tuple[dict[str, Any], ...]:
    tools = _listed(value, place, name)
    for number, problem in tools_problems(tools):
        raise InputError(Fault(f"{place}: {name}[{number}]", problem))
    return tools
