import json
import time
from typing import Any

import msgspec
import pytest

from workbench.client import outcome
from workbench.client.chat import retry_after_s
from workbench.client.completion import Verdict
from workbench.client.transport import Failure, Reply
from workbench.job.file import UnscoredTable
from workbench.records.outcomes import EFFECTS, Outcome

SIGNATURE = outcome.AllowanceSignature()


def judged(status: int, body: Any, content_type: str = "application/json") -> Verdict:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return outcome.of_reply(Reply(status, {"content-type": content_type}, raw), SIGNATURE)


def answer(**message: Any) -> dict[str, Any]:
    finish = message.pop("finish", "stop")
    usage = message.pop("usage", {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7})
    return {"model": "m", "choices": [{"finish_reason": finish, "message": message}], "usage": usage}


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}

# Shapes that real stacks were seen to answer with; the texts are shortened.
SHAPES: list[tuple[str, int, Any, Outcome]] = [
    ("text", 200, answer(content="4"), Outcome.OK),
    ("tool call, content null", 200, answer(content=None, tool_calls=[CALL], finish="tool_calls"), Outcome.OK),
    ("empty string", 200, answer(content=""), Outcome.EMPTY),
    ("null content", 200, answer(content=None), Outcome.EMPTY),
    ("white space", 200, answer(content=" \n"), Outcome.EMPTY),
    ("cut", 200, answer(content="The answ", finish="length"), Outcome.TRUNCATED),
    ("cut before the first word", 200, answer(content="", finish="length"), Outcome.TRUNCATED),
    ("thought only", 200, answer(content="", reasoning_content="Hm", finish="length"), Outcome.REASONING_EXHAUSTED),
    ("refusal", 200, answer(content=None, refusal="I can't help with that."), Outcome.REFUSED),
    ("refusal beside an empty text", 200, answer(content="", refusal="I can't help with that."), Outcome.REFUSED),
    ("refusal beside a text", 200, answer(content="Well.", refusal="I can't."), Outcome.REFUSED),
    ("refusal that says nothing", 200, answer(content="4", refusal=""), Outcome.OK),
    ("refusal that is null", 200, answer(content="4", refusal=None), Outcome.OK),
    ("words of a refusal", 200, answer(content="I am sorry, but I cannot help with that."), Outcome.OK),
    ("the reason refusal", 200, answer(content="I won't.", finish="refusal"), Outcome.REFUSED),
    ("filtered", 200, answer(content="", finish="content_filter"), Outcome.REFUSED),
    ("filtered in its middle", 200, answer(content="The answ", finish="content_filter"), Outcome.FILTERED),
    ("an error beside a text", 200, answer(content="The answ") | {"error": {"message": "upstream died"}}, Outcome.BROKEN_OFF),
    ("a null error beside a text", 200, answer(content="4") | {"error": None}, Outcome.OK),
    ("an error and no choices", 200, {"error": {"message": "litellm.RateLimitError: slow"}, "choices": None}, Outcome.RATE_LIMITED),
    *((f"broken off: {finish}", 200, answer(content="The answ", finish=finish), Outcome.BROKEN_OFF)
      for finish in ("error", "failed", "network_error", "insufficient_system_resource", "abort", "timeout", "cancelled")),
    ("broken off before the first word", 200, answer(content="", finish="error"), Outcome.BROKEN_OFF),
    *((f"cut: {finish}", 200, answer(content="The answ", finish=finish), Outcome.TRUNCATED)
      for finish in ("max_tokens", "MAX_TOKENS", "Length", "length ", "model_length", "model_context_window_exceeded", "repetition")),
    *((f"whole: {finish}", 200, answer(content="4", finish=finish), Outcome.OK)
      for finish in (None, "", "end_turn", "eos", "tool_use", "function_call", "stop_sequence", "flow_stop")),
    ("null", 200, None, Outcome.NULL_BODY),
    ("task ids", 200, {"status": True, "task_ids": ["x"]}, Outcome.MALFORMED_BODY),
    ("no choice", 200, {"choices": []}, Outcome.MALFORMED_BODY),
    ("a list", 200, [], Outcome.MALFORMED_BODY),
    ("cut JSON", 200, b'{"choices": [{"mess', Outcome.MALFORMED_BODY),
    ("a page", 200, b"<!doctype html><html></html>", Outcome.HTML_BODY),
    ("error under 200", 200, {"error": {"message": "litellm.Timeout: late"}}, Outcome.GATEWAY_TIMEOUT),
    ("invalid key", 401, {"detail": "Your session has expired or the token is invalid."}, Outcome.KEY_REJECTED),
    ("no key", 401, {"detail": "Not authenticated"}, Outcome.KEY_REJECTED),
    ("keys switched off", 403, {"detail": "Use of API key is not enabled in the environment."}, Outcome.KEY_NOT_ALLOWED),
    ("backend refuses the platform's secret", 401,
     {"error": {"message": "litellm.AuthenticationError: bad", "type": "authentication_error", "code": "401"}},
     Outcome.ROUTE_UNAUTHORISED),
    ("the same in the 400 style", 400, {"detail": "litellm.AuthenticationError: AuthenticationError: bad"},
     Outcome.ROUTE_UNAUTHORISED),
    ("401 in the gateway's shape, no class named", 401, {"error": {"message": "no"}}, Outcome.ROUTE_UNAUTHORISED),
    ("secret not set", 500, {"error": {"message": "litellm.InternalServerError: Missing credentials."}},
     Outcome.ROUTE_UNAUTHORISED),
    ("not visible", 400, {"detail": "Model not found"}, Outcome.MODEL_NOT_VISIBLE),
    ("bad messages", 400, {"detail": "'str' object has no attribute 'get'"}, Outcome.BAD_REQUEST),
    ("passed on allowance", 400, {"detail": "429: {'error': 'allowance', 'message': 'come back tomorrow'}"}, Outcome.ALLOWANCE_SUSPECTED),
    ("passed on payment", 400, {"detail": "402: quota"}, Outcome.ALLOWANCE_SUSPECTED),
    ("passed on limit", 400, {"detail": "429: {'error': 'slow down'}"}, Outcome.RATE_LIMITED),
    ("passed on secret", 400, {"detail": "Error code: 401 - {'error': 'no such key'}"}, Outcome.ROUTE_UNAUTHORISED),
    ("passed on failure", 400, {"detail": "502: Bad Gateway"}, Outcome.ROUTE_DOWN),
    ("passed on time-out", 400, {"detail": "504: upstream timed out"}, Outcome.GATEWAY_TIMEOUT),
    ("passed on refusal", 400, {"detail": "422: no such parameter"}, Outcome.BAD_REQUEST),
    ("a number of its own", 400, {"detail": "4096 tokens are too many"}, Outcome.BAD_REQUEST),
    ("validation", 422, {"detail": [{"type": "json_invalid", "loc": ["body"], "msg": "x"}]}, Outcome.BAD_REQUEST),
    ("context", 400, {"error": {"message": "litellm.ContextWindowExceededError: too long"}}, Outcome.CONTEXT_TOO_LONG),
    ("rate limit of the route", 429, {"error": {"message": "litellm.RateLimitError: slow down"}}, Outcome.RATE_LIMITED),
    ("rate limit in the 400 style", 400, {"detail": "litellm.RateLimitError: slow down"}, Outcome.RATE_LIMITED),
    ("limiter", 429, {"error": {"message": "Max parallel request limit reached"}}, Outcome.RATE_LIMITED),
    ("server at its limit", 503, b"Service Unavailable", Outcome.RATE_LIMITED),
    ("cooldown", 429, {"error": {"message": "No deployments available for selected model",
     "type": "all_deployments_in_cooldown"}}, Outcome.ROUTE_COOLING),
    ("502", 502, {"error": {"message": "litellm.BadGatewayError: <html>502</html>"}}, Outcome.ROUTE_DOWN),
    ("530", 530, {"error": {"message": "litellm.APIError: 530"}}, Outcome.ROUTE_DOWN),
    ("502 in the 400 style", 400, {"detail": "litellm.BadGatewayError: BadGatewayError"}, Outcome.ROUTE_DOWN),
    ("500 without a class", 500, {"error": {"message": "boom"}}, Outcome.ROUTE_DOWN),
    ("gateway gone", 500, {"detail": "Open WebUI: Server Connection Error"}, Outcome.GATEWAY_UNREACHABLE),
    ("gateway gone, 400 style", 400, {"detail": "Open WebUI: Server Connection Error"}, Outcome.GATEWAY_UNREACHABLE),
    ("gateway gone, after a list", 404, {"detail": "Model '' was not found"}, Outcome.GATEWAY_UNREACHABLE),
    ("page from in front", 502, b"<html>502 Bad Gateway</html>", Outcome.PROXY_FAILED),
    ("page from in front, of its own", 520, b"<html>520 Unknown Error</html>", Outcome.PROXY_FAILED),
    ("page from in front, time-out", 504, b"<html>504</html>", Outcome.GATEWAY_TIMEOUT),
    ("page from in front, origin at work", 524, b"<html>524</html>", Outcome.GATEWAY_TIMEOUT),
    ("the same in words", 524, b"error code: 524", Outcome.GATEWAY_TIMEOUT),
    ("the same passed on", 400, {"detail": "524: origin at work"}, Outcome.GATEWAY_TIMEOUT),
    ("page: too large a body", 413, b"<html>413 Request Entity Too Large</html>", Outcome.BAD_REQUEST),
    ("page: not allowed in", 401, b"<html>401 Authorization Required</html>", Outcome.KEY_REJECTED),
    ("page: forbidden", 403, b"<html>403 Forbidden</html>", Outcome.KEY_NOT_ALLOWED),
    ("page: too many", 429, b"<html>429 Too Many Requests</html>", Outcome.RATE_LIMITED),
    ("page: not found", 404, b"<html>404 Not Found</html>", Outcome.GATEWAY_UNREACHABLE),
    ("time-out", 408, {"error": {"message": "litellm.Timeout: APITimeoutError"}}, Outcome.GATEWAY_TIMEOUT),
    ("time-out in the 400 style", 400, {"detail": "litellm.Timeout: APITimeoutError"}, Outcome.GATEWAY_TIMEOUT),
    ("allowance, no credits", 403, {"detail": "You are out of credits"}, Outcome.ALLOWANCE_SUSPECTED),
    ("allowance, balance", 400, {"detail": "Insufficient balance"}, Outcome.ALLOWANCE_SUSPECTED),
    ("allowance, limit of usage", 429, {"detail": "Usage limit reached for this month"}, Outcome.ALLOWANCE_SUSPECTED),
    ("allowance, quota", 429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
     Outcome.ALLOWANCE_SUSPECTED),
    ("a user's budget", 400, {"error": {"message": "ExceededBudget: User=u over budget. Spend=1.2, Budget=1.0", "code": "400"}},
     Outcome.ALLOWANCE_SUSPECTED),
    ("a team's budget", 400, {"detail": "Crossed spend within team 'optics': 10.2 of 10.0"}, Outcome.ALLOWANCE_SUSPECTED),
    ("a key's budget", 401, {"error": {"message": "Authentication Error, ExceededTokenBudget: Current spend for token: 0.02; Max "
     "Budget for Token: 0.01", "type": "auth_error", "code": "401"}}, Outcome.ALLOWANCE_SUSPECTED),
    ("a provider's budget", 429, {"error": {"message": "No deployments available - crossed budget for provider: openai 10 >= 10"}},
     Outcome.ALLOWANCE_SUSPECTED),
    ("a filter's month", 400, {"detail": "You have reached your monthly limit of 1,000 messages."}, Outcome.ALLOWANCE_SUSPECTED),
    ("a filter's day", 429, {"detail": "Daily request limit reached, try again tomorrow"}, Outcome.ALLOWANCE_SUSPECTED),
    ("a prompt beyond its budget", 400, {"detail": "The prompt has exceeded the token budget of 4096"}, Outcome.BAD_REQUEST),
    ("a limit a minute", 429, {"detail": "You have reached your limit of 20 requests per minute"}, Outcome.RATE_LIMITED),
    ("a limit of calls", 429, {"detail": "Max parallel request limit reached"}, Outcome.RATE_LIMITED),
    ("a limit of rate", 429, {"detail": "Rate limit reached for requests"}, Outcome.RATE_LIMITED),
    ("allowance by a filter", 400, {"detail": "402: Your monthly allowance is used up."}, Outcome.ALLOWANCE_SUSPECTED),
    ("budget", 422, {"error": {"type": "budget_exceeded", "message": "over"}}, Outcome.ALLOWANCE_SUSPECTED),
    ("an upstream's quota is a rate limit", 429, {"error": {"message": "litellm.RateLimitError: quota exceeded"}},
     Outcome.RATE_LIMITED),
    ("wrong method", 405, {"detail": "Method Not Allowed"}, Outcome.BAD_REQUEST),
    ("teapot", 418, {"x": 1}, Outcome.UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize("odd", [b'"x": NaN', b'"x": -Infinity', b'"x": 1e999', b'"x": "\t"', b'"x": "\xff"'])
def test_an_answer_is_not_thrown_away_for_what_nobody_reads(odd: bytes) -> None:
    body = b'{"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}], %s}' % odd
    verdict = judged(200, body)
    assert verdict.outcome is Outcome.OK, verdict.evidence
    assert verdict.completion is not None
    assert verdict.completion.answer == "4"


def test_an_unreadable_byte_of_an_answer_shows() -> None:
    verdict = judged(200, b'{"choices": [{"message": {"content": "4 \xff"}, "finish_reason": "stop"}]}')
    assert verdict.completion is not None
    assert verdict.completion.answer == "4 \ufffd"


@pytest.mark.parametrize(
    ("status", "body", "expected"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES]
)
def test_shapes(status: int, body: Any, expected: Outcome) -> None:
    verdict = judged(status, body)
    assert verdict.outcome is expected
    assert verdict.evidence


def test_every_outcome_has_its_consequences() -> None:
    assert set(EFFECTS) == set(Outcome)
    for name, follows in EFFECTS.items():
        if follows.accepted:
            assert not follows.rerun, name
            assert follows.wait_s is None, name
            assert follows.drew == "yes", name
            assert follows.route == "well", name
        if follows.scorable:
            assert follows.accepted, name
        if follows.wait_s is not None:
            assert follows.rerun or follows.ends, name


def test_the_callers_faults_are_never_sent_again() -> None:
    for name in (Outcome.MODEL_NOT_VISIBLE, Outcome.BAD_REQUEST, Outcome.CONTEXT_TOO_LONG):
        assert EFFECTS[name].wait_s is None
        assert not EFFECTS[name].rerun


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure("connect", "never", "refused"), Outcome.CONNECT_FAILED),
        (Failure("lost", "maybe", "reset"), Outcome.CONNECTION_LOST),
        (Failure("timeout", "maybe", "late"), Outcome.CLIENT_TIMEOUT),
    ],
)
def test_failures(failure: Failure, expected: Outcome) -> None:
    assert outcome.of_failure(failure).outcome is expected


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, "x", {"total_tokens": -1}]
)
def test_usage_that_is_absent_or_all_zero_is_unknown(usage: Any) -> None:
    completion = judged(200, answer(content="x", usage=usage)).completion
    assert completion is not None
    assert completion.usage.total_tokens is None
    assert completion.usage.prompt_tokens is None


def test_an_answer_cut_inside_a_surrogate_pair_is_kept() -> None:
    body = b'{"choices": [{"finish_reason": "stop", "message": {"content": "ok \\ud83d"}}]}'
    completion = judged(200, body).completion
    assert completion is not None
    assert completion.answer == "ok \ufffd"


def test_content_parts_and_reasoning_are_read() -> None:
    completion = judged(
        200, answer(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], reasoning="r")
    ).completion
    assert completion is not None
    assert (completion.answer, completion.reasoning) == ("ab", "r")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("20", 20), ("16.649005", 16.649005), (" 3 ", 3), ("0", 0), ("Fri, 01 Jan 2027 00:00:30 GMT", 30),
        ("-5", None), ("nan", None), ("inf", None), ("", None), ("soon", None), ("Thu, 31 Dec 2026 23:59:59 GMT", None),
        ("1763755200000", 30 * 86_400), ("1e300", 30 * 86_400), ("Fri, 01 Jan 2100 00:00:00 GMT", 30 * 86_400),
    ],
)  # fmt: skip
def test_retry_after(value: str, seconds: float | None) -> None:
    """A date is told from the platform's own clock, whatever ours says."""
    assert retry_after_s({"retry-after": value, "date": "Fri, 01 Jan 2027 00:00:00 GMT"}) == seconds


@pytest.mark.parametrize("pattern", [None, r"(allowance|quota)( *\w* *)*used up"])
@pytest.mark.parametrize(
    "text", ["quota " * 34_000, "The quota of credit, the balance, a budget " * 5_000, "quota" + " " * 200_000]
)
@pytest.mark.parametrize("status", [400, 429])
def test_no_refusal_takes_long_to_understand(pattern: str | None, text: str, status: int) -> None:
    signature = outcome.AllowanceSignature(pattern)

    def taken_s(part: str) -> float:
        body = json.dumps({"detail": part}).encode()
        began = time.thread_time()
        verdict = outcome.of_reply(Reply(status, {}, body), signature)
        assert verdict.outcome in (Outcome.BAD_REQUEST, Outcome.RATE_LIMITED)
        return time.thread_time() - began

    begin = min(taken_s(text[: len(text) // 20]) for _ in range(3))
    assert min(taken_s(text) for _ in range(3)) < 100 * begin, "of twenty times the text the square would be 400 times"


@pytest.mark.parametrize("pattern", [None, r"allowance .* used up"])
def test_an_exhausted_allowance_is_recognised_at_the_beginning_of_a_long_text(pattern: str | None) -> None:
    text = "Your monthly allowance is used up. " + "x" * 1_000_000
    found = outcome.of_reply(Reply(400, {}, json.dumps({"detail": text}).encode()), outcome.AllowanceSignature(pattern))
    assert found.outcome is Outcome.ALLOWANCE_SUSPECTED


@pytest.mark.parametrize(
    "body",
    [
        b"<html>a page</html>", b"in words", {"message": "no"}, {"message": "litellm.RateLimitError: slow down"}, {"detail": "no"},
        {"error": {"message": "no"}}, {"error": {"message": "You are out of credits"}}, {"detail": "Server Connection Error"},
    ],
    ids=str,
)  # fmt: skip
def test_what_keeps_its_slot_may_have_drawn(body: Any) -> None:
    for status in range(400, 600):
        found = judged(status, body)
        assert not found.goes_on or EFFECTS[found.outcome].drew != "no", (status, found)


@pytest.mark.parametrize(
    ("status", "body", "goes_on"),
    [
        (502, b"<html>Bad Gateway</html>", True), (504, b"<html>", True), (524, b"error code: 524", True),
        (504, b'{"message": "Endpoint request timed out"}', True), (500, b"<html>", True),
        (503, b"Service Unavailable", False), (429, b"<html>", False), (403, b"<html>", False),
        (502, b'{"error": {"message": "litellm.BadGatewayError", "type": "x"}}', False),
        (504, b'{"detail": "time-out"}', False), (200, b"<html>", False), (200, b"null", False),
    ],
)  # fmt: skip
def test_what_gives_up_in_front_of_the_gateway_leaves_it_at_work(status: int, body: bytes, goes_on: bool) -> None:
    headers = {"content-type": "text/html" if body[:1] == b"<" else "text/plain"}
    assert outcome.of_reply(Reply(status, headers, body), SIGNATURE).goes_on is goes_on


@pytest.mark.parametrize(
    ("usage", "total"),
    [
        ({"prompt_tokens": 50, "completion_tokens": 70, "total_tokens": 0}, 120),
        ({"prompt_tokens": 50, "completion_tokens": 70, "total_tokens": 70}, 120),
        ({"prompt_tokens": 50, "completion_tokens": 70, "total_tokens": 150}, 150),
        ({"prompt_tokens": 50, "total_tokens": 20}, 50),
        ({"total_tokens": 20}, 20),
    ],
)
def test_a_total_smaller_than_its_parts_is_not_believed(usage: Any, total: int) -> None:
    completion = judged(200, answer(content="x", usage=usage)).completion
    assert completion is not None
    assert completion.usage.total_tokens == total


def test_only_what_a_model_did_itself_is_not_right_and_the_rest_is_unknown() -> None:
    own = {
        Outcome.EMPTY, Outcome.TRUNCATED, Outcome.REASONING_EXHAUSTED, Outcome.REFUSED, Outcome.FILTERED, Outcome.CONTEXT_TOO_LONG,
    }  # fmt: skip
    assert {name for name, follows in EFFECTS.items() if follows.ends} == own
    assert {follows.ends for follows in EFFECTS.values()} - {""} <= set(UnscoredTable.__struct_fields__)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10.0, "completion_tokens": 5.0, "total_tokens": 15.0}, (10, 5, None, 15)),
        ({"prompt_tokens": "10", "completion_tokens": "5.0", "total_tokens": "15"}, (10, 5, None, 15)),
        ({"input_tokens": 10, "output_tokens": 5}, (10, 5, None, 15)),
        ({"prompt_tokens": None, "input_tokens": 10, "completion_tokens": None, "output_tokens": 5}, (10, 5, None, 15)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45}, (10, 35, 30, 45)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45, "completion_tokens_details": {"reasoning_tokens": 30}},
         (10, 35, 30, 45)),
        ({"prompt_tokens": 10, "completion_tokens": 35, "total_tokens": 45, "completion_tokens_details": {"reasoning_tokens": 30}},
         (10, 35, 30, 45)),
        ({"input_tokens": 10, "output_tokens": 35, "output_tokens_details": {"reasoning_tokens": "30"}}, (10, 35, 30, 45)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 46, "completion_tokens_details": {"reasoning_tokens": 30}},
         (10, 5, 30, 46)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45, "prompt_tokens_details": {"cached_tokens": 30}},
         (10, 5, None, 45)),
        ({"prompt_tokens": 10.5, "completion_tokens": "many", "total_tokens": True}, (None, None, None, None)),
        ({"total_tokens": "1e3"}, (None, None, None, None)),
    ],
    ids=["floats", "digits", "other names", "nulls under the usual names", "reasoning in the total alone", "reasoning on top",
         "reasoning within", "reasoning within, other names", "a sum that is neither", "cached tokens beside the prompt", "no whole numbers", "an exponent"],
)  # fmt: skip
def test_usage_is_read_as_it_comes(usage: Any, expected: tuple[int | None, ...]) -> None:
    completion = judged(200, answer(content="x", usage=usage)).completion
    assert completion is not None
    found = completion.usage
    assert (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens, found.total_tokens) == expected


WHOLE = json.dumps(answer(content="4"))


def part(delta: Any, finish: Any = None, **more: Any) -> str:
    return (
        "data: "
        + json.dumps(
            {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} | more
        )
        + "\n\n"
    )


PARTS = (
    part({"role": "assistant", "content": ""})
    + part({"content": "4"})
    + part({}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 4})
)


@pytest.mark.parametrize("status", [200, 201, 203])
@pytest.mark.parametrize(
    "body",
    [
        WHOLE, WHOLE + "\n\ndata: [DONE]\n\n", WHOLE + "data: [DONE]\n\n", f"data: {WHOLE}\n\ndata: [DONE]\n\n", f"data: {WHOLE}\n\n",
        PARTS, PARTS + "data: [DONE]\n\n", PARTS.replace("\n", "\r\n"), ": at work\n\n: at work\n\n" + WHOLE,
        ": at work\n\nevent: message\n" + PARTS,
    ],
    ids=["as asked for", "end of a stream", "end of a stream on its line", "one event", "one event without an end", "parts", "parts and an end",
         "parts in CRLF", "comments", "comments and events"],
)  # fmt: skip
def test_an_answer_in_a_stream_s_frame_is_read(status: int, body: str) -> None:
    found = judged(status, body.encode())
    assert found.outcome is Outcome.OK, found
    assert found.completion is not None
    assert (found.completion.answer, found.completion.usage.total_tokens) == ("4", 7)


def test_the_parts_of_a_tool_call_are_put_together() -> None:
    first = {"tool_calls": [{"index": 0, "id": "t", "function": {"name": "get", "arguments": '{"a'}}]}
    body = (
        part({"reasoning_content": "hm"})
        + part(first)
        + part({"tool_calls": [{"index": 0, "function": {"arguments": '": 1}'}}]}, "tool_calls")
    )
    found = judged(200, body.encode()).completion
    assert found is not None
    assert [(call.id, call.name, call.arguments) for call in found.tool_calls] == [("t", "get", '{"a": 1}')]
    assert found.reasoning == "hm"


@pytest.mark.parametrize(
    "body", [part({"content": "4"}), "data: {\n\n", ": only comments\n", WHOLE + WHOLE, "data: [DONE]\n\n"]
)
def test_a_stream_that_was_cut_is_no_answer(body: str) -> None:
    assert judged(200, body.encode()).outcome is Outcome.MALFORMED_BODY


@pytest.mark.parametrize(
    "choice",
    [
        {
            "message": {"content": None, "function_call": {"name": "get", "arguments": "{}"}},
            "finish_reason": "function_call",
        },
        {
            "message": {"content": None, "tool_calls": {"id": "t", "function": {"name": "get", "arguments": "{}"}}},
            "finish_reason": "tool_calls",
        },
    ],
    ids=["before tools", "an object"],
)
def test_a_tool_call_is_read_as_it_comes(choice: dict[str, Any]) -> None:
    found = judged(200, {"choices": [choice]})
    assert found.outcome is Outcome.OK
    assert found.completion is not None
    assert [(call.name, call.arguments) for call in found.completion.tool_calls] == [("get", "{}")]


@pytest.mark.parametrize(
    "choice", [{"message": "4"}, {"text": "4"}, {"message": {"content": [{"type": "text", "text": "4"}]}}]
)
def test_a_text_is_read_as_it_comes(choice: dict[str, Any]) -> None:
    found = judged(200, {"choices": [choice | {"finish_reason": "stop"}]})
    assert found.completion is not None
    assert (found.outcome, found.completion.answer) == (Outcome.OK, "4")


@pytest.mark.parametrize(
    "delta",
    [
        "x",
        5,
        {"content": 4},
        {"tool_calls": 4},
        {"tool_calls": ["x"]},
        {"tool_calls": [{"index": "x"}]},
        {"tool_calls": [{"function": 4}]},
    ],
    ids=str,
)
def test_a_stream_of_something_else_is_malformed(delta: Any) -> None:
    for body in (
        part(delta, "stop"),
        part({}, 4),
        f"data: {json.dumps({'choices': 4, 'delta': 1})}\n\n",
        'data: [1]\n\ndata: {"delta": 1}\n\n',
    ):
        assert judged(200, body.encode()).outcome is Outcome.MALFORMED_BODY


def test_a_line_end_within_a_text_ends_no_event() -> None:
    body = part({"content": "one\u2028two\x85three"}, "stop").replace("\\u2028", "\u2028").replace("\\u0085", "\x85")
    found = judged(200, body.encode()).completion
    assert found is not None
    assert found.answer == "one\u2028two\x85three"
