"""What a route's model server is to the gateway, and how it can fail."""

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple, Protocol

from workbench.local_platform.calls import Call
from workbench.local_platform.config import Route

_PASSING = frozenset({408, 429})
_CALLERS = frozenset({400, 413, 422})
UNREACHABLE = 0
"""In place of a status: a server that cannot be reached or breaks off; its status is a choice."""


class Usage(NamedTuple):
    """What a route reported that it drew, in tokens."""

    prompt: int
    completion: int
    total: int

    @property
    def is_known(self) -> bool:
        """Whether it reports any usage; servers that count nothing were seen to send zeros."""
        return self.total > 0


class Failure(Exception):
    """A route did not answer.

    Args:
        status: What the failure comes to as an HTTP status; UNREACHABLE where no server said one.
        text: What happened, in our words.
        said: The model server's words. They may name keys, hosts and other models: they are for a caller only
            where the request is at fault.
        drew: False if the request certainly used nothing; None if unknown.
        retry_after_s: When to ask again, where that is known.
        usage: What the model server reported all the same.
    """

    is_final = False
    """Whether the same request would fail again, whatever the status says."""

    def __init__(
        self,
        status: int,
        text: str,
        *,
        said: str = "",
        drew: bool | None = False,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(text)
        self.status, self.text, self.said = status, text, said
        self.drew, self.retry_after_s, self.usage = drew, retry_after_s, usage

    @property
    def may_pass(self) -> bool:
        """Whether the gateway tries again."""
        passes = self.status >= 500 or self.status in _PASSING or self.status == UNREACHABLE
        return passes and not self.is_final

    @property
    def is_the_callers(self) -> bool:
        """Whether the request itself is at fault, so that no other route is to be asked."""
        return self.status in _CALLERS


class Misdirected(Failure):
    """A route's address leads elsewhere: nothing was generated, and asking again changes nothing."""

    is_final = True


class CoolingDown(Failure):
    """A route was not asked: it failed a moment ago.

    Args:
        wait_s: When it may be asked again.
    """

    def __init__(self, wait_s: float) -> None:
        super().__init__(429, f"cooling down after a failure, for {wait_s:.0f} s more", retry_after_s=wait_s)


class Backend(Protocol):
    """The model servers of one kind."""

    async def complete(self, route: Route, call: Call, attempt: int) -> dict[str, Any]:
        """Return one chat completion as the model server gives it.

        Args:
            attempt: How many attempts of this call on this route came before.

        Raises:
            Failure: It gives none.
        """
        ...

    def stream(self, route: Route, call: Call, attempt: int) -> AsyncGenerator[dict[str, Any]]:
        """Return the same in chunks, the last one with `usage` where the server reports it.

        Raises:
            Failure: Before the first chunk, or where it breaks off between two.
        """
        ...


def choices_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the choices of a completion or a chunk, as far as they are objects."""
    choices = answer.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def finishes(chunk: dict[str, Any]) -> bool:
    """Return whether a chunk ends an answer."""
    return any(choice.get("finish_reason") is not None for choice in choices_of(chunk))


def generated_chars(answer: dict[str, Any]) -> int:
    """Return how many characters of text, thinking and arguments a completion or a chunk brings."""
    count = 0
    for choice in choices_of(answer):
        said = choice.get("message") or choice.get("delta")
        count += _chars_in(said) if isinstance(said, dict) else 0
    return count


def _chars_in(said: dict[str, Any]) -> int:
    count = sum(len(said[name]) for name in ("content", "reasoning_content") if isinstance(said.get(name), str))
    calls = said.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        count += len(arguments) if isinstance(arguments, str) else 0
    return count


def usage_of(answer: dict[str, Any]) -> Usage | None:
    """Return the usage that a completion or a chunk reports, under the names in use; None where it reports none."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    completion = _count(usage, "completion_tokens", "output_tokens")
    if prompt is None or completion is None:
        return None
    return Usage(prompt, completion, _count(usage, "total_tokens") or prompt + completion)


def _count(usage: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, float) and value.is_integer():  # as some servers write them
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
            return value
    return None
