"""The options of a multiple-choice question, and which of them an answer names."""

import re
from typing import Any, NamedTuple

from workbench.dataset.json_rows import decoded
from workbench.dataset.layouts.layout import Row, refused
from workbench.strict import kind_of, shown

_HIDDEN = -1
"""The label of rows whose answers are not published."""


class Choosable(NamedTuple):
    """What can be chosen."""

    texts: list[str]
    labels: list[str]
    """Of the file, or the letters."""


def options_of(place: str, value: Any) -> Choosable:
    """Choosable and their labels: a list, an object of those, or an object of two lists; tables hold them as JSON text.

    Args:
        place: Of the column, for messages.

    Raises:
        InputError: It holds something else.
    """
    if isinstance(value, str):
        try:
            value = decoded(value.encode())
        except ValueError:
            raise refused(place, f"expected a list of options, found {kind_of(value)}") from None
    if isinstance(value, dict) and isinstance(value.get("text"), list) and isinstance(value.get("label"), list):
        pairs = list(zip(value["label"], value["text"], strict=True))
    elif isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        pairs = [(one["label"], one["text"]) for one in value]
    elif isinstance(value, list):
        pairs = [(chr(ord("A") + number), text) for number, text in enumerate(value)]
    else:
        raise refused(place, f"expected a list of options, found {kind_of(value)}")
    return Choosable([option_text(place, text) for _, text in pairs], [str(label) for label, _ in pairs])


def option_text(place: str, value: Any) -> str:
    """Return an option as text.

    Raises:
        InputError: It is not a text or a number.
    """
    if value is None or isinstance(value, list | dict):
        raise refused(place, f"expected an option's text, found {kind_of(value)}")
    return str(value)


def right_one(place: str, options: Choosable, answer: Any, row: Row, *, by_label: bool) -> Any:
    """Return the text of the option that an answer names.

    Args:
        place: Of the column, for messages.
        answer: A label, a number counted from 0, or an option's text.
        row: What else the file says: some benchmarks repeat the answer's number.
        by_label: Whether the benchmark is known to answer by label or number, whatever the options say.

    Returns:
        None where the answer is not published; what is not one of the options, as it is.

    Raises:
        InputError: The answer is a label or a number of no option, or names two.
    """
    number = _number(answer)
    named, said = _by_label(options, answer, number), None if by_label else _by_text(options, answer)
    if named is None:
        if said is None and number == _HIDDEN:
            return None
        if number is None:  # a benchmark that answers by label may give the text, but never a number as a text
            said = _by_text(options, answer)
        if said is None and (number is not None or _is_letter(answer)):
            known = f"one of {', '.join(options.labels)} or a number from 0 to {len(options.texts) - 1}"
            raise refused(place, f"expected {known}, found {kind_of(answer)}")
        return answer if said is None else options.texts[said]
    if said is None or options.texts[said] == options.texts[named]:
        return options.texts[named]
    if (fixed := _repeated(options, row)) is not None:
        return options.texts[fixed]
    kind = "number (counted from 0)" if number is not None else "label"
    raise refused(
        place,
        f"{shown(answer)} is the {kind} of {shown(options.texts[named])} and the text of another option",
        "write the option's text as the target, or name the columns in dataset.fields",
    )


def _number(answer: Any) -> int | None:
    """Return the number that an answer is, however a table has stored it; None for other texts."""
    if isinstance(answer, float) and answer.is_integer():
        return int(answer)
    if isinstance(answer, str) and re.fullmatch(r"-?[0-9]{1,9}", answer.strip()):
        return int(answer)
    return answer if type(answer) is int else None


def _is_letter(answer: Any) -> bool:
    """Return whether an answer looks like a label, or like a number that is far too long."""
    return isinstance(answer, str) and bool(re.fullmatch(r"[A-Z]|[0-9]{10,}", answer.strip()))


def _by_label(options: Choosable, answer: Any, number: int | None) -> int | None:
    for label in (answer.strip() if isinstance(answer, str) else None, None if number is None else str(number)):
        if label in options.labels:
            return options.labels.index(label)
    if number is None or any(label.isdecimal() for label in options.labels):
        return None
    return number if 0 <= number < len(options.texts) else None


def _by_text(options: Choosable, answer: Any) -> int | None:
    if isinstance(answer, bool | list | dict) or answer is None:
        return None
    text = str(answer)
    return options.texts.index(text) if text in options.texts else None


def _repeated(options: Choosable, row: Row) -> int | None:
    """Return the number of the right option, where a benchmark has it beside the answer."""
    index, label = row.get("answer_index"), row.get("answer_idx")  # MMLU-Pro; MedQA
    if type(index) is int and 0 <= index < len(options.texts):
        return index
    return options.labels.index(label) if label in options.labels else None
