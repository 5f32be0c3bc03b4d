"""TLS with real certificates: the command line, and the platform before a model server, each in its own process."""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import trustme

from tests.conftest import Workbench, job, one_route, sums
from tests.contract.asking import serve
from workbench.local_platform.server import ThreadedServer


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path) -> dict[str, str]:
    """What makes OpenSSL trust the authority, as where a company has one of its own."""
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    return {"SSL_CERT_FILE": str(path)}


@pytest.fixture
def server() -> Iterator[ThreadedServer]:
    with ThreadedServer(one_route()) as server:
        yield server


@contextmanager
def behind_tls(authority: trustme.CA, server: ThreadedServer) -> Iterator[str]:
    """The same server at an https URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    port = int(server.base_url.rpartition(":")[2])

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(2**16):
                target.write(piece)
                await target.drain()
        target.close()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))

    loop = asyncio.new_event_loop()
    front = loop.run_until_complete(asyncio.start_server(pass_on, "localhost", 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"https://localhost:{front.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        front.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@pytest.mark.slow
def test_a_run_speaks_tls_to_whom_the_system_trusts(
    tmp_path: Path, authority: trustme.CA, trusted: dict[str, str], server: ThreadedServer
) -> None:
    with behind_tls(authority, server) as url:
        bench = Workbench(tmp_path, server)
        bench.environment |= {"WORKBENCH_BASE_URL": url}
        bench.write("sums.jsonl", sums(3))
        bench.write("job.toml", job("m"))
        for command in (("models",), ("run", "job.toml")):
            told = bench.process(*command, code=6).stderr
            assert "certificate verify failed" in told
            assert "SSL_CERT_FILE" in told
        for path in ("nowhere.pem", "job.toml"):
            bench.environment["SSL_CERT_FILE"] = path
            told = bench.process("models", code=6).stderr
            assert f"SSL_CERT_FILE names {path}, which has no certificate that can be read" in told
        assert not server.platform.statistics.requests
        bench.environment |= trusted
        assert (
            '"m"' in bench.process("models", "--json").stdout
        )  # in a process of its own, which loads the certificates
        assert '"completed": 3' in bench.process("run", "job.toml", "--no-report", "--json").stdout


def test_a_proxy_that_speaks_tls(
    tmp_path: Path, authority: trustme.CA, trusted: dict[str, str], server: ThreadedServer
) -> None:
    """The platform's server stands for the proxy: it answers a request for another host's URL as well."""
    with behind_tls(authority, server) as url:
        bench = Workbench(tmp_path, server)
        bench.environment |= {"WORKBENCH_BASE_URL": "http://chat.example.org", "http_proxy": url, "no_proxy": ""}
        bench.environment |= trusted
        assert (
            '"m"' in bench.process("models", "--json").stdout
        )  # in a process of its own, which loads the certificates


@pytest.mark.slow
def test_the_platform_speaks_tls_to_a_model_server_that_the_system_trusts(
    tmp_path: Path,
    authority: trustme.CA,
    trusted: dict[str, str],
    server: ThreadedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with behind_tls(authority, server) as url:
        (tmp_path / "platform.toml").write_text(
            f'[[routes]]\nid = "far"\nupstream = "m"\nbase_url = " {url}/api"\nsecret_env = "BEHIND"\n'
        )
        key = Workbench(tmp_path, None)("platform", "keys", "create", "lab").stdout.strip()
        monkeypatch.setenv("BEHIND", server.key)
        statuses = []
        for environment in ({}, trusted):
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            process, said = serve(tmp_path)
            body = {"model": "far", "messages": [{"role": "user", "content": "What is 1 + 1?"}]}
            reply = httpx.post(
                f"{said['base_url']}/api/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"}
            )
            statuses.append(reply.status_code)
            process.terminate()
            process.communicate(timeout=60)
        assert statuses[0] >= 500
        assert statuses[1] == 200
