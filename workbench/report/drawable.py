"""Texts as the charts' program can draw them: on some it throws, and on others it ends the whole process."""

from typing import Any

import workbench.display as people

MOST_CHARS = 34
"""A label's length; the program itself may cut one within a character."""
_WORD_JOINER = "\u2060"  # not seen
_TAKEN = frozenset(
    {
        "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
        "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
    }
)  # fmt: skip
"""What every JavaScript object has already: a series of that name would find it."""


class Drawable:
    """Makes the texts of one chart drawable; the same text always becomes the same, different ones stay different."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def __call__(self, value: Any) -> Any:
        """The same value with every text in it made drawable."""
        match value:
            case str():
                return self._text(value)
            case dict():
                return {key: self(item) for key, item in value.items()}
            case list():
                return [self(item) for item in value]
            case _:
                return value

    def _text(self, text: str) -> str:
        if text not in self._made:
            shown = people.visible(text)
            if shown in _TAKEN:
                shown += _WORD_JOINER
            number = 1
            while (label := _clipped(shown, number)) in self._made.values():
                number += 1
            self._made[text] = label
        return self._made[text]


def _clipped(text: str, number: int) -> str:
    """A text of at most `MOST_CHARS`, cut in its middle; a number tells it from others that are cut to the same."""
    told = "" if number == 1 else f" ({number})"
    if len(text) + len(told) <= MOST_CHARS:
        return text + told
    kept = MOST_CHARS - len(told) - 1
    return f"{text[: kept - kept // 2]}…{text[-(kept // 2) :]}{told}"
