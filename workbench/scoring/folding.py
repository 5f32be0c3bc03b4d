"""Texts in one form, in which they compare."""

import string
import unicodedata

_LONG_CHARS = 1_000
_MARKS = r"(\p{M}{30})\p{M}+"  # the longest run in any language is shorter (UAX 15, stream-safe text)


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
