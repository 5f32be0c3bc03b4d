"""The caps that hold for a run, from `workbench.toml` and its job, with what was used of them before."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time
from functools import partial
from zoneinfo import ZoneInfo

import msgspec

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.allowance.account import account_state
from workbench.allowance.weights import ReportedTokens, Weights, weights_of
from workbench.allowance.windows import WindowRule, window_rule
from workbench.display.text import count, percent, significant
from workbench.errors import Fault, InputError
from workbench.job.job import Job
from workbench.ledger.queries import Reader, reading
from workbench.ledger.store import Ledger
from workbench.ledger.usage_rows import RunSpent
from workbench.planning.models import GATEWAY_ATTEMPTS, PlannedModel
from workbench.records.calls import Usage
from workbench.running.caps import Cap, Caps, Kind, Price, counts_for
from workbench.running.machines import machines_of
from workbench.running.spending import Spender, Spending
from workbench.settings.file import FILE_NAME, CapSettings

_EACH = {"window": "a window", "day": "a day", "week": "a week", "month": "a month"}


@contextmanager
def caps_kept(ledger: Ledger, job: Job, models: Sequence[PlannedModel], run_id: str) -> Iterator[Caps]:
    """Yield the caps that hold for a run while it lasts, shared with the other runs of the ledger.

    Args:
        ledger: With what its settings say of the allowance, and its caps.
        models: That it asks.

    Raises:
        InputError: A cap cannot be kept: it is in what is not known, or nothing bounds a request.
    """
    lacking = unweighted(ledger, [model.id for model in models], clock.now())
    price = None if lacking else price_of(ledger)
    caps, own = caps_of(ledger, job), Spender(job.name, job.tags)
    check_caps(job, caps, lacking, models)
    if all(cap.alone for cap in caps):
        yield Caps(caps, price, own)
        return
    with machines_of(ledger).spending(run_id, own) as shared:
        # looked up with our own file in place: whoever begins from now on counts us, and says what it spends itself
        yield Caps(_with_usage(ledger, caps, shared.counted), price, own, shared)


def caps_now(ledger: Ledger, job: Job) -> list[Cap]:
    """Return the caps that hold for a run of a job, with what is used now, reserves of runs that are going on included.

    Raises:
        InputError: A cap is in units or shares of what is not known.
    """
    live = machines_of(ledger).live_spenders()
    return [
        cap if cap.alone else msgspec.structs.replace(cap, used=cap.used + sum(cap.spent_by(list(live.values()))))
        for cap in _with_usage(ledger, caps_of(ledger, job), lambda: set(live))
    ]


class CapUse(msgspec.Struct, frozen=True):
    """How much of a cap is used now."""

    words: str
    """The cap, as messages name it."""
    kind: Kind | None
    most: float | None
    """None: `problem` says why that is not known."""
    used: float
    """In its window, with the bounds of calls that reported no usage."""
    reserved: float
    """By runs that are going on, for what they have sent."""
    unbounded_calls: int
    """That may have used any amount more."""
    ends_at: datetime | None
    """The window; None: it rolls."""
    problem: str = ""

    @property
    def left(self) -> float | None:
        """What may still be sent."""
        return None if self.most is None else max(self.most - self.used - self.reserved, 0.0)


def caps_used(reader: Reader, ledger: Ledger) -> list[CapUse]:
    """Return how much of every cap of `workbench.toml` is used, and what runs that are going on have reserved.

    Args:
        reader: Of the ledger, which knows its settings.
    """
    if not ledger.caps:
        return []
    live, now = machines_of(ledger).live_spenders(), clock.now()
    found = []
    for number, given in enumerate(ledger.caps):
        try:
            cap = _with_used(reader, ledger, _shared(ledger, number, given, now), lambda: set(live))
        except InputError as error:
            found.append(CapUse(error.faults[0].where, None, None, 0, 0, 0, None, error.faults[0].problem))
            continue
        spent, reserved = cap.spent_by(list(live.values()))
        found.append(
            CapUse(cap.words, cap.kind, cap.most, cap.used + spent, reserved, cap.unbounded_calls, cap.ends_at)
        )
    return found


def caps_of(ledger: Ledger, job: Job) -> list[Cap]:
    """Return the caps that a run of a job must keep, without what is used of them.

    Args:
        ledger: With what its settings say of the allowance, and its caps.

    Raises:
        InputError: A cap is in units or shares of what is not known.
    """
    now = clock.now()
    return [
        *(  # only those that count are built: what another job's needs may not be known
            _shared(ledger, number, cap, now)
            for number, cap in enumerate(ledger.caps)
            if counts_for(cap.job, cap.tag, job.name, job.tags)
        ),
        *_own(ledger, job, now),
    ]


def _with_usage(ledger: Ledger, caps: list[Cap], counted: Callable[[], set[str]]) -> list[Cap]:
    """Return the same with what runs used that are over; `counted` names those that say it themselves,
    once the ledger was asked.
    """
    if not ledger.exists or all(cap.alone for cap in caps):
        return caps
    with reading(ledger, frugal=True) as reader:
        return [cap if cap.alone else _with_used(reader, ledger, cap, counted) for cap in caps]


def unweighted(ledger: Ledger, models: Sequence[str], now: datetime) -> list[str]:
    """Return which models have no weight."""
    weights = weights_of(ledger.allowance, ledger.zone)
    return [model for model in models if weights.most_units(model, now, 0, 0) is None]


def price_of(ledger: Ledger) -> Price:
    """Return what calls of models that have a weight draw in units."""
    weights = weights_of(ledger.allowance, ledger.zone)
    return Price(partial(_most_units, weights), partial(_units, weights))


def check_caps(job: Job, caps: Sequence[Cap], without_weight: Sequence[str], models: Sequence[PlannedModel]) -> None:
    """Refuse a run whose caps cannot be kept.

    Args:
        without_weight: Of its models, those that have none.
        models: That it asks.

    Raises:
        InputError: A model has no weight, or no `max_tokens`, or a cap is less than a request may use.
    """
    uncapped = [model.id for model in models if model.max_tokens is None]
    least = min((model.max_tokens or 0 for model in models), default=0)
    for cap in caps:
        if cap.most <= 0:  # a share of what is left: all other caps are above 0
            problem = f"the cap of {cap.words} leaves no room for a request"
            raise InputError(
                Fault(job.where("budget", "share_of_left"), problem, f"`{commands.ALLOWANCE}` says what is left")
            )
        if cap.kind == "units" and without_weight:
            more = f", nor have {len(without_weight) - 1} more" if len(without_weight) > 1 else ""
            hint = f'[[allowance.weights]] model = "*" in {FILE_NAME} gives all others one'
            problem = f"{without_weight[0]!r} has no weight{more}, which the cap of {cap.words} needs"
            raise InputError(Fault(job.where("models"), problem, hint))
        if cap.kind != "requests" and uncapped:
            problem = f"{uncapped[0]!r} has none, and the cap of {cap.words} needs what bounds a request"
            raise InputError(
                Fault(job.where("request", "max_tokens"), problem, "max_tokens = 1000, or what an answer needs")
            )
        if cap.kind == "tokens" and cap.most < least:
            problem = f"the cap of {cap.words} has no room for a request, whose answer may take {count(least)} tokens"
            raise InputError(Fault(job.where("request", "max_tokens"), problem, "lower this, or raise that"))


def _shared(ledger: Ledger, number: int, given: CapSettings, now: datetime) -> Cap:
    """Return a cap of `workbench.toml`."""
    rule = window_rule(ledger.allowance, ledger.zone, None if given.per == "window" else given.per)
    assert rule is not None  # the settings were checked
    window = rule.at(now)
    kind, most, told = _size(ledger, number, given)
    whose = [f"of job {given.job!r}"] if given.job else []
    whose += [f"of tag {name} = {value}" for name, value in given.tag.items()]
    words = " ".join([told, _EACH.get(given.per, f"in {given.per}"), *whose])
    cap = Cap(words, kind, most, job=given.job, tags=given.tag, starts_at=window.start_at)
    if not window.rolls:
        cap = msgspec.structs.replace(cap, ends_at=window.end_at, next_end=partial(_end, rule))
    return cap


def _end(rule: WindowRule, at: datetime) -> datetime:
    return rule.at(at).end_at


def _size(ledger: Ledger, number: int, given: CapSettings) -> tuple[Kind, float, str]:
    if given.requests is not None:
        return "requests", given.requests, f"{count(given.requests)} requests"
    if given.total_tokens is not None:
        return "tokens", given.total_tokens, f"{count(given.total_tokens)} tokens"
    unit = weights_of(ledger.allowance, ledger.zone).unit
    if given.units is not None:
        return "units", given.units, f"{significant(given.units)} {unit}"
    assert given.share is not None
    total = ledger.allowance.total_units
    if total is None:  # a cap that names a job, for one, is nothing to the others
        problem = "is a share of a total that is not known"
        raise InputError(
            Fault(f"{FILE_NAME}: caps[{number}].share", problem, "[allowance] total_units, or a cap in units")
        )
    return "units", given.share * total, f"{significant(given.share * total)} {unit} ({percent(given.share)})"


def _own(ledger: Ledger, job: Job, now: datetime) -> list[Cap]:
    """Return the caps of the job's own `[budget]` that are not counted in requests or tokens."""
    unit, found = weights_of(ledger.allowance, ledger.zone).unit, []
    if job.budget.units is not None:
        found.append(Cap(f"{significant(job.budget.units)} {unit} of this run", "units", job.budget.units, alone=True))
    share = job.budget.share_of_left
    if share is not None:
        left = None
        if ledger.exists:
            with reading(ledger, frugal=True) as reader:
                state = account_state(reader, ledger.allowance, ledger.zone, now)
            # without a reading nothing bounds what others used, and so at least nothing is left
            left = state.left if state.used is not None and math.isfinite(state.used[1]) else None
        if left is None:
            hint = f"a reading tells: `{commands.TAKE_READING}`; `{commands.ALLOWANCE}` says what else is missing"
            raise InputError(
                Fault(job.where("budget", "share_of_left"), "what is left of the allowance is not known", hint)
            )
        most = share * left[0]
        words = f"{significant(most)} {unit} of this run ({percent(share)} of what is left at least)"
        found.append(Cap(words, "units", most, alone=True))
    return found


def _with_used(reader: Reader, ledger: Ledger, cap: Cap, counted: Callable[[], set[str]]) -> Cap:
    weights = weights_of(ledger.allowance, ledger.zone)
    told = {
        "since": cap.starts_at,
        "zone": ledger.zone,
        "in_parts": bool(weights.entries) and cap.kind == "units",
        "tries": GATEWAY_ATTEMPTS,
    }
    rows = reader.all(RunSpent, **told)
    themselves = counted()
    counted_rows = [row for row in rows if row.run_id not in themselves and cap.counts(row.job, row.tags)]
    used: float = sum(getattr(_amount(row, weights), cap.kind) for row in counted_rows)
    unbounded = 0 if cap.kind == "requests" else sum(row.uncapped_calls for row in counted_rows)
    return msgspec.structs.replace(cap, used=used, unbounded_calls=unbounded)


def _amount(row: RunSpent, weights: Weights) -> Spending:
    """Return what a run's calls of one day and model used, those of unknown usage by their bounds."""
    at = datetime.combine(row.day, time(12), ZoneInfo(weights.zone))
    tokens = ReportedTokens(row.prompt_tokens, row.completion_tokens, row.reasoning_tokens, row.total_tokens)
    units = weights.units(row.model, at, tokens) or 0.0
    units += weights.most_units(row.model, at, row.prompt_bound, row.completion_bound) or 0.0
    return Spending(row.calls, row.total_tokens + row.prompt_bound + row.completion_bound, units)


def _most_units(weights: Weights, model: str, body_bytes: int, cap: int) -> float:
    return weights.most_units(model, clock.now(), body_bytes, cap) or 0.0


def _units(weights: Weights, model: str, usage: Usage) -> float | None:
    return weights.of_call(model, clock.now(), usage)
