"""One simulated answer: the skill applied to the last user message, cut at `max_tokens`, with its token counts."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from workbench.local_platform.config import Route
from workbench.local_platform.skills import arithmetic, choice, extraction, tool_arguments
from workbench.local_platform.skills.numbers import written

_READ_CHARS = 8_000  # of a prompt; a model has its limits too
_COUNTED_CHARS = 100_000  # of a text; the rest is taken to be alike
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\n{3,}")
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


def answer(route: Route, body: dict[str, Any]) -> Answer:
    """Compute a route's answer to a request body.

    Args:
        route: The route that answers.
        body: What reaches the model, already checked for a list of messages.
    """
    texts = [text for message in body["messages"] if (text := _text_of(message))]
    prompt = _last_user_text(body) or (texts[-1] if texts else "")
    whole = "\n".join(texts)
    prompt_tokens = count_tokens(whole) + 3 * len(body["messages"])
    if route.calls_tools and (
        function := tool_arguments.choose(prompt, body.get("tools") or [], body.get("tool_choice"))
    ):
        return _call(function, prompt, prompt_tokens)
    try:
        text, reasoning = _prose(route, body, _readable(prompt), _readable(whole))
    except (ValueError, ArithmeticError, LookupError, RecursionError):  # a number beyond all reason, for one
        text, reasoning = "I cannot make sense of the question.", None
    return _cut(text, reasoning, prompt_tokens, body.get("max_tokens"))


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


def _call(function: dict[str, Any], prompt: str, prompt_tokens: int) -> Answer:
    try:
        arguments = tool_arguments.arguments_for(_readable(prompt), function)
    except (ValueError, ArithmeticError, LookupError, RecursionError):
        arguments = "{}"
    call_id = "call_" + hashlib.sha256(f"{function['name']}{arguments}".encode()).hexdigest()[:16]
    call = {"id": call_id, "type": "function", "function": {"name": function["name"], "arguments": arguments}}
    tokens = count_tokens(f"{function['name']} {arguments}")
    return Answer(None, None, [call], "tool_calls", prompt_tokens, tokens)


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
        if isinstance(message, dict) and message.get("role") == "user":
            return _text_of(message)
    return ""


def _text_of(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):  # parts pass through; the text ones are read
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
