"""Arithmetic and word problems, solved step by step; the careless variant overlooks what people overlook."""

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from workbench.local_platform.skills.numbers import NUMBER, number_of, numbers_in, written

_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SPOKEN = (
    (r"\bplus\b|\badded to\b", "+"),
    (r"\bminus\b", "-"),
    (r"\btimes\b|\bmultiplied by\b|×|·", "*"),
    (r"\bdivided by\b|÷", "/"),
)
_EXPRESSION = re.compile(r"[\d\s.,()+*/-]+")  # one class, so that it takes linear time
_LOSS = re.compile(
    r"\b(g[ia]ves?|lo(?:ses|st)|eats?|ate|sells?|sold|spen(?:ds|t)|uses?|used|leaves?|left the|br(?:eaks?|oke|oken)|"
    r"removes?|donates?|throws?|fewer|less|takes? (?:away|out)|gone|drops?|returns?|pays?|burns?|lends?|lent|leak\w*|"
    r"closed|empty|gets? off|ill)\b",
    re.IGNORECASE,
)
_SHARE = re.compile(r"\b(split|shared?|divides?|divided|equally|among|between|per person)\b", re.IGNORECASE)
_EACH = re.compile(r"\b(each|every|per|apiece)\b", re.IGNORECASE)
_REPEATED = re.compile(
    r"\b(?:in|for|after)\s+\w+\s+(?:seconds|minutes|hours|days|weeks|months|years|\w+s\?)", re.IGNORECASE
)
_QUESTION = re.compile(r"\b(how (?:many|much|far|long|old)|what is|what's|find|calculate)\b", re.IGNORECASE)
_VERB_AHEAD = (
    r"(?=(?:(?:he|she|they|it)\s+)?(?:buys|bought|gets|got|finds|found|adds|receives|makes|picks|has|gains?|loses|"
    r"spends|sells|\w+s\s+away)\b)"
)
_STATE_AHEAD = r"(?=\w+\s+(?:are|is|get|gets|arrives?|leaves?|of them)\b)"
_CLAUSE = re.compile(
    rf"(?<=[.;?!])\s+|,\s+(?:and |then |but )?|\s+(?:and then|then|but)\s+|\s+and\s+(?:{_VERB_AHEAD}|{_STATE_AHEAD})",
    re.IGNORECASE,
)
_PERCENT = re.compile(rf"({NUMBER.pattern})\s*(?:%|percent)", re.IGNORECASE)


@dataclass(frozen=True)
class Solution:
    """A result and the steps that led to it."""

    value: Fraction
    steps: tuple[str, ...]


def solve(question: str, *, careful: bool) -> Solution | None:
    """Solve an expression or a word problem; None when the text holds no number.

    Args:
        question: The text of the prompt.
        careful: False overlooks factors, shares and percentages, as a weak model does.
    """
    expression = _expression_in(question)
    if expression is not None:
        return _evaluate(expression, careful=careful)
    return _story(question, careful=careful)


def _expression_in(question: str) -> str | None:
    text = question
    for pattern, symbol in _SPOKEN:
        text = re.sub(pattern, symbol, text, flags=re.IGNORECASE)
    found = [match.group().replace(",", "").strip(" .\n\t") for match in _EXPRESSION.finditer(text)]
    sums = [each for each in found if re.search(r"\d[\s)]*[+*/-][\s(-]*\d", each)]
    return max(sums, key=len) if sums else None


def _evaluate(expression: str, *, careful: bool) -> Solution | None:
    try:
        tree = ast.parse(expression, mode="eval").body
        value = _value(tree) if careful else _left_to_right(expression)
    except (SyntaxError, ValueError, LookupError, ZeroDivisionError, RecursionError, MemoryError):
        numbers = numbers_in(expression)
        return Solution(sum(numbers, Fraction(0)), (f"adding up {expression}",)) if numbers else None
    return Solution(value, (f"{expression} = {written(value)}",))


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(str(node.value))
    raise ValueError("not arithmetic")


def _left_to_right(expression: str) -> Fraction:
    """Ignore precedence and brackets, the classic slip."""
    tokens = re.findall(r"\d+(?:\.\d+)?|[+*/-]", expression)
    value = Fraction(tokens[0])
    by_symbol = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
    for symbol, number in zip(tokens[1::2], tokens[2::2], strict=False):
        value = by_symbol[symbol](value, Fraction(number))
    return value


def _story(question: str, *, careful: bool) -> Solution | None:
    total: Fraction | None = None
    steps: list[str] = []
    for clause in _CLAUSE.split(question):
        step = _clause(clause, total, careful=careful)
        if step is None:
            continue
        total, said = step
        steps.append(said)
    return Solution(total, tuple(steps)) if total is not None else None


def _clause(clause: str, total: Fraction | None, *, careful: bool) -> tuple[Fraction, str] | None:
    """Work one clause into the running total; None when it changes nothing."""
    if careful and total is not None and (factor := _factor(clause)) is not None:
        result = total * factor
        return result, f"{written(total)} × {written(factor)} = {written(result)}"
    numbers = numbers_in(clause)
    if not numbers:
        return None
    product = Fraction(1)
    for number in numbers:
        product *= number
    several = careful and len(numbers) > 1 and bool(_EACH.search(clause) or re.search(r"\btimes\b", clause))
    amount = product if several else sum(numbers, Fraction(0))
    return _combine(clause, total, amount, careful=careful, several=several)


def _combine(
    clause: str, total: Fraction | None, amount: Fraction, *, careful: bool, several: bool
) -> tuple[Fraction, str]:
    if total is None:
        return amount, f"start with {written(amount)}"
    if careful and _SHARE.search(clause) and amount:
        symbol, result = "÷", total / amount
    elif careful and not several and (_EACH.search(clause) or (_REPEATED.search(clause) and not _LOSS.search(clause))):
        symbol, result = "×", total * amount
    elif _LOSS.search(clause):
        symbol, result = "-", total - amount
    elif _QUESTION.search(clause) and not careful:
        symbol, result = "+", total
    else:
        symbol, result = "+", total + amount
    return result, f"{written(total)} {symbol} {written(amount)} = {written(result)}"


def _factor(clause: str) -> Fraction | None:
    """What a clause multiplies the running total with: half, twice, 20 % off and the like."""
    if percent := _PERCENT.search(clause):
        number = NUMBER.search(percent.group())
        share = number_of(number) / 100 if number else Fraction(0)
        if re.search(r"\b(off|discount|less|fewer|cheaper|reduc\w+)\b", clause, re.IGNORECASE):
            return 1 - share
        if re.search(r"\b(more|increase\w*|extra|tip|tax|interest)\b", clause, re.IGNORECASE):
            return 1 + share
        return share
    for name, parts in (("third", 3), ("quarter", 4), ("fifth", 5)):
        if re.search(rf"\ba {name} of\b", clause, re.IGNORECASE):
            return Fraction(1, parts)
    if re.search(r"\bhalf\b", clause, re.IGNORECASE):
        return Fraction(1, 2)
    if re.search(r"\b(twice|doubles?|doubled)\b", clause, re.IGNORECASE):
        return Fraction(2)
    if re.search(r"\b(triples?|tripled|three times)\b", clause, re.IGNORECASE):
        return Fraction(3)
    return None
