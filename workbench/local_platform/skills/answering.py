"""One simulated answer: the skill applied to the last user message, cut at `max_tokens`, with its token counts."""

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from workbench.local_platform.config import Route
from workbench.local_platform.skills import arithmetic, choice, extraction, judgement, tool_arguments
from workbench.local_platform.skills.numbers import written

_READ_CHARS = 8_000  # of a prompt; a model has its limits too
_COUNTED_CHARS = 100_000  # of a text; the rest is taken to be alike
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\n{3,}")
_SCHEMA = re.compile(r"\{\s*\"")
_MOST_SCHEMAS = 10
_OPENING_TOKENS = 2
_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")


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


def answer(route: Route, body: dict[str, Any], tokens: int | None = None) -> Answer:
    """Compute a route's answer to a request body.

    Args:
        route: The route that answers.
        body: What reaches the model, already checked for a list of messages.
        tokens: How long a text is to be, with words before what is answered; None: no longer than that.
    """
    texts = [text for message in body["messages"] if (text := _text_of(message))]
    prompt = _last_user_text(body) or (texts[-1] if texts else "")
    whole = "\n".join(texts)
    prompt_tokens = count_tokens(whole) + 3 * len(body["messages"])
    results = _results_of_tools(body["messages"])
    if route.calls_tools:
        tools, names = body.get("tools") or [], [name for name, _ in results]
        functions = tool_arguments.choose(prompt, tools, body.get("tool_choice"), names)
        if functions:
            several = body.get("parallel_tool_calls") is not False
            return _call(functions if several else functions[:1], prompt, prompt_tokens)
    try:
        text, reasoning = _prose(route, body, _readable(prompt), _readable(whole))
    except (ValueError, ArithmeticError, LookupError, RecursionError):  # a number beyond all reason, for one
        text, reasoning = "I cannot make sense of the question.", None
    if results and route.calls_tools:
        text = " ".join(f"{name} returned {_readable(result)}." for name, result in results)
    text = _until_stop(_formatted(text, prompt, body), body.get("stop"))
    if tokens is not None and not body.get("response_format"):
        text = _at_length(text, tokens - (count_tokens(reasoning) if reasoning else 0))
    return _cut(text, reasoning, prompt_tokens, body.get("max_tokens") if route.keeps_max_tokens else None)


def _results_of_tools(messages: list[Any]) -> list[tuple[str, str]]:
    """The tools that were called since the last user message, by name, with what they returned."""
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
    """The same as JSON, where the request asks for that: of the schema that it gives or quotes to the system, or any object."""
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
    """A JSON Schema of an object that a system message quotes, as programs do that have no other way to ask for one."""
    system = "\n".join(_text_of(message) for message in messages if _role(message) in ("system", "developer"))
    decoder, text = json.JSONDecoder(), system[:_COUNTED_CHARS]
    for begin in [match.start() for match in _SCHEMA.finditer(text)][:_MOST_SCHEMAS]:
        with contextlib.suppress(ValueError, RecursionError):
            found, _ = decoder.raw_decode(text, begin)
            if isinstance(found.get("properties"), dict) or isinstance(found.get("$ref"), str):
                return dict(found)
    return None


def _at_length(text: str, tokens: int) -> str:
    """The text with as many words before it as make it so long; what is answered stays at its end."""
    lacking = tokens - count_tokens(text) - _OPENING_TOKENS
    return text if lacking < 1 else f"Well{' so' * lacking}.\n{text}"


def _until_stop(text: str, stop: Any) -> str:
    """The text up to the first of the request's stop sequences."""
    sequences = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    ends = [text.find(sequence) for sequence in sequences if isinstance(sequence, str) and sequence]
    return text[: min((end for end in ends if end >= 0), default=len(text))]


def _readable(text: str) -> str:
    """As much of a text as a skill reads, without stretches of blanks, over which its patterns would take long."""
    return _LINES.sub("\n\n", _BLANKS.sub(" ", text[: 4 * _READ_CHARS]))[:_READ_CHARS]


def count_tokens(text: str) -> int:
    """Count tokens the simulated way: word pieces of at most six letters, and punctuation marks."""
    if len(text) > _COUNTED_CHARS:
        return count_tokens(text[:_COUNTED_CHARS]) * len(text) // _COUNTED_CHARS
    return sum(1 for _ in _TOKEN.finditer(text))


def _prose(route: Route, body: dict[str, Any], prompt: str, whole: str) -> tuple[str, str | None]:
    careful = route.options.careful
    if route.skill in ("arithmetic", "reasoning") and (said := judgement.judged(prompt)):
        return said, None
    if route.skill == "extraction":
        return extraction.extract(whole), None
    if route.skill == "arithmetic":
        return _calculated(prompt, whole, careful=careful), None
    if route.skill == "reasoning":
        return _reasoned(prompt, _effort(body))
    if route.skill == "echo":
        return json.dumps(body, sort_keys=True, ensure_ascii=False), None
    words = re.findall(r"\w+", prompt)
    return f"You wrote {len(words)} words, beginning with “{' '.join(words[:6])}”.", None


def _calculated(prompt: str, whole: str, *, careful: bool) -> str:
    if letter := choice.pick(prompt, careful=careful):
        return f"Answer: {letter}"
    solution = arithmetic.solve(prompt, careful=careful)
    if solution is None:
        return "There is no number in the question that I could work with."
    if re.search(r"\b(only|just|nothing but)\b[^.]*\bnumber\b|\bwith a number\b", whole, re.IGNORECASE):
        return written(solution.value)
    return "\n".join([*(f"{step}." for step in solution.steps), f"The answer is {written(solution.value)}."])


def _reasoned(prompt: str, effort: str) -> tuple[str, str]:
    letter = choice.pick(prompt, careful=True)
    solution = None if letter else arithmetic.solve(prompt, careful=True)
    steps = list(solution.steps) if solution else ["I read the question twice"]
    thinking = "First I restate the question. " + ". Then ".join(steps) + "."
    if effort == "high":
        thinking += " Let me check that once more: " + "; ".join(reversed(steps)) + ". It holds."
    if letter:
        return f"Having weighed the options, I settle on {letter}.", thinking
    if solution:
        return f"Having thought it through, I find {written(solution.value)}.", thinking
    return "Having thought it through, I can only say that the question leaves it open.", thinking


def _call(functions: list[dict[str, Any]], prompt: str, prompt_tokens: int) -> Answer:
    calls, tokens = [], 0
    for function in functions:
        arguments = _arguments(prompt, function)
        call_id = "call_" + hashlib.sha256(f"{function['name']}{arguments}".encode()).hexdigest()[:16]
        calls.append(
            {"id": call_id, "type": "function", "function": {"name": function["name"], "arguments": arguments}}
        )
        tokens += count_tokens(f"{function['name']} {arguments}")
    return Answer(None, None, calls, "tool_calls", prompt_tokens, tokens)


def _arguments(prompt: str, function: dict[str, Any]) -> str:
    try:
        return tool_arguments.arguments_for(_readable(prompt), function)
    except (ValueError, ArithmeticError, LookupError, RecursionError):
        return "{}"


def _cut(text: str, reasoning: str | None, prompt_tokens: int, max_tokens: Any) -> Answer:
    """Apply the cap on generated tokens: thinking is generated first, and may use it up."""
    thought = count_tokens(reasoning) if reasoning else 0
    total = thought + count_tokens(text)
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens <= 0 or total <= max_tokens:
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


def _effort(body: dict[str, Any]) -> str:
    chosen = body.get("chat_template_kwargs")
    return str(chosen.get("reasoning_effort", "medium")) if isinstance(chosen, dict) else "medium"


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
