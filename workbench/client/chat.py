"""The platform's endpoints as methods: its model list, a completion, and what the account used, where it says so."""

import re
import time
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from textwrap import shorten
from urllib.parse import urljoin

import anyio
import anyio.to_thread
import msgspec

import workbench.settings.clock as clock
from workbench.client import outcome, wire
from workbench.client.completion import LARGE_BYTES, Verdict, decode
from workbench.client.redaction import Redactor
from workbench.client.transport import NO_HEADERS, Bounds, Failure, Http, Reply, Sending
from workbench.errors import KeyRejectedError, UnreachableError
from workbench.records.calls import Attempt, CallRecord, ChatRequest, Completion, Model, ToolCall, UsageStatement
from workbench.records.outcomes import Outcome
from workbench.settings.endpoint import Endpoint
from workbench.settings.environment import unusable_certificates

OFFERS, PRIORITY, BATCH, USAGE = "x-platform-offers", "X-Priority", "batch", "usage"
"""Headers of this project's own platform, and what it may offer; no other platform is sent a priority, or asked for usage."""
LIST_DEADLINE_S = 30.0
USAGE_DEADLINE_S = 10.0
LIST_BYTES = 16 * 2**20
_DOUBT_S = 5.0
"""How long the platform may take to confirm the key, and for how long its reply counts."""
_ERROR_TEXT_CHARS = 20_000
_SAID_CHARS = 1_000
_LEFT_OUT = "(left out: the API key was in it, in parts)"
_NOT_THERE = "is it the platform's address, and does the platform run?"
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_NOT_TLS = "WRONG_VERSION_NUMBER"
_LACKING = re.compile(
    r"Missing (?:Authority|Subject) Key Identifier|Basic Constraints of CA cert not marked critical"
    r"|CA cert does not include key usage extension|Path length (?:given without key usage|invalid)|invalid CA certificate"
)
"""What OpenSSL says of a certificate with `X509_V_FLAG_X509_STRICT`."""
_LONGEST_RETRY_AFTER_S = 30 * 86_400.0
"""Some servers send a timestamp in ms, far beyond any date."""


class ChatClient:
    """Speaks to one platform with one key.

    Args:
        http: The connection, which carries the key in its headers.
        endpoint: Where the platform is, and the key to keep out of everything recorded.
        allowance_signature: Regular expression of what an exhausted allowance says; None is the default one.
    """

    def __init__(self, http: Http, endpoint: Endpoint, allowance_signature: str | None = None) -> None:
        self._http = http
        self._redact = Redactor(endpoint.key)
        self._models_url = f"{endpoint.base_url}/api/models"
        self._chat_url = f"{endpoint.base_url}/api/chat/completions"
        self._proxy = endpoint.proxy
        self._key_from = f" in {endpoint.key_from}" if endpoint.key_from else ""
        self._signature = outcome.AllowanceSignature(allowance_signature)
        self._long_replies = anyio.CapacityLimiter(1)
        self._doubting = anyio.Lock()
        self._key_was_good, self._looked_into_at = False, float("-inf")
        self.clock_ahead_s: float | None = None
        """How far this machine's clock is ahead of the platform's, to a second or two; None if unknown."""
        self.offers: frozenset[str] = frozenset()
        """What the platform says that it offers beyond its document; most offer nothing."""
        self._with_calls = NO_HEADERS

    async def list_models(self) -> list[Model]:
        """`GET /api/models`: the models visible to the account, at least one.

        Raises:
            KeyRejectedError: 401 in any shape, or 403.
            UnreachableError: Nothing answers, or what answers is not the platform's list.
        """
        with Sending() as progress:
            bounds = Bounds(LIST_DEADLINE_S, LIST_BYTES)
            reply = await self._http.send("GET", self._models_url, None, bounds, progress)
        if isinstance(reply, Failure):
            raise UnreachableError(f"{self._models_url} does not answer: {self._explained(reply.text)} ({_NOT_THERE})")
        self.clock_ahead_s = _clock_ahead_s(reply)
        if reply.status in (401, 403):
            said = self._judged(reply)[0].error_text or ""
            said = f": {shorten(said[:_SAID_CHARS], 200, placeholder=' …')}" if said else ""
            raise KeyRejectedError(
                f"the platform does not accept the API key{self._key_from} (HTTP {reply.status}{said})"
            )
        models = self._listed(reply)
        self.offers = frozenset(name.strip() for name in reply.headers.get(OFFERS, "").split(",") if name.strip())
        return models

    @property
    def states_usage(self) -> bool:
        """Whether the platform says what the account used."""
        return USAGE in self.offers

    async def usage(self, since: datetime | None) -> UsageStatement:
        """`GET /api/usage`: what the account used since a moment, by default in the platform's own window.

        Raises:
            UnreachableError: Nothing answers, or it is not a statement of usage.
        """
        url = self._models_url.removesuffix("/models") + "/usage"
        if since is not None:
            url += f"?since={since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        with Sending() as progress:
            reply = await self._http.send("GET", url, None, Bounds(USAGE_DEADLINE_S, LIST_BYTES), progress)
        if isinstance(reply, Failure):
            raise UnreachableError(f"{url} does not answer: {self._explained(reply.text)} ({_NOT_THERE})")
        try:
            if reply.status == 200:
                return wire.statement_from(decode(reply.body))
        except ValueError:  # msgspec's are, too
            pass
        raise UnreachableError(f"{url} answered with HTTP {reply.status}, not with a statement of usage")

    def send_as_batch(self) -> None:
        """Say of every further call that it is batch work, where the platform gives people the first turn."""
        if BATCH in self.offers:
            self._with_calls = {PRIORITY: BATCH}

    def _explained(self, text: str) -> str:
        """Return a failure of the transport, with what may fix it."""
        through = "" if self._proxy is None else f"; it was asked through {self._proxy}"
        if lacking := _LACKING.search(text):
            told = (
                f"its certificate is not as RFC 5280 wants it ({lacking.group()}), which Python 3.13 and newer require"
            )
            return f"{self._redact(text)}; {told}: have a new one issued, or use Python 3.12{through}"
        if _UNTRUSTED in text:
            unusable = unusable_certificates()
            trusted = (
                f" {unusable}, which has no certificate that can be read" if unusable else " the certificates to trust"
            )
            return f"{self._redact(text)}; SSL_CERT_FILE names{trusted}{through}"
        if _NOT_TLS in text and not through:
            base_url = self._models_url.replace("https:", "http:").removesuffix("/api/models")
            return f"it speaks http, not https; use {base_url}"
        return f"{self._redact(text)}{through}"

    def _listed(self, reply: Reply) -> list[Model]:
        try:
            models = wire.models_from(decode(reply.body), self._redact) if reply.status == 200 else None
        except ValueError:
            models = None
        if models is None and (target := outcome.target_of(reply)):
            shown = self._redact(urljoin(self._models_url, target))
            base_url = shown.rstrip("/").removesuffix("/api/models")
            asks = (
                f"; is this the base URL: {base_url}?"
                if base_url != shown.rstrip("/")
                else "; is the base URL the platform's?"
            )
            raise UnreachableError(f"{self._models_url} leads to {shown}{asks}")
        if models is None:
            through = "" if self._proxy is None else f", through {self._proxy}"
            raise UnreachableError(
                f"{self._models_url} answered with HTTP {reply.status}{through}, not with a model list; "
                "is the base URL the platform's (the part before /api)?"
            )
        if not models:
            raise UnreachableError(
                f"{self._models_url} lists no models; the platform may not reach its gateway: try again later"
            )
        return models

    async def complete(self, request: ChatRequest, progress: Sending) -> CallRecord:
        """`POST /api/chat/completions`, one attempt; it always returns a record.

        Args:
            progress: A new one; if the caller is cancelled, `cancelled` makes the record from it.
        """
        bounds = Bounds(request.timeout_s, request.max_reply_bytes)
        reply = await self._http.send("POST", self._chat_url, request.body, bounds, progress, self._with_calls)
        if isinstance(reply, Failure):
            if self._proxy is not None:
                reply = msgspec.structs.replace(reply, text=f"{reply.text}; through {self._proxy}")
            return _record(request, progress, self._redacted(outcome.of_failure(reply)), reply.status)
        if len(reply.body) <= LARGE_BYTES:
            verdict, raw = self._judged(reply)
        else:
            with anyio.CancelScope(shield=True):  # it has arrived
                verdict, raw = await anyio.to_thread.run_sync(self._judged, reply, limiter=self._long_replies)
        progress.ended = time.perf_counter()
        if verdict.outcome is Outcome.KEY_REJECTED and await self._key_is_good():
            evidence = f"{verdict.evidence}, and GET /api/models takes the key"
            verdict = verdict._replace(outcome=Outcome.ROUTE_UNAUTHORISED, evidence=evidence)
        return _record(request, progress, verdict, reply.status, retry_after_s(reply.headers), raw)

    def _judged(self, reply: Reply) -> tuple[Verdict, str]:
        """Return what a reply means, and its body as text; the key is in neither."""
        text = text_of(reply.body)
        raw = self._redact(text)
        if reply.coding:
            raw = f"{reply.coding},base64,{b64encode(reply.body).decode()}" if raw == text else _LEFT_OUT
        elif raw != text:
            reply = msgspec.structs.replace(reply, body=raw.encode())
        try:
            verdict = outcome.of_reply(reply, self._signature)
        except Exception as error:  # what arrived was paid for: keep it, even in an unforeseen shape
            verdict = Verdict(Outcome.UNKNOWN, f"not understood: {type(error).__name__}: {error}")
        redacted = self._redacted(verdict)
        if redacted != verdict:  # the key only appeared after decoding
            raw = _LEFT_OUT
        return redacted, raw

    def _redacted(self, verdict: Verdict) -> Verdict:
        """Return the same without the key, which decoding may have put together from parts or another encoding."""
        evidence, error_text = self._redact(verdict.evidence), self._redact.optional(verdict.error_text)
        if evidence != verdict.evidence or error_text != verdict.error_text:
            verdict = verdict._replace(evidence=evidence, error_text=error_text)
        completion = verdict.completion
        if completion is None or not self._redact.finds(_texts(completion)):
            return verdict
        optional = self._redact.optional
        completion = msgspec.structs.replace(
            completion,
            answer=optional(completion.answer),
            reasoning=optional(completion.reasoning),
            tool_calls=tuple(
                ToolCall(optional(call.id), self._redact(call.name), self._redact(call.arguments))
                for call in completion.tool_calls
            ),
            finish_reason=optional(completion.finish_reason),
            served_model=optional(completion.served_model),
            response_id=optional(completion.response_id),
        )
        return verdict._replace(completion=completion)

    async def _key_is_good(self) -> bool:
        """Ask the platform whether it accepts the key; once for all calls that put it in doubt at the same time.

        If it does not answer, the call's own reply decides. A cancellation waits: a reply that has arrived is kept.
        """
        with anyio.CancelScope(shield=True):
            async with self._doubting:
                if time.monotonic() - self._looked_into_at > _DOUBT_S:
                    with Sending() as progress:
                        bounds = Bounds(_DOUBT_S, LIST_BYTES)
                        reply = await self._http.send("GET", self._models_url, None, bounds, progress)
                    # an empty list, as sent while the gateway is down, still means that the key is accepted
                    self._key_was_good = isinstance(reply, Reply) and reply.status == 200
                    self._looked_into_at = time.monotonic()
        return self._key_was_good


def _texts(said: Completion) -> list[str | None]:
    """Everything in a completion that a model or a server wrote, decoded."""
    texts = [said.answer, said.reasoning, said.served_model, said.response_id, said.finish_reason]
    for call in said.tool_calls:
        texts += (call.id, call.name, call.arguments)
    return texts


def cancelled(request: ChatRequest, progress: Sending) -> CallRecord:
    """Return the record of a call that we cancelled; the platform may still be processing it."""
    goes_on = progress.sent != "never"
    verdict = Verdict(Outcome.CANCELLED, "cancelled by the caller", goes_on=goes_on)
    return _record(request, progress, verdict, None)


def _record(
    request: ChatRequest,
    progress: Sending,
    verdict: Verdict,
    status: int | None,
    asked_s: float | None = None,
    raw: str | None = None,
) -> CallRecord:
    latency_ms = ((progress.ended or time.perf_counter()) - progress.started) * 1000
    attempt = Attempt(
        outcome=verdict.outcome,
        evidence=verdict.evidence,
        sent=progress.sent,
        sent_at=progress.sent_at,
        ended_at=progress.sent_at + timedelta(milliseconds=latency_ms),
        latency_ms=latency_ms,
        goes_on=verdict.goes_on,
        http_status=status,
        retry_after_s=asked_s,
        error_text=verdict.error_text[:_ERROR_TEXT_CHARS] if verdict.error_text else None,
        raw=raw,
    )
    return CallRecord(request, attempt, verdict.completion)


def retry_after_s(headers: dict[str, str]) -> float | None:
    """Return the `Retry-After` header in s, a month at most: whole,
    fractional (as limiters send it) or a date (RFC 9110, 10.2.3).
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        moment = _http_date(value)
        if moment is None:
            return None
        answered_at = _http_date(headers.get("date", "")) or clock.machine_now()  # on the clock that set the date
        seconds = (moment - answered_at).total_seconds()
    return min(seconds, _LONGEST_RETRY_AFTER_S) if 0 <= seconds < float("inf") else None


def _http_date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _clock_ahead_s(reply: Reply) -> float | None:
    moment = _http_date(reply.headers.get("date", ""))
    return None if moment is None else (clock.machine_now() - moment).total_seconds()


def text_of(body: bytes) -> str:
    r"""Return a body as text, every byte recoverable: bytes that are not valid UTF-8 appear as `\xNN`."""
    return body.decode("utf-8", "backslashreplace")
