"""Whatever is sent to it, the platform answers in its own style: never a 500 of its own making, never a hang."""

import json
import socket
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import first_of
from tests.contract.asking import platform_of
from workbench.local_platform.server import ThreadedServer

MODELS = ["plain", "echo", "tools", "sums", "thinks", "Helper"]
CONFIG = platform_of(
    {"id": "plain"},
    {"id": "echo", "simulated": "echo"},
    {"id": "tools", "simulated": "answers", "calls_tools": True},
    {"id": "sums", "simulated": "answers"},
    {"id": "thinks", "simulated": "answers", "thinks": True, "template_defaults": {"reasoning_effort": "high"}},
    presets=[{"id": "Helper", "base": "echo", "system": "Be kind.", "parameters": {"seed": 1}}],
    limits={"body_bytes": 200_000},
)
STATUSES = {200, 400, 401, 404, 405, 413, 415, 422}
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
messages = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["user", "system", "tool", "wizard"]) | leaves,
            "content": st.text() | values,
        },
    )
    | values,
    max_size=4,
)
functions = st.fixed_dictionaries({}, optional={"name": st.text(max_size=5) | leaves, "parameters": values})
tools = st.lists(
    st.fixed_dictionaries({}, optional={"type": st.just("function"), "function": functions | values}), max_size=3
)
bodies = st.fixed_dictionaries(
    {"model": st.sampled_from(MODELS) | leaves},
    optional={
        "messages": messages | values, "stream": st.booleans() | leaves, "max_tokens": st.integers() | leaves,
        "tools": tools | values, "tool_choice": st.sampled_from(["auto", "none", "required"]) | values,
        "tool_ids": values, "chat_template_kwargs": values, "stream_options": values, "params": values,
        "extra_body": values, "session_id": leaves, "response_format": values,
    },
)  # fmt: skip
raws = (
    bodies.map(lambda body: json.dumps(body).encode())
    | bodies.map(lambda body: json.dumps(body).encode()[:-3])
    | values.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=100)
    | st.integers(1, 2000).map(lambda depth: b"[" * depth)
    | st.just(b'{"model": "plain", "messages": [{"role": "user", "content": "\\ud800"}]}')
    | st.integers(190_000, 210_000).map(lambda size: json.dumps({"model": "plain", "x": "y" * size}).encode())
)
content_types = st.sampled_from(
    ["application/json"] * 6 + ["text/plain", "application/json; charset=latin-1", "", "a/b/c"]
)
encodings = st.sampled_from([None] * 8 + ["gzip", "deflate", "br", "zstd", "nonsense"])


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadedServer]:
    with ThreadedServer(CONFIG) as server:
        yield server


@pytest.fixture(scope="module")
def http(server: ThreadedServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.base_url, timeout=20) as http:
        yield http


def check(reply: httpx.Response, asked: bytes) -> None:
    assert reply.status_code in STATUSES, (asked[:300], reply.text)
    if reply.headers["content-type"].startswith("text/event-stream"):
        assert reply.text.endswith("data: [DONE]\n\n")
        return
    said = reply.json()
    assert set(said) & {"detail", "choices", "data"}, (asked[:300], said)


@pytest.mark.parametrize("bodies", [*first_of(150, 600), pytest.param(5_000, marks=pytest.mark.long)])
def test_any_body(server: ThreadedServer, http: httpx.Client, bodies: int) -> None:
    @settings(max_examples=bodies)
    @given(raw=raws, content_type=content_types, encoding=encodings)
    def ask(raw: bytes, content_type: str, encoding: str | None) -> None:
        headers = {"Authorization": f"Bearer {server.key}", "Content-Type": content_type}
        if encoding:
            headers["Content-Encoding"] = encoding
        check(http.post("/api/chat/completions", content=raw, headers=headers), raw)

    ask()


header_texts = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_characters="\x7f"), max_size=60)


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"]), path=st.sampled_from(["/", "/api", "/api/models", "/api/models/", "/api/models/x", "/api/chat/completions", "/health", "/statistics", "/%00", "//api//models", "/api/../api/models"]), authorization=header_texts)  # fmt: skip
def test_any_method_path_and_key(http: httpx.Client, method: str, path: str, authorization: str) -> None:
    reply = http.request(method, path, headers={b"Authorization": authorization.encode("latin-1")})
    assert reply.status_code in STATUSES
    if method != "HEAD":
        assert reply.json()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /api/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /api/models HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 40_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_what_is_hardly_http_is_refused_and_harms_nobody(
    server: ThreadedServer, http: httpx.Client, sent: bytes
) -> None:
    host, port = server.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        reply = b""
        while piece := connection.recv(65536):
            reply += piece
    assert not reply.startswith(b"HTTP/1.1 5")
    if reply:
        assert set(json.loads(reply.partition(b"\r\n\r\n")[2])) == {"detail", "error"}
    assert http.get("/health").status_code == 200


def test_a_body_that_never_ends_holds_no_slot(server: ThreadedServer, http: httpx.Client) -> None:
    host, port = server.base_url.removeprefix("http://").split(":")
    head = f"POST /api/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(head.encode() + b'{"model"')
        assert server.platform.statistics.in_flight == 0
        assert http.get("/health").status_code == 200
