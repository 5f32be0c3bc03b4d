"""What a scorer judges."""

from collections.abc import Sequence
from typing import NamedTuple

from workbench.records.calls import ToolCall


class Given(NamedTuple):
    """One answer, with what is known of how it came about; None is unknown."""

    text: str
    calls: Sequence[ToolCall] = ()
    """The tools that it calls, in its order."""
    latency_ms: float | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    requested_model: str | None = None
    served_model: str | None = None
    refused: bool = False
    """Whether it is a refusal, by the API's field or reason; its words are the text."""
