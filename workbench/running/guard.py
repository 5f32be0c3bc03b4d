"""What stops a run before its end: a budget, a deadline, too many failures, or an allowance that seems to be used up."""

import math
import re

from workbench.display.text import count
from workbench.job.file import BudgetTable, RunTable
from workbench.planning.models import GATEWAY_ATTEMPTS, reserve_of
from workbench.records.calls import CallRecord, ChatRequest, Usage
from workbench.records.outcomes import EFFECTS
from workbench.running.caps import Caps
from workbench.running.spending import Spending

_FAILURES_JUDGED = 20
"""Requests that must have ended before their share of failures says anything."""
_REFUSED_ALIKE = 8
"""Refusals in a row, over routes that answered before, that suggest an exhausted allowance."""


class Guard:
    """Reserves what a request may draw before it is sent, and settles it to what was reported.

    Args:
        rules: The share of failures that is too much.
    """

    def __init__(self, budget: BudgetTable, rules: RunTable, caps: Caps) -> None:
        self._caps = caps
        self.may_retry_later = False
        """Whether the request refused last may yet be sent, as other runs settle what they have reserved."""
        self._requests, self._tokens = budget.requests, budget.total_tokens
        self._most_failed = rules.max_failed_share
        self._sent = self._ended = self._failed = 0
        self._drawn = self._reserved = 0
        self._held: dict[str, tuple[int, Spending]] = {}  # what is reserved, by request key
        self._overrun = 1.0  # the largest share of its reserve that a call used
        self._answering: set[str] = set()
        self._refusal = ""
        self._refused: list[str] = []  # by which models, in a row, with the same words

    def reserve(self, request: ChatRequest, max_tokens: int | None) -> str | None:
        """Reserve for one request about to be sent; return why it may not be sent, if the budget has no room for it.

        The reserve is an upper bound: a token of the prompt is at least one byte, and an answer is capped. Where a route
        uses more all the same, later reserves are larger by the largest such overrun.
        """
        self.may_retry_later = False
        if used_up := self.used_up():
            return used_up
        needed = math.ceil(reserve_of(len(request.body), max_tokens) * self._overrun)
        if self._tokens is not None and self._drawn + self._reserved + needed > self._tokens:
            held = f", {self._reserved} reserved" if self._reserved else ""
            return f"the budget of {self._tokens} tokens has no room for {needed} more ({self._drawn} used{held})"
        amount = self._caps.amount(request.model, len(request.body), max_tokens, needed, self._overrun)
        if full := self._caps.reserve(amount):
            self.may_retry_later = full.passes
            return full.reason
        self._sent += 1
        self._reserved += needed
        self._held[request.request_key] = needed, amount
        return None

    def used_up(self) -> str | None:
        """Return why nothing more may be sent, whatever comes back; None where something may."""
        if self._requests is None or self._sent < self._requests:
            return None
        return f"the budget of {self._requests} requests is used up"

    @property
    def counted_tokens(self) -> int:
        """What the calls that ended count for in the budget: as reported, and of those that reported nothing their reserve, as
        often as the gateway may have tried.
        """
        return self._drawn

    @property
    def has_reserves(self) -> bool:
        """Whether calls in flight may still turn out cheaper than reserved."""
        return self._reserved > 0

    def settle(self, record: CallRecord, max_tokens: int | None) -> str | None:
        """Record how a call ended; return why the run should stop, if it should."""
        attempt = record.attempt
        needed, amount = self._held.pop(record.request.request_key)
        self._reserved -= needed
        usage = record.completion.usage if record.completion else Usage()
        tries = {"no": 0, "yes": 1, "maybe": GATEWAY_ATTEMPTS}[attempt.drew]
        self._caps.settle(record.request.model, amount, usage, tries=tries)
        if usage.total_tokens is not None:
            self._drawn += usage.total_tokens
            self._overrun = max(self._overrun, usage.total_tokens / reserve_of(len(record.request.body), max_tokens))
        else:  # the reserve counts instead, as often as the gateway may have tried
            self._drawn += needed * tries
        self._ended += 1
        self._failed += not attempt.accepted
        match EFFECTS[attempt.outcome].stops:
            case "allowance":
                return "the platform says that the allowance is used up"
            case "reserved":
                return "what is left of the allowance is reserved for people"
            case _:
                pass
        if self._all_refuse(record):
            return (
                f"the last {len(self._refused)} calls, on {len(set(self._refused))} routes that answered before, were "
                f"refused with the same text (HTTP {attempt.http_status}): the allowance may be used up"
            )
        share = self._failed / self._ended
        if self._most_failed is not None and self._ended >= _FAILURES_JUDGED and share > self._most_failed:
            return f"{share:.0%} of {self._ended} calls failed, more than run.max_failed_share allows"
        return None

    def _all_refuse(self, record: CallRecord) -> bool:
        """Return whether several routes suddenly refuse everything in the same words, whatever these say."""
        attempt, model = record.attempt, record.request.model
        if attempt.accepted:
            self._answering.add(model)
        refusal = ""
        if EFFECTS[attempt.outcome].exhausted:
            words = re.sub(rf"(?<!\w){re.escape(model)}(?!\w)", "", attempt.error_text or "")
            refusal = f"{attempt.http_status} {words}"
        if refusal and model not in self._answering:
            return False  # it may never have been allowed
        if refusal != self._refusal:
            self._refusal = refusal
            self._refused.clear()
        if refusal:
            self._refused.append(model)
        return len(self._refused) >= _REFUSED_ALIKE and len(set(self._refused)) > 1

    def overrun(self) -> str | None:
        """By how much the budget and the caps were overrun, where a route drew more than its cap."""
        parts = [self._caps.overrun()]
        if self._tokens is not None and self._drawn > self._tokens:
            parts.insert(0, f"the budget of {self._tokens} tokens was exceeded by {self._drawn - self._tokens}")
        return "; ".join(filter(None, parts)) or None

    def nearest_limit_text(self) -> str | None:
        """Return how much is used of the budget or the cap that is nearest to its end; None without any."""
        shares = [nearest] if (nearest := self._caps.nearest()) else []
        if self._tokens is not None:
            shares.append((self._drawn / self._tokens, f"{count(self._tokens)} tokens of this run"))
        share, words = max(shares, default=(0.0, ""))
        return f"{share:.0%} of {words}" if words else None
