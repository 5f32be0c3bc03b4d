"""Texts in one form, in which they compare."""

import re
import string
import unicodedata

_LONG_CHARS = 1_000
_POWER = r"(?<=\d)[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?![⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹])"  # of a number: m² is written m2 as well, and Ca²⁺ Ca2+
_MARKS = r"(\p{M}{30})\p{M}+"  # the longest run in any language is shorter (UAX 15, stream-safe text)


def folded(text: str, *, ignore_case: bool, ignore_punctuation: bool = False) -> str:
    """Return a text for comparison: canonical characters (NFKC, powers of numbers as `^2`), single spaces,
    and less where asked.
    """
    if len(text) > _LONG_CHARS and not text.isascii():  # normalising takes the square of a run of marks
        import regex  # takes 10 ms, and few answers are so long

        text = regex.sub(_MARKS, r"\1", text)
    if not text.isascii():
        text = re.sub(_POWER, lambda found: f"^{found[0]}", text)  # or 10² would be 102
    text = unicodedata.normalize("NFKC", text)
    if ignore_punctuation:
        signs = (sign for sign in set(text) if sign in string.punctuation or unicodedata.category(sign)[0] == "P")
        text = text.translate(dict.fromkeys(map(ord, signs)))
    if ignore_case:
        text = text.casefold()
    return " ".join(text.split())
