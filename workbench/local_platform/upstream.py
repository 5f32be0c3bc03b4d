"""Forwarding to OpenAI-compatible model servers: pooled connections, streams passed on as they come."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import msgspec

from workbench.local_platform.backend import Failure, first_choice
from workbench.local_platform.calls import Call
from workbench.local_platform.config import Route

_CONNECT_S = 10.0
_EVENT_BYTES = 8 * 2**20
_SHOWN_CHARS = 500
_HIDDEN = "[secret]"
_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)


class Upstream:
    """Every route to a real model server.

    Nothing of the caller's headers goes there, its key least of all, and nothing of the server's headers comes back.

    Args:
        environment: Where the model servers' secrets are.
        connections: How many may be open at a time.
        silent_streams: Whether a server that answers a streamed call with no stream counts as one that said nothing.
    """

    def __init__(self, environment: Mapping[str, str], connections: int, *, silent_streams: bool) -> None:
        self._environment, self._connections, self._silent_streams = environment, connections, silent_streams
        self._session: aiohttp.ClientSession | None = None

    async def complete(self, route: Route, call: Call, attempt: int) -> dict[str, Any]:
        """One chat completion."""
        secret = self._secret(route)
        try:
            async with self._post(route, call.body_for(route), secret) as response:
                raw = await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise _connection_failure(error) from error
        if secret:
            raw = raw.replace(secret.encode(), _HIDDEN.encode())
        if response.status != 200:
            raise _refusal(response.status, raw)
        completion = _json(raw)
        if not isinstance(completion, dict) or not isinstance(completion.get("choices"), list):
            raise Failure(500, f"the model server answered with no chat completion: {_shown(raw)}", drew=None)
        return completion

    async def stream(self, route: Route, call: Call, attempt: int) -> AsyncIterator[dict[str, Any]]:
        """The same in chunks."""
        secret = self._secret(route)
        body = call.body_for(route) | {"stream": True, "stream_options": {"include_usage": True}}
        finished = False
        try:
            async with self._post(route, body, secret) as response:
                if response.status != 200:
                    raise _refusal(response.status, (await response.read()).replace((secret or "\0").encode(), b""))
                if response.content_type != "text/event-stream":
                    if self._silent_streams:
                        return
                    raise Failure(500, f"the model server sent {response.content_type} for a stream", drew=None)
                async for event in _events(response.content):
                    if event == b"[DONE]":
                        return
                    chunk = _chunk(event.replace(secret.encode(), _HIDDEN.encode()) if secret else event)
                    finished = finished or first_choice(chunk).get("finish_reason") is not None
                    yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise _connection_failure(error) from error
        if not finished:
            raise Failure(500, "the model server ended its stream before its answer", drew=None)

    async def close(self) -> None:
        """Close the pool."""
        if self._session is not None:
            await self._session.close()

    def _post(self, route: Route, body: dict[str, Any], secret: str | None) -> Any:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._connections, force_close=False)
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)  # the gateway's limit covers the rest
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
            )
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if secret:
            headers["Authorization"] = f"Bearer {secret}"
        url = f"{str(route.base_url).rstrip('/')}/chat/completions"
        return self._session.post(url, data=msgspec.json.encode(body), headers=headers, allow_redirects=False)

    def _secret(self, route: Route) -> str | None:
        """The model server's own key.

        Raises:
            Failure: The platform lacks it.
        """
        if route.secret_missing or (route.secret_env and not self._environment.get(route.secret_env)):
            raise Failure(401, "the platform lacks the model server's secret")
        return self._environment[route.secret_env] if route.secret_env else None


async def _events(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """The data of server-sent events, as soon as each is whole; comments and other fields are skipped."""
    pending = bytearray()
    data: list[bytes] = []
    async for piece in content.iter_any():
        pending += piece
        if len(pending) > _EVENT_BYTES:
            raise Failure(500, "the model server sent an event without end", drew=None)
        *lines, rest = pending.split(b"\n")
        pending = bytearray(rest)
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                data.append(bytes(line[5:].removeprefix(b" ")))
            elif not line and data:
                yield b"\n".join(data)
                data = []
        await asyncio.sleep(0)  # a server that never pauses must not keep others waiting


def _chunk(event: bytes) -> dict[str, Any]:
    chunk = _json(event)
    if not isinstance(chunk, dict):
        raise Failure(500, f"the model server sent an event that is no chunk: {_shown(event)}", drew=None)
    if "error" in chunk:
        raise Failure(500, f"the model server failed in its stream: {_message_in(chunk) or _shown(event)}", drew=None)
    return chunk


def _connection_failure(error: Exception) -> Failure:
    never_sent = isinstance(error, _NEVER_SENT)
    text = "cannot be reached" if never_sent else "broke the connection off"
    return Failure(0, f"the model server {text}: {type(error).__name__}", drew=False if never_sent else None)


def _refusal(status: int, raw: bytes) -> Failure:
    """What a model server that answers with an error comes to: its status, and its own words where it has some."""
    said = _json(raw)
    text = _message_in(said) if isinstance(said, dict) else None
    if not 400 <= status < 600:
        return Failure(500, f"the model server answered with status {status}", drew=None)
    return Failure(status, text or _shown(raw) or f"the model server answered with status {status}")


def _message_in(said: dict[str, Any]) -> str | None:
    error = said.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return message[:_SHOWN_CHARS] if isinstance(message, str) else None


def _json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _shown(raw: bytes) -> str:
    return raw[:_SHOWN_CHARS].decode("utf-8", "replace")
