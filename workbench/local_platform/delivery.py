"""How an answer reaches its caller, or is lost on the way."""

import asyncio

from aiohttp import web

from workbench.local_platform.config import RouteFault

_PATIENCE_S = 30.0
"""How long a caller may not read before its stream is given up."""
_BEGINNING_EVENTS = 2


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
