"""A platform listening on loopback: started, announced, drained and stopped."""

import asyncio
import secrets
import signal
import sys
import threading
from collections.abc import Callable
from types import TracebackType

import msgspec
from aiohttp import web

from workbench.local_platform.app import Platform
from workbench.local_platform.config import ConfigError, PlatformConfig

_DRAIN_S = 5.0
_BACKLOG = 512


def new_key() -> str:
    """A fresh API key: the prefix `sk-` and 32 hexadecimal digits."""
    return "sk-" + secrets.token_hex(16)


class Server:
    """A platform and the socket it listens on.

    Args:
        platform: What is served.
        host: Address to bind; loopback unless told otherwise.
        port: 0 takes a free one.
    """

    def __init__(self, platform: Platform, host: str = "127.0.0.1", port: int = 0) -> None:
        self.platform = platform
        self._host, self._port = host, port
        self._runner = web.AppRunner(platform.application(), access_log=None, shutdown_timeout=_DRAIN_S)

    async def start(self) -> str:
        """Listen, and return the base URL (without `/api`).

        Raises:
            ConfigError: The address cannot be bound.
        """
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port, backlog=_BACKLOG).start()
        except OSError as error:
            await self._runner.cleanup()
            raise ConfigError(f"cannot listen on {self._host}:{self._port}: {error.strerror or error}") from error
        port = self._runner.addresses[0][1]
        return f"http://{f'[{self._host}]' if ':' in self._host else self._host}:{port}"

    async def stop(self) -> None:
        """Stop listening, and give requests in flight a few seconds to end."""
        await self._runner.cleanup()


async def serve(server: Server, key: str, announce: Callable[[str, str], None], *, with_parent: bool = False) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        server: The server to run.
        key: The key to announce.
        announce: Called once with base URL and key when requests are accepted.
        with_parent: Also stop when standard input closes, as it does when the parent process dies.
    """
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    signals = () if with_parent else (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, done.set)
    if with_parent:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent drains first

        def wait_for_parent() -> None:
            sys.stdin.buffer.read()
            loop.call_soon_threadsafe(done.set)

        threading.Thread(target=wait_for_parent, daemon=True).start()
    announce(await server.start(), key)
    await done.wait()
    await server.stop()


def announce_json(base_url: str, key: str) -> None:
    """Print base URL and key as one line of JSON."""
    sys.stdout.write(msgspec.json.encode({"base_url": base_url, "key": key}).decode() + "\n")
    sys.stdout.flush()


class ThreadedServer:
    """A platform served from a thread of this process, as a context manager; gives the base URL and a key."""

    def __init__(self, config: PlatformConfig) -> None:
        self.key = new_key()
        self.platform = Platform(config, {self.key: config.accounts[0].name})
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
