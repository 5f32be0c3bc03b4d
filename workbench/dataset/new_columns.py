"""The columns that `fill` adds to a spreadsheet: their names, their cells, and where they go."""

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

Cell = str | int | float | bool | None
_OURS = re.compile(r" \(workbench(?: \d+)?\)$")


class NewColumns(msgspec.Struct, frozen=True):
    """What is written beside the columns of a sheet."""

    names: tuple[str, ...]
    """Of the columns: one that the sheet has is written in place, the others come after its last."""
    rows: Sequence[tuple[Cell, ...] | None]
    """By the rows that make samples, in their order; None leaves what the row has in these columns."""
    own: frozenset[str]
    """The columns of the sheet that an earlier `fill` wrote: no part of its samples."""

    def places(self, header: Sequence[str]) -> list[int]:
        """Return where each column goes, counted from 1."""
        known = {name: place for place, name in enumerate(header, 1)}
        for name in self.names:
            known.setdefault(name, len(known) + 1)
        return [known[name] for name in self.names]


def has_values(row: Mapping[str, object], own: Collection[str]) -> bool:
    """Return whether a row has anything beside what `fill` wrote; one that has not is as good as an empty one."""
    return any(value is not None for name, value in row.items() if name not in own)


def named(wanted: Sequence[str], header: Sequence[str], own: Collection[str]) -> list[str]:
    """Return the names under which columns are written: their own, those of an earlier `fill`, or ones that are free.

    Args:
        wanted: Their names, each once.
        own: Those of its columns that an earlier `fill` wrote.
    """
    earlier = {_OURS.sub("", name): name for name in header if name in own}
    taken = {name.casefold() for name in header}  # a table of Excel takes names for the same whatever their case
    found = []
    for name in wanted:
        title, number = earlier.get(_OURS.sub("", name), name), 1
        while title not in own and title.casefold() in taken:
            title = f"{name} (workbench{f' {number}' if number > 1 else ''})"
            number += 1
        taken.add(title.casefold())
        found.append(title)
    return found
