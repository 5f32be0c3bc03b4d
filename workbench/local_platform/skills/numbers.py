"""Numbers as people write them in a word problem."""

import re
from fractions import Fraction

WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
} | {
    word: 10 * tens
    for tens, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000}

_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:/\d+)?"
_WORD = "|".join(sorted(WORDS, key=len, reverse=True))
_SCALE = "|".join(SCALES)
NUMBER = re.compile(
    rf"(?P<digits>{_DIGITS})(?:\s*(?P<scaled>{_SCALE})\b)?"
    rf"|\b(?P<word>{_WORD})(?:[- ](?P<unit>{_WORD}))?(?:\s+(?P<scale>{_SCALE}))?\b|\b(?:an?\s+)?(?P<alone>{_SCALE})\b",
    re.IGNORECASE,
)


def numbers_in(text: str) -> list[Fraction]:
    """Read every number of a text, digits or English words, in reading order."""
    return [number_of(match) for match in NUMBER.finditer(text)]


def number_of(match: re.Match[str]) -> Fraction:
    """The value of one match of `NUMBER`."""
    if match["digits"]:
        numerator, _, denominator = match["digits"].replace(",", "").partition("/")
        divisor = Fraction(denominator) if denominator else Fraction(1)
        value = Fraction(numerator) / divisor if divisor else Fraction(numerator)
        return value * SCALES.get((match["scaled"] or "").lower(), 1)
    if match["alone"]:
        return Fraction(SCALES[match["alone"].lower()])
    value = Fraction(WORDS[match["word"].lower()])
    if match["unit"]:
        value += WORDS[match["unit"].lower()]
    return value * SCALES.get((match["scale"] or "").lower(), 1)


def written(value: Fraction) -> str:
    """Write a number the way an answer would: whole, or with at most four decimals."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.4f}".rstrip("0").rstrip(".")
