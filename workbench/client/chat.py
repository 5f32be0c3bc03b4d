"""The platform's two endpoints as two methods."""

import re
import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from textwrap import shorten

import anyio
import msgspec

from workbench.client import outcome, wire
from workbench.client.transport import Failure, Http, Progress, Reply
from workbench.errors import KeyRejectedError, UnreachableError
from workbench.records import Attempt, CallRecord, ChatRequest, Model, Outcome
from workbench.settings import Endpoint

LIST_DEADLINE_S = 30.0
_DOUBT_S = 5.0
"""How long the platform may take to say whether it takes the key, and for how long that is believed."""
_ERROR_TEXT_CHARS = 20_000
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_REDACTED = b"sk-[redacted]"
_LEAST_KEY_CHARS = 12
_LONGEST_RETRY_AFTER_S = 30 * 86_400.0
"""Some servers mean a moment in ms; no calendar goes as far."""


class ChatClient:
    """Speaks to one platform with one key.

    Args:
        http: The connection, which carries the key in its headers.
        endpoint: Where the platform is, and the key to keep out of everything recorded.
        allowance_signature: Regular expression of what an exhausted allowance says.
    """

    def __init__(
        self, http: Http, endpoint: Endpoint, allowance_signature: str = outcome.DEFAULT_ALLOWANCE_SIGNATURE
    ) -> None:
        self._http = http
        # a shorter key would be found by chance, in answers that have nothing to do with it
        self._key = _spelled(endpoint.key) if len(endpoint.key) >= _LEAST_KEY_CHARS else None
        self._key_bytes = endpoint.key.encode()
        self._models_url = f"{endpoint.base_url}/api/models"
        self._chat_url = f"{endpoint.base_url}/api/chat/completions"
        self._signature = re.compile(allowance_signature, re.IGNORECASE)
        self._doubting = anyio.Lock()
        self._key_was_good, self._looked_into_at = False, float("-inf")
        self.clock_ahead_s: float | None = None
        """How far this machine's clock is ahead of the platform's, to a second or two; None until it said a time."""

    async def list_models(self) -> list[Model]:
        """`GET /api/models`: the models visible to the account, at least one.

        Raises:
            KeyRejectedError: 401 in any shape, or 403.
            UnreachableError: Nothing answers, or what answers is not the platform's list.
        """
        reply = await self._http.send("GET", self._models_url, None, LIST_DEADLINE_S, Progress())
        if isinstance(reply, Failure):
            hint = "; SSL_CERT_FILE names the certificates to trust" if _UNTRUSTED in reply.text else ""
            raise UnreachableError(f"{self._models_url} does not answer: {reply.text}{hint}")
        reply = self._redacted(reply)
        self.clock_ahead_s = _clock_ahead_s(reply)
        if reply.status in (401, 403):
            verdict = outcome.of_reply(reply, self._signature)
            said = f": {shorten(verdict.error_text, 200, placeholder=' …')}" if verdict.error_text else ""
            raise KeyRejectedError(f"the platform does not accept the API key (HTTP {reply.status}{said})")
        return self._listed(reply)

    def _listed(self, reply: Reply) -> list[Model]:
        try:
            models = wire.models_from(wire.decode(reply.body)) if reply.status == 200 else None
        except ValueError:
            models = None
        if models is None:
            raise UnreachableError(
                f"{self._models_url} answers with HTTP {reply.status} and no model list; "
                "is the base URL the platform's (the part before /api)?"
            )
        if not models:
            raise UnreachableError(
                f"{self._models_url} lists no model at all, as a platform does that cannot reach its gateway; try again later"
            )
        return models

    async def complete(self, request: ChatRequest, progress: Progress) -> CallRecord:
        """`POST /api/chat/completions`, one attempt; however it ends, it ends as a record.

        Args:
            request: What to send.
            progress: Fresh; should the caller be cancelled, `cancelled` makes the record from it.
        """
        reply = await self._http.send("POST", self._chat_url, request.body, request.timeout_s, progress)
        if isinstance(reply, Failure):
            return _record(request, progress, outcome.of_failure(reply), reply.status)
        reply = self._redacted(reply)
        try:
            verdict = outcome.of_reply(reply, self._signature)
        except Exception as error:  # what arrived was paid for: it is kept, whatever shape nobody thought of
            verdict = outcome.Verdict(Outcome.UNKNOWN, f"not understood: {type(error).__name__}: {error}")
        progress.ended = time.perf_counter()
        if verdict.outcome is Outcome.KEY_REJECTED and await self._key_is_good():
            evidence = f"{verdict.evidence}, and GET /api/models takes the key"
            verdict = verdict._replace(outcome=Outcome.ROUTE_UNAUTHORISED, evidence=evidence)
        return _record(request, progress, verdict, reply.status, reply)

    async def _key_is_good(self) -> bool:
        """Ask the platform whether it takes the key; once for all calls that make one doubt at the same time.

        Where it does not answer, the call's own word is all there is. A cancellation waits: a reply that has arrived is kept.
        """
        with anyio.CancelScope(shield=True):
            async with self._doubting:
                if time.monotonic() - self._looked_into_at > _DOUBT_S:
                    reply = await self._http.send("GET", self._models_url, None, _DOUBT_S, Progress())
                    # a list that is empty, as one is while the gateway is away, takes the key all the same
                    self._key_was_good = isinstance(reply, Reply) and reply.status == 200
                    self._looked_into_at = time.monotonic()
        return self._key_was_good

    def _redacted(self, reply: Reply) -> Reply:
        """The reply without the key: should a server echo it, it is kept nowhere."""
        body = reply.body
        if self._key is None or not (self._key_bytes in body or b"\\u00" in body or b"\\/" in body):
            return reply
        return msgspec.structs.replace(reply, body=self._key.sub(_REDACTED, body))


def _spelled(key: str) -> re.Pattern[bytes]:
    """A key in all the ways in which JSON may spell it: each character as it is, or escaped."""
    slash = {"/": rb"\\?"}
    return re.compile(
        b"".join(rb"(?:%s%s|\\u(?i:%04x))" % (slash.get(c, b""), re.escape(c.encode()), ord(c)) for c in key)
    )


def cancelled(request: ChatRequest, progress: Progress) -> CallRecord:
    """The record of a call that we cut off; it may go on at the platform."""
    return _record(request, progress, outcome.Verdict(Outcome.CANCELLED, "cancelled by the caller"), None)


def _record(
    request: ChatRequest,
    progress: Progress,
    verdict: outcome.Verdict,
    status: int | None,
    reply: Reply | None = None,
) -> CallRecord:
    latency_ms = ((progress.ended or time.perf_counter()) - progress.started) * 1000
    consequence = outcome.CONSEQUENCES[verdict.outcome]
    attempt = Attempt(
        outcome=verdict.outcome,
        accepted=consequence.accepted,
        rerun=consequence.rerun,
        scorable=consequence.scored,
        drew=consequence.drew if progress.sent != "never" else "no",
        evidence=verdict.evidence,
        sent=progress.sent,
        sent_at=progress.sent_at,
        ended_at=progress.sent_at + timedelta(milliseconds=latency_ms),
        latency_ms=latency_ms,
        http_status=status,
        retry_after_s=retry_after_s(reply.headers) if reply else None,
        error_text=verdict.error_text[:_ERROR_TEXT_CHARS] if verdict.error_text else None,
        raw=text_of(reply.body) if reply else None,
    )
    return CallRecord(request, attempt, verdict.completion)


def retry_after_s(headers: dict[str, str]) -> float | None:
    """The `Retry-After` header in s, a month at most: whole, fractional (as limiters send it) or a date (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        moment = _http_date(value)
        if moment is None:
            return None
        answered_at = _http_date(headers.get("date", "")) or datetime.now(UTC)  # by the clock that set the date
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
    return None if moment is None else (datetime.now(UTC) - moment).total_seconds()


def text_of(body: bytes) -> str:
    r"""A body as text, every byte recoverable: what is no UTF-8 appears as `\xNN`."""
    return body.decode("utf-8", "backslashreplace")
