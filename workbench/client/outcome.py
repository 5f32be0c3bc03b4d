"""What a reply or a failure means: HTTP 200 is not success, and 400 is not a bad request.

`workbench.records.outcomes` says what follows from it.

The shapes distinguished here were observed on real stacks, whose error styles differ by version: the gateway's
`{"error": …}`, the platform's `{"detail": …}`, and the gateway's words inside the platform's shape under status 400.

Errors with identical text, which cannot be told apart here: an unknown, a deleted and a regenerated key; a missing and
an empty one; keys switched off for the account and for the platform; a model that does not exist, one that is hidden, and a
preset without its base; a host that has no name, refuses or resets.

Errors with different text that are one outcome on purpose, as they are handled alike: a route that is down and one whose
fallback is down too (`route_down`); a backend that answers the gateway with a page, broken JSON or an error of its own
(`route_down`); an answer without text and one whose text is null (`empty`). The words are kept with the attempt.
"""

import re

from workbench.client.completion import Verdict, error_text_from, is_error, judged
from workbench.client.framing import decode_reply
from workbench.client.transport import Failure, Reply
from workbench.records.outcomes import EFFECTS, Outcome

_PERIOD_LIMIT = r"(?:daily|weekly|monthly)(?: [a-z]+){0,2} limit"
_ALLOWANCE = rf"allowance|quota|budget|credits?|balance|usage limit|spending limit|{_PERIOD_LIMIT}"
DEFAULT_ALLOWANCE_SIGNATURE = (
    rf"\b(?:{_ALLOWANCE})\b[^\n]{{0,200}}?"
    r"\b(?:used up|exhausted|exceeded|reached|spent|left|depleted|too low)\b"
    rf"|\b(?:reached|exceeded|hit|used up) (?:your|the) (?:{_PERIOD_LIMIT}|allowance|quota)\b"
    r"|\b(?:out of|insufficient|not enough|exceeded your(?: current)?)[ _](?:credits?|quota|balance|funds|allowance|budget)\b"
)
_LOOKED_AT_CHARS = 4_000
"""Only this much of an error's beginning is searched: a reply may be of any length."""
_LONGEST_SEARCH_S = 0.05
"""Some user-defined patterns take years on some texts, and would block the whole run."""


class AllowanceSignature:
    """Recognises what an exhausted allowance says.

    Args:
        pattern: A regular expression; case is ignored. None is the default one.
    """

    def __init__(self, pattern: str | None = None) -> None:
        self._own = re.compile(DEFAULT_ALLOWANCE_SIGNATURE, re.IGNORECASE) if pattern is None else None
        self._given = pattern

    def found(self, text: str) -> str | None:
        """Return the words that match, in the beginning of a text."""
        if self._own is not None:
            match = self._own.search(text[:_LOOKED_AT_CHARS])
            return match.group() if match else None
        import regex  # takes 10 ms, and few have their own pattern; unlike `re`, it has a timeout

        try:
            given = regex.search(str(self._given), text[:_LOOKED_AT_CHARS], regex.IGNORECASE, timeout=_LONGEST_SEARCH_S)
        except TimeoutError:
            return None
        return given.group() if given else None


# Words of the gateway and the platform that decide by themselves, whatever the status; the first match wins.
_TEXTS = (
    (re.compile(r"Server Connection Error|Model '' was not found"), Outcome.GATEWAY_UNREACHABLE),
    (  # before the words for a key and for a pause, in which some of these are wrapped
        re.compile(
            r"budget_exceeded|litellm\.BudgetExceededError|Exceeded(?:Token)?Budget|(?i:\bcrossed (?:spend|budget)\b)"
        ),
        Outcome.ALLOWANCE_SUSPECTED,
    ),
    (
        re.compile(r"all_deployments_in_cooldown|No deployments available|in cooldown|cooling down"),
        Outcome.ROUTE_COOLING,
    ),
    (re.compile(r"^Reserved for people\b"), Outcome.ALLOWANCE_RESERVED),
    (re.compile(r"Missing credentials"), Outcome.ROUTE_UNAUTHORISED),
    (
        re.compile(r"litellm\.ContextWindowExceededError|(?i:maximum context length|context.length.exceeded)"),
        Outcome.CONTEXT_TOO_LONG,
    ),
    (
        re.compile(r"litellm\.(?:AuthenticationError|PermissionDeniedError)|\bauthentication_error\b"),
        Outcome.ROUTE_UNAUTHORISED,
    ),
    (re.compile(r"litellm\.Timeout\b"), Outcome.GATEWAY_TIMEOUT),
    (re.compile(r"litellm\.RateLimitError|Max parallel request limit reached"), Outcome.RATE_LIMITED),
    (
        re.compile(r"litellm\.(?:BadRequest|UnprocessableEntity|UnsupportedParams|ContentPolicyViolation)Error"),
        Outcome.BAD_REQUEST,
    ),
    (re.compile(r"litellm\.\w+"), Outcome.ROUTE_DOWN),
    (re.compile(r"^Model not found$"), Outcome.MODEL_NOT_VISIBLE),
)

_REDIRECTS = (301, 302, 303, 307, 308)
_WITH_AN_ANSWER = (200, 201, 203)
_MAY_BE_ALLOWANCE = (400, 402, 403, 422, 429)
_PASSED_ON = re.compile(r"\s*(?:Error code: |HTTP )?([45]\d\d)\s*[:-]")

# What a page from a web server in front of the platform means. After any other with a status of 500 and above (502, 520 …) the
# gateway may still be at work: the call keeps its slot, and may have drawn. One below it says that nothing was reached.
_PAGES = {
    401: Outcome.KEY_REJECTED,
    403: Outcome.KEY_NOT_ALLOWED,
    408: Outcome.GATEWAY_TIMEOUT,
    413: Outcome.BAD_REQUEST,
    414: Outcome.BAD_REQUEST,
    429: Outcome.RATE_LIMITED,
    504: Outcome.GATEWAY_TIMEOUT,
    524: Outcome.GATEWAY_TIMEOUT,
}


def of_failure(failure: Failure) -> Verdict:
    """Judge a request that brought no complete response."""
    outcome = {
        "connect": Outcome.CONNECT_FAILED,
        "lost": Outcome.CONNECTION_LOST,
        "timeout": Outcome.CLIENT_TIMEOUT,
        "unreadable": Outcome.MALFORMED_BODY,
    }[failure.kind]
    place = {"never": "before anything was sent", "maybe": "after sending", "answered": "within the answer"}
    if failure.kind == "unreadable":
        return Verdict(outcome, f"HTTP {failure.status} with a body that cannot be kept", None, failure.text)
    goes_on = failure.sent != "never"
    return Verdict(outcome, f"no complete answer, {place[failure.sent]}", None, failure.text, goes_on)


def of_reply(reply: Reply, signature: AllowanceSignature) -> Verdict:
    """Judge a complete response.

    Args:
        signature: What an exhausted allowance says; looked for only where nothing else matches.
    """
    if target := target_of(reply):
        return Verdict(Outcome.REDIRECTED, f"HTTP {reply.status}, which leads to {target}")
    if reply.coding:
        return _packed(reply)
    try:
        value = decode_reply(reply.body)
    except ValueError:
        return _not_json(reply)
    if reply.status in _WITH_AN_ANSWER and not is_error(value):
        return judged(value)
    style, text = error_text_from(value)
    outcome, because = _of_error(reply.status, style, text[:_LOOKED_AT_CHARS], signature)
    # neither the gateway's shape nor the platform's, nor the gateway's words in another one: those it said when it was done
    in_front = reply.status >= 500 and style == "other" and EFFECTS[outcome].drew != "no"
    return Verdict(outcome, f"HTTP {reply.status}, {because}", None, text or None, goes_on=in_front)


def target_of(reply: Reply) -> str | None:
    """Return where a redirect leads; None for other replies. It is never followed: the key is for the host that was named."""
    return reply.headers.get("location") or "nowhere" if reply.status in _REDIRECTS else None


def _packed(reply: Reply) -> Verdict:
    """Judge a body that nothing here unpacks: an answer is kept and not bought once more, an error is judged by its status."""
    said = f"HTTP {reply.status} with Content-Encoding {reply.coding[:80]!r}, which was not asked for"
    if reply.status in _WITH_AN_ANSWER:
        return Verdict(Outcome.UNREADABLE_BODY, f"{said}; its bytes are kept")
    outcome, because = _by_status(reply.status, "other")
    return Verdict(outcome, f"{said}; {because}", goes_on=reply.status >= 500)


def _not_json(reply: Reply) -> Verdict:
    head = reply.body[:2000].decode("utf-8", "replace").strip()
    kind = reply.headers.get("content-type", "")
    if "html" in kind or head[:1] == "<":
        if reply.status < 400:
            return Verdict(Outcome.HTML_BODY, f"HTTP {reply.status} with a page", None, head)
        unlisted = Outcome.PROXY_FAILED if reply.status >= 500 else Outcome.GATEWAY_UNREACHABLE
        outcome = _PAGES.get(reply.status, unlisted)
        evidence = f"HTTP {reply.status} with an HTML page from a proxy in front of the platform"
        return Verdict(outcome, evidence, None, head, goes_on=reply.status >= 500)
    if reply.status < 400:
        return Verdict(Outcome.MALFORMED_BODY, f"HTTP {reply.status} with a body that is not valid JSON", None, head)
    if reply.status == 503:
        return Verdict(
            Outcome.RATE_LIMITED, "HTTP 503 in plain text: the server is at its connection limit", None, head
        )
    outcome, because = _by_status(reply.status, "other")
    return Verdict(outcome, f"HTTP {reply.status}, {because}", None, head or None, goes_on=reply.status >= 500)


def _of_error(status: int, style: str, text: str, signature: AllowanceSignature) -> tuple[Outcome, str]:
    for pattern, outcome in _TEXTS:
        if found := pattern.search(text):
            return outcome, f"{style}: “{found.group()}”"
    if status in _MAY_BE_ALLOWANCE and (words := signature.found(text)):
        return Outcome.ALLOWANCE_SUSPECTED, f"{style}: “{words}”"
    if status == 400 and (passed_on := _PASSED_ON.match(text)):
        return _of_passed_on(int(passed_on.group(1)), text)
    return _by_status(status, style)


def _of_passed_on(status: int, text: str) -> tuple[Outcome, str]:
    """Judge a 400 that relays an upstream refusal, whose own status is in the text."""
    evidence = f"the text relays HTTP {status}"
    if status in _MAY_BE_ALLOWANCE and (word := re.search(rf"(?i)\b(?:{_ALLOWANCE})\b", text)):
        return Outcome.ALLOWANCE_SUSPECTED, f"{evidence}: “{word.group()}”"
    if status in (401, 403):  # the key is good: the platform itself took the request
        return Outcome.ROUTE_UNAUTHORISED, evidence
    return (
        Outcome.ROUTE_DOWN if status >= 500 and status not in (504, 524) else _by_status(status, "error")[0]
    ), evidence


def _by_status(status: int, style: str) -> tuple[Outcome, str]:
    """Judge by status and error style, where the text does not decide."""
    if status == 401:
        return (Outcome.ROUTE_UNAUTHORISED if style == "error" else Outcome.KEY_REJECTED), f"style {style}"
    fixed = {
        400: Outcome.BAD_REQUEST,
        402: Outcome.ALLOWANCE_SUSPECTED,
        403: Outcome.KEY_NOT_ALLOWED,
        405: Outcome.BAD_REQUEST,
        408: Outcome.GATEWAY_TIMEOUT,
        413: Outcome.BAD_REQUEST,
        422: Outcome.BAD_REQUEST,
        429: Outcome.RATE_LIMITED,
        504: Outcome.GATEWAY_TIMEOUT,
        524: Outcome.GATEWAY_TIMEOUT,
    }
    if status in fixed:
        return fixed[status], f"style {style}"
    if status >= 500 and style == "error":
        return Outcome.ROUTE_DOWN, "style error"
    if status >= 500 and style == "detail":
        return Outcome.GATEWAY_UNREACHABLE, "style detail"
    return Outcome.UNKNOWN, f"style {style}, which matches no known case"
