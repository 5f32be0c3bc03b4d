"""What several runs may use together: reserved before a request is sent, whoever sends it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

import msgspec

import workbench.settings.clock as clock
from workbench.display.text import count, significant
from workbench.errors import UnreachableError
from workbench.records.calls import Usage
from workbench.records.endings import JUDGED_JOB
from workbench.running.spending import ROUNDING, Spender, Spending

Kind = Literal["requests", "tokens", "units"]
_LOCKED = (
    "the lock with which runs share their caps cannot be taken: another process holds it, or its server does not answer"
)


class SharesSpending(Protocol):
    """This run among the others that count for the same caps."""

    def counted(self) -> set[str]:
        """Return the ids of the runs whose own word counts, this one's included: the ledger need not be asked of them."""

    def others(self) -> AbstractContextManager[dict[str, Spender] | None]:
        """Return what others have spent, by run id, and who spends no more before the block ends;
        None where that is not known.
        """

    def write(self) -> None:
        """Say what this run has used and reserved."""


def counts_for(capped_job: str | None, capped_tags: dict[str, str], job: str, tags: dict[str, str]) -> bool:
    """Return whether a cap of a job (None: of all) and of tags counts a run, or one that judges that job's answers."""
    return capped_job in (None, job, tags.get(JUDGED_JOB)) and capped_tags.items() <= tags.items()


class Cap(msgspec.Struct, frozen=True):
    """How much may be used in a window, by whom."""

    words: str
    """It, as messages name it: `200 000 units a day of job 'nightly'`."""
    kind: Kind
    most: float
    used: float = 0.0
    """In the window, by runs that are over."""
    unbounded_calls: int = 0
    """Of these runs' calls, those that reported no usage and had no `max_tokens`: they may have used any amount more."""
    job: str | None = None
    """Whose runs count; None: everybody's."""
    tags: dict[str, str] = {}
    alone: bool = False
    """Only this run counts."""
    starts_at: datetime | None = None
    """When the window began; None: with the run."""
    ends_at: datetime | None = None
    """When it ends; None: not while the run lasts."""
    next_end: Callable[[datetime], datetime] | None = None
    """The end of the window that a moment is in."""

    def amount_text(self, amount: float) -> str:
        """Return an amount that counts for it; requests and tokens are whole."""
        return significant(amount) if self.kind == "units" else count(round(amount))

    def counts(self, job: str, tags: dict[str, str]) -> bool:
        """Return whether a run of a job with these tags counts."""
        return counts_for(self.job, self.tags, job, tags)

    def spent_by(self, runs: Sequence[Spender]) -> tuple[float, float]:
        """Return what some runs have used in the window, and what they have reserved."""
        start = 0.0 if self.starts_at is None else self.starts_at.timestamp()
        counted = [run for run in runs if self.counts(run.job, run.tags)]
        used: float = sum(getattr(run.since(start), self.kind) for run in counted)
        return used, sum(getattr(run.reserved, self.kind) for run in counted)


class Price(NamedTuple):
    """What calls draw, in units; of a model without a weight nothing is asked."""

    most: Callable[[str, int, int], float]
    """By model, bytes of the request and cap on generated tokens: at most."""
    of: Callable[[str, Usage], float | None]
    """By model and usage; None where that does not tell."""


class Refusal(NamedTuple):
    """Why a request may not be sent now."""

    reason: str
    passes: bool = False
    """Whether it may yet: what is in the way is only reserved by other runs, or their lock."""


class Caps:
    """The caps that hold for a run, with what is used and reserved of each.

    Args:
        caps: With what was used before.
        shared: With whom they are shared; None: only this run counts.
    """

    def __init__(
        self,
        caps: Sequence[Cap] = (),
        price: Price | None = None,
        own: Spender | None = None,
        shared: SharesSpending | None = None,
    ) -> None:
        self._caps, self._price, self._shared = list(caps), price, shared
        self._own = Spender("", {}) if own is None else own
        self._others: list[Spender] = []

    def amount(self, model: str, body_bytes: int, cap: int | None, tokens: float, overrun: float) -> Spending:
        """Return what a request may use: one, so many tokens, and what these draw at most.

        Args:
            cap: On generated tokens.
            tokens: That may be used.
            overrun: How many times what was reserved a call has used, at most.
        """
        units = 0.0 if self._price is None else overrun * self._price.most(model, body_bytes, cap or 0)
        return Spending(1.0, tokens, units)

    def reserve(self, amount: Spending) -> Refusal | None:
        """Reserve for a request, or say which cap has no room for it."""
        if not self._caps:
            return None
        if self._shared is None:
            return self._reserved_of(amount)
        full: Refusal | None = Refusal(_LOCKED, passes=True)
        try:
            with self._shared.others() as others:
                if others is not None:
                    self._others = list(others.values())
                    full = self._reserved_of(amount)
                    if full is None:
                        self._shared.write()
        except UnreachableError:  # it may be on record all the same, until the next request says what is
            if full is None:
                self._own.reserved = self._own.reserved.minus(amount)
            return Refusal(_LOCKED, passes=True)
        return full

    def settle(self, model: str, reserved: Spending, usage: Usage, *, tries: int) -> None:
        """Count what a call used in place of what was reserved for it.

        Args:
            tries: How often what was reserved may have been used, where it reported nothing; 0: never.
        """
        if not self._caps:
            return
        spent = reserved.times(tries)._replace(requests=1.0)
        if usage.total_tokens is not None:
            units = None if self._price is None else self._price.of(model, usage)
            spent = Spending(1.0, usage.total_tokens, reserved.units if units is None else units)
        self._own.reserved = self._own.reserved.minus(reserved)
        self._own.draw(spent, clock.now().timestamp())
        if self._shared is not None:
            self._shared.write()

    def overrun(self) -> str | None:
        """By how much caps were exceeded, where routes used more than was reserved for them."""
        over = [(cap, sum(self._used(cap)) - cap.most) for cap in self._caps if self._adds_to(cap)]
        parts = [
            f"the cap of {cap.words} was exceeded by {cap.amount_text(by)}"
            for cap, by in over
            if by > ROUNDING * cap.most
        ]
        return "; ".join(parts) or None

    def nearest(self) -> tuple[float, str] | None:
        """Return the share that is used of the cap nearest to its end, and that cap; None without caps."""
        shares = [(sum(self._used(cap)) / cap.most, cap.words) for cap in self._caps if cap.most > 0]
        return max(shares, default=None)

    def _reserved_of(self, amount: Spending) -> Refusal | None:
        now = clock.now()
        for number, cap in enumerate(self._caps):
            if cap.ends_at is not None and now >= cap.ends_at and cap.next_end is not None:
                following = msgspec.structs.replace(cap, used=0.0, starts_at=cap.ends_at, ends_at=cap.next_end(now))
                self._caps[number] = cap = following
            (used, reserved_here, reserved_there), needed = self._used(cap), getattr(amount, cap.kind)
            if used + reserved_here + reserved_there + needed > cap.most * (1 + ROUNDING):
                passes = used + reserved_here + needed <= cap.most * (1 + ROUNDING)
                known = f"{cap.amount_text(used)} used, {cap.amount_text(reserved_here + reserved_there)} reserved"
                text = f"the cap of {cap.words} has no room for {cap.amount_text(needed)} more ({known})"
                if cap.ends_at is not None and needed <= cap.most:
                    text += f"; it begins again {cap.ends_at:%Y-%m-%d %H:%M} UTC"
                return Refusal(text, passes)
        self._own.reserved = self._own.reserved.plus(amount)
        return None

    def _adds_to(self, cap: Cap) -> bool:
        """Return whether this run has used or reserved anything that counts for a cap."""
        return sum(msgspec.structs.replace(cap, job=None, tags={}).spent_by([self._own])) > 0

    def _used(self, cap: Cap) -> tuple[float, float, float]:
        """Return what is used in a cap's window, and what this run and others have reserved."""
        own_used, own_reserved = msgspec.structs.replace(cap, job=None, tags={}).spent_by([self._own])
        others_used, others_reserved = (0.0, 0.0) if cap.alone else cap.spent_by(self._others)
        return cap.used + own_used + others_used, own_reserved, others_reserved
