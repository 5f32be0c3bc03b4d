"""What a scorer judges."""

from collections.abc import Sequence
from typing import NamedTuple

from workbench.records import ToolCall


class Given(NamedTuple):
    """One answer."""

    text: str
    calls: Sequence[ToolCall] = ()
    """The tools that it calls, in its order."""
