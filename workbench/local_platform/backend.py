"""What a route's model server is to the gateway, and how it can fail."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple, Protocol

from workbench.local_platform.calls import Call
from workbench.local_platform.config import Route

CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    408: "Timeout",
    429: "RateLimitError",
    500: "InternalServerError",
    502: "BadGatewayError",
    503: "ServiceUnavailableError",
}
"""The names under which a gateway of the kind was seen to tell of failures."""
_PASSING = frozenset({408, 429})


class Failure(Exception):
    """A route did not answer.

    Args:
        status: What the failure comes to as an HTTP status.
        text: What happened, for people.
        drew: False where the request certainly drew nothing; None where nobody knows.
    """

    def __init__(
        self, status: int, text: str, *, drew: bool | None = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(text)
        self.status, self.text, self.drew, self.retry_after_s = status, text, drew, retry_after_s

    @property
    def may_pass(self) -> bool:
        """Whether the gateway tries again."""
        return self.status >= 500 or self.status in _PASSING


class Usage(NamedTuple):
    """What a route reported that it drew, in tokens."""

    prompt: int
    completion: int
    total: int


class Backend(Protocol):
    """The model servers of one kind."""

    async def complete(self, route: Route, call: Call, attempt: int) -> dict[str, Any]:
        """One chat completion as the model server gives it.

        Args:
            route: Which one is asked.
            call: What for.
            attempt: How many attempts of this call on this route came before.

        Raises:
            Failure: It gives none.
        """
        ...

    def stream(self, route: Route, call: Call, attempt: int) -> AsyncIterator[dict[str, Any]]:
        """The same in chunks, the last one with `usage` where the server reports it.

        Raises:
            Failure: Before the first chunk, or where it breaks off between two.
        """
        ...

    async def close(self) -> None:
        """Let every connection go."""
        ...


def first_choice(answer: dict[str, Any]) -> dict[str, Any]:
    """The first choice of a completion or a chunk; empty where there is none."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def usage_of(answer: dict[str, Any]) -> Usage | None:
    """The usage that a completion or a chunk reports, under the names in use; None where it reports none."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    completion = _count(usage, "completion_tokens", "output_tokens")
    if prompt is None or completion is None:
        return None
    total = _count(usage, "total_tokens")
    return Usage(prompt, completion, prompt + completion if total is None else total)


def _count(usage: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
            return value
    return None
