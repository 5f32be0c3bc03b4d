"""The key is in no record, however a server spells it."""

import json
import time
from typing import Any

import pytest

from workbench.client.chat import ChatClient
from workbench.client.redaction import REDACTED, Redactor
from workbench.client.transport import Bounds, Failure, Http, Reply, Sending
from workbench.records.calls import CallRecord, ChatRequest
from workbench.settings.endpoint import Endpoint

pytestmark = pytest.mark.anyio
KEY = "sk-0123456789/abcdef+ghij"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04X}" for character in text)


@pytest.mark.parametrize(
    "spelled",
    [KEY, escaped(KEY), KEY.replace("/", "\\/"), KEY[:5] + escaped(KEY[5:9]) + KEY[9:], "\x00".join(KEY), "\x00\x00\x00".join(KEY)],
)  # fmt: skip
@pytest.mark.parametrize("around", ["", "x" * 70_000, "\\u0041" * 12_000])
def test_every_spelling_is_found(spelled: str, around: str) -> None:
    redact = Redactor(KEY)
    text = f"{around}{spelled}{around}"
    assert redact(text) == f"{around}{REDACTED}{around}"
    assert redact(around) == around
    for place in range(65_500, 65_540):
        assert KEY[-8:] not in redact("\\u0041" + "y" * place + KEY)


def test_a_short_key_is_left() -> None:
    assert Redactor("sk-1")("a sk-1") == "a sk-1"


def test_a_long_text_of_escapes_is_looked_through_in_a_moment() -> None:
    began = time.thread_time()
    Redactor(KEY)("\\u0073\\u006b" * 700_000)
    assert time.thread_time() - began < 2


class Echoing(Http):
    """Gives one reply or failure, whatever is asked."""

    def __init__(self, given: Reply | Failure) -> None:
        self.given = given

    async def send(self, method: str, url: str, content: bytes | None, bounds: Bounds, progress: Sending, *_: object) -> Reply | Failure:  # fmt: skip
        progress.sent = "answered"
        return self.given


async def recorded(given: Reply | Failure) -> CallRecord:
    client = ChatClient(Echoing(given), Endpoint("http://h", KEY, "http://h"))
    return await client.complete(ChatRequest("k", b"{}", "m", "s", "sk", 1, 0, 1.0, 2**20), Sending())


def body(**message: Any) -> bytes:
    return json.dumps({"model": KEY, "id": KEY, "choices": [{"finish_reason": KEY, "message": message}]}).encode()


@pytest.mark.parametrize(
    "given",
    [
        Reply(200, {}, body(content=f"a {KEY}", reasoning_content=KEY)),
        Reply(200, {}, body(content=[{"text": f"a {KEY[:9]}"}, {"text": KEY[9:]}])),
        Reply(
            200, {}, body(content=None, tool_calls=[{"id": KEY, "function": {"name": KEY, "arguments": {"a": KEY}}}])
        ),
        Reply(200, {}, body(content=f"a {KEY}").decode().encode("utf-16")),
        Reply(200, {}, body(content="a SPELLED").replace(b"SPELLED", escaped(KEY).encode())),
        Reply(400, {}, json.dumps({"detail": [{"msg": KEY}]}).encode()),
        Reply(502, {"content-type": "text/html"}, b"<p>" + b"x" * 1_990 + KEY.encode()),
        Reply(500, {}, json.dumps({"error": {"message": "x" * 19_990 + KEY, "type": KEY}}).encode()),
        Failure("lost", "maybe", f"RemoteProtocolError: Bad status line {KEY!r}"),
        Failure("unreadable", "answered", f"packed as {KEY}"),
    ],
)
async def test_the_key_is_in_no_part_of_a_record(given: Reply | Failure) -> None:
    record = await recorded(given)
    said = repr(record).replace("\\x00", "")
    assert KEY[-10:] not in said
    assert KEY[:12] not in said
    assert REDACTED in said
