"""The numbers of a run as its own process counts them; they equal the query `run_summary`."""

from collections import Counter
from typing import Any

from workbench.records import CallRecord, Outcome, Usage


class Tally:
    """Counts acknowledged calls.

    Args:
        planned: Requests of the run.
        reused: Those of them that had an answer before it began.
    """

    def __init__(self, planned: int, reused: int) -> None:
        self.planned, self.reused = planned, reused
        self.completed = 0
        self.failed = 0
        self.mendable = 0
        """Failed calls that a rerun sends again."""
        self.outcomes: Counter[str] = Counter()
        self.served: Counter[str] = Counter()
        self.calls_without_usage = 0
        self._tokens: dict[str, int | None] = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"))

    @property
    def pending(self) -> int:
        """Requests never sent, or cut off."""
        return self.planned - self.reused - self.completed - self.failed

    @property
    def total_tokens(self) -> int | None:
        """As reported; None while nothing was."""
        return self._tokens["total_tokens"]

    def count(self, record: CallRecord) -> None:
        """Take in one call whose record is durable."""
        attempt = record.attempt
        self.outcomes[attempt.outcome] += 1
        self.completed += attempt.accepted
        if not attempt.accepted and attempt.outcome is not Outcome.CANCELLED:
            self.failed += 1
            self.mendable += attempt.rerun
        usage = record.completion.usage if record.completion else Usage()
        for name in self._tokens:
            if (tokens := getattr(usage, name)) is not None:
                self._tokens[name] = (self._tokens[name] or 0) + tokens
        if attempt.drew == "yes":
            self.calls_without_usage += usage.total_tokens is None
            self.served[(record.completion.served_model if record.completion else None) or "unknown"] += 1

    def numbers(self) -> dict[str, Any]:
        """The part of the object of `run --json` that is counted: `planned = reused + completed + failed + pending`."""
        names = ("planned", "reused", "completed", "failed", "pending")
        return {
            **{name: getattr(self, name) for name in names},
            "outcomes": dict(self.outcomes),
            "usage": {**self._tokens, "calls_without_usage": self.calls_without_usage},
            "served_models": dict(self.served),
        }
