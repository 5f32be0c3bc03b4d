"""What a file of samples holds, and the same in our own form."""

import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from workbench.dataset.files import MOST_LINE_BYTES, format_of
from workbench.dataset.layouts.known import layout_of
from workbench.dataset.layouts.layout import PLAIN, Layout
from workbench.dataset.one_object import rows_within
from workbench.dataset.repeated_ids import RepeatedIds
from workbench.dataset.samples import id_column, no_rows, notes_on, rows_of, samples_in
from workbench.errors import Fault, InputError, no_folder
from workbench.job.file import FieldNames
from workbench.records.calls import CLUSTER, Sample

_ENCODER = msgspec.json.Encoder()


class Overview(msgspec.Struct, frozen=True):
    """A file of samples at a glance."""

    format: str
    layout: str
    title: str
    note: str
    samples: int
    with_target: int
    with_choices: int
    with_tools: int
    is_chat: int
    """How many are lists of messages."""
    equal: int
    """Samples that are there before, with the same input, choices and target."""
    repeated_ids: int
    """Samples whose id is there before."""
    shortest_chars: int
    median_chars: float
    longest_chars: int
    metadata: list[str]
    """Columns beside those with a meaning."""
    notes: list[str]
    """What is unusual of the file, and read all the same."""
    first: list[Sample]


def overview(path: Path, layout: Layout | None, most: int, sheet: str | None = None) -> Overview:
    """Read a file through, and say what it is taken for.

    Args:
        layout: By default the one that its first row has.
        sheet: Of a workbook; by default the only one that has rows.
    """
    taken = layout or layout_of(_first_row(path, sheet))
    first: list[Sample] = []
    counts = dict.fromkeys(("with_target", "with_choices", "with_tools", "is_chat", "equal"), 0)
    lengths, ids, contents, metadata = array("q"), RepeatedIds(), set[int](), dict[str, None]()
    for sample in samples_in(path, taken, rows_of(path, sheet=sheet), ids):
        first += [sample] if len(first) < most else []
        text = sample.input.encode() if isinstance(sample.input, str) else _ENCODER.encode(sample.input)
        lengths.append(len(text.decode()))
        content = hash((text, _ENCODER.encode([sample.choices, sample.target])))
        seen = {
            "with_target": sample.target is not None, "with_choices": bool(sample.choices), "with_tools": bool(sample.tools),
            "is_chat": sample.is_chat, "equal": content in contents,
        }  # fmt: skip
        counts = {name: counts[name] + value for name, value in seen.items()}
        contents.add(content)
        metadata |= dict.fromkeys(sample.metadata)
    repeated = ids.note(id_column(FieldNames()), are_clustered=CLUSTER in metadata)
    return Overview(
        format=format_of(path), layout=taken.name, title=taken.title, note=taken.note, samples=len(lengths), **counts,
        shortest_chars=min(lengths), median_chars=median(lengths), longest_chars=max(lengths), metadata=list(metadata),
        repeated_ids=ids.again, notes=[*notes_on(path, sheet=sheet), *filter(None, [repeated])], first=_named(first, ids),
    )  # fmt: skip


def _named(first: list[Sample], ids: RepeatedIds) -> list[Sample]:
    """Return the first samples of a file by the names that they have in a run."""
    own = [sample.id for sample in first]
    return [
        msgspec.structs.replace(sample, id=ids.name(sample.id, own[: place + 1].count(sample.id)))
        for place, sample in enumerate(first)
    ]


def converted(path: Path, layout: Layout | None, sheet: str | None = None) -> Iterator[bytes]:
    """Return a file's samples as lines of JSON in our own form, which read back as the same samples.

    Raises:
        InputError: A column would make the line a row of another layout.
    """
    rows = list(rows_within(path) or ()) if format_of(path) == "jsonl" else []
    taken = layout or layout_of(rows[0][1] if rows else _first_row(path, sheet))
    for number, sample in enumerate(samples_in(path, taken, iter(rows) if rows else rows_of(path, sheet=sheet)), 1):
        place = f"{path}: sample {number}"
        line = _ENCODER.encode(_own_row(sample, place))
        if len(line) > MOST_LINE_BYTES:
            raise InputError(Fault(place, f"a line of more than {MOST_LINE_BYTES // 2**20} MiB in our own form"))
        yield line + b"\n"


def write_converted(path: Path, layout: Layout | None, target: Path, sheet: str | None = None) -> int:
    """Write a file's samples in our own form, whole or not at all, and return how many they are.

    Args:
        target: A new file.

    Raises:
        InputError: The target already exists, or the file is broken.
    """
    if target.exists():
        raise InputError(Fault(str(target), "already exists", "name a new file"))
    if not target.parent.is_dir():
        raise InputError(no_folder(str(target), target.parent))
    part, count = target.with_name(f"{target.name}.part"), 0
    try:
        with part.open("xb") as stream:
            for line in converted(path, layout, sheet):
                stream.write(line)
                count += 1
        os.link(part, target)  # unlike a rename, it never takes the place of a file that came meanwhile
    except FileExistsError as error:
        raise InputError(Fault(str(error.filename2 or error.filename), "already exists", "name a new file")) from error
    finally:
        part.unlink(missing_ok=True)
    return count


def _own_row(sample: Sample, place: str) -> dict[str, Any]:
    """Return a sample in our columns, checked as if it were a file's first row: lines are also cut and shuffled."""
    parts: dict[str, Any] = {"target": sample.target}
    parts |= {"choices": sample.choices} if sample.choices else {}
    parts |= {"tools": sample.tools} if sample.tools else {}
    whole = {"id": sample.id, "input": sample.input} | parts | sample.metadata
    # a row without an input column stands for itself, unless another layout has the same columns
    short = {"id": sample.id} | parts | sample.metadata
    if sample.input == sample.metadata and layout_of(short) is PLAIN:
        return short
    if (other := layout_of(whole)) is PLAIN:
        return whole
    ours = {"input": None, "target": None}
    taken = (name for name, value in sample.metadata.items() if layout_of(ours | {name: value}) is not PLAIN)
    column = next(taken, ", ".join(sample.metadata))  # or all of them together
    problem = f"a row with this column would be read back as {other.title}"
    raise InputError(Fault(f"{place}: {column}", problem, "rename the column first"))


def _first_row(path: Path, sheet: str | None) -> dict[str, Any]:
    for _, row in rows_of(path, sheet=sheet):
        return row
    raise InputError(no_rows(str(path)))
