"""Forwarding to OpenAI-compatible model servers: pooled connections, streams passed on as they come."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeGuard

import aiohttp
import msgspec

from workbench.local_platform.backend import UNREACHABLE, Failure, Misdirected, choices_of, usage_of
from workbench.local_platform.calls import Call
from workbench.local_platform.config import Route

MOST_EVENT_BYTES, MOST_ANSWER_BYTES = 8 * 2**20, 256 * 2**20
_CONNECT_S, _END_S = 10.0, 1.0
_KEEP_ALIVE_S = 4.0  # below the 5 s after which common servers close an idle connection
_SHOWN_CHARS, _TAIL_CHARS = 500, 2_000
_HIDDEN, _LEAST_SECRET_CHARS = b"[secret]", 8
_LEAST_HELD_CHARS = 3  # a stream would falter at every text that ends with a secret's first letter
_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
_REFUSALS = frozenset(
    {400, 401, 402, 403, 404, 405, 410, 413, 414, 415, 418, 421, 422, 426, 428, 429, 431, 451, 501, 505}
)
"""Statuses of a model server that did nothing; after any other it may have used tokens."""


class Connections:
    """The pool of connections to model servers; slots say how many are needed at a time."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        """Return the pool, made on the event loop of the first request."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S)
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)  # the gateway's limit covers the rest
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
            )
        return self._session

    async def close(self) -> None:
        """Close all of them."""
        if self._session is not None:
            await self._session.close()


class Upstream:
    """Every route to a real model server.

    Nothing of the caller's headers goes there, its key least of all, and nothing of the server's headers comes back.

    Args:
        environment: Where the model servers' secrets are.
        silent_streams: Whether a server that answers a streamed call with no stream counts as one that said nothing.
    """

    def __init__(self, environment: Mapping[str, str], connections: Connections, *, silent_streams: bool) -> None:
        self._environment, self._connections, self._silent_streams = environment, connections, silent_streams

    async def complete(self, route: Route, call: Call, attempt: int) -> dict[str, Any]:
        """Return one chat completion."""
        secret = self._secret(route)
        async with self._posted(route, call.body_for(route), secret) as response:
            raw = await _read_all(response)
        if response.status != 200:
            raise _refusal(response, raw, secret)
        completion = _without(secret, _json(raw))
        if not _is_completion(completion):
            text = "the model server answered with no chat completion"
            usage = usage_of(completion) if isinstance(completion, dict) else None
            raise Failure(500, text, said=_shown(raw, secret), drew=None, usage=usage)
        return _with_thinking_named(completion)

    async def stream(self, route: Route, call: Call, attempt: int) -> AsyncGenerator[dict[str, Any]]:
        """Return the same in chunks."""
        secret = self._secret(route)
        body = call.body_for(route) | {"stream": True, "stream_options": {"include_usage": True}}
        finished = begun = False
        open_answers: dict[str, bool] = {}
        guard = _Guard(secret)
        async with self._posted(route, body, secret) as response:
            if response.status != 200:
                raise _refusal(response, await _read_all(response), secret)
            if response.content_type != "text/event-stream":
                if self._silent_streams:
                    return
                raise Failure(500, f"the model server sent {response.content_type} for a stream", drew=None)
            async for event in events(response.content):
                if event.strip() == b"[DONE]":
                    finished = begun
                    await _let_end(response)
                    break
                chunk = _chunk(event, secret, begun=begun)
                for choice in choices_of(chunk):  # where several are asked for, each has an end
                    number, ends = str(choice.get("index") or 0), choice.get("finish_reason") is not None
                    open_answers[number] = open_answers.get(number, True) and not ends
                begun, finished = True, bool(open_answers) and not any(open_answers.values())
                for harmless in guard.passed(chunk):
                    yield harmless
            for held in guard.held:
                yield held
        if not finished:
            raise Failure(UNREACHABLE, "the model server ended its stream before its answer", drew=None)

    @asynccontextmanager
    async def _posted(
        self, route: Route, body: dict[str, Any], secret: str | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Accept": "application/json, text/event-stream"}
        if secret:
            headers["Authorization"] = f"Bearer {secret}"
        url = f"{str(route.base_url).rstrip('/')}/chat/completions"
        data = aiohttp.BytesPayload(_encoded(body), content_type="application/json")
        try:
            async with self._connections.session().post(
                url, data=data, headers=headers, allow_redirects=False
            ) as response:
                yield response
        except (aiohttp.ClientError, OSError) as error:
            never_sent = isinstance(error, _NEVER_SENT)
            text = "cannot be reached" if never_sent else "broke the connection off"
            drew = False if never_sent else None
            raise Failure(UNREACHABLE, f"the model server {text}: {type(error).__name__}", drew=drew) from error

    def _secret(self, route: Route) -> str | None:
        """Return the model server's own key.

        Raises:
            Failure: The platform lacks it, or has one that no header can carry.
        """
        if route.secret_env is None:
            return None
        secret = self._environment.get(route.secret_env, "").strip()
        if not secret or not secret.isascii() or not secret.isprintable():
            raise Failure(401, "the platform lacks the model server's secret")
        return secret


class _Guard:
    """Holds the chunks of a stream back while they may be the beginning of the platform's secret.

    Args:
        secret: What must not reach a caller, also where it comes in pieces; None holds nothing back.
    """

    def __init__(self, secret: str | None) -> None:
        self._secret = secret if secret and len(secret) >= _LEAST_SECRET_CHARS else None
        self._tail = ""
        self.held: list[dict[str, Any]] = []
        """What is left at the end of a stream is harmless: the secret was not finished."""

    def passed(self, chunk: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the chunks that are known to be harmless now that this one has come.

        Raises:
            Failure: With this one the secret is complete.
        """
        if self._secret is None:
            return [chunk]
        self._tail = (self._tail + _text_in(chunk))[-_TAIL_CHARS:]
        if self._secret in self._tail:
            raise Failure(500, "the model server repeats a secret of the platform", drew=None)
        self.held.append(chunk)
        if any(self._tail.endswith(self._secret[:length]) for length in range(_LEAST_HELD_CHARS, len(self._secret))):
            return []
        passed, self.held = self.held, []
        return passed


async def events(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Return the data of server-sent events, as soon as each is whole; comments and other fields are skipped.

    Args:
        content: Of a response; lines end with LF or CR LF (HTML Standard, 9.2.6, but for a bare CR).
    """
    pending = bytearray()
    data: list[bytes] = []
    size, begun = 0, False
    async for piece in content.iter_any():
        pending += piece if begun else piece.removeprefix(b"\xef\xbb\xbf")
        begun = True
        *lines, rest = pending.split(b"\n")
        pending = bytearray(rest)
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                data.append(bytes(line[5:].removeprefix(b" ")))
                size += len(line)
            elif not line and data:
                yield b"\n".join(data)
                data, size = [], 0
        if size + len(pending) > MOST_EVENT_BYTES:
            raise Failure(500, "the model server sent an event without end", drew=None)
        await asyncio.sleep(0)  # a server that never pauses must not keep others waiting
    last = bytes(pending).rstrip(b"\r")
    if last.startswith(b"data:"):
        data.append(last[5:].removeprefix(b" "))
    if data:  # some servers leave the last blank line out
        yield b"\n".join(data)


def _encoded(body: dict[str, Any]) -> bytes:
    """Return a request's body as bytes.

    Raises:
        Failure: It has none: nothing was sent, so nothing is drawn.
    """
    try:
        return msgspec.json.encode(body)
    except (RecursionError, TypeError, ValueError) as error:
        raise Failure(400, f"the request cannot be written as JSON: {error}") from error


async def _read_all(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > MOST_ANSWER_BYTES:
            raise Failure(500, "the model server sent an answer without end", drew=None)
    return bytes(body)


async def _let_end(response: aiohttp.ClientResponse) -> None:
    """Read what follows the end of a stream, so that its connection can be used again; not for long."""
    try:
        async with asyncio.timeout(_END_S):
            async for _ in response.content.iter_any():
                pass
    except (TimeoutError, aiohttp.ClientError, OSError):
        response.close()


def _chunk(event: bytes, secret: str | None, *, begun: bool) -> dict[str, Any]:
    chunk = _without(secret, _json(event))
    if not isinstance(chunk, dict):
        text = "the model server sent an event that is not a chunk"
        raise Failure(UNREACHABLE, text, said=_shown(event, secret), drew=None)
    if error := chunk.get("error"):
        code = error.get("code") if isinstance(error, dict) else None
        known = str(code).isascii() and str(code).isdigit() and 400 <= int(str(code)) <= 599
        said = _message_in(chunk) or _shown(event, secret)
        status = int(str(code)) if known and not begun else UNREACHABLE
        drew = False if status in _REFUSALS else None
        raise Failure(status, "the model server failed in its stream", said=said, drew=drew)
    return _with_thinking_named(chunk)


def _with_thinking_named(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a completion or a chunk with its thinking under the document's name; Ollama and vLLM call it `reasoning`."""
    for choice in choices_of(answer):
        said = choice.get("message") or choice.get("delta")
        if isinstance(said, dict) and isinstance(said.get("reasoning"), str) and not said.get("reasoning_content"):
            said["reasoning_content"] = said.pop("reasoning")
    return answer


def _refusal(response: aiohttp.ClientResponse, raw: bytes, secret: str | None) -> Failure:
    """Return what a model server that answers with an error comes to: its status, and its own words beside ours."""
    said = _without(secret, _json(raw))
    text = _message_in(said) if isinstance(said, dict) else None
    status, wait_s = response.status, _seconds(response.headers.get("Retry-After", ""))
    own = f"the model server answered with status {status}"
    if 300 <= status < 400:
        return Misdirected(500, f"{own}, a redirect: base_url is not its own address")
    if not 400 <= status < 600:
        return Failure(500, own, drew=None)
    drew = False if status in _REFUSALS else None
    return Failure(status, own, said=text or _shown(raw, secret), drew=drew, retry_after_s=wait_s)


def _seconds(text: str) -> float | None:
    """Return a `Retry-After` in s; None for a date, which model servers do not send."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _message_in(said: dict[str, Any]) -> str | None:
    error = said.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return message[:_SHOWN_CHARS] if isinstance(message, str) else None


def _without(secret: str | None, value: Any) -> Any:
    """Return a decoded value without the secret, however it was written."""
    if secret is None or len(secret) < _LEAST_SECRET_CHARS:  # a shorter one stands in texts by chance
        return value
    encoded, hidden = msgspec.json.encode(value), msgspec.json.encode(secret)[1:-1]
    return msgspec.json.decode(encoded.replace(hidden, _HIDDEN)) if hidden in encoded else value


def _text_in(chunk: dict[str, Any]) -> str:
    """Return what a chunk adds to the texts of an answer, one after the other."""
    texts: list[str] = []
    for choice in choices_of(chunk):
        delta = choice.get("delta")
        if isinstance(delta, dict):
            texts += [delta[name] for name in ("content", "reasoning_content") if isinstance(delta.get(name), str)]
            texts += _arguments_in(delta.get("tool_calls"))
    return "".join(texts)


def _arguments_in(calls: Any) -> list[str]:
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    given = [function.get("arguments") for function in functions if isinstance(function, dict)]
    return [arguments for arguments in given if isinstance(arguments, str)]


def _json(raw: bytes) -> Any:
    """Return what a model server wrote, also where it is not quite JSON, as Python's servers have NaN; None where it is not."""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(raw)
    with contextlib.suppress(ValueError, RecursionError):
        return _encodable(json.loads(raw.decode("utf-8-sig"), parse_constant=lambda _: None))
    return None


def _encodable(value: Any) -> Any:
    """Return the same with halves of surrogate pairs replaced: no encoding has them."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_encodable(entry) for entry in value]
        case dict():
            return {_encodable(name): _encodable(entry) for name, entry in value.items()}
        case _:
            return value


def _is_completion(value: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a body has a first choice with a message, which is all that a caller is promised."""
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and isinstance(first.get("message"), dict)


def _shown(raw: bytes, secret: str | None) -> str:
    text = raw[:_SHOWN_CHARS].decode("utf-8", "replace")
    return "" if secret and secret[:_LEAST_SECRET_CHARS] in text else text
