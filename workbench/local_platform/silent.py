"""Where the document is silent: one choice each, in one place, with what else a platform of the kind was seen to do.

Every entry answers a question that the document leaves "not shown"; the first value named is the default. Without a
switch, and not shown either: a model entry also has `object`, `created`, `owned_by` and `name`, a preset `preset` and
`info.base_model_id`; body fields that the platform takes for itself (`OWN_FIELDS` in config.py) reach no model, what stands
in `params` and `extra_body` is lifted out, and `max_completion_tokens` is renamed to `max_tokens`; `max_tokens` has no upper
bound, and a request the size of `limits.body_bytes`; there are no endpoints for
keys, uploads or events; `/api/v1` is the same as `/api`; an answer carries `X-Request-Id`.
"""

from typing import Annotated, Literal

import msgspec


class Silent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[silent]`: how this platform behaves where the document does not say."""

    errors: Literal["error", "gateway", "detail", "detail_400", "null_200"] = "error"
    """Error body shape, not shown. How a route's failure is told: `error`, an object as OpenAI's clients read it, under the
    failure's own status, in our words, with the model server's only where the request is at fault. The others are as was
    seen: `gateway`, the same object in a gateway's words and the model server's; `detail`, that text alone; `detail_400`,
    the text, and 400 whatever happened; `null_200`, status 200 and the JSON value null. This covers a route's failure, a
    cooldown and a lack of slots; what the platform itself refuses (keys, models, bodies, the allowance) is always a `detail`
    with an `error` beside it."""
    unknown_model_status: Literal[400, 404] = 404
    """Not shown: status of a model that does not exist, or that the account does not see; 400 was seen."""
    unreachable_status: Literal[500, 502, 503] = 500
    """Status when a backend is down, not shown: of a model server that cannot be reached or breaks off. One that answers
    with an error status keeps it."""
    requests: Literal["checked", "passed"] = "checked"
    """Not shown: a body without messages, with messages that are none, or with a tool choice that names no supplied tool:
    refused with 400; or `passed` on to the model, as was seen."""
    parts: Literal["text", "passed"] = "text"
    """Not shown: parts of a message's content that are not text, such as images, where requests are checked: refused with 400,
    as the document has text only; or `passed` on to the model."""
    outages: Literal["free", "strict"] = "free"
    """Not shown: whether an attempt draws that a model server answers with 502, 503 or 530 before anything else: nothing, as
    it presumably generated nothing; or `strict`, an estimate, as it may have. A refused connection and a plain refusal
    never draw; a time-out, a broken answer and a 500 always draw an estimate: of the prompt, and of as many generated
    tokens as the request allows, but no more than any of the route's newest answers used."""
    time_limit_status: Literal[408, 504] = 504
    """Status when a route exceeds its time, not shown; 408 was seen."""
    time_limit_per: Literal["attempt", "request"] = "attempt"
    """Not shown: whether the 120 s hold for every attempt of a request, as seen, or for all of them together."""
    past_limit: Literal["429", "503", "queue"] = "429"
    """What meets the 65th request in flight, not shown: refused with 429 as a gateway does, refused with 503 and plain
    text as its web server does, or kept waiting. An account that has less than its share of the slots is not refused but
    for batch work: it waits for a call of those who have more."""
    past_limit_retry_after_s: Annotated[float, msgspec.Meta(ge=0, le=1e9)] | None = None
    """Not shown: `Retry-After` of that 429; a gateway was seen to send 17 to 24 s, and none."""
    cooldown_s: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0
    """How long a route answers 429 after one of `cooldown_after`, not shown; 5 s were seen after a 401, 0 is never."""
    cooldown_after: tuple[int, ...] = (401, 404, 429)
    """Not shown: the failures after which a route cools down, if any does."""
    usage_keys: Literal["openai", "input_output"] = "openai"
    """Exact key names of usage, not shown: `prompt_tokens`, `completion_tokens`, `total_tokens`; or `input_tokens`,
    `output_tokens`."""
    usage: Literal["reported", "absent", "zero"] = "reported"
    """Not shown: whether an answer carries usage at all: what the route reported; none; or noughts. Draws are not touched."""
    missing_usage: Literal["absent", "zero"] = "absent"
    """Not shown: what the caller sees of a route that reports no usage: none, or noughts, as was seen."""
    served_name: Literal["route", "upstream", "requested"] = "route"
    """Not shown: what `model` names, "identifies the route": always the id of the route that served; always its model
    server's own name; or, as was seen, the id unless a fallback answered, whose server's name stands there then."""
    preset_prompt: Literal["before", "alone", "off"] = "before"
    """A preset's system prompt, not shown: put before the caller's in one message, as was seen; in its place; or left out."""
    preset_parameters: bool = True
    """Not shown: whether a preset's parameters apply, as was seen; the caller's own fields replace them."""
    exhausted: Literal["refuse", "fallback", "silent"] = "refuse"
    """Behaviour when the allowance is exhausted, not shown: refuse; let the route's fallback answer, where it has one; or
    say nothing until the time limit."""
    exhausted_status: Annotated[int, msgspec.Meta(ge=400, le=599)] = 429
    """Not shown: status of that refusal, with OpenAI's code `insufficient_quota`; a filter of the platform was seen to make
    400 of everything."""
    exhausted_detail: str = "Your allowance is used up."
    """Not shown: its text."""
    stream_usage: Literal["asked", "always", "never"] = "asked"
    """Wire format of streamed chunks, not shown: usage in a last chunk when `stream_options.include_usage` asks for it."""
    stream_usage_choices: Literal["empty", "delta"] = "empty"
    """Not shown: `choices` of that chunk: an empty list, or one entry with an empty delta, as was seen."""
    stream_tool_finish: Literal["tool_calls", "stop"] = "tool_calls"
    """Not shown: `finish_reason` of a streamed tool call; `stop` was seen."""
    stream_pieces: Literal["openai", "gateway"] = "openai"
    """Not shown: whether chunks are written as OpenAI's, or as a gateway was seen to rewrite them: `finish_reason` only where
    there is one, `type` in every piece of a tool call, `completion_tokens_details` in the chunk with usage."""
    broken_stream: Literal["error", "error_done", "end"] = "error"
    """Not shown: a model server that breaks off in a stream: an error in the stream; one followed by [DONE]; or a clean end
    without either."""
    garbled_stream: Literal["error", "empty"] = "error"
    """Not shown: a model server that answers a streamed call with 200 and no stream: a failure like any other, or, as was seen, a
    stream without a word that ends well."""
    unknown_path: Literal["404", "page"] = "404"
    """Not shown: a path outside the API: 404, or 200 and the HTML of the web app, as was seen for GET."""
