"""Which lettered option an answer settles on."""

import re
from collections.abc import Iterator

from workbench.scoring.wording import ANSWER, LEADS, NOT_AFTER, NOT_AFTER_ANSWER, NOT_BEFORE, OPTION, spaced

# Every repetition has a bound: what backtracks over a megabyte of blanks or brackets takes hours.
_OPEN, _CLOSE = r"[*_\"'`$(\[]{0,9}", r"[*_\"'`$)\]]{0,9}"
_SAYS = r"(?:is|it\s{1,9}is|because|since|as|seems|fits|looks|remains|holds|applies|matches|works|wins|stands)\b"
_A_WORD = rf"(?<=[AI])\s{{1,9}}(?!{_SAYS})[a-z]"
"""What stands behind `A` and `I` where they are words: `A cat`, `I think`."""
_LETTER = rf"([A-Z])(?![\w'’]|{_A_WORD})"
_CAPITAL = rf"{_OPEN}{_LETTER}"
_ENDS = r"(?=[*_\"'`$)\].,;:!]|[^\S\n]{0,99}$)"
_NOUN = r"(?:answer|choice|option|letter)"
_VERB = (
    r"(?:choos(?:e|ing)|chose|pick(?:ed|ing)?|select(?:ed|ing)?|settled?\s{1,9}on|go(?:ing)?\s{1,9}with|opt(?:ed)?\s{1,9}for"
    r"|go(?:ing)?\s{1,9}for|vote\s{1,9}for)"
)
_IS = r"(?:(?:is|was|would\s{1,9}be|must\s{1,9}be|:|=)\s{0,9})"
_SAID = rf"(?i:answer\s{{0,9}}{_IS}{{0,4}}|(?:choice|option|letter)\s{{0,9}}{_IS}{{1,4}}|{_VERB}\s{{1,9}})"
_SAID += rf"(?i:(?:{_NOUN}|therefore|thus)\s{{0,9}}:?\s{{0,9}})?"
_OPTION = r"(?i:(?:choice|option|letter)\s{1,9})"  # which may also be one that is ruled out
_CONCLUDED = r"(?i:\b(?:therefore|thus|hence|so|finally|conclusion|overall)\b\s{0,9}[,:]?\s{0,9}"
_CONCLUDED += r"(?:it\s{1,9}(?:is|must\s{1,9}be)\s{1,9})?)"
_IS_RIGHT = r"\s{1,9}(?i:(?:is|was)\s{1,9}(?:(?:the|clearly|indeed|therefore)\s{1,9}){0,2}"
_IS_RIGHT += r"(?:(?:only\s{1,9})?(?:correct|right|best)\b|(?:\w{1,12}\s{1,9})?(?:answer|choice|option)\b))"
_ALONE = rf"{_OPEN}([A-Z])(?:[*_\"'`$)\].:]{{1,9}}(?=\s|$)|[^\S\n]{{0,99}}$)"
_NO_LIST = rf"(?![\s\S]*\n[^\S\n]{{0,99}}{_ALONE.replace('([A-Z])', '[A-Z]')})"
_PATTERNS = (
    (
        rf"\\boxed\{{\s{{0,9}}(?:\\(?:text|mathrm|mathbf)\{{)?{_OPEN}([A-Za-z]){_CLOSE}\}}?\s{{0,9}}\}}",
        rf"(?i)<answer>\s{{0,9}}{_OPEN}([a-z]){_CLOSE}[.):]?\s{{0,9}}</answer>",
        r"(?i)[\"']answer[\"']\s{0,9}:\s{0,9}[\"']\(?([a-z])\)?[\"']",
        rf"####\s{{0,9}}{_OPEN}([A-Za-z])(?!\w)",
    ),
    (rf"{_SAID}{_CAPITAL}", rf"(?i:{ANSWER}){LEADS}{_CAPITAL}"),
    (rf"(?m){_SAID}{_OPEN}([a-z]){_ENDS}",),
    (rf"(?m){_CONCLUDED}{_CAPITAL}{_ENDS}",),
    (rf"(?m)\A\s{{0,99}}{_ALONE.replace('.:]', '.]')}{_NO_LIST}",),  # not `A:`, which may stand for `Answer:`
    (rf"(?<![\w'’]){_CAPITAL}{_CLOSE}{_IS_RIGHT}",),
    (rf"{_OPTION}{_CAPITAL}", rf"(?i:{OPTION})\s{{0,9}}{_CAPITAL}"),
    (rf"(?m){_OPTION}{_OPEN}([a-z]){_ENDS}",),
    (rf"(?m)^[^\S\n]{{0,99}}{_ALONE}",),
    (rf"(?m)^[^\S\n]{{0,99}}{_OPEN}([a-z])(?:[*_\"'`$)\].:]{{1,9}}(?=\s|$)|[^\S\n]{{0,99}}$)",),
    (r"[*_(\[`$]([A-Z])[*_)\]`$]",),
    (r"\(([a-z])\)",),
    (rf"(?<![\w'’]){_LETTER}",),
)
"""In the order of how clearly they say it; all of a level count alike."""
_EXPLICIT = 2  # levels of answers that are named as such: what follows does not rule them out
_OR = r",?\s{0,9}\(?(?:(?i:or)\s{1,9}|/\s{0,9})(?:(?i:option)\s{1,9})?"
_LIST = r"\s{0,9}[,;&+]\s{0,9}(?:(?i:and|or)\s{1,9})?"
_AND = r"\s{1,9}(?i:and)\s{1,9}(?:(?i:option)\s{1,9})?"
_HEDGES = (
    rf"(?<![\w'’]){_OPEN}([A-Z]){_CLOSE}{_OR}{_OPEN}([A-Z])(?![\w'’])",
    rf"(?<![\w'’]){_OPEN}([A-Z]){_CLOSE}{_AND}{_OPEN}([A-Z]){_CLOSE}(?=[.,;!?\n]|\Z|\s{{1,9}}(?i:are|both)\b)",
    rf"(?<![\w'’]){_OPEN}([A-Z]){_CLOSE}{_LIST}{_OPEN}([A-Z]){_CLOSE}(?=[^\S\n]{{0,9}}(?:[.,;!?&+\n]|\Z|(?i:and|or)\b))",
)
_NEXT_THOUGHT = (
    r"[\n.;:!?]|(?i:\b(?:leaves?|leaving|left|giving|gives|pick\s{1,9}is|so|therefore|hence|but|remains?)\b)"
)
"""What parts the letter that is settled on from those before it."""
_NEAR_CHARS, _MOST_PLACES = 60, 1_000
_NOT = r"(?:\b(?:not|never|neither|nor|cannot|than)|n['’]t)"
_NO = (
    rf"(?i)(?:{_NOT}\s{{1,9}}(?:be\s{{1,9}})?"
    r"|\b(?:rul(?:e|ed|es|ing)\s{1,9}out|except(?:\s{1,9}for)?|(?:anything|everything|all)\s{1,9}but|instead\s{1,9}of"
    r"|eliminat(?:e|ed|es|ing)|exclud(?:e|ed|es|ing)|reject(?:ed|s|ing)?)\s{1,9})"
    r"(?:(?:choice|option|letter)\s{1,9})?[*_\"'`$(\[]{0,9}\Z"
)
_DOUBTED = (
    rf"(?i)(?:{_NOT}\s{{1,9}}(?:think|believe|expect|choose|pick|select)|\bdoubt|\b(?:no|non|ne|não)\s{{1,9}}(?:creo|credo|pense|acho))"
    r"\b[^.,;:!?\n]{0,40}\Z"
)
_FALSE_ONE = rf"(?i)\b(?:wrong|incorrect|false|untrue)\s{{1,9}}(?:{_NOUN}|one)\s{{0,9}}{_IS}?{_OPEN}\Z"
_RULED_OUT = (
    rf"{_CLOSE}\s{{1,9}}(?i:is|was|are|would\s{{1,9}}be)\s{{1,9}}(?i:\w{{1,12}}\s{{1,9}})?"
    r"(?i:wrong|incorrect|false|invalid|excluded|eliminated|not|ruled\s{1,9}out)\b"
    rf"|{_CLOSE}\s{{1,9}}(?i:(?:is|was|are|does|can|could|would)n['’]t|can['’]t|cannot)\b"
    rf"|{_CLOSE}{NOT_AFTER}"
)


_EACH = (
    r"(?m)^[^\S\n]{0,9}[*_\-•(]{0,3}\s?([A-Z])[).:*\]]{1,3}(?:[^\n]{0,200}?(?:[-–—:(]|\bis)[^\S\n]{0,3}|[^\S\n]{0,3})[*_]{0,2}"
    r"(?:(?i:(correct|true|right|yes)|(?:incorrect|false|wrong|no|not\s{1,3}correct))|([✓✔✅])|[✗✘❌])[*_.)!]{0,4}[^\S\n]{0,9}$"
)
"""A line that says of one option whether it is right."""


def chosen_letter(text: str, letters: str, *, asks_what_is_false: bool = False) -> str | None:
    """Return the option an answer settles on, if it names one of `letters`; the clearest way of saying so wins, and its last use.

    `A or B` and `A, B` settle on neither, `not A` and `A is wrong` not on A, and `A` and `I` do not count where they are words.
    Several letters in a sentence that names none of them as the answer are no choice.

    Args:
        asks_what_is_false: The question asks which option does not hold: the only one that is ruled out is the answer to it.
    """
    text, ruled_out = spaced(text), set[str]()
    for level, patterns in enumerate(_PATTERNS):
        if (
            level == _EXPLICIT
            and len(each := {line[1]: bool(line[2] or line[3]) for line in re.finditer(_EACH, text)}) > 1
        ):
            alone = [
                letter for letter, is_right in each.items() if is_right is not asks_what_is_false and letter in letters
            ]
            return alone[0] if len(alone) == 1 else None
        places = sorted((place for pattern in patterns for place in _named(pattern, text, letters)), reverse=True)
        open_ones = []
        for place in places[:_MOST_PLACES]:
            before, after = text[max(place - _NEAR_CHARS, 0) : place], text[place + 1 :][:_NEAR_CHARS]
            if re.search(_NO, before) or re.search(NOT_BEFORE, before) or re.search(_DOUBTED, before):
                continue
            is_false_one = not asks_what_is_false and re.search(_FALSE_ONE, before)
            if is_false_one or re.match(_RULED_OUT if level >= _EXPLICIT else NOT_AFTER_ANSWER, after):
                ruled_out.add(text[place].upper())
            else:
                open_ones.append(place)
                if level < len(_PATTERNS) - 1:
                    break
        if open_ones:
            last = open_ones[0]
            named = {text[place].upper() for place in open_ones if not re.search(_NEXT_THOUGHT, text[place + 1 : last])}
            return None if len(named) > 1 or _is_hedged(text, last, letters) else named.pop()
    return ruled_out.pop() if asks_what_is_false and len(ruled_out) == 1 else None


def _named(pattern: str, text: str, letters: str) -> Iterator[int]:
    """Return where letters of options stand that a pattern finds."""
    either = letters + letters.lower()
    return (match.start(1) for match in re.finditer(pattern, text) if match[1] in either)


def _is_hedged(text: str, place: int, letters: str) -> bool:
    """Return whether the letter there is one of two alternatives."""
    begin = max(place - _NEAR_CHARS, 0)
    return any(
        match[1] in letters and match[2] in letters and place - begin in (match.start(1), match.start(2))
        for hedge in _HEDGES
        for match in re.finditer(hedge, text[begin : place + _NEAR_CHARS])
    )
