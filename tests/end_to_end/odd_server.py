"""A server of replies that nobody planned, chosen by the first word of the prompt; in a thread of the test."""

import asyncio
import json
import threading
import time
from types import TracebackType
from typing import Any

from aiohttp import web

from tests.conftest import Workbench, job

WAITS_S = {"hang": 600, "slow": 1.2, "expired": 0.5}
USED = {"greedy": (10, 4990, 5000), "bigtokens": (2**63 + 1,) * 3}
BUSY_S = {"later": 1.5, "minute": 60, "tomorrow": 86400, "epoch": 1_763_755_200_000, "forever": 1e300}
SAID: dict[str, tuple[dict[str, Any], str]] = {
    "empty": ({"content": ""}, "stop"),
    "refused": ({"content": None, "refusal": "I can't help with that."}, "stop"),
    "filtered": ({"content": "The answ"}, "content_filter"),
    "spent": ({"content": None, "reasoning_content": "Let me see"}, "length"),
    "novel": ({"content": "The answer is 4."}, "flow_stop"),
    "nul": ({"content": "4 \x00 and \x1b[31m"}, "stop"),
    "long": ({"content": "x" * 60_000_000}, "stop"),
}
REFUSED = {"bad": 400, "doubtful": 401, "away": 401}
KEY = "sk-0123456789abcdef0123456789abcdef"

BROTLI = bytes(range(256))
"""What stands for an answer that nothing here unpacks."""


def _fixed(word: str) -> web.Response | None:
    """The same reply each time, where a word has one."""
    if word in REFUSED:
        return web.json_response({"detail": "the request is of no use"}, status=REFUSED[word])
    if word == "moved":
        return web.Response(status=307, headers={"Location": "https://new.example.org/api/chat/completions"})
    if word == "brotli":
        return web.Response(body=BROTLI, headers={"Content-Encoding": "br"}, content_type="application/json")
    return None


def _spelled(word: str, text: str) -> str:
    """The JSON of an answer as it is spelled."""
    if word == "half":
        return text.replace("The answer is 4.", "Half \\ud83d of a pair.")
    if word == "escaped":
        return text.replace(KEY, KEY.replace("0", "\\u0030").replace("-", "\\u002D"))
    return text


class OddServer:
    """`GET /api/models` lists the model `m` and echoes the key; a prompt's first word says how it is answered."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.arrived_at: list[float] = []
        """Of each request, in s of the steady clock."""
        self.lists = 0
        self.key_is_good = True
        self.lists_models = True
        self.held_list = 0
        """Which question for the model list, counted from 1, is not answered before `let_go`."""
        self._let_go = asyncio.Event()
        self.base_url = ""
        self.key = KEY
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def let_go(self) -> None:
        """Answer the question for the list, and the prompts `held`, that were held back."""
        self._loop.call_soon_threadsafe(self._let_go.set)

    async def _models(self, request: web.Request) -> web.Response:
        self.lists += 1
        if self.lists == self.held_list:
            await self._let_go.wait()
        if not self.key_is_good:
            return web.json_response({"detail": "Not authenticated"}, status=401)
        models = [{"id": "m", "note": request.headers["Authorization"]}] if self.lists_models else []
        return web.json_response({"data": models})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        prompt = (await request.json())["messages"][-1]["content"]
        self.requests.append(prompt)
        self.arrived_at.append(time.monotonic())
        word = prompt.split()[0]
        message: dict[str, Any] | None
        message, finish = SAID.get(word, ({"content": f"The answer is 4. {KEY}"}, "stop"))
        prompt_tokens, completion_tokens, total_tokens = USED.get(word, (1, 1, 2))
        usage: dict[str, Any] = {
            "prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": total_tokens,
        }  # fmt: skip
        headers = {}
        if self.arrived_at[-1] - self.arrived_at[0] < BUSY_S.get(word, 0):
            headers["Retry-After"] = str(BUSY_S[word])
            return web.json_response({"error": {"message": "slow"}}, status=429, headers=headers)
        self.lists_models = word != "away"
        if (fixed := _fixed(word)) is not None:
            return fixed
        await (self._let_go.wait() if word == "held" else asyncio.sleep(WAITS_S.get(word, 0)))
        match word:
            case "retry" | "always":
                headers["Retry-After"] = "1" if word == "always" else "Mon, 01 Jan 2024 00:00:00 +9999999999999999"
                return web.Response(status=429, headers=headers, text=json.dumps({"error": {"message": "slow"}}))
            case "flip" if self.requests.count(prompt) == 1:
                message = {"content": ""}
            case "flip" if self.requests.count(prompt) == 2:
                return web.json_response({"error": {"message": "down"}}, status=503)
            case "broken" if self.requests.count(prompt) == 1:
                message, finish = {"content": "The answ"}, "error"
            case "expired":
                self.key_is_good = False
                return web.json_response({"detail": "\x1b[31mThe key is gone\x07"}, status=401)
            case "strange":
                usage = {"total_tokens": [1], "completion_tokens_details": "no"}
                message = {"content": 4, "tool_calls": {"a": 1}, "reasoning_content": ["r"]}
            case "numbered":
                message, usage = None, {"prompt_tokens": 30, "completion_tokens": 12}
        choice = {"index": 0, "finish_reason": finish, "message": message}
        answer = {"model": "m", "choices": [choice], "usage": usage}
        text = _spelled(word, json.dumps(answer))
        return web.Response(text=text, content_type="application/json", headers=headers)

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_get("/api/models", self._models)
        app.router.add_post("/api/chat/completions", self._complete)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _stop(self) -> None:
        await self._runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def __enter__(self) -> "OddServer":
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


BY_THE_RUN = ("to_judge", "report", "failed_routes")  # the ledger does not know them


def prompts(bench: Workbench, *texts: str, more: str = "") -> None:
    bench.write("d.jsonl", "".join(json.dumps({"input": text, "target": 4}) + "\n" for text in texts))
    bench.write("job.toml", job("m", dataset="d.jsonl") + more)


def run(bench: Workbench, code: int = 0) -> dict[str, Any]:
    result: dict[str, Any] = bench.json("run", "job.toml", "--no-report", code=code)
    assert result["planned"] == result["reused"] + result["completed"] + result["failed"] + result["pending"]
    shown = bench.json("show", result["run_id"])
    assert {name: shown[name] for name in result if name not in BY_THE_RUN} == {
        name: result[name] for name in result if name not in BY_THE_RUN
    }
    return result
