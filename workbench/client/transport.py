"""HTTP as httpx speaks it, carried by aiohttp; the one module that imports either on the client's side.

It must know whether a request may have reached the platform, because a completion costs allowance:

    never     ConnectError, ConnectTimeout,                        no byte of the request was sent
              ProxyError, UnsupportedProtocol
    maybe     RemoteProtocolError, ReadError, ReadTimeout          sent, and no answer came
    answered  the same errors, raised while the body is read       the status line had arrived

The boundary between never and maybe is aiohttp's signal that the head is about to be written, the safe side; where
the body could not be written to its end, as on a connection that the server had closed, it is never after all.
"""

import asyncio
import io
import socket
import time
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

import aiohttp
import anyio
import httpx
import msgspec

import workbench.settings.clock as clock
from workbench.client.body import MOST_LARGE, Body, BrokenBodyError, UnreadableError, read_body
from workbench.records.calls import Sent

_STOOD_STILL_S, _TO_CATCH_UP_S = 1.0, 5.0


class Deadline:
    """Raises TimeoutError within its context after `delay_s`; later if the process was suspended, as with Ctrl-Z
    or while a laptop slept: what waits in the sockets by then is read first.

    Args:
        delay_s: From entering the context.
    """

    __slots__ = ("_delay_s", "_loop", "_scope", "_timer")

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s

    async def __aenter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._scope = asyncio.timeout(None)
        await self._scope.__aenter__()
        self._wait_until(self._loop.time() + self._delay_s)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        await self._scope.__aexit__(kind, error, trace)

    def _wait_until(self, due_at: float) -> None:
        self._timer = self._loop.call_at(due_at, self._expire, due_at)

    def _expire(self, due_at: float) -> None:
        now = self._loop.time()
        if now - due_at > _STOOD_STILL_S:
            self._wait_until(now + _TO_CATCH_UP_S)
        else:
            self._scope.reschedule(now)


KEEP_ALIVE_S = 4.0
"""Shorter than the 5 s after which common servers close an idle connection: a request never hits that race."""
_MOST_LOST, _MOST_LOST_SHARE = 2, 0.05
_LARGE_BODY_BYTES = 2**20  # above it aiohttp warns about plain bytes
NO_HEADERS: Mapping[str, str] = {}
_NO_AUTO_HEADERS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class Bounds(NamedTuple):
    """What a request may take."""

    deadline_s: float
    """From now to the last byte."""
    reply_bytes: int
    """The longest body that is kept, after unpacking."""


class Sending:
    """When one request began, how far it got and when its reply was read; still readable after a cancellation.

    A context manager: memory reserved for a long reply is released at its end, when the reply is recorded.
    """

    __slots__ = ("_room", "ended", "reused", "sent", "sent_at", "started")

    def __init__(self) -> None:
        self.sent: Sent = "never"
        self.sent_at = clock.now()
        self.started = time.perf_counter()
        self.ended: float | None = None
        self.reused = True
        """Whether the connection had carried a request before."""
        self._room: anyio.Semaphore | None = None

    async def take(self, room: anyio.Semaphore) -> None:
        """Wait for room in memory for a long reply."""
        await room.acquire()
        self._room = room

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._room is not None:
            self._room.release()
            self._room = None


class Reply(msgspec.Struct, frozen=True):
    """A complete HTTP response."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    """After content decoding."""
    coding: str = ""
    """The content coding that the body still has, as it was not asked for and nothing here reads it."""


class Failure(msgspec.Struct, frozen=True):
    """No complete response came."""

    kind: Literal["connect", "lost", "timeout", "unreadable"]
    sent: Sent
    text: str
    status: int | None = None
    """The status line, where it had arrived."""


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Carries httpx requests over one aiohttp session; usable inside a running event loop only.

    Args:
        headers: Sent with every request, before its own.
        proxy: URL of an HTTP proxy, resolved once by the caller (a look-up per request costs as much as a call).
    """

    def __init__(self, headers: dict[str, str] | None = None, *, proxy: str | None = None) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(_note_sent)
        trace.on_connection_create_start.append(_note_connecting)
        self._headers, self._proxy = headers, proxy
        self._trace = trace
        self._sessions = [self._made_session(keep=True)]

    def _made_session(self, *, keep: bool) -> aiohttp.ClientSession:
        reuse: dict[str, Any] = {"keepalive_timeout": KEEP_ALIVE_S} if keep else {"force_close": True}
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,  # concurrency is limited above, never by a queue here
                socket_factory=_kept_alive_socket,
                **reuse,
            ),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # `read_body` unpacks
            trust_env=False,
            skip_auto_headers=_NO_AUTO_HEADERS,
            trace_configs=[self._trace],
        )

    def keep_no_connections(self) -> None:
        """From now on use a new connection for each request."""
        if len(self._sessions) == 1:
            self._sessions.append(self._made_session(keep=False))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request and return its response with an unread body.

        Raises:
            httpx.TransportError: As the module's table says.
        """
        timeout = request.extensions.get("timeout", {})
        progress = request.extensions.get("progress")
        content = await request.aread()
        try:
            response = await self._sessions[-1].request(
                request.method,
                str(request.url),
                data=_payload(content),
                headers=[(name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers.raw],
                allow_redirects=False,
                proxy=self._proxy,
                timeout=_client_timeout(timeout.get("connect"), timeout.get("read")),
                trace_request_ctx=progress,
            )
        except (aiohttp.ClientError, OSError) as error:
            if progress is not None and content and isinstance(error.__cause__, aiohttp.ClientConnectionResetError):
                progress.sent = "never"  # the connection was closed before the whole body was written
            raise _translated(error, request) from error
        return httpx.Response(
            response.status, headers=response.raw_headers, stream=_Body(response, request), request=request
        )

    async def aclose(self) -> None:
        """Close the session and its connections."""
        for session in self._sessions:
            await session.close()


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse, request: httpx.Request) -> None:
        self._response, self._request = response, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise _translated(error, self._request) from error

    async def aclose(self) -> None:
        self._response.close()  # a no-op once the body was read to its end and the connection went back


@lru_cache
def _client_timeout(connect_s: float | None, read_s: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=connect_s, sock_read=read_s)


def _payload(content: bytes) -> aiohttp.Payload | None:
    """Return a request's body; a large one in pieces, as one write of it would keep the event loop."""
    if len(content) >= _LARGE_BODY_BYTES:
        return aiohttp.BytesIOPayload(io.BytesIO(content))
    return aiohttp.BytesPayload(content) if content else None


def _translated(error: aiohttp.ClientError | OSError, request: httpx.Request) -> httpx.TransportError:
    """Translate an error of aiohttp into httpx's; nothing else does."""
    text = _error_text(error)
    # which case an error falls into says whether its request may have been read: a wrong one pays for it twice, or drops a
    # request that was never sent from the passes
    if isinstance(error, aiohttp.ClientConnectorError):  # neither a default nor a memory address is of any use
        text = text.replace(f" ssl:{error.ssl}", "").replace(" ssl:default", "")
    match error:
        case aiohttp.ClientHttpProxyError():  # it refused to connect: the platform was not reached
            return httpx.ProxyError(f"HTTP {error.status} {error.message}", request=request)
        case aiohttp.ConnectionTimeoutError():
            return httpx.ConnectTimeout(text, request=request)
        case aiohttp.ClientConnectorError() | aiohttp.ClientProxyConnectionError():
            return httpx.ConnectError(text, request=request)
        case TimeoutError():  # aiohttp's read time-out is one
            return httpx.ReadTimeout(text, request=request)
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientResponseError():
            return httpx.RemoteProtocolError(text, request=request)
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return httpx.UnsupportedProtocol(text, request=request)
        case _:  # a payload cut short among them
            return httpx.ReadError(text, request=request)


def _error_text(error: BaseException) -> str:
    return str(error) or type(error).__name__


async def _note_sent(session: Any, context: Any, params: Any) -> None:
    progress = context.trace_request_ctx
    if progress is not None:
        progress.sent = "maybe"


async def _note_connecting(session: Any, context: Any, params: Any) -> None:
    progress = context.trace_request_ctx
    if progress is not None:
        progress.reused = False


def _kept_alive_socket(address: Any) -> socket.socket:
    """Return a socket that notices a dead peer within two minutes, however long the answer may take."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


class Http:
    """Requests in, replies or failures out; no HTTP error travels as an exception.

    Speaks to the transport through httpx's own interface, without its client: cookies, redirects and authentication
    are not wanted here, and cost more than the call.

    Args:
        headers: Sent with every request.
        connect_timeout_s: For name look-up, TCP and TLS together.
    """

    def __init__(self, headers: dict[str, str], *, connect_timeout_s: float = 15.0, proxy: str | None = None) -> None:
        self._transport = AiohttpTransport(headers, proxy=proxy)
        self._timeout = httpx.Timeout(None, connect=connect_timeout_s).as_dict()
        self._urls: dict[str, httpx.URL] = {}  # parsed once: a handful of endpoints
        self._room = anyio.Semaphore(MOST_LARGE)
        self._reused = self._lost_on_reuse = 0

    async def send(
        self,
        method: str,
        url: str,
        content: bytes | None,
        bounds: Bounds,
        progress: Sending,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Reply | Failure:
        """Send one request and read its whole response.

        Args:
            url: Absolute.
            progress: Records how far the request got; readable when the caller is cancelled.
        """
        try:
            parsed = self._urls.setdefault(url, self._urls.get(url) or httpx.URL(url))
        except httpx.InvalidURL as error:
            return Failure("connect", "never", f"InvalidURL: {error}")
        extensions = {"timeout": self._timeout, "progress": progress}
        # as a stream, so that httpx does not inspect the body: aiohttp sets the length and the host
        stream = httpx.ByteStream(content or b"")
        request = httpx.Request(method, parsed, headers=headers, stream=stream, extensions=extensions)
        status: int | None = None
        kind: Literal["connect", "lost", "timeout"]
        try:
            async with Deadline(bounds.deadline_s):
                response = await self._transport.handle_async_request(request)
                status, progress.sent = response.status_code, "answered"
                answered = {
                    name.lower().decode("latin-1"): text.decode("latin-1") for name, text in response.headers.raw
                }
                body = await self._read(response, answered.get("content-encoding", ""), bounds.reply_bytes, progress)
        except UnreadableError as error:
            return Failure("unreadable", "answered", str(error), status)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
            progress.sent = "never"
            return Failure("connect", "never", f"{type(error).__name__}: {error}")
        except (TimeoutError, httpx.TimeoutException) as error:
            # a deadline that ran out while connecting left nothing behind
            kind = "connect" if progress.sent == "never" else "timeout"
            return Failure(kind, progress.sent, _error_text(error), status)
        except (httpx.TransportError, BrokenBodyError) as error:
            self._count_reuse(progress, lost=status is None)
            kind = "connect" if progress.sent == "never" else "lost"
            return Failure(kind, progress.sent, f"{type(error).__name__}: {error}", status)
        self._count_reuse(progress, lost=False)
        return Reply(status, answered, *body)

    def _count_reuse(self, progress: Sending, *, lost: bool) -> None:
        """Stop keeping connections to a server that closes them after each reply without saying so: a request that meets
        the closing is lost, and no one can tell whether it was read.
        """
        self._reused += progress.reused
        self._lost_on_reuse += progress.reused and lost
        if self._lost_on_reuse >= _MOST_LOST and self._lost_on_reuse > _MOST_LOST_SHARE * self._reused:
            self._transport.keep_no_connections()

    async def _read(self, response: httpx.Response, coding: str, most_bytes: int, progress: Sending) -> Body:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        coding = coding.strip().lower()
        try:  # read here and not by httpx, which unpacks without a bound, and as many times as it is told to
            return await read_body(response.stream, coding, most_bytes, lambda: progress.take(self._room))
        finally:
            await response.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.aclose()
