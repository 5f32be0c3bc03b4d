"""How a request comes in whole, and how an answer reaches its caller or is lost on the way."""

import asyncio

from aiohttp import web

from workbench.local_platform.calls import RefusedError
from workbench.local_platform.config import RouteFault

_PATIENCE_S = 30.0
"""How long a caller may not read before its stream is given up."""
_BEGINNING_EVENTS = 2


async def body_of(request: web.Request, most_bytes: int, patience_s: float) -> bytes:
    """Return a request's body.

    Raises:
        RefusedError: It is compressed, longer than it may be, does not come in time, or breaks off.
    """
    if request.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
        raise RefusedError(415, "the body is compressed; send it as it is")
    body = bytearray()
    try:
        async with asyncio.timeout(patience_s):
            async for part in request.content.iter_any():
                body += part
                if len(body) > most_bytes:
                    declared = request.content_length
                    sent = f"has {declared} bytes" if declared is not None and declared > most_bytes else "has more"
                    raise RefusedError(413, f"the body {sent}; expected at most {most_bytes} bytes")
    except RefusedError:
        raise
    except TimeoutError as error:
        raise RefusedError(408, f"the body did not come within {patience_s:g} s") from error
    except Exception as error:  # cut off, and whatever else a socket brings
        raise RefusedError(400, f"the body cannot be read: {type(error).__name__}") from error
    return bytes(body)


class Writer:
    """Writes a stream to a caller, or loses it on the way; one who does not read is not waited for.

    Args:
        reply: Not prepared yet.
        fault: One in front of the model server: `reset` loses everything, `truncate` all but the beginning.
    """

    def __init__(self, request: web.Request, reply: web.StreamResponse, fault: RouteFault | None) -> None:
        self.events = 0
        self._request, self._reply = request, reply
        self._gone = False
        self._most = None if fault is None else 0 if fault.kind == "reset" else _BEGINNING_EVENTS

    async def write(self, event: bytes) -> None:
        """Write one event."""
        self.events += 1
        if self._gone or not event or (self._most is not None and self.events > self._most):
            return
        try:
            async with asyncio.timeout(_PATIENCE_S):
                if not self._reply.prepared:
                    await self._reply.prepare(self._request)
                await self._reply.write(event)
        except TimeoutError:
            self._abort()

    async def end(self) -> None:
        """Write the end."""
        if self._most is not None:
            self._abort()
        elif not self._gone:
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await self._reply.write_eof()
            except TimeoutError:
                self._abort()

    def _abort(self) -> None:
        self._gone = True
        if self._request.transport is not None:
            self._request.transport.abort()


async def spoilt(request: web.Request, reply: web.Response, fault: RouteFault) -> web.StreamResponse:
    """Lose an answer on its way to the caller, all of it or its second half."""
    if request.transport is None:
        return reply
    if fault.kind == "reset":
        request.transport.abort()
        return reply
    body = reply.body if isinstance(reply.body, bytes) else b""
    cut = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
    await cut.prepare(request)
    await cut.write(body[: len(body) // 2])
    request.transport.close()
    return cut
