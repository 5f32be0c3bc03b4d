r"""Numbers as people and models write them, and the one that an answer states as its result.

Read are signs (`-5`, `- 5`, `minus 5`), marks between thousands (`1,234`, `1 234`, `1'234`, `1{,}234`), decimal points and
commas, powers of ten (`1e8`, `3 × 10^8`), fractions (`3/4`, `½`, `2 1/2`, `\frac{1}{2}`), currencies and per cent signs, which
say what is counted and not how much. Decimals are kept as written: whole numbers of any size are exact.
"""

import re
import unicodedata
from decimal import Decimal

from workbench.scoring.wording import ANSWER, IS, MINUS, NOT_BEFORE, spaced

# Every repetition has a bound, and patterns are compiled by `re` when first used: few jobs ask for them.
_MOST_DIGITS = 5_000
_GAP = r"[ \u2009\u202f\u00a0]"
_CURRENCY_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|KRW|SGD|HKD|ZAR|TRY|ILS|THB"
_DIGITS = (
    r"(?:\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}(?![\d.])"  # 1.234,56
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?"  # 12,34,567
    rf"|\d{{1,3}}(?:{_GAP}\d{{3}})+,\d{{1,2}}(?![\d,])"  # 1 234,56
    rf"|\d{{1,3}}(?:(?:,\d{{3}})+|(?:{_GAP}\d{{3}})+|(?:['’]\d{{3}})+)(?!\d)(?:\.\d+)?"  # 1,234.5
    r"|(?<!\d,)(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+)(?![\d,])"  # 3,14
    r"|\d+(?:\.\d+)?|\.\d+)"
)
_POWER = r"10(?:\^|\*\*)([-+]?\d{1,4})(?!\d)"
_NUMBER = (
    rf"(?:(?<![\w.^])(?<!\w\*\*)|(?<=\b(?:{_CURRENCY_CODES})))([-+]?)(?:[$€£¥₹]\s?)?"
    rf"(?:{_POWER}|({_DIGITS})"
    r"(?:[eE]([-+]?\d{1,4})(?!\w)"  # 1e8
    rf"|\s?[×x*·⋅]\s?{_POWER}"  # 3 × 10^8
    r"|\s?/\s?(\d+(?:\.\d+)?)"  # 3/4
    r"|\s(\d{1,6})\s?/\s?(\d{1,6})(?![\d/]))?)"  # 2 1/2
)
_BEFORE_SIGN = (
    r"(?i)(?:(?:[=:(\[{,|]|\b(?:is|are|was|be|equals?|to|answer|about|exactly|approximately)\b)[^\S\n]{0,9}[$*]{0,3}"
    rf"(?:-[^\S\n]{{1,3}}|minus\s{{1,9}})|(?:^|[\n.;])\s{{0,9}}minus\s{{1,9}}|\b(?!minus\b)(?:{MINUS})\s{{1,9}})[$€£¥₹*]{{0,3}}\Z"
)
_TERM_BEFORE = (
    r"(?:\\sqrt(?:\[\d{1,3}\])?\s?\{?|√\s?\(?|(?<![A-Za-z])[xyz]\s?[-+]\s?"
    r"|(?:\\(?:geq?|leq?|neq?|[gl]t)(?![A-Za-z])|[≥≤≠]|(?<![A-Za-z<&/])[A-Za-z][^\S\n]?[<>]=?)[^\S\n]{0,3}"
    r"|\b(?:sqrt|log|ln|sin|cos|tan|exp)\s?\(\s?|\\[cdt]?frac\s?\{[^\n]{0,30}\}\s?\{\s?)\Z"
)
_TERM_AFTER = (
    r"[xyz](?![A-Za-z]|\s{0,3}[$€£¥₹(\d]|\s{1,3}[a-z]{2})|i(?!\w)"
    r"|\s?(?:π|\bpi\b|\\(?:pi|sqrt)(?![A-Za-z])|√)|\s?\^\s?[-+({\d]"
)
_DENIED_BEFORE = (
    r"(?i)(?:\b(?:not|never|neither|nor|cannot)|n['’]t)\s{1,9}"
    r"(?:be\s{1,9})?(?:equal\s{1,9}to\s{1,9}|exactly\s{1,9})?[$€£¥₹*]{0,3}\Z"
)
_NO_RESULT_BEFORE = (
    r"(?i)\b(?:out\s{1,9}of|on\s{1,9}a\s{1,9}scale\s{1,9}(?:from|of)(?:\s{1,9}-?[\d.]{1,9}\s{0,9}(?:to|-))?)\s{1,9}\Z"
)
"""What stands before the most that might have been given."""
_ALTERNATIVE = r"(?i)\s{0,3}(?:\\text\{\s{0,3})?\b(?:or|oder|ou|или)\b\s{0,3}\}?\s{0,3}"
_IN_UNITS = re.compile(r"\d[\d.,]{0,20}\s?[亿億억万萬만](?:\s?\d[\d.,]{0,20}\s?[亿億억万萬만千천]?){0,4}")
_UNITS = {"亿": 10**8, "億": 10**8, "억": 10**8, "万": 10**4, "萬": 10**4, "만": 10**4, "千": 1000, "천": 1000, "": 1}
"""Of Chinese, Japanese and Korean numbers: 1万5000 is 15,000."""
_SENTENCE_END = r"\n|\.\s|。"
_ROUNDING = Decimal("1e-9")
_NEAR_CHARS, _SENTENCE_CHARS, _MOST_MARKS = 40, 1_000, 20
_MARK = rf"(?i)####|\\boxed\{{|(?<![A-Za-z])(?:answer\b|{ANSWER})"
_BEFORE_MARK = r"(?i)\b(?:is|was|are|=)\s{1,9}(?:the|my|our|your)?\s{0,9}(?:final|correct|right)?\s{0,9}\Z"
_VERB = r"(?:is|are|was|were|be|equals?|becomes?|of|(?:comes?|amounts?|up|equal)\s{1,9}to)"
_IS = rf"(?:(?<!which )(?<!that )\b(?:{_VERB}|{IS})\b|[是为為はが은는:：≈]|คือ|(?<!\b[A-Za-z])(?<!\b[A-Za-z] )=)"
_ABOUT = (
    r"(?:[^\w\n]{0,9}\b(?:about|approximately|around|exactly|roughly|only|equal to|just|a total of))?[^\w\n.+-]{0,9}"
)
_CALCULATES = r"\s{0,3}(?:[A-Za-z°²³]{1,20}\s{0,3}){0,2}(?:[-+*](?=\s{0,3}[$\d(])|[/×÷·^=≈]|x\s|%\s{0,3}of\s)"


class TermError(ValueError):
    r"""What is stated is a term with a number in it: `3x`, `\sqrt{64}`, `x \ge 5`."""


def stated_number(text: str) -> Decimal | None:
    """Return the number an answer states as its result: the one that its last final-answer mark introduces,
    or else the last of all.

    After the mark it is the number that `is`, `=` or a colon leads to (`The answer to question 3 is 12`), and where that is
    a calculation (`5 × 6 = 30`) its result.

    Raises:
        TermError: That is not a number but a term, or one of several.
    """
    if (whole := as_number(text)) is not None:
        return whole
    text = _plain(text)
    marks = list(re.finditer(_MARK, text))[-1 : -_MOST_MARKS - 1 : -1]
    sentences = [
        re.split(_SENTENCE_END, text[mark.end() :][:_SENTENCE_CHARS].lstrip(), maxsplit=1)[0] for mark in marks
    ]
    for mark, sentence in zip(marks, sentences, strict=True):
        if (number := _introduced(_led(sentence, is_sign=not mark.group()[-1].isalpha()))) is not None:
            return number
        before = text[max(mark.start() - _NEAR_CHARS, 0) : mark.start()]
        if match := re.search(_BEFORE_MARK, before):  # "so 12 is the answer"
            if (number := _last(re.split(_SENTENCE_END, before[: match.start()])[-1])) is not None:
                return number
    found = (number for sentence in sentences if (number := _last(sentence)) is not None)
    return next(found, _last(text))


def _led(sentence: str, *, is_sign: bool) -> str:
    """Return what follows a mark, without what says which answer or of what kind: `answer 3: 12`, `answer (in km): 12`.

    Args:
        is_sign: A dash is a minus sign behind this mark, and no bullet.
    """
    sentence = re.sub(r"\A\s{0,9}(?:\([^()\n]{0,60}\)|\d{1,3})\s{0,9}[:：](?=\s{0,9}[-+$€£]{0,2}\d)", ":", sentence)
    return re.sub(r"\A-\s{1,9}(?=\d)", "-", sentence) if is_sign else sentence


def _introduced(sentence: str) -> Decimal | None:
    """Return the number to which the sentence after a mark leads."""
    pattern = re.compile(_NUMBER)
    for lead in re.finditer(rf"(?i)(?:\A|{_IS}){_ABOUT}", sentence):
        direct = pattern.match(sentence, lead.end())
        if direct is None or _is_ruled_out(direct):
            continue
        if re.match(_CALCULATES, sentence[direct.end() :]):
            if len(sides := re.split("[=≈]", sentence)) > 1 and (results := _values(sides[-1])):
                return results[0]
        elif (number := _signed(direct)) is not None:
            _require_single(direct, number)
            return number
    return None


def _require_single(stated: re.Match[str], number: Decimal) -> None:
    """Make sure that no other number is stated beside one, as in `12 or 13` and `12, 13 or 14`.

    Raises:
        TermError: There is one.
    """
    text, at = stated.string, stated.end()
    while more := re.compile(r"\s{0,3},\s{1,3}" + _NUMBER).match(text, at):
        at = more.end()
    if (or_ := re.compile(_ALTERNATIVE).match(text, at)) and (other := re.compile(_NUMBER).match(text, or_.end())):
        value = _signed(other)
        if value is not None and not near(value, number):
            raise TermError(text[stated.start() : other.end()])


def as_number(text: str) -> Decimal | None:
    """Return a text that is one number, as that number; None when it is not one.

    A comma before three digits is a thousands mark (`1,234`), before one, two or more than three a decimal comma (`3,14`).
    """
    if len(text) > _MOST_DIGITS:
        return None
    plain = re.sub(rf"[$€£¥₹%]|\b(?:{_CURRENCY_CODES})(?![A-Za-z])|(?<=\d)(?:{_CURRENCY_CODES})\b", "", _plain(text))
    plain = re.sub(rf"(?i)\A\s*(?:{MINUS})\s+", "-", plain)
    plain = re.sub(r"\A\s*([-+])\s+", r"\1", plain).strip()
    match = re.fullmatch(_NUMBER, plain)
    return _value(match) if match else None


def numbers_in(text: str) -> list[Decimal]:
    """Return every number of a text, in reading order.

    Raises:
        TermError: One of them is in a term.
    """
    return _values(_plain(text))


def _is_in_term(match: re.Match[str]) -> bool:
    text = match.string
    return bool(re.match(_TERM_AFTER, text[match.end() :][:_NEAR_CHARS])) or bool(
        re.search(_TERM_BEFORE, text[max(match.start() - _NEAR_CHARS, 0) : match.start()])
    )


def near(given: Decimal, wanted: Decimal, tolerance: float = 0.0, relative_tolerance: float = 0.0) -> bool:
    """Return whether two numbers are the same, or within a tolerance.

    Whole numbers differ however little they do. Others may always differ by a billionth of their size: two ways of writing
    the same value do.
    """
    if given == wanted:
        return True
    is_whole = wanted == wanted.to_integral_value()
    least = Decimal(0) if is_whole else _ROUNDING
    allowed = max(Decimal(str(tolerance)), max(Decimal(str(relative_tolerance)), least) * abs(wanted))
    return abs(given - wanted) <= allowed


def written(number: Decimal) -> str:
    """Return a number as people write it."""
    if number == number.to_integral_value() and abs(number.adjusted()) <= _MOST_DIGITS:
        return f"{number:.0f}"
    return f"{number.normalize():.15g}"


def _values(text: str) -> list[Decimal]:
    return [number for match in re.finditer(_NUMBER, text) if (number := _signed(match)) is not None]


def _last(text: str) -> Decimal | None:
    """Return the last number; the others are not even looked at, as a long answer may hold half a million."""
    matches = list(re.finditer(_NUMBER, text))
    return next(
        (number for match in reversed(matches) if not _is_ruled_out(match) and (number := _signed(match)) is not None),
        None,
    )


def _is_ruled_out(match: re.Match[str]) -> bool:
    """Return whether a number is named as none of the answer (`not 12`), or as the most that it could be (`3 out of 5`)."""
    before = match.string[max(match.start() - _NEAR_CHARS, 0) : match.start()]
    return any(re.search(pattern, before) for pattern in (_DENIED_BEFORE, NOT_BEFORE, _NO_RESULT_BEFORE))


def _signed(match: re.Match[str]) -> Decimal | None:
    """Return a number with the sign in front of it, which may be a word."""
    value = _value(match)
    if value is not None and _is_in_term(match):
        raise TermError(match.string[max(match.start() - 9, 0) : match.end() + 9])
    if value is None or match[1]:
        return value
    begin = max(match.start() - _NEAR_CHARS, 0)
    before = match.string[begin : match.start()]
    return value.copy_negate() if re.search(_BEFORE_SIGN, f"…{before}" if begin else before) else value


def _value(match: re.Match[str]) -> Decimal | None:
    sign, power, digits, exponent, times_power, denominator, numerator, below = match.groups()
    if any(part and len(part) > _MOST_DIGITS for part in (digits, denominator)):
        return None
    if digits is None:
        value = Decimal(f"1e{power}")
    else:
        value = Decimal(f"{_point_only(digits)}e{exponent or times_power or 0}")
    if denominator or below:
        divisor = Decimal(denominator or below)
        if not divisor:
            return None
        value = value / divisor if denominator else value + Decimal(numerator) / divisor
    return value.copy_negate() if sign == "-" else value  # `-value` rounds


def _point_only(digits: str) -> str:
    """Digits without marks between thousands and with a decimal point."""
    digits = re.sub(rf"{_GAP}|['’]", "", digits)
    if re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", digits):
        return digits.replace(".", "")
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+|\d+,(?:\d{1,2}|\d{4,})|0,\d+", digits):
        return digits.replace(".", "").replace(",", ".")
    return digits.replace(",", "")


def _plain(text: str) -> str:
    """Return the same with LaTeX, fractions of one character, powers and minus signs as plain text writes them."""
    text = re.sub("[−–]", "-", text)
    text = spaced(text if text.isascii() else _IN_UNITS.sub(_without_units, text))
    if "\\" in text or "{" in text:
        text = text.replace("{,}", ",").replace("\\,", "\u2009").replace("\\!", "")
        text = re.sub(r"\\(?:times|cdot)(?![A-Za-z])\s?", "×", text)
        text = re.sub(r"\\([$%])", r"\1", text)
        text = re.sub(
            r"(?:(\d)\s?)?\\[cdt]?frac\s?(?:\{\s?(-?[\d.,]{1,40})\s?\}\s?\{\s?([\d.,]{1,40})\s?\}|(\d)(\d))",
            _as_fraction,
            text,
        )
        text = re.sub(r"\^\{([-+]?\d{1,4})\}", r"^\1", text)
    if text.isascii():
        return text
    text = re.sub(
        "(?:(\\d)\\s?)?([¼-¾⅐-⅞])", lambda match: _beside(match[1], unicodedata.normalize("NFKC", match[2])), text
    )
    return re.sub(
        "10([⁺⁻]?[⁰¹²³⁴-⁹]{1,4})", lambda match: f"10^{unicodedata.normalize('NFKC', match[1])}", text
    ).replace("^−", "^-")


def _without_units(match: re.Match[str]) -> str:
    """Return a number with units such as 万 in digits; as it is where a part is none."""
    try:
        parts = re.findall(r"(\d[\d.,]*)\s?([亿億억万萬만千천]?)", match.group())
        return f"{sum(Decimal(part.rstrip('.,').replace(',', '')) * _UNITS[unit] for part, unit in parts):f}"
    except ArithmeticError:
        return match.group()


def _as_fraction(match: re.Match[str]) -> str:
    return _beside(match[1], f"{match[2] or match[4]}/{match[3] or match[5]}")


def _beside(whole: str | None, fraction: str) -> str:
    """Return a fraction behind the last digit of a whole number, if there is one."""
    return (f"{whole} " if whole else "") + fraction.replace("⁄", "/")
