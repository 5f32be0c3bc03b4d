"""Clients that others wrote, in environments of their own, on simulated routes and on forwarded ones.

`python -m pytest -m clients` installs them once, which takes a minute: the Python ones as `requirements*.txt` pin them,
openai for Node where there is npm.
"""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.contract.asking import platform_of
from tests.waiting import until
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.state import State

pytestmark = pytest.mark.clients
HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
NODE_PACKAGE = "openai@7.57.0"
PROSE = "You wrote 7 words, beginning with “I go to Lisbon for 4”."
AGENT = "get_weather returned 12 degrees and rain in Oslo."
TRIP, NESTED = {"city": "Lisbon", "days": 4}, {"place": {"city": "Lisbon"}, "days": 4}
CASES: dict[str, dict[str, Any]] = {
    "openai": {"whole": PROSE, "streamed": PROSE, "gathered": PROSE, "agent": AGENT, "structured": TRIP},
    "node": {"whole": PROSE, "streamed": PROSE, "agent": AGENT},
    "pydantic_ai": {
        "agent": AGENT, "streamed agent": AGENT, "structured by tool": NESTED, "structured by schema": NESTED,
        "structured by prompt": NESTED,
    },
    "langchain": {
        "whole": PROSE, "streamed": PROSE, "agent": AGENT, "structured by tool": NESTED, "structured by schema": NESTED,
    },
    "instructor": {
        "structured by tool": NESTED, "structured by schema": NESTED, "structured by prompt": NESTED,
        "structured by strict tool": NESTED, "structured in Markdown": NESTED, "structured in parallel": NESTED,
    },
    "llm": {"whole": PROSE, "streamed": PROSE, "agent": AGENT, "structured": TRIP},
    "inspect": {"agent": AGENT},
}  # fmt: skip
"""What each client's program comes to."""
TEXTS = {
    "bad key": "The API key is not valid or was revoked",
    "unknown model": "Model not found",
    "used-up allowance": "Your allowance is used up",
    "no slot": "requests in flight of your account are limited to 1",
    "time-out": "the model server did not answer within 1 s",
    "outage": "the model server (is down|cannot be reached)",
    "rate limit": "the model server (is over its rate limit|answered with status 429)",
}
"""What a person is to read of each refusal, whichever client they use."""
BY_STATUS = ("AuthenticationError", "NotFoundError", "RateLimitError", "RateLimitError", "InternalServerError",
             "InternalServerError", "RateLimitError")  # fmt: skip
CLASSES: dict[str, tuple[str, ...]] = {
    "openai": BY_STATUS,
    "node": BY_STATUS,
    "llm": BY_STATUS,
    "langchain": (
        "OpenAIAuthenticationError", "OpenAIModelNotFoundError", "OpenAIRateLimitError", "OpenAIRateLimitError",
        "OpenAIAPIError", "OpenAIAPIError", "OpenAIRateLimitError",
    ),
    "pydantic_ai": ("ModelHTTPError",) * 7,
    "instructor": ("InstructorRetryException",) * 7,
    "inspect": ("SampleError",) * 7,
}  # fmt: skip
"""The exception that a user of each client expects, in the order of TEXTS."""
SICK: list[dict[str, Any]] = [
    {"id": "down", "unavailable": True},
    {"id": "hangs", "faults": [{"kind": "hang"}], "limit_s": 1},
    {"id": "limited", "faults": [{"status": 429}]},
]
HELD = {"id": "held", "faults": [{"kind": "hang"}], "limit_s": 600}
ACCOUNTS = [{"name": "lab"}, {"name": "spent", "allowance_units": 0}, {"name": "crowded", "max_in_flight": 1}]


def simulated(_: ExitStack) -> list[dict[str, Any]]:
    return [{"id": "prose"}, {"id": "tools", "simulated": "answers", "calls_tools": True}, *SICK]


def forwarded(stack: ExitStack) -> list[dict[str, Any]]:
    """Routes to another platform, to one that hangs, and to nothing."""
    behind = stack.enter_context(ThreadedServer(platform_of(*simulated(stack)[:2], HELD, SICK[2])))
    stack.enter_context(pytest.MonkeyPatch.context()).setenv("BEHIND_KEY", behind.key)

    def to(name: str, model: str, url: str = f"{behind.base_url}/api", **fields: Any) -> dict[str, Any]:
        return {"id": name, "base_url": url, "upstream": model, "secret_env": "BEHIND_KEY", **fields}

    healthy = [to("prose", "prose"), to("tools", "tools")]
    return [
        *healthy,
        to("down", "m", "http://127.0.0.1:9/v1"),
        to("hangs", "held", limit_s=1),
        to("limited", "limited"),
    ]


@pytest.fixture(scope="module", params=[simulated, forwarded])
def surroundings(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """What a client's program is told: where the platform is, its key, and how to be refused."""
    state = State()
    with ExitStack() as stack:
        config = platform_of(*request.param(stack), HELD, accounts=ACCOUNTS)
        server = stack.enter_context(ThreadedServer(config, state))
        crowded = state.create_key("crowded")
        stack.enter_context(one_in_flight(server, crowded))
        given = {name: ("prose", server.key) for name in TEXTS} | {
            "bad key": ("prose", "sk-no"), "unknown model": ("nothing", server.key), "no slot": ("prose", crowded),
            "used-up allowance": ("prose", state.create_key("spent")), "time-out": ("hangs", server.key),
            "outage": ("down", server.key), "rate limit": ("limited", server.key),
        }  # fmt: skip
        refused = {name: {"model": model, "key": key} for name, (model, key) in given.items()}
        yield {"PLATFORM_URL": f"{server.base_url}/api", "PLATFORM_KEY": server.key, "REFUSED": json.dumps(refused)}


@contextmanager
def one_in_flight(server: ThreadedServer, key: str) -> Iterator[None]:
    """A request that takes the account's only slot, until its caller leaves."""
    body = json.dumps({"model": "held", "messages": [{"role": "user", "content": "Hello"}]})
    head = f"POST /api/chat/completions HTTP/1.1\r\nHost: platform\r\nAuthorization: Bearer {key}\r\n"
    url = urlsplit(server.base_url)
    with socket.create_connection((url.hostname, url.port)) as caller:
        caller.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        until(lambda: server.platform.statistics.in_flight)
        yield


def installed(request: pytest.FixtureRequest, files: str, install: Callable[[Path], None]) -> Path:
    """A folder of what those files ask for; made once."""
    folder = Path(request.config.cache.mkdir(f"clients-{hashlib.sha256(files.encode()).hexdigest()[:12]}"))
    if not (folder / "done").exists():
        install(folder)
        (folder / "done").touch()
    return folder


def command(request: pytest.FixtureRequest, client: str) -> list[str]:
    """The command that runs a client's program, in its environment."""
    if client == "node":
        if shutil.which("npm") is None:
            pytest.skip("there is no npm")

        def by_npm(folder: Path) -> None:
            subprocess.run(["npm", "install", "--silent", "--prefix", folder, NODE_PACKAGE], check=True, timeout=600)

        program = installed(request, NODE_PACKAGE, by_npm) / "node_client.mjs"
        shutil.copy(HERE / program.name, program)  # it looks for its packages beside itself
        return ["node", str(program)]
    pinned = HERE / ("requirements-inspect.txt" if client == "inspect" else "requirements.txt")

    def by_pip(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [str(folder / "bin" / "pip"), "install", "-q", "--no-deps", "-r", str(pinned)]
        subprocess.run(pip, check=True, timeout=900)

    python = installed(request, pinned.read_text("utf-8"), by_pip) / "bin" / "python"
    return [str(python), "-m", f"tests.clients.{client}_client"]


@pytest.mark.parametrize("client", CASES)
def test_a_client(client: str, surroundings: dict[str, str], request: pytest.FixtureRequest) -> None:
    done = subprocess.run(
        command(request, client), env=os.environ | surroundings, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["cases"] == CASES[client]
    found = told["refusals"]
    assert {name: kind for name, (kind, _) in found.items()} == dict(zip(TEXTS, CLASSES[client], strict=True))
    for name, text in TEXTS.items():
        assert re.search(text, found[name][1]), name
