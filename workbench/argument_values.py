"""What arguments of the Python API are given, checked one by one: no type checker may have seen them."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from workbench.errors import Fault, InputError
from workbench.strict import shown


def text(name: str, given: Any, expected: str = "text") -> str:
    """A text that an argument gives.

    Args:
        name: Of the argument.
        given: Its value.
        expected: What the text is, for the message.

    Raises:
        InputError: It is something else.
    """
    return given if isinstance(given, str) else _refuse(name, expected, given)


def optional_text(name: str, given: Any, expected: str = "text") -> str | None:
    """The same where None is a value as well."""
    return None if given is None else text(name, given, expected)


def texts(name: str, given: Any, expected: str = "a text or a list of texts") -> list[str]:
    """Several texts; one alone may be given without a list.

    Raises:
        InputError: They are something else.
    """
    found = [given] if isinstance(given, str) else entries(name, given, expected)
    return [text(name, one, expected) for one in found]


def entries(name: str, given: Any, expected: str) -> list[Any]:
    """What a list holds, or any other collection that is not a text and has no keys.

    Raises:
        InputError: It is something else.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        _refuse(name, expected, given)
    return list(given)


def flag(name: str, given: Any) -> bool:
    """True or False, and nothing that is only taken for one of them: the text "no" is as good as true.

    Raises:
        InputError: It is something else.
    """
    return given if isinstance(given, bool) else _refuse(name, "True or False", given)


def path(name: str, given: Any) -> str | os.PathLike[str]:
    """A path as text or as what `pathlib` makes of it.

    Raises:
        InputError: It is something else.
    """
    return given if isinstance(given, str | os.PathLike) else _refuse(name, "a path", given)


def optional_path(name: str, given: Any) -> str | os.PathLike[str] | None:
    """The same where None is a value as well."""
    return None if given is None else path(name, given)


def table(name: str, given: Any, expected: str) -> Mapping[str, Any]:
    """A dictionary.

    Raises:
        InputError: It is something else.
    """
    return given if isinstance(given, Mapping) else _refuse(name, expected, given)


def _refuse(name: str, expected: str, given: Any) -> NoReturn:
    raise InputError(Fault(name, f"expected {expected}, found {shown(given)}"))
