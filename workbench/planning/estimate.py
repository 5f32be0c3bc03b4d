"""What a run will use and how long it takes, as ranges, each with what it rests on."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from workbench.display.text import amount, duration
from workbench.errors import WorkbenchError
from workbench.ledger.queries import Reader, reading
from workbench.ledger.store import Ledger
from workbench.ledger.usage_rows import EarlierUsage, UsageOfModel
from workbench.planning.expand import Plan
from workbench.planning.models import GATEWAY_ATTEMPTS, PlannedModel, reserve_of
from workbench.records.endings import RunSummary
from workbench.stats.intervals import student_reach
from workbench.stats.proportions import highest_share

CONFIDENCE = 0.9
_BYTES_A_TOKEN = (2.0, 6.0)  # of the most and the fewest tokens that a prompt has, while nothing is known of it
_RUNS_APART = 0.03
"""How far whole runs are taken to differ, beyond what their answers do: a few long ones tell too little of it."""
_MOST_LOG_VARIANCE = 9.0
"""Beyond this a range says nothing, and its ends leave what numbers can hold."""
_LOOKED_UP_AT_ONCE = 10_000


class ModelEstimate(msgspec.Struct, frozen=True):
    """One model's part."""

    model: str
    requests: int
    low_tokens: float
    high_tokens: float | None
    """None: nothing bounds it."""
    rests_on: str
    answers: int = 0
    """Earlier ones of the model that it rests on."""
    cut_off_share: float | None = None
    """Of the answers, that may run to their cap: more than so many earlier ones can exclude. None: all of them are taken to."""
    cut_off_tokens: float | None = None
    """Its high end if so many do; None: a request has no cap, and nothing bounds an answer."""


class RunEstimate(msgspec.Struct, frozen=True):
    """What a run will use, if every request is answered at the first try."""

    models: tuple[ModelEstimate, ...]
    low_tokens: float
    high_tokens: float | None
    most_tokens: int | None
    """A bound: every prompt's bytes and cap, in every pass and every try of the gateway; None where a request has no cap."""
    cut_off_tokens: float | None
    """The high end if as many answers run to their cap as earlier ones cannot exclude; None where a request has no cap."""
    low_s: float | None
    high_s: float | None
    """From the first request to the last answer; None where a model has never answered."""


def estimate(reader: Reader | None, plan: Plan) -> RunEstimate:
    """Estimate a run from the ledger's earlier answers to the same requests, else of the same models, else from its caps.

    Args:
        reader: Of the ledger; None where there is none yet.
        plan: With what it reuses.
    """
    models = [model.id for model in plan.models]
    rows = [] if reader is None else reader.all(UsageOfModel, models=models, job=plan.job.name)
    known = {row.model: row for row in rows}
    parts = []
    for number, model in enumerate(plan.models):
        items = list(plan.to_send(number))
        if not items:
            continue
        parts.append(_of_model(reader, plan, items, known.get(model.id)))
    low_s, high_s = _time_s(plan, known)
    low, high = _together(parts)
    cut_off = None if high is None else _with_cut_off(high, [part for part, _ in parts])
    return RunEstimate(tuple(part for part, _ in parts), low, high, _most_tokens(plan), cut_off, low_s, high_s)


def _of_model(
    reader: Reader | None, plan: Plan, items: Sequence[int], known: UsageOfModel | None
) -> tuple[ModelEstimate, float | None]:
    """Return what a model will use as a range, and its mean; None: assumed, not known."""
    model = plan.models[items[0] // plan.job.run.epochs % len(plan.models)]
    if reader is None or known is None or known.deviation is None or known.log_deviation is None:
        low, high = _assumed(plan, model, items)
        basis = "the prompts' length and max_tokens, as there are no earlier answers"
        return ModelEstimate(model.id, len(items), low, high, basis, cut_off_tokens=high), None
    rows = _by_request(reader, plan, items)
    within = _within(rows, known.deviation**2)
    new, times = len(items) - len(rows), student_reach(known.answers, CONFIDENCE)
    mean = math.fsum(row.tokens / row.answers for row in rows) + new * known.mean
    spread = math.fsum(within * (1 + 1 / row.answers) for row in rows) + (_RUNS_APART * mean) ** 2
    factor = (
        math.exp(
            times
            * _log_error(
                new, known.answers, max(known.log_deviation**2, math.log1p((known.deviation / known.mean) ** 2))
            )
        )
        if new
        else 1.0
    )
    below = math.hypot(times * math.sqrt(spread), new * known.mean * (1 - 1 / factor))
    above = math.hypot(times * math.sqrt(spread), new * known.mean * (factor - 1))
    basis = _basis_text(len(items), new, sum(row.answers for row in rows), known)
    share, more = _cut_off(len(items), model.max_tokens, known)
    high = mean + above
    cut_off = None if more is None else high + more
    return ModelEstimate(model.id, len(items), max(mean - below, 0.0), high, basis, known.answers, share, cut_off), mean


def _cut_off(requests: int, cap: int | None, known: UsageOfModel) -> tuple[float, float | None]:
    """Return the share of answers that may run to their cap, and what that many use beyond the known ones' mean; None: no cap.

    Answers that run to their cap are rare and dear, so that the spread of known ones without any says nothing of them: of 300
    known ones 1 in 100 may, unseen.
    """
    share = highest_share(known.cut_off, known.answers, (1 + CONFIDENCE) / 2)
    if cap is None:
        return share, None
    return share, requests * (share - known.cut_off / known.answers) * max(cap - known.completion, 0.0)


def _with_cut_off(high: float, parts: Sequence[ModelEstimate]) -> float | None:
    """Return the high end of all models, where in each as many answers run to their cap as may."""
    for part in parts:
        if part.cut_off_tokens is None or part.high_tokens is None:
            return None
        high += part.cut_off_tokens - part.high_tokens
    return high


def _log_error(new: int, answers: int, variance: float) -> float:
    """Return the standard error of the logarithm of what so many new answers use together, from the variance of known ones.

    Few answers of a long-tailed length hold none of the longest: their own spread says too little, and that of their
    logarithms more. The larger one is to be given. Source: Cox's interval for the mean of a lognormal distribution, in Zhou
    and Gao, Confidence intervals for the log-normal mean, Statistics in Medicine 16 (1997).
    """
    variance = min(variance, _MOST_LOG_VARIANCE)
    of_mean = variance / answers + variance**2 / (2 * (answers - 1))
    return math.sqrt(of_mean + math.log1p(math.expm1(variance) / new))


def _by_request(reader: Reader, plan: Plan, items: Sequence[int]) -> list[EarlierUsage]:
    """Return the earlier answers to the same requests, a row for each that has any."""
    found: list[EarlierUsage] = []
    for start in range(0, len(items), _LOOKED_UP_AT_ONCE):
        keys = [plan.request_key_of(item) for item in items[start : start + _LOOKED_UP_AT_ONCE]]
        found += reader.all(EarlierUsage, request_keys=keys)
    return found


def _within(rows: Sequence[EarlierUsage], overall: float) -> float:
    """Return the variance between answers to one request; that of all answers where none was asked twice."""
    twice = [row for row in rows if row.answers > 1]
    freedom: int = sum(row.answers - 1 for row in twice)
    if not freedom:
        return overall
    apart: float = math.fsum(row.squares - row.tokens**2 / row.answers for row in twice)
    return float(max(apart / freedom, 0.0))


def _basis_text(requests: int, new: int, own: int, known: UsageOfModel) -> str:
    others = f"{known.answers} earlier answers of this model{' in this job' if known.of_job else ' in other jobs'}"
    if not new:
        return f"{own} earlier answers to these requests"
    return others if new == requests else f"{own} earlier answers to these requests, and {others}"


def _assumed(plan: Plan, model: PlannedModel, items: Sequence[int]) -> tuple[float, float | None]:
    """From the requests' length: a token is some bytes, and an answer is between one token and its cap."""
    sent = sum(map(plan.body_bytes, items))
    low = sent / _BYTES_A_TOKEN[1] + len(items)
    return low, None if model.max_tokens is None else sent / _BYTES_A_TOKEN[0] + len(items) * model.max_tokens


def _together(parts: Sequence[tuple[ModelEstimate, float | None]]) -> tuple[float, float | None]:
    """Return the range of all models: those that are known vary by themselves, the assumed ones are added end to end."""
    known = [(part, mean) for part, mean in parts if mean is not None]
    mean = math.fsum(mean for _, mean in known)
    below = math.hypot(*(mean - part.low_tokens for part, mean in known))
    above = math.hypot(*(part.high_tokens - mean for part, mean in known if part.high_tokens is not None))
    assumed = [part for part, mean in parts if mean is None]
    low = max(mean - below, 0.0) + math.fsum(part.low_tokens for part in assumed)
    highs = [part.high_tokens for part in assumed]
    return low, None if None in highs else mean + above + math.fsum(high for high in highs if high is not None)


def _most_tokens(plan: Plan) -> int | None:
    """Return the most that the run can draw, however often it and the gateway try."""
    tries = plan.job.run.passes * GATEWAY_ATTEMPTS
    total = 0
    for number, model in enumerate(plan.models):
        items = list(plan.to_send(number))
        if items and model.max_tokens is None:
            return None
        total += sum(reserve_of(plan.body_bytes(item), model.max_tokens) for item in items)
    return total * tries


def _time_s(plan: Plan, known: dict[str, UsageOfModel]) -> tuple[float | None, float | None]:
    """Return all work over the slots, or over a model's own limit, at least; at most half as much again,
    and the longest answer.
    """
    work, alone, longest = 0.0, 0.0, 0.0
    for number, model in enumerate(plan.models):
        requests = sum(1 for _ in plan.to_send(number))
        if not requests:
            continue
        if model.id not in known:
            return None, None
        took_s = requests * known[model.id].latency_ms / 1000
        work, alone = work + took_s, max(alone, took_s / min(model.max_in_flight, plan.job.run.max_in_flight))
        longest = max(longest, known[model.id].longest_ms / 1000)
    least = max(work / plan.job.run.max_in_flight, alone)
    return least, 1.5 * least + longest


def rehearsed(account: Ledger, plan: Plan, run: RunSummary) -> Iterator[str]:
    """Return what a rehearsal took, beside what the account's history lets expect of the same requests, as a line.

    Nothing where the account has no history, or nothing was sent.

    Args:
        plan: Of the rehearsal.
    """
    if not account.exists or not run.completed:
        return
    try:
        with reading(account, frugal=True) as reader:
            expected = estimate(reader, plan)
    except (WorkbenchError, OSError) as error:
        yield f"the account's history cannot be read to compare with: {error}"
        return
    high = "or more" if expected.high_tokens is None else f"to {amount(round(expected.high_tokens))}"
    planned = f"{amount(round(expected.low_tokens))} {high} tokens"
    if expected.low_s is not None and expected.high_s is not None:
        planned = f"{duration(expected.low_s)} to {duration(expected.high_s)}, {planned}"
    took = f"{duration(run.duration_s)}, {amount(run.usage.total_tokens)} tokens"
    sources = list(dict.fromkeys(part.rests_on for part in expected.models))
    source = sources[0] if len(sources) == 1 else "several sources"
    yield f"rehearsed: {took}; planned for the account: {planned}, from {source}"
