"""One simulated answer: from the answer key, or computed from the messages; cut at `max_tokens`, with its token counts."""

import ast
import contextlib
import hashlib
import itertools
import json
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from workbench.local_platform.answer_key import Entry, KeyedAnswer
from workbench.local_platform.config import Route
from workbench.local_platform.filling import arguments_for, choose

Standing = Literal["right", "wrong", "empty", "cut", "refused", "prose"]
"""How an answer stands to the answer key."""
_READ_CHARS = 8_000  # of a prompt; a model has its limits too
_COUNTED_CHARS = 100_000  # of a text; the rest is taken to be alike
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\n{3,}")
_SCHEMA = re.compile(r"\{\s*\"")
_MOST_SCHEMAS = 10
_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")
_ONLY_A_NUMBER = re.compile(r"\b(only|just|nothing but)\b[^.]*\bnumber\b|\bwith a number\b", re.IGNORECASE)
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
_EFFORTS = {"low": 0.5, "high": 1.5}
"""How much longer or shorter a route thinks."""
_PART = r"<{0}>\s*(.*?)\s*</{0}>"
_UNKNOWN = "I have no answer to that: this model is simulated, and no answer key has the question."
_REFUSAL = "I am sorry, but I cannot help with that."
_PROSE = "That depends on how one looks at it, and both views have their friends."
_WORDS = (
    "First the question is read with care . Then what is given is kept apart from what is asked . Each step follows "
    "from the one before it . At the end the whole is looked at once more ."
).split()
"""What stands before an answer that is longer than it need be: no digit, no option, no negation, nothing to be scored."""


class Draw(NamedTuple):
    """What chance decided of an answer."""

    standing: Standing = "right"
    tokens: int | None = None
    """How long an answer is to be, with words before what is said; None: no longer than that."""
    misjudges: bool = False
    """Whether a judge says the opposite of what it sees."""


@dataclass(frozen=True)
class Answer:
    """What a route says, before it is dressed as a chat completion."""

    text: str | None
    reasoning: str | None = None
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    refusal: str | None = None
    """In place of a text."""


def answer(route: Route, body: dict[str, Any], entry: Entry | None, draw: Draw) -> Answer:
    """Return a route's answer to a request body.

    Args:
        body: What reaches the model, already checked for a list of messages.
        entry: What the answer key has for the messages.
    """
    prompt_tokens = count_tokens(text_of(body["messages"])) + 3 * len(body["messages"])
    prompt = _last_user_text(body) or next(filter(None, map(_text_of, reversed(body["messages"]))), "")
    if entry is not None and route.simulated == "answers":
        if draw.standing == "refused":
            return Answer(None, prompt_tokens=prompt_tokens, completion_tokens=count_tokens(_REFUSAL), refusal=_REFUSAL)
        keyed = _keyed(entry, draw.standing)
        if keyed.calls and route.calls_tools:
            return _call(keyed.calls, prompt_tokens, _cap(route, body), cut=draw.standing == "cut")
        text, takes_words = keyed.text or _PROSE * bool(keyed.calls), entry.takes_words or draw.standing == "prose"
    else:
        functions = _functions(route, body, prompt)
        if functions:
            return _call(
                [(each["name"], _arguments(prompt, each)) for each in functions], prompt_tokens, _cap(route, body)
            )
        text = _formatted(_computed(route, body, prompt, draw), prompt, body)
        takes_words = not body.get("response_format")
    reasoning = _thinking(body) if route.thinks else None
    text = _until_stop(text, body.get("stop"))
    if draw.tokens is not None and reasoning is not None:  # one that thinks is long before it answers
        reasoning = _at_length(reasoning, int(draw.tokens * _EFFORTS.get(_effort(body), 1)) - count_tokens(text))
    elif draw.tokens is not None and takes_words and text:
        text = _at_length(text, draw.tokens)
    most = _cap(route, body)
    if draw.standing == "cut":
        most = max(1, (count_tokens(reasoning or "") + count_tokens(text)) // 2)
        return replace(_cut(text, reasoning, prompt_tokens, most), finish_reason="length")
    return _cut(text, reasoning, prompt_tokens, most)


def text_of(messages: list[Any]) -> str:
    """Return all texts of some messages."""
    return "\n".join(filter(None, map(_text_of, messages)))


def _keyed(entry: Entry, standing: Standing) -> KeyedAnswer:
    """Return what the answer key gives an answer that stands to it like that."""
    match standing:
        case "right" | "cut":
            return entry.right
        case "wrong" if entry.wrong is not None:
            return entry.wrong
        case "empty":
            return KeyedAnswer("")
        case _:
            return KeyedAnswer(_PROSE)


def _functions(route: Route, body: dict[str, Any], prompt: str) -> list[dict[str, Any]]:
    """Return the tools that a route calls."""
    if not route.calls_tools:
        return []
    done = [name for name, _ in _results_of_tools(body["messages"])]
    found = choose(prompt, body.get("tools") or [], body.get("tool_choice"), done)
    return found if body.get("parallel_tool_calls") is not False else found[:1]


def _computed(route: Route, body: dict[str, Any], prompt: str, draw: Draw) -> str:
    """Return what a route says by itself."""
    results = _results_of_tools(body["messages"])
    if results and route.calls_tools:
        return " ".join(f"{name} returned {_readable(result)}." for name, result in results)
    if route.simulated == "echo":
        return json.dumps(body, sort_keys=True, ensure_ascii=False)
    prompt = _readable(prompt)
    if route.simulated == "prose":
        words = re.findall(r"\w+", prompt)
        return f"You wrote {len(words)} words, beginning with “{' '.join(words[:6])}”."
    whole = _readable(text_of(body["messages"]))
    return _judged(prompt, draw.misjudges) or _calculated(prompt, whole) or _UNKNOWN


def _judged(prompt: str, misjudges: bool) -> str | None:
    """Return what a judge says of the answer in a prompt; None where the prompt asks for no verdict.

    The answer is right where it has the reference as a word, however it is put otherwise.
    """
    asked = re.search(r"VERDICT: and one of ([^\n.]+)", prompt)
    answer = re.search(_PART.format("answer"), prompt, re.DOTALL)
    if asked is None or answer is None:
        return None
    words = [word.strip() for word in asked[1].split(",")]
    reference = re.search(_PART.format("reference"), prompt, re.DOTALL)
    wanted = reference[1] if reference else ""
    holds = bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", answer[1], re.IGNORECASE) is not None
    is_right = holds is not misjudges
    why = f"The answer {'has' if is_right else 'does not have'} the reference." if wanted else "There is no reference."
    return f"{why}\nVERDICT: {words[0] if is_right else words[-1]}"


def _calculated(prompt: str, whole: str) -> str | None:
    """Return what the longest sum in a prompt comes to; None where it has none."""
    text = prompt
    for pattern, symbol in _SPOKEN:
        text = re.sub(pattern, symbol, text, flags=re.IGNORECASE)
    found = [match.group().replace(",", "").strip(" .\n\t") for match in _EXPRESSION.finditer(text)]
    sums = [each for each in found if re.search(r"\d[\s)]*[+*/-][\s(-]*\d", each)]
    try:
        value = _value(ast.parse(max(sums, key=len), mode="eval").body)
        written = str(value) if value.denominator == 1 else f"{float(value):.4f}".rstrip("0").rstrip(".")
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):  # or there is no sum
        return None
    return written if _ONLY_A_NUMBER.search(whole) else f"{max(sums, key=len)} = {written}.\nThe answer is {written}."


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(str(node.value))
    raise ValueError("not arithmetic")


def _thinking(body: dict[str, Any]) -> str:
    more = " Let me check that once more: I read it a third time. It holds." if _effort(body) == "high" else ""
    return f"First I restate the question. Then I read it twice.{more}"


def _effort(body: dict[str, Any]) -> str:
    chosen = body.get("chat_template_kwargs")
    return str(chosen.get("reasoning_effort", "medium")) if isinstance(chosen, dict) else "medium"


def _results_of_tools(messages: list[Any]) -> list[tuple[str, str]]:
    """Return the tools that were called since the last user message, by name, with what they returned."""
    called: dict[str, str] = {}
    results: list[tuple[str, str]] = []
    for message in messages:
        role = _role(message)
        if role == "user":
            results = []
        elif role == "assistant" and isinstance(calls := message.get("tool_calls"), list):
            for call in calls:
                function = call.get("function") if isinstance(call, dict) else None
                if isinstance(function, dict):
                    called[str(call.get("id"))] = str(function.get("name"))
        elif role == "tool":
            results.append((called.get(str(message.get("tool_call_id")), "a tool"), _text_of(message)))
    return results


def _formatted(text: str, prompt: str, body: dict[str, Any]) -> str:
    """Return the same as JSON, where the request asks for that:
    of the schema that it gives or quotes to the system, or any object.
    """
    wanted = body.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    described = wanted.get("json_schema") if isinstance(wanted, dict) and kind == "json_schema" else None
    schema = described.get("schema") if isinstance(described, dict) else _quoted_schema(body["messages"])
    if schema is not None or kind == "json_schema":
        return _arguments(prompt, {"parameters": schema})
    if kind == "json_object" and not text.lstrip().startswith("{"):
        return json.dumps({"answer": text}, ensure_ascii=False)
    return text


def _quoted_schema(messages: list[Any]) -> dict[str, Any] | None:
    """Return a JSON Schema of an object that a system message quotes, as programs do that have no other way to ask for one."""
    system = "\n".join(_text_of(message) for message in messages if _role(message) in ("system", "developer"))
    decoder, text = json.JSONDecoder(), system[:_COUNTED_CHARS]
    for begin in [match.start() for match in _SCHEMA.finditer(text)][:_MOST_SCHEMAS]:
        with contextlib.suppress(ValueError, RecursionError):
            found, _ = decoder.raw_decode(text, begin)
            if isinstance(found.get("properties"), dict) or isinstance(found.get("$ref"), str):
                return dict(found)
    return None


def _at_length(text: str, tokens: int) -> str:
    """Return a text with as many words before it as make it so long; what is said stays at its end."""
    lacking = tokens - count_tokens(text)
    if lacking < 1:
        return text
    words, counted = [], 0
    for word in itertools.cycle(_WORDS):
        if counted >= lacking:
            break
        words.append(word)
        counted += count_tokens(word)
    return f"{' '.join(words).replace(' .', '.')}\n{text}"


def _until_stop(text: str, stop: Any) -> str:
    """Return the text up to the first of the request's stop sequences."""
    sequences = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    ends = [text.find(sequence) for sequence in sequences if isinstance(sequence, str) and sequence]
    return text[: min((end for end in ends if end >= 0), default=len(text))]


def _readable(text: str) -> str:
    """As much of a text as a simulated model reads, without stretches of blanks, over which its patterns would take long."""
    return _LINES.sub("\n\n", _BLANKS.sub(" ", text[: 4 * _READ_CHARS]))[:_READ_CHARS]


def count_tokens(text: str) -> int:
    """Count tokens the simulated way: word pieces of at most six letters, and punctuation marks."""
    if len(text) > _COUNTED_CHARS:
        return count_tokens(text[:_COUNTED_CHARS]) * len(text) // _COUNTED_CHARS
    return sum(1 for _ in _TOKEN.finditer(text))


def _cap(route: Route, body: dict[str, Any]) -> int | None:
    """Return the most tokens that a route generates for a request; None: no limit."""
    most = body.get("max_tokens") if route.keeps_max_tokens else None
    return most if isinstance(most, int) and not isinstance(most, bool) and most > 0 else None


def _call(calls: Iterable[tuple[str, str]], prompt_tokens: int, most: int | None, *, cut: bool = False) -> Answer:
    called, tokens, ends_early = [], 0, cut
    for name, arguments in calls:
        if tokens == most:
            ends_early = True
            break
        arguments = arguments[: len(arguments) // 2] if cut else arguments
        named = tokens + count_tokens(name)
        tokens = named + count_tokens(arguments)
        if most is not None and tokens > most:
            arguments, tokens, ends_early = _first_tokens(arguments, max(0, most - named)), most, True
        call_id = "call_" + hashlib.sha256(f"{name}{arguments}".encode()).hexdigest()[:16]
        called.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}})
    return Answer(None, None, called, "length" if ends_early else "tool_calls", prompt_tokens, tokens)


def _arguments(prompt: str, function: dict[str, Any]) -> str:
    try:
        return arguments_for(_readable(prompt), function)
    except (ValueError, ArithmeticError, LookupError, RecursionError):
        return "{}"


def _cut(text: str, reasoning: str | None, prompt_tokens: int, max_tokens: int | None) -> Answer:
    """Apply the cap on generated tokens: thinking is generated first, and may use it up."""
    thought = count_tokens(reasoning) if reasoning else 0
    total = thought + count_tokens(text)
    if max_tokens is None or total <= max_tokens:
        return Answer(text, reasoning, [], "stop", prompt_tokens, total, thought)
    if reasoning and max_tokens <= thought:
        return Answer("", _first_tokens(reasoning, max_tokens), [], "length", prompt_tokens, max_tokens, max_tokens)
    return Answer(
        _first_tokens(text, max_tokens - thought), reasoning, [], "length", prompt_tokens, max_tokens, thought
    )


def _first_tokens(text: str, count: int) -> str:
    end = 0
    for number, match in enumerate(_TOKEN.finditer(text)):
        if number == count:
            break
        end = match.end()
    return text[:end]


def _last_user_text(body: dict[str, Any]) -> str:
    for message in reversed(body["messages"]):
        if _role(message) == "user":
            return _text_of(message)
    return ""


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _text_of(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):  # parts pass through; the text ones are read
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
