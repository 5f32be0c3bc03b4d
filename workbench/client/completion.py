"""A chat completion as it came over the wire: what it says, how it ended, and what that means.

Only what the document and `choices[0]` promise is read; every other field is kept in the raw text. Stored answers are judged
here once more where a rule has changed since.
"""

import json
import math
import re
from typing import Any, NamedTuple

import msgspec

from workbench.records.calls import Completion, ToolCall, Usage
from workbench.records.outcomes import UNKNOWN_REASON, Outcome

LARGE_BYTES = 2**20
"""A longer body is read only while few others are, and judged in a thread."""
_MOST_TOKENS = 10**12
_MOST_VALUES = 200_000  # objects and lists of a long reply: each takes many times its bytes in memory
_MOST_REPAIRED_BYTES = 4 * 2**20  # the standard library takes 5 ms a MB, in which nothing else happens


class Verdict(NamedTuple):
    """An outcome with the observation that decided it."""

    outcome: Outcome
    evidence: str
    completion: Completion | None = None
    error_text: str | None = None
    goes_on: bool = False
    """Whether the platform may still be processing the call."""


# Reasons for which generation ended, as servers spell them, in small letters; the first set that has one decides.
_REASONS = {
    "refused": frozenset({"refusal"}),
    "filtered": frozenset(
        "content_filter content_filtered safety recitation sensitive guardrail_intervened prohibited_content blocklist spii "
        "image_safety language".split()
    ),
    "broken": frozenset(
        "error failed failure network_error server_error timeout cancelled canceled abort aborted interrupted "
        "insufficient_system_resource malformed_function_call".split()
    ),
    "cut": frozenset(
        "length max_tokens max_output_tokens model_length model_context_window_exceeded repetition".split()
    ),
    "whole": frozenset(
        "stop end_turn stop_sequence eos eos_token complete completed tool_calls tool_use function_call".split()
    ),
}
WHOLE_ENDS = _REASONS["whole"]
"""The reasons for which generation ended by itself."""


def judged(value: dict[str, Any] | list[Any] | str | float | None) -> Verdict:
    """Return what a body under status 200, 201 or 203 means, where it is not an error by itself."""
    if value is None:
        return Verdict(Outcome.NULL_BODY, "HTTP 200 with the body null")
    completion = completion_from(value)
    if isinstance(completion, str):
        return Verdict(Outcome.MALFORMED_BODY, f"HTTP 200 with {completion}", _usage_alone(value))
    spoken = bool((completion.answer or "").strip()) or bool(completion.tool_calls)
    said = ("an answer" if spoken else "no text") + f", finish_reason {completion.finish_reason}"
    ended = _ended(completion.finish_reason)
    refusal, error = _refusal_in(value), _error_beside(value)
    if refusal is not None or ended == "refused":
        kept = completion if spoken or refusal is None else msgspec.structs.replace(completion, answer=refusal)
        return Verdict(Outcome.REFUSED, f"{'a refusal' if refusal is not None else said}", kept)
    if error is not None:
        return Verdict(Outcome.BROKEN_OFF, f"{said}, with an error beside it", completion, error)
    if ended == "filtered":
        return Verdict(Outcome.FILTERED if spoken else Outcome.REFUSED, said, completion)
    if ended == "broken":
        return Verdict(Outcome.BROKEN_OFF, said, completion)
    if spoken:
        outcome = Outcome.TRUNCATED if ended == "cut" else Outcome.OK
        return Verdict(outcome, said if ended != "unknown" else f"{said}, {UNKNOWN_REASON}", completion)
    if completion.reasoning or completion.usage.reasoning_tokens:
        evidence = f"reasoning but no answer, finish_reason {completion.finish_reason}"
        return Verdict(Outcome.REASONING_EXHAUSTED, evidence, completion)
    if ended == "cut":
        return Verdict(Outcome.TRUNCATED, said, completion)
    return Verdict(Outcome.EMPTY, f"neither text nor tool call, finish_reason {completion.finish_reason}", completion)


def _usage_alone(value: Any) -> Completion | None:
    """Return what a body that is not a completion says of its usage, which was paid for all the same; None where it does not."""
    usage = usage_from(value.get("usage")) if isinstance(value, dict) else Usage()
    if usage == Usage():
        return None
    served, response_id = _string(value.get("model")), _string(value.get("id"))
    return Completion(None, None, (), None, served, usage, response_id)


def is_error(value: Any) -> bool:
    """Return whether a body under status 200 is an error without an answer."""
    if not isinstance(value, dict) or "error" not in value:
        return False
    return "choices" not in value or bool(value["error"] and not value["choices"])


def _ended(reason: str | None) -> str:
    """Return which kind of end a reason is; `unknown` where none has it."""
    plain = re.sub(r"[\s-]+", "_", (reason or "stop").strip().lower()) or "stop"
    return next((kind for kind, reasons in _REASONS.items() if plain in reasons), "unknown")


def _refusal_in(value: Any) -> str | None:
    """Return the words of the API's own field for a refusal, never words found in a text."""
    message = value["choices"][0].get("message")
    refusal = message.get("refusal") if isinstance(message, dict) else None
    return refusal if isinstance(refusal, str) and refusal.strip() else None


def _error_beside(value: Any) -> str | None:
    """Return the error object beside an answer, or in its choice, in words."""
    for holder in (value, value["choices"][0]):
        if holder.get("error"):
            return error_text_from({"error": holder["error"]})[1] or "an error without words"
    return None


def decode(body: bytes) -> Any:
    """Decode JSON from the platform.

    Raises:
        ValueError: The bytes are not valid JSON.
    """
    if len(body) > LARGE_BYTES and body.count(b"{") + body.count(b"[") > _MOST_VALUES:
        raise ValueError("too many values")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as odd:
        if len(body) > _MOST_REPAIRED_BYTES:
            raise ValueError("not valid JSON") from odd
        try:
            return msgspec.json.decode(_repaired(body))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def _repaired(body: bytes) -> bytes:
    r"""Repair almost valid JSON: an answer that was paid for is not discarded for one odd character.

    Half of a surrogate pair (`\ud83d`) is legal and seen where answers are cut; bytes that are not UTF-8, control
    characters, NaN and infinite numbers are not. The standard library reads them; text becomes the sign for an unreadable
    character, a number null.
    """
    text = body.decode(json.detect_encoding(body), "replace")
    value = json.loads(text, strict=False, parse_constant=lambda _: None, parse_float=_finite)
    repaired = json.dumps(value, ensure_ascii=False)
    return repaired.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def completion_from(value: Any) -> Completion | str:
    """Read a decoded body as a completion; a string says why it is not one."""
    if not isinstance(value, dict):
        return f"a JSON {type(value).__name__}, not an object"
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "no choices[0]"
    message = choices[0].get("message", choices[0].get("text"))
    if isinstance(message, str):
        message = {"content": message}
    if not isinstance(message, dict):
        return "no choices[0].message"
    calls = message.get("tool_calls")
    if isinstance(calls, dict):
        calls = [calls]
    elif not calls and isinstance(message.get("function_call"), dict):  # as before tools
        calls = [{"function": message["function_call"]}]
    return Completion(
        answer=_text(message.get("content")),
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        tool_calls=tuple(call for entry in calls if (call := _tool_call(entry))) if isinstance(calls, list) else (),
        finish_reason=_string(choices[0].get("finish_reason")),
        served_model=_string(value.get("model")),
        usage=usage_from(value.get("usage")),
        response_id=_string(value.get("id")),
    )


def usage_from(value: Any) -> Usage:
    """Read a usage object; absent, mistyped or all zero is unknown (a gateway fills in zeros for a silent backend).

    Completion tokens hold those of the reasoning, as most servers count; where the sum says that they came on top, or that it has
    more than prompt and completion, they are added.
    """
    if not isinstance(value, dict):
        return Usage()
    details = value.get("completion_tokens_details", value.get("output_tokens_details"))
    usage = Usage(
        prompt_tokens=_first_count(value, "prompt_tokens", "input_tokens"),
        completion_tokens=_first_count(value, "completion_tokens", "output_tokens"),
        reasoning_tokens=_count(details.get("reasoning_tokens")) if isinstance(details, dict) else None,
        total_tokens=_count(value.get("total_tokens")),
    )
    if not (usage.prompt_tokens or usage.completion_tokens or usage.total_tokens):
        return Usage()
    parts = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
    is_complete = usage.prompt_tokens is not None and usage.completion_tokens is not None
    if is_complete if usage.total_tokens is None else usage.total_tokens < parts:
        return msgspec.structs.replace(usage, total_tokens=parts)  # a total below the sum of its parts is an error
    apart = (usage.total_tokens or 0) - parts
    cached = value.get("prompt_tokens_details")
    is_of_prompt = isinstance(cached, dict) and _count(cached.get("cached_tokens")) == apart  # which some count apart
    if is_complete and apart > 0 and not is_of_prompt and usage.reasoning_tokens in (None, 0, apart):
        completion_tokens = (usage.completion_tokens or 0) + apart
        return msgspec.structs.replace(usage, completion_tokens=completion_tokens, reasoning_tokens=apart)
    return usage


def error_text_from(value: Any) -> tuple[str, str]:
    """Read a decoded error body as (style, text).

    The style is `error` (the gateway's), `detail` (the platform's), `validation` (a list of details) or `other`.
    """
    if isinstance(value, dict):
        error, detail = value.get("error"), value.get("detail")
        if isinstance(detail, str):  # first: an `error` beside it says the same to other clients
            return "detail", detail
        if detail is not None:
            return "validation", msgspec.json.encode(detail).decode()
        if isinstance(error, dict):
            return "error", f"{error.get('type') or ''} {error.get('message') or ''}".strip()
        if isinstance(error, str):
            return "error", error
    return "other", ""


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list):  # content parts: the text ones, in order
        return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
    return None


def _tool_call(entry: Any) -> ToolCall | None:
    function = entry.get("function") if isinstance(entry, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return ToolCall(_string(entry.get("id")), function["name"], text)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _first_count(value: dict[str, Any], *names: str) -> int | None:
    """Return the first of these that is a count."""
    return next((count for name in names if (count := _count(value.get(name))) is not None), None)


def _count(value: Any) -> int | None:
    """Return a whole number, also as a float or as digits."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,15}(?:\.0+)?", value):
        value = float(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    plain = isinstance(value, int) and not isinstance(value, bool)
    return value if plain and 0 <= value <= _MOST_TOKENS else None  # a larger number is an error, not a count
