"""Texts and numbers for people, on a terminal and a page alike.

Texts are made safe, whoever wrote them. Numbers have three significant figures, thin thousands and their unit, and words
where nothing is known.
"""

import math
from collections.abc import Sequence
from datetime import datetime

NOT_KNOWN = "not available"
THIN = "\u202f"
MINUTE_S, HOUR_S = 60, 3600


def count(value: int | None) -> str:
    """Return a whole number with thin spaces between thousands."""
    return NOT_KNOWN if value is None else f"{value:,}".replace(",", THIN)


def amount(value: int | None) -> str:
    """Return a large whole number to three significant figures with its unit: `9 748`, `28.8 k`, `288 M`."""
    if value is None:
        return NOT_KNOWN
    for unit, size, least in (("G", 1e9, 0.9995e9), ("M", 1e6, 0.9995e6), ("k", 1e3, 1e4)):
        if abs(value) >= least:
            return f"{significant(value / size)}{THIN}{unit}"
    return count(value)


def significant(value: float | None) -> str:
    """Return a number to three significant figures, never in exponents for sizes people meet."""
    if value is None or math.isnan(value):
        return NOT_KNOWN
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(float(f"{value:.3g}")))))
    return f"{value:,.{min(decimals, 6)}f}".replace(",", THIN)


def duration(seconds: float | None) -> str:
    """Return a time span: `430 ms`, `1.80 s`, `2 m 05 s`, `3 h 12 m`."""
    if seconds is None:
        return NOT_KNOWN
    if seconds < 1:
        return f"{significant(seconds * 1000)} ms"
    if seconds < MINUTE_S:
        return f"{significant(seconds)} s"
    if seconds < HOUR_S:
        return f"{int(seconds // MINUTE_S)} m {int(seconds % MINUTE_S):02d} s"
    return f"{int(seconds // HOUR_S)} h {int(seconds % HOUR_S // MINUTE_S):02d} m"


def milliseconds(value: float | None) -> str:
    """Return a latency given in ms."""
    return duration(None if value is None else value / 1000)


def percent(value: float | None) -> str:
    """Return a ratio as a percentage to a whole number, with words for what is nearly nothing and what is nearly all."""
    if value is None or math.isnan(value):
        return NOT_KNOWN
    if 0 < value < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < value < 1 else f"{100 * value:z.0f} %"


def exact_percent(value: float | None) -> str:
    """Return a ratio that somebody chose, as a percentage with all its figures: `0.5 %`."""
    return NOT_KNOWN if value is None else f"{100 * value:.6g} %"


def plural(number: int, noun: str) -> str:
    """Return a count with its noun: `1 run`, `2 runs`."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def words(items: Sequence[str]) -> str:
    """Return a list as a sentence has it: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def moment(at: datetime | None) -> str:
    """Return a UTC time to the second."""
    return NOT_KNOWN if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def clipped(text: str | None, most: int) -> str:
    """Return a text cut at `most` characters, with how much was cut."""
    if text is None:
        return ""
    return (
        text if len(text) <= most else f"{text[:most]}… ({count(len(text) - most)} more characters are in the ledger)"
    )


def visible(text: str) -> str:
    """Return a text with control characters made visible and harmless: ESC becomes ␛, a direction override its code."""
    return text.translate(_SIGNS)


def in_a_line(text: str) -> str:
    """Return a text of a file, such as an id, as a part of a line of ours: with line ends and tabs made visible, too."""
    return visible(text).translate(_OF_A_LINE)


_OF_A_LINE = str.maketrans({"\n": "⏎", "\t": "\u2409"})
_SIGNS = (
    {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: "\u2421"}
    | {
        code: f"⟨U+{code:04X}⟩"
        for code in (*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF)
    }
)
