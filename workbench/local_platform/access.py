"""The access log: one JSON object a line, with neither keys nor prompts."""

import contextlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TextIO

import msgspec


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
    """A stream that broke off, or a fault of the platform's own."""
    began_s: float = field(default_factory=time.perf_counter)


class AccessLog:
    """Writes a line for every request that is HTTP.

    Args:
        stream: Where to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, access: Access) -> None:
        """Log a request that ended."""
        line = {
            "at": datetime.now(UTC),
            "request_id": access.request_id,
            "method": access.method,
            "path": access.path[:200],
            "status": access.status,
            "account": access.account,
            "model": access.model,
            "route": access.route,
            "streamed": access.streamed,
            "error": access.error,
            "duration_ms": round((time.perf_counter() - access.began_s) * 1000, 2),
        }
        with contextlib.suppress(OSError, ValueError):  # a broken log must not cost an answer
            self._stream.write(msgspec.json.encode(line).decode() + "\n")
            self._stream.flush()
