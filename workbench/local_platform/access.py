"""The access log: one JSON object a line, with neither keys nor prompts."""

import contextlib
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TextIO

import msgspec
from aiohttp import web

from workbench.local_platform.calls import Course

_SHOWN_CHARS = 200
_LIKE_A_KEY = re.compile(r"sk-[\w-]+")


@dataclass
class Access:
    """One request, as it is logged."""

    request_id: str
    method: str
    path: str
    status: int = 0
    account: str | None = None
    model: str | None = None
    """Only one that the account sees: what else stands in a request is not logged."""
    route: str | None = None
    """Which route answered."""
    streamed: bool = False
    error: str | None = None
    """Why there is no answer, or not all of one, in our words: a model server's may repeat the prompt."""
    course: Course = field(default_factory=Course)
    began_s: float = field(default_factory=time.perf_counter)


ACCESS = web.RequestKey("access", Access)


class AccessLog:
    """Writes a line for every request that is HTTP."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, access: Access) -> None:
        """Log a request that ended."""
        line = {
            "at": datetime.now(UTC),
            "request_id": access.request_id,
            "method": access.method,
            "path": _LIKE_A_KEY.sub("sk-…", access.path)[:_SHOWN_CHARS],
            "status": access.status,
            "account": access.account,
            "model": access.model,
            "route": access.route,
            "streamed": access.streamed,
            "attempts": access.course.attempts,
            "tokens": access.course.tokens,
            "fallback_because": access.course.failure and access.course.failure[:_SHOWN_CHARS],
            "error": access.error,
            "duration_ms": round((time.perf_counter() - access.began_s) * 1000, 2),
        }
        with contextlib.suppress(OSError, ValueError):  # a broken log must not cost an answer
            self._stream.write(msgspec.json.encode(line).decode() + "\n")
            self._stream.flush()
