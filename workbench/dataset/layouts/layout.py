"""What a layout is."""

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import Fault, InputError

Row = dict[str, Any]
Reader = Callable[[str, Row], Row]
"""Makes our columns of a row at a place; what the row says beside them stays under its own name."""


class Layout(NamedTuple):
    """A way in which others lay out their rows."""

    name: str
    """As `dataset.layout` names it."""
    title: str
    """For people."""
    recognises: Callable[[Row], bool]
    """Whether a file's first row looks like it."""
    reader: Callable[[Path], Reader]
    """A new one for each file."""
    expects: str = ""
    """What every row needs, for the message about one that lacks it."""
    note: str = ""
    """What of a file is not used, or how to score it."""


def always(reader: Reader) -> Callable[[Path], Reader]:
    """Return a reader that needs nothing but the row."""
    return lambda _: reader


def refused(place: str, what: str, hint: str = "") -> InputError:
    """Return the error for rows that are recognised, and not taken."""
    return InputError(Fault(place, what, hint))


def without(row: Row, *names: str) -> Row:
    """Return the other columns of a row."""
    return {name: value for name, value in row.items() if name not in names}


def mixed(right: list[str], wrong: list[str], question: str) -> list[str]:
    """Options in an order that does not tell which is right, the same for the same question."""
    options = list(dict.fromkeys([*right, *wrong]))
    seed = int.from_bytes(hashlib.sha256(question.encode(errors="backslashreplace")).digest()[:8], "big")
    random.Random(seed).shuffle(options)  # not for secrets: a repeatable order
    return options


PLAIN = Layout("plain", "our own columns, or those that a job names", lambda _: True, always(lambda _, row: row))
