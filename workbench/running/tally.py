"""The numbers of a run as its own process counts them; they equal the query `run_summary`."""

from collections import Counter
from typing import NamedTuple

from workbench.records.calls import CallRecord, Usage
from workbench.records.endings import TokenSums
from workbench.records.outcomes import EFFECTS, Outcome


class AttemptEnd(NamedTuple):
    """A call that ended, within the history of its request."""

    record: CallRecord
    attempt: int
    will_go_on: bool
    """Whether the request is to be sent again in this run."""


class Tally:
    """Counts acknowledged calls.

    Args:
        reused: Those of them that had an answer before it began.
        failed_before: Those that had failed before it began, in a way that no rerun changes.
    """

    def __init__(self, planned: int, reused: int, failed_before: int) -> None:
        self.planned, self.reused, self.failed_before = planned, reused, failed_before
        self.completed = 0
        self.retryable = 0
        """Failed requests that a rerun sends again."""
        self._failed = 0
        self.waiting = 0
        """Failed requests that were to be sent again in this run, and were not yet."""
        self.outcomes: Counter[Outcome] = Counter()
        self.served: Counter[str] = Counter()
        self.calls_without_usage = 0
        self.nothing_sent = False
        """Whether the run ended without sending anything: then it drew nothing, and its tokens are a known 0."""
        self._tokens: dict[str, int | None] = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"))

    @property
    def failed(self) -> int:
        """Requests that ended without acceptance, also where they are to be sent again, or ended before the run began."""
        return self.failed_before + self._failed + self.waiting

    @property
    def cancelled(self) -> int:
        """Calls that we cancelled ourselves."""
        return sum(calls for outcome, calls in self.outcomes.items() if not EFFECTS[outcome].concluded)

    @property
    def pending(self) -> int:
        """Requests never sent, or cut off."""
        return self.planned - self.reused - self.completed - self.failed

    @property
    def total_tokens(self) -> int | None:
        """As reported; None while nothing was."""
        return self._tokens["total_tokens"]

    def count(self, ended: AttemptEnd) -> None:
        """Take in one call whose record is durable."""
        record = ended.record
        attempt = record.attempt
        self.outcomes[attempt.outcome] += 1
        self.completed += attempt.accepted
        self.waiting -= ended.attempt > 1
        if ended.will_go_on:
            self.waiting += 1
        elif not attempt.accepted and (EFFECTS[attempt.outcome].concluded or ended.attempt > 1):
            self._failed += 1
            self.retryable += attempt.rerun
        usage = record.completion.usage if record.completion else Usage()
        for name in self._tokens:
            if (tokens := getattr(usage, name)) is not None:
                self._tokens[name] = (self._tokens[name] or 0) + tokens
        if attempt.drew == "yes":
            self.calls_without_usage += usage.total_tokens is None
            self.served[(record.completion.served_model if record.completion else None) or "unknown"] += 1

    def usage(self) -> TokenSums:
        """Return the tokens of all calls."""
        tokens = dict.fromkeys(self._tokens, 0) if self.nothing_sent else self._tokens
        return TokenSums(**tokens, calls_without_usage=self.calls_without_usage)
