"""Arguments as Python gives them: NumPy's and no values as others, and errors that name arguments, not options of a command."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from workbench.errors import Fault, InputError

_OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]*)")
_OTHER_NAMES = {"model": "models", "RUN": "run"}
"""Of options and operands of the command line, whose arguments are called otherwise."""


@contextmanager
def named_as_arguments() -> Iterator[None]:
    """Faults of options as faults of the arguments of the same names; commands that they name stay commands."""
    try:
        yield
    except InputError as error:
        error.faults = tuple(map(_as_argument, error.faults))
        error.args = ("\n".join(map(str, error.faults)),)
        raise


def _as_argument(fault: Fault) -> Fault:
    where, problem, hint = (_OPTION.sub(_argument, text) for text in (fault.where, fault.problem, fault.hint))
    return Fault(_OTHER_NAMES.get(where, where), problem, fault.hint if "`" in fault.hint else hint)


def _argument(option: re.Match[str]) -> str:
    name = option[1].replace("-", "_")
    return _OTHER_NAMES.get(name, name)


def as_several(given: Any, name: str) -> Sequence[str]:
    """Return texts that are given as one, as several, or not at all.

    Args:
        name: Of the argument.

    Raises:
        InputError: They are something else.
    """
    if given is None:
        return ()
    if isinstance(given, str):
        return (str(given),)
    try:
        found = [str(one) if isinstance(one, str) else one for one in given]
    except TypeError as error:
        raise InputError(Fault(name, f"expected a text or a list of texts, found {given!r:.60}")) from error
    if wrong := [one for one in found if not isinstance(one, str)]:
        raise InputError(Fault(name, f"expected a text or a list of texts, found {wrong[0]!r:.60} in it"))
    return found
