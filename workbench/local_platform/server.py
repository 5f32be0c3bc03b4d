"""A platform listening on loopback: started, announced, drained and stopped."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from workbench.local_platform.access import AccessLog
from workbench.local_platform.app import Platform
from workbench.local_platform.config import ConfigError, PlatformConfig
from workbench.local_platform.replies import refusal
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import State, new_key

_DRAIN_S = 5.0
_BACKLOG = 512
_IDLE_S = 75.0
"""How long a connection is kept for another request, its head included; aiohttp's own limit is an hour."""
_QUIET = logging.getLogger("workbench.local_platform.http")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False  # what callers do wrong is told to them, and in the access log


class _Protocol(web.RequestHandler):
    """Refuses malformed HTTP in the platform's own shape, and closes connections on which no request comes."""

    __slots__ = ("_silence",)
    _silence: asyncio.TimerHandle | None

    def __init__(self, listener: "_Listener", options: dict[str, Any], silence_s: float) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(listener, loop=loop, **options)
        self._silence = loop.call_later(silence_s, self.force_close)

    def heard(self) -> None:
        """Note that a request has come."""
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def connection_lost(self, exc: BaseException | None) -> None:
        """Nothing is waited for any more."""
        self.heard()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer once, and close the connection."""
        if request.writer.output_size:  # an answer has begun
            raise ConnectionError("the answer broke off")
        reply = refusal(status, HTTPStatus(status).phrase)
        reply.force_close()
        return reply


class _Listener(web.Server):
    """Makes a `_Protocol` for every connection: aiohttp has no setting for what it says of broken requests.

    Args:
        made: What an `AppRunner` made for the application.
        silence_s: How long the first request may take to come.
        options: Of every connection.
    """

    def __init__(self, made: web.Server, silence_s: float, **options: Any) -> None:
        super().__init__(made.request_handler, request_factory=self._begin, handler_cancellation=True)
        self._made, self._options, self._silence_s = made, options, silence_s

    def _begin(self, message: Any, payload: Any, protocol: web.RequestHandler, *rest: Any) -> web.BaseRequest:
        if isinstance(protocol, _Protocol):
            protocol.heard()
        return self._made.request_factory(message, payload, protocol, *rest)

    def __call__(self) -> web.RequestHandler:
        return _Protocol(self, self._options, self._silence_s)


class Server:
    """A platform and the socket it listens on.

    Args:
        host: Address to bind; loopback unless told otherwise.
        port: 0 takes a free one.
        drain_s: How long requests in flight may go on once it stops.
    """

    def __init__(
        self, platform: Platform, host: str = "127.0.0.1", port: int = 0, *, drain_s: float = _DRAIN_S
    ) -> None:
        self.platform, self.drain_s = platform, drain_s
        self._host, self._port = host, port
        self._application = web.AppRunner(platform.application())
        self._runner: web.ServerRunner | None = None

    async def start(self) -> str:
        """Listen, and return the base URL (without `/api`).

        Raises:
            ConfigError: The address cannot be bound.
        """
        await self._application.setup()
        made, limits = self._application.server, self.platform.config.limits
        assert made is not None
        listener = _Listener(
            made,
            limits.head_s,
            keepalive_timeout=max(limits.request_s, _IDLE_S),
            logger=_QUIET,
            access_log=None,
            max_line_size=limits.header_bytes,
            max_field_size=limits.header_bytes,
            auto_decompress=False,  # a body that cannot be unpacked would cost the connection
        )
        self._runner = web.ServerRunner(listener, shutdown_timeout=self.drain_s)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port, backlog=_BACKLOG).start()
        except (OSError, UnicodeError) as error:
            await self.stop()
            number = error.errno if isinstance(error, OSError) else None
            reason = os.strerror(number) if number is not None and number > 0 else error  # negative: a name's
            raise ConfigError(
                f"cannot listen on {self._host}:{self._port}: {reason}; port 0 takes a free one"
            ) from error
        port = self._runner.addresses[0][1]
        return f"http://{f'[{self._host}]' if ':' in self._host else self._host}:{port}"

    async def stop(self) -> None:
        """Stop listening, and give requests in flight some time to end."""
        if self._runner is not None:
            await self._runner.cleanup()
        await self._application.cleanup()


async def serve(
    server: Server,
    key: str | None,
    announce: Callable[[str, str | None], None],
    *,
    with_parent: bool = False,
    reload: Callable[[], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; a second one does not wait for requests in flight.

    Args:
        key: The key to announce, if one was made for this once.
        announce: Called once with base URL and key when requests are accepted.
        with_parent: Also stop when standard input closes, as it does when the parent process dies.
        reload: Called on the event loop at each SIGHUP.
    """
    loop = asyncio.get_running_loop()
    done, at_once = asyncio.Event(), asyncio.Event()
    signals = () if with_parent else (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, lambda: (at_once if done.is_set() else done).set())
    if reload is not None:
        had_terminal = _has_terminal()

        def hung_up() -> None:
            # a terminal that is closed sends the same signal, and ends what was begun there
            if had_terminal and not _has_terminal():
                done.set()
            else:
                reload()

        loop.add_signal_handler(signal.SIGHUP, hung_up)
    if with_parent:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent drains first

        def wait_for_parent() -> None:
            sys.stdin.buffer.read()
            loop.call_soon_threadsafe(done.set)

        threading.Thread(target=wait_for_parent, daemon=True).start()
    announce(await server.start(), key)
    await done.wait()
    stopping, hurried = asyncio.create_task(server.stop()), asyncio.create_task(at_once.wait())
    await asyncio.wait((stopping, hurried), timeout=server.drain_s, return_when=asyncio.FIRST_COMPLETED)
    server.platform.stopping = True  # what is in flight still is cut off
    stopping.cancel()
    hurried.cancel()
    await asyncio.gather(stopping, hurried, return_exceptions=True)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def announce_json(base_url: str, key: str | None) -> None:
    """Print base URL, and the key where one was made for this once, as one line of JSON."""
    said = {"base_url": base_url} | ({} if key is None else {"key": key})
    sys.stdout.write(msgspec.json.encode(said).decode() + "\n")
    sys.stdout.flush()


class ThreadedServer:
    """A platform served from a thread of this process, as a context manager; gives the base URL and a key.

    Args:
        state: Keys and draws; by default in memory.
    """

    def __init__(
        self,
        config: PlatformConfig,
        state: State | None = None,
        log: AccessLog | None = None,
        around: Surroundings = Surroundings(),  # noqa: B008 - frozen
    ) -> None:
        self.key = new_key()
        self.platform = Platform(config, state, {self.key: config.accounts[0].name}, log, around)
        self.base_url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server = Server(self.platform)

    async def _end(self) -> None:
        await self._server.stop()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def __enter__(self) -> "ThreadedServer":
        self._thread.start()
        self.base_url = asyncio.run_coroutine_threadsafe(self._server.start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
