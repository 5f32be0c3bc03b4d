"""A plain HTTP caller of a platform, for the tests of its contract."""

import json
import ssl
import subprocess
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.conftest import COMMAND, one_route
from workbench.local_platform.config import PlatformConfig, Route
from workbench.local_platform.server import ThreadedServer

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
ASKED = [{"role": "user", "content": "What is 40 + 2?"}]
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For a platform on loopback: each client would read the certificates of all authorities, for some 19 ms."""
FORCED = {"type": "function", "function": {"name": "get_weather"}}


def platform_of(*routes: dict[str, Any], **fields: Any) -> PlatformConfig:
    """A platform with these routes; simulated `prose` where they say nothing else."""
    made = one_route()
    given = [
        {"upstream": f"lab/{route['id']}", **({} if "base_url" in route else {"simulated": "prose"})} | route
        for route in routes
    ]
    limits = fields.pop("limits", {}) | {"retry_pause_s": 0}
    rest = msgspec.convert({"routes": [], "limits": limits, **fields}, PlatformConfig)
    return msgspec.structs.replace(rest, routes=tuple(msgspec.convert(route, Route) for route in given) or made.routes)


class Caller:
    """Asks one platform, with one key."""

    def __init__(self, server: ThreadedServer, key: str | None = None) -> None:
        self.server = server
        headers = {"Authorization": f"Bearer {key or server.key}"}
        self.http = httpx.Client(base_url=server.base_url, headers=headers, timeout=30, verify=NO_TLS)

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def models(self) -> list[str]:
        return [entry["id"] for entry in self.http.get("/api/models").json()["data"]]

    def ask(self, model: str, text: str = "Say hello to the lab.", **fields: Any) -> httpx.Response:
        body = {"model": model, "messages": [{"role": "user", "content": text}], **fields}
        return self.http.post("/api/chat/completions", json=body)

    def message(self, model: str, text: str = "Say hello to the lab.", **fields: Any) -> dict[str, Any]:
        reply = self.ask(model, text, **fields)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()["choices"][0]["message"]
        return found

    def echoed(self, model: str, text: str = "Say hello to the lab.", **fields: Any) -> dict[str, Any]:
        """What reached a model that repeats it."""
        found: dict[str, Any] = json.loads(self.message(model, text, **fields)["content"])
        return found

    def events(self, model: str, text: str = "Say hello to the lab.", **fields: Any) -> list[Any]:
        """The events of a streamed answer; `[DONE]` as text."""
        reply = self.ask(model, text, stream=True, **fields)
        assert reply.status_code == 200, reply.text
        assert reply.headers["content-type"].startswith("text/event-stream")
        data = [line.removeprefix("data: ") for line in reply.text.split("\n\n") if line]
        return [line if line == "[DONE]" else json.loads(line) for line in data]


def joined(events: list[Any], field: str = "content") -> str:
    """The text of a stream."""
    deltas = [event["choices"][0]["delta"] for event in events if isinstance(event, dict) and event.get("choices")]
    return "".join(delta.get(field) or "" for delta in deltas)


def serve(folder: Path, *options: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    """The platform as a command, and what it announces."""
    server = subprocess.Popen(
        [str(COMMAND), "platform", "serve", "--port", "0", "--json", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line, server.communicate()[1]
    return server, json.loads(line)
