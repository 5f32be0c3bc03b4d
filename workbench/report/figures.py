"""Numbers for people: three significant figures, thin thousands, units always, and words where nothing is known."""

import math
from datetime import datetime

from workbench.stats.intervals import Interval

NOT_KNOWN = "not available"
THIN = "\u202f"
MINUTE_S, HOUR_S = 60, 3600


def count(value: int | None) -> str:
    """A whole number with thin spaces between thousands."""
    return NOT_KNOWN if value is None else f"{value:,}".replace(",", THIN)


def significant(value: float | None) -> str:
    """A number to three significant figures, never in exponents for sizes people meet."""
    if value is None or math.isnan(value):
        return NOT_KNOWN
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 6)}f}".replace(",", THIN)


def duration(seconds: float | None) -> str:
    """A time span: `430 ms`, `1.80 s`, `2 m 05 s`, `3 h 12 m`."""
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
    """A latency given in ms."""
    return duration(None if value is None else value / 1000)


def share(part: int, whole: int) -> str:
    """A share with its n: `82 % of 50`."""
    return f"{100 * part / whole:.0f} % of {count(whole)}" if whole else f"none of {count(0)}"


def mean_with_interval(interval: Interval | None) -> str:
    """A mean with its 95 % interval: `0.820 (0.692–0.902)`."""
    if interval is None:
        return "unscored"
    if interval.low is None or interval.high is None:
        return f"{interval.mean:.3f} (one value)"
    return f"{interval.mean:.3f} ({interval.low:.3f}–{interval.high:.3f})"


def moment(at: datetime | None) -> str:
    """A UTC time to the second."""
    return NOT_KNOWN if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def clipped(text: str | None, most: int) -> str:
    """A text cut at `most` characters, with how much was cut."""
    if text is None:
        return ""
    return (
        text if len(text) <= most else f"{text[:most]}… ({count(len(text) - most)} more characters are in the ledger)"
    )


def visible(text: str) -> str:
    """A text with its control characters as signs, so that none acts: ESC becomes ␛, a direction override its name."""
    return text.translate(_SIGNS)


_SIGNS = (
    {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: "\u2421"}
    | {code: f"⟨U+{code:04X}⟩" for code in (*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
)
