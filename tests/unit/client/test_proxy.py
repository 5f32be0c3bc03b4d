"""Which proxy a platform is asked through, and how one that fails is named."""

import asyncio
from pathlib import Path

import pytest

from tests.conftest import Workbench
from tests.end_to_end.odd_server import KEY
from tests.unit.client.test_redaction import Echoing
from workbench.client.chat import ChatClient
from workbench.client.transport import Failure, Http, Reply
from workbench.errors import InputError, UnreachableError
from workbench.settings.endpoint import Endpoint, find_endpoint
from workbench.settings.environment import Environment
from workbench.settings.file import Settings
from workbench.settings.urls import normalised_url

HTTP, HTTPS = "http://chat.example.org:8080", "https://chat.example.org"


def asked(monkeypatch: pytest.MonkeyPatch, url: str, **variables: str) -> Endpoint:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        for spelling in (name, name.upper()):
            monkeypatch.delenv(spelling, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return find_endpoint(Settings(), Environment({"WORKBENCH_API_KEY": KEY}, {}, Path(".env")), base_url=url)


@pytest.mark.parametrize(
    ("url", "variables", "proxy"),
    [
        (HTTP, {"HTTP_PROXY": "http://p:3128"}, "the proxy http://p:3128 (HTTP_PROXY)"),
        (HTTP, {"http_proxy": "p:3128"}, "the proxy http://p:3128 (http_proxy)"),
        (HTTPS, {"HTTP_PROXY": "http://p:3128"}, None),
        (HTTPS, {"ALL_PROXY": "http://ann:secret@p:3128"}, "the proxy http://p:3128 (ALL_PROXY)"),
        (HTTPS, {"ALL_PROXY": "http://p:1", "https_proxy": "http://q:2"}, "the proxy http://q:2 (https_proxy)"),
        (HTTP, {"HTTP_PROXY": " "}, None),
        (HTTPS, {"https_proxy": "", "HTTPS_PROXY": "http://p:1", "ALL_PROXY": "http://q:1"}, None),
        (HTTP, {"HTTP_PROXY": "http://p:1", "NO_PROXY": "chat.example.org."}, None),
        (HTTP, {"HTTP_PROXY": "http://p:1", "NO_PROXY": "aaa:" + 5000 * "1"}, "the proxy http://p:1 (HTTP_PROXY)"),
        *((HTTP, {"HTTP_PROXY": "http://p:1", "NO_PROXY": exempt}, None)
          for exempt in ("*", "chat.example.org", "example.org", ".example.org", "*.example.org", "a, EXAMPLE.org", "a chat.example.org:8080")),
        *((HTTP, {"HTTP_PROXY": "http://p:1", "NO_PROXY": exempt}, "the proxy http://p:1 (HTTP_PROXY)")
          for exempt in ("", "ample.org", "chat.example.org:80", "10.0.0.0/8", "example.com")),
        ("http://10.10.10.7", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.10.10.0/24"}, None),
        ("http://10.10.11.7", {"HTTP_PROXY": "http://p:1", "no_proxy": "10.10.10.0/24"}, "the proxy http://p:1 (HTTP_PROXY)"),
        ("http://10.10.10.7", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.10.10.7"}, None),
        ("http://[fd00::7]", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "fd00::/8"}, None),
        ("http://127.0.0.1:1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://localhost", {"ALL_PROXY": "socks5://p:1"}, None),
    ],
)  # fmt: skip
def test_the_environment_names_a_proxy(
    monkeypatch: pytest.MonkeyPatch, url: str, variables: dict[str, str], proxy: str | None
) -> None:
    found = asked(monkeypatch, url, **variables).proxy
    assert (None if found is None else str(found)) == proxy


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("socks5://p:1080", "HTTP_PROXY: SOCKS proxies are not supported"), ("ftp://p", "HTTP_PROXY: it does not name an HTTP proxy"),
        ("http://user:12/34secret@proxy:80", "HTTP_PROXY: it does not name an HTTP proxy"),
        ("http://p:x", "HTTP_PROXY: it does not name a proxy"), ("http://", "HTTP_PROXY: it does not name an HTTP proxy"),
    ],
)  # fmt: skip
def test_what_is_no_http_proxy_is_named(monkeypatch: pytest.MonkeyPatch, given: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        asked(monkeypatch, HTTP, HTTP_PROXY=given)
    assert told in str(caught.value)
    assert "NO_PROXY=chat.example.org asks the platform without a proxy" in str(caught.value)


def test_an_error_names_the_proxy_and_a_redirect_its_target(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    bench.environment |= {"WORKBENCH_API_KEY": KEY, "WORKBENCH_BASE_URL": HTTPS, "HTTPS_PROXY": "127.0.0.1:1"}
    told = bench("models", code=6).stderr
    assert "it was asked through the proxy http://127.0.0.1:1 (HTTPS_PROXY)" in told

    async def refusing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
        moved = b"HTTP/1.1 308 Permanent Redirect\r\nLocation: https://new.example.org/api/models\r\nContent-Length: 0\r\n\r\n"
        writer.write(refusal if head.startswith(b"CONNECT") else moved)
        await writer.drain()
        writer.close()

    async def ask() -> list[str]:
        async with await asyncio.start_server(refusing, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            told = []
            for url, more in ((HTTPS, {"HTTPS_PROXY": f"127.0.0.1:{port}"}), (f"http://127.0.0.1:{port}", {})):
                with pytest.MonkeyPatch.context() as environment:
                    endpoint = asked(environment, url, **more)
                async with Http({}, proxy=endpoint.proxy and endpoint.proxy.url) as http:
                    client = ChatClient(http, endpoint)
                    with pytest.raises(Exception, match=r"answer|leads") as caught:
                        await client.list_models()
                    told.append(str(caught.value))
            return told

    refused, moved = asyncio.run(ask())
    assert "HTTP 407" in refused
    assert "it was asked through the proxy http://127.0.0.1:" in refused
    assert "leads to https://new.example.org/api/models; is this the base URL: https://new.example.org?" in moved


def test_a_redirect_that_holds_the_key_shows_it_nowhere() -> None:
    client = ChatClient(
        Echoing(Reply(302, {"location": f"/login?token={KEY}"}, b"")), Endpoint("https://h", KEY, "https://h")
    )
    with pytest.raises(UnreachableError) as caught:
        asyncio.run(client.list_models())
    assert KEY not in str(caught.value)
    assert "leads to https://h/login?token=" in str(caught.value)


@pytest.mark.parametrize("path", ["helpdesk-assistant-v2", "task-orchestrator", "sk-team"])
def test_a_path_that_looks_a_little_like_a_key_is_none(path: str) -> None:
    assert normalised_url(f"https://x.org/{path}") == f"https://x.org/{path}"


@pytest.mark.parametrize(
    ("failed", "told"),
    [
        ("certificate verify failed: Missing Authority Key Identifier (_ssl.c:1020)",  # as Python 3.13 says it
         "its certificate is not as RFC 5280 wants it (Missing Authority Key Identifier), which Python 3.13 and newer require"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] unable to get local issuer certificate", "SSL_CERT_FILE names the certificates to trust"),
    ],
)  # fmt: skip
def test_what_a_certificate_lacks_is_named(failed: str, told: str) -> None:
    client = ChatClient(Echoing(Failure("connect", "never", failed)), Endpoint("https://h", KEY, "https://h"))
    with pytest.raises(UnreachableError) as caught:
        asyncio.run(client.list_models())
    assert told in str(caught.value)
