"""The part of an answer that is compared: its last number, its plain words."""

import re
import string
import unicodedata

# Compiled by `re` when first used, and kept by it: an import need not take 2 ms for what few jobs ask for.
_NUMBER = (
    r"(?<![\w.])[-+−–]?(?:[$€£¥]\s?)?"
    r"(?:\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:[, \u202f\u00a0]\d{3})+(?![\d])(?:\.\d+)?"
    r"|(?<!\d,)\d+,\d{1,2}(?![\d,])|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?:\s?/\s?\d+)?"
)
_DECIMAL_COMMA = r"[-+]?(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?:\d{1,2}|\d{4,})|0,\d+)"
_FINAL = r"(?i)(?:####|\\boxed\{|\b(?:final\s+answer|answer)\b\s*(?:is|=|:)?)"
_LONG_CHARS = 1_000
_MARKS = r"(\p{M}{30})\p{M}+"  # the longest run in any language is shorter (UAX 15, stream-safe text)


def last_number(text: str) -> float | None:
    """The number an answer settles on: the one after its last final-answer mark, or else the last of all.

    Where the sentence after the mark calculates (`the answer is 5 × 6 = 30`), the number after its last equals sign.
    Reads signs, thousands marks, decimals, exponents, simple fractions and currency signs.
    """
    marks = list(re.finditer(_FINAL, text))
    if marks:
        sentence = re.split(r"\n|\.\s", text[marks[-1].end() :].lstrip(), maxsplit=1)[0]
        if numbers := numbers_in(sentence.rpartition("=")[2]) or numbers_in(sentence):
            return numbers[0]
    numbers = numbers_in(text)
    return numbers[-1] if numbers else None


def numbers_in(text: str) -> list[float]:
    """Every number of a text, in reading order."""
    values = (as_number(match.group()) for match in re.finditer(_NUMBER, text))
    return [value for value in values if value is not None]


def as_number(text: str) -> float | None:
    """A text that is one number, as that number; None when it is not one.

    A comma before three digits is a thousands mark (`1,234`), before one, two or more than three a decimal comma (`3,14`).
    """
    plain = re.sub(r"[\s$€£¥%\u202f\u00a0]", "", text).replace("−", "-").replace("–", "-")
    if re.fullmatch(_DECIMAL_COMMA, plain):
        plain = plain.replace(".", "").replace(",", ".")
    elif "_" in plain:  # which only Python takes for a mark in a number
        return None
    plain = plain.replace(",", "")
    numerator, slash, denominator = plain.partition("/")
    try:
        value = float(numerator) / float(denominator) if slash else float(plain)
    except (ValueError, ZeroDivisionError):
        return None
    return value if abs(value) != float("inf") else None


def folded(text: str, *, ignore_case: bool, ignore_punctuation: bool = False) -> str:
    """A text for comparison: canonical characters (NFKC), single spaces, and no case or punctuation where asked."""
    if len(text) > _LONG_CHARS and not text.isascii():  # normalising takes the square of a run of marks
        import regex  # takes 10 ms, and few answers are so long

        text = regex.sub(_MARKS, r"\1", text)
    text = unicodedata.normalize("NFKC", text)
    if ignore_punctuation:
        text = text.translate(str.maketrans("", "", string.punctuation))
    if ignore_case:
        text = text.casefold()
    return " ".join(text.split())
