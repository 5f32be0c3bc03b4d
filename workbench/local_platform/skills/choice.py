"""Multiple choice: work out the stem, or fall back to the option that shares most words with it."""

import re
from fractions import Fraction

from workbench.local_platform.skills.arithmetic import solve
from workbench.local_platform.skills.numbers import numbers_in

OPTION = re.compile(r"^\s*\(?([A-Z])[).:]\s+(.+?)\s*$", re.MULTILINE)


def pick(question: str, *, careful: bool) -> str | None:
    """The letter of the option chosen; None when the prompt lists no options.

    Args:
        question: The prompt with its options on lines of their own (`A) …`).
        careful: Handed on to the solver of the stem.
    """
    options: list[tuple[str, str]] = OPTION.findall(question)
    if len(options) < 2:
        return None
    stem = question[: OPTION.search(question).start()]  # type: ignore[union-attr]  # findall found two
    solution = solve(stem, careful=careful) if numbers_in(stem) else None
    if solution is not None:
        return _closest(options, solution.value)
    words = _words(stem)
    letter, _ = max(options, key=lambda option: (len(words & _words(option[1])), option[0]))
    return letter


def _closest(options: list[tuple[str, str]], value: Fraction) -> str:
    def distance(option: tuple[str, str]) -> tuple[Fraction, str]:
        values = numbers_in(option[1])
        return (
            min(abs(candidate - value) for candidate in values) if values else Fraction(10**12),
            option[0],
        )

    return min(options, key=distance)[0]


def _words(text: str) -> set[str]:
    return {word.casefold() for word in re.findall(r"\w{3,}", text)}
