"""The fault table on loopback: was it sent, and what does httpx's interface say?"""

import asyncio
import gzip
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from workbench.client.transport import AiohttpTransport, Bounds, Failure, Http, Reply, Sending

pytestmark = pytest.mark.anyio

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    at_work: set[asyncio.Task[None] | None] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at_work.add(asyncio.current_task())
        try:
            await handler(reader, writer)
        except (ConnectionError, EOFError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        finally:
            for task in at_work:  # since Python 3.12 a server that ends waits for those that it still answers
                task and task.cancel()


async def received(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0
    )
    return head + await reader.readexactly(length)


async def close_before_reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)


async def close_within_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-")
    await writer.drain()


async def rubbish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(b"SSH-2.0-OpenSSH_9\r\n\r\n")
    await writer.drain()


async def huge_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 9000 + b"\r\n\r\n")
    await writer.drain()


async def reset_before_reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    reset(writer)


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    await asyncio.sleep(30)


async def close_within_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(HEAD + b"1234")
    await writer.drain()


async def reset_within_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(HEAD + b"1234")
    await writer.drain()
    await asyncio.sleep(0.05)
    reset(writer)


async def hang_within_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(HEAD + b"1234")
    await writer.drain()
    await asyncio.sleep(30)


def reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    writer.transport.abort()


async def send(url: str, deadline_s: float = 20.0, connect_timeout_s: float = 20.0) -> Reply | Failure:
    """Send a request; a short limit only where it is to be reached, for on a busy machine any is."""
    async with Http({}, connect_timeout_s=connect_timeout_s) as http:
        return await http.send("POST", url, b"{}", Bounds(deadline_s, 2**20), Sending())


@pytest.mark.parametrize(
    ("handler", "kind", "sent", "status"),
    [
        (close_before_reply, "lost", "maybe", None),
        (close_within_head, "lost", "maybe", None),
        (rubbish, "lost", "maybe", None),
        (huge_head, "lost", "maybe", None),
        (reset_before_reply, "lost", "maybe", None),
        (hang, "timeout", "maybe", None),
        (close_within_body, "lost", "answered", 200),
        (reset_within_body, "lost", "answered", 200),
        (hang_within_body, "timeout", "answered", 200),
    ],
)
async def test_faults_after_sending(handler: Handler, kind: str, sent: str, status: int | None) -> None:
    async with serving(handler) as url:
        failure = await send(url, deadline_s=0.6 if kind == "timeout" else 20.0)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.sent, failure.status) == (kind, sent, status)


async def test_refused_and_unknown_hosts_were_never_sent() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        refused = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        for url in (refused, "http://no-such-host.invalid/", "http://[::1]:1/"):
            failure = await send(url)
            assert isinstance(failure, Failure), url
            assert (failure.kind, failure.sent) == ("connect", "never"), failure


async def test_a_full_backlog_was_never_sent() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        try:
            for client in waiting:
                client.setblocking(False)
                client.connect_ex(address)
            failure = await send(f"http://127.0.0.1:{address[1]}/", connect_timeout_s=0.3)
        finally:
            for client in waiting:
                client.close()
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.sent) == ("connect", "never")


async def test_a_refused_connection_is_told_without_our_tls_context() -> None:
    failure = await send("https://127.0.0.1:9/")
    assert isinstance(failure, Failure)
    assert failure.text.startswith("ConnectError: Cannot connect to host 127.0.0.1:9 [")


async def test_https_to_a_plain_port_was_never_sent() -> None:
    async with serving(hang) as url:
        failure = await send(url.replace("http:", "https:"), connect_timeout_s=2)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.sent) == ("connect", "never")


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (close_before_reply, httpx.RemoteProtocolError),
        (rubbish, httpx.RemoteProtocolError),
        (reset_before_reply, httpx.ReadError),
        (hang, httpx.ReadTimeout),
        (close_within_body, httpx.ReadError),
        (hang_within_body, httpx.ReadTimeout),
    ],
)
async def test_errors_are_httpxs_own(handler: Handler, error: type[Exception]) -> None:
    async with serving(handler) as url, httpx.AsyncClient(transport=AiohttpTransport(), timeout=0.3) as client:
        with pytest.raises(error):
            await client.post(url, content=b"{}")


async def test_a_cancelled_call_still_knows_how_far_it_got() -> None:
    async with serving(hang) as url, Http({}) as http:
        progress = Sending()
        task = asyncio.create_task(http.send("POST", url, b"{}", Bounds(30, 2**20), progress))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert progress.sent == "maybe"


async def test_connections_are_kept_and_no_completion_is_sent_twice_on_a_stale_one() -> None:
    requests: list[bytes] = []
    connections = 0

    async def answer_once_then_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        requests.append(await received(reader))
        writer.write(HEAD.replace(b"10", b"2") + b"{}")
        await writer.drain()
        requests.append(await received(reader))  # the second request on the kept connection is read and dropped

    async with serving(answer_once_then_close) as url, Http({}) as http:
        first = await http.send("POST", url, b"{}", Bounds(2, 2**20), Sending())
        second = await http.send("POST", url, b"{}", Bounds(2, 2**20), Sending())
    assert isinstance(first, Reply)
    assert isinstance(second, Failure)
    assert (second.kind, second.sent) == ("lost", "maybe")
    assert connections == 1
    assert len(requests) == 2


async def test_replies_are_decoded_and_headers_are_exact() -> None:
    seen: list[bytes] = []

    async def zipped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await received(reader))
        body = gzip.compress(b'{"a": 1}')
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nSet-Cookie: a=b\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    async with serving(zipped) as url, Http({"Authorization": "Bearer sk-x", "User-Agent": "workbench"}) as http:
        reply = await http.send("POST", url, b"x" * (3 * 2**20), Bounds(5, 2**20), Sending())
    assert isinstance(reply, Reply)
    assert reply.body == b'{"a": 1}'
    head = seen[0].split(b"\r\n\r\n")[0].lower()
    assert head.count(b"user-agent") == 1
    assert b"cookie" not in head
    assert len(seen[0].split(b"\r\n\r\n", 1)[1]) == 3 * 2**20


async def test_redirects_are_not_followed() -> None:
    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with serving(elsewhere) as url:
        reply = await send(url)
    assert isinstance(reply, Reply)
    assert reply.status == 307


async def test_a_certificate_nobody_signed_was_never_sent(tmp_path_factory: pytest.TempPathFactory) -> None:
    context = ssl.create_default_context()
    assert context.verify_mode is ssl.CERT_REQUIRED  # what `verify=None` stands for
    async with serving(rubbish) as url:
        failure = await send(url.replace("http:", "https:"), connect_timeout_s=2)
    assert isinstance(failure, Failure)
    assert failure.sent == "never"


def stand_still(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.slow
async def test_what_arrived_while_the_process_stood_still_is_read() -> None:
    """As after Ctrl-Z: the time is over when the process goes on, and the answer waits in the socket."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer_once() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            sent.set()
            time.sleep(0.2)
            connection.sendall(HEAD + b"1234567890")

    sent = threading.Event()
    server = threading.Thread(target=answer_once)
    server.start()
    with listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        async with Http({}) as http:
            task = asyncio.create_task(http.send("POST", url, b"{}", Bounds(0.8, 2**20), Sending()))
            await asyncio.to_thread(sent.wait)
            stand_still(2.5)
            reply = await task
    server.join()
    assert isinstance(reply, Reply)
    assert reply.body == b"1234567890"


@pytest.mark.slow
async def test_a_stall_delays_a_time_out_only_once() -> None:
    async with serving(hang) as url, Http({}) as http:
        task = asyncio.create_task(http.send("POST", url, b"{}", Bounds(0.2, 2**20), Sending()))
        await asyncio.sleep(0.05)
        stand_still(1.5)
        failure = await asyncio.wait_for(task, 8)
    assert isinstance(failure, Failure)
    assert failure.kind == "timeout"


async def test_connections_to_a_server_that_closes_them_silently_are_kept_no_longer() -> None:
    async def answer_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(HEAD + b"1234567890")
        await writer.drain()

    async with serving(answer_and_close) as url, Http({}) as http:

        async def ask(times: int) -> list[Reply | Failure]:
            return [await http.send("POST", url, b"{}", Bounds(5, 2**20), Sending()) for _ in range(times)]

        replies = [reply for found in await asyncio.gather(*(ask(50) for _ in range(8))) for reply in found]
    lost = [reply for reply in replies if isinstance(reply, Failure)]
    assert len(lost) <= 2 + 8, f"{len(lost)} of {len(replies)} were lost"


async def test_connections_to_a_server_that_keeps_them_are_kept() -> None:
    connections = 0

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            try:
                await received(reader)
            except asyncio.IncompleteReadError:
                return
            writer.write(HEAD + b"1234567890")
            await writer.drain()

    async with serving(keep) as url, Http({}) as http:
        for _ in range(50):
            assert isinstance(await http.send("POST", url, b"{}", Bounds(5, 2**20), Sending()), Reply)
    assert connections == 1
