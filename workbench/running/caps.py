"""What several runs may use together: reserved before a request is sent, under one lock for all processes of a ledger."""

import contextlib
import fcntl
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, Self

import msgspec

from workbench.display import significant
from workbench.records import Usage
from workbench.running.slot_files import locked, looked_into, opened

Kind = Literal["requests", "tokens", "units"]
SUFFIX = ".spent"


class Spending(NamedTuple):
    """How much of each kind."""

    requests: float = 0.0
    tokens: float = 0.0
    units: float = 0.0

    def plus(self, other: "Spending") -> "Spending":
        """Both together."""
        return Spending(*(one + more for one, more in zip(self, other, strict=True)))

    def minus(self, other: "Spending") -> "Spending":
        """What is left without the other."""
        return Spending(*(one - less for one, less in zip(self, other, strict=True)))


class Cap(msgspec.Struct, frozen=True):
    """How much may be used in a window, by whom."""

    words: str
    """It, as messages name it: `200 000 units a day of job 'nightly'`."""
    kind: Kind
    most: float
    used: float = 0.0
    """In the window, by runs that are over."""
    job: str | None = None
    """Whose runs count; None: everybody's."""
    tags: dict[str, str] = {}
    alone: bool = False
    """Only this run counts."""
    ends_at: datetime | None = None
    """When the window ends; None: not while the run lasts."""
    next_end: Callable[[datetime], datetime] | None = None
    """The end of the window that a moment is in."""

    def counts(self, job: str, tags: dict[str, str]) -> bool:
        """Whether a run of a job with these tags counts."""
        return self.job in (None, job) and self.tags.items() <= tags.items()


class Price(NamedTuple):
    """What calls draw, in units; of a model without a weight nothing is asked."""

    most: Callable[[str, int, int], float]
    """By model, bytes of the request and cap on generated tokens: at most."""
    of: Callable[[str, Usage], float | None]
    """By model and usage; None where that does not tell."""


class Spender(msgspec.Struct, frozen=True):
    """Another run that is going on, or was when this one began."""

    job: str
    tags: dict[str, str]
    spent: Spending
    """Drawn and reserved."""


class SharedSpending:
    """What the runs of a ledger have drawn and reserved, each in a small file that it alone writes.

    Args:
        folder: Of these files.
        run_id: Of this run.
        job: Its job.
        tags: And tags.
    """

    def __init__(self, folder: Path, run_id: str, job: str, tags: dict[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._run_id = folder, run_id
        self._lock = opened(folder / "lock")
        with self._locked():
            self.over = self._remove_what_is_over()
            self._own = opened(folder / f"{run_id}{SUFFIX}")
            locked(self._own)
            os.pwrite(self._own, _PACKING.pack(*Spending()) + msgspec.json.encode((job, tags)), 0)
        self._heads: dict[str, tuple[str, dict[str, str]]] = {}

    def _remove_what_is_over(self) -> set[str]:
        """Remove the files of runs that ended, once none is going on that still counts them; return whose they are."""
        ended, going_on = set(), False
        for path in self._folder.glob(f"*{SUFFIX}"):
            with looked_into(path) as fd:
                if fd is not None and locked(fd):
                    ended.add(path.stem)
                else:
                    going_on = True
        if not going_on:
            for name in ended:
                (self._folder / f"{name}{SUFFIX}").unlink(missing_ok=True)
        return ended

    def going_on(self) -> set[str]:
        """The ids of other runs whose files count."""
        return {path.stem for path in self._folder.glob(f"*{SUFFIX}")} - self.over - {self._run_id}

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def others(self) -> Iterator[dict[str, Spender]]:
        """What other runs have spent, by run id; none of them spends more before the block ends."""
        with self._locked():
            found = {}
            for run_id in self.going_on():
                with looked_into(self._folder / f"{run_id}{SUFFIX}") as fd:
                    if fd is None:
                        continue
                    if run_id not in self._heads:
                        self._heads[run_id] = msgspec.json.decode(
                            os.pread(fd, _HEAD_BYTES, _PACKING.size), type=tuple[str, dict[str, str]]
                        )
                    spent = Spending(*_PACKING.unpack(os.pread(fd, _PACKING.size, 0)))
                    found[run_id] = Spender(*self._heads[run_id], spent)
            yield found

    def write(self, spent: Spending) -> None:
        """Say what this run has drawn and reserved."""
        os.pwrite(self._own, _PACKING.pack(*spent), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._own)  # the file stays, for the runs that still count it
        os.close(self._lock)


_PACKING = struct.Struct("<ddd")
_ROUNDING = 1e-9
_HEAD_BYTES = 2**20


class Caps:
    """The caps that hold for a run.

    Args:
        caps: With what was used before.
        price: Of calls.
        shared: With whom they are shared; None: only this run counts.
    """

    def __init__(
        self, caps: Sequence[Cap] = (), price: Price | None = None, shared: SharedSpending | None = None
    ) -> None:
        self._caps, self._price, self._shared = list(caps), price, shared
        self._drawn, self._reserved = Spending(), Spending()
        self._before = [Spending() for _ in caps]  # of this run, when the cap's window began
        self._others_before: list[dict[str, Spending]] = [{} for _ in caps]
        self._others: dict[str, Spender] = {}

    def amount(self, model: str, body_bytes: int, cap: int | None, tokens: float, overrun: float) -> Spending:
        """What a request may use: one, so many tokens, and what these draw at most.

        Args:
            model: That it asks.
            body_bytes: Of its body.
            cap: On generated tokens.
            tokens: That may be used.
            overrun: How many times what was reserved a call has used, at most.
        """
        units = 0.0 if self._price is None else overrun * self._price.most(model, body_bytes, cap or 0)
        return Spending(1.0, tokens, units)

    def reserve(self, amount: Spending) -> str | None:
        """Reserve for a request, or say which cap has no room for it."""
        if not self._caps:
            return None
        if self._shared is None:
            return self._reserved_of(amount)
        with self._shared.others() as self._others:
            full = self._reserved_of(amount)
            if full is None:
                self._shared.write(self._drawn.plus(self._reserved))
            return full

    def settle(self, model: str, reserved: Spending, usage: Usage, *, drew: bool) -> None:
        """Count what a call used in place of what was reserved for it; unknown usage counts as the reserve."""
        if not self._caps:
            return
        spent = Spending(1.0)
        if drew or usage.total_tokens is not None:
            units = None if self._price is None else self._price.of(model, usage)
            tokens = reserved.tokens if usage.total_tokens is None else usage.total_tokens
            spent = Spending(1.0, tokens, reserved.units if units is None else units)
        self._reserved, self._drawn = self._reserved.minus(reserved), self._drawn.plus(spent)
        if self._shared is not None:
            self._shared.write(self._drawn.plus(self._reserved))

    def overrun(self) -> str | None:
        """By how much caps were exceeded, where routes used more than was reserved for them."""
        over = [(cap, self._used(number) - cap.most) for number, cap in enumerate(self._caps)]
        told = [
            f"the cap of {cap.words} was exceeded by {significant(by)}" for cap, by in over if by > _ROUNDING * cap.most
        ]
        return "; ".join(told) or None

    def told(self) -> str | None:
        """How much of the cap is used that is nearest to its end."""
        shares = [(self._used(number) / cap.most, cap) for number, cap in enumerate(self._caps)]
        if not shares:
            return None
        share, cap = max(shares, key=lambda each: each[0])
        return f"{share:.0%} of {cap.words}"

    def _reserved_of(self, amount: Spending) -> str | None:
        now = datetime.now(UTC)
        for number, cap in enumerate(self._caps):
            if cap.ends_at is not None and now >= cap.ends_at and cap.next_end is not None:
                self._caps[number] = cap = msgspec.structs.replace(cap, used=0.0, ends_at=cap.next_end(now))
                self._before[number] = self._drawn
                self._others_before[number] = {run_id: other.spent for run_id, other in self._others.items()}
            used, needed = self._used(number), getattr(amount, cap.kind)
            if used + needed > cap.most * (1 + _ROUNDING):
                return f"the cap of {cap.words} has no room for {significant(needed)} more ({significant(used)} used or reserved)"
        self._reserved = self._reserved.plus(amount)
        return None

    def _used(self, number: int) -> float:
        cap = self._caps[number]
        own = self._drawn.minus(self._before[number]).plus(self._reserved)
        used: float = cap.used + getattr(own, cap.kind)
        if cap.alone:
            return used
        before = self._others_before[number]
        others: float = sum(
            getattr(other.spent.minus(before.get(run_id, Spending())), cap.kind)
            for run_id, other in self._others.items()
            if cap.counts(other.job, other.tags)
        )
        return used + others
