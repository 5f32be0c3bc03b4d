"""Part of a job: fewer samples, some of its models, fewer requests in flight."""

import fnmatch
import operator
from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.job.faults import limit_range
from workbench.job.file import MAX_IN_FLIGHT, Worthless
from workbench.job.job import Job, ModelSpec, Part

_PILOT_SEED = 20


def allowing(job: Job, findings: str | Sequence[str]) -> Job:
    """Return the same job, which some findings of lint, or this one, do not stop.

    Raises:
        InputError: One is not a finding that stops a run.
    """
    known = {str(name): name for name in get_args(Worthless)}
    named = (findings,) if isinstance(findings, str) else tuple(findings)
    for one in named:
        if one not in known:
            problem = f"{one!r} is not a finding that stops a run"
            raise InputError(Fault("allow", problem, nearest(one, known) or f"one of {', '.join(known)}"))
    run = msgspec.structs.replace(job.run, allow=[*job.run.allow, *(known[one] for one in named)])
    return msgspec.structs.replace(job, run=run) if named else job


def narrowed(
    job: Job,
    *,
    limit: int | None = None,
    models: str | Sequence[str] = (),
    max_in_flight: int | None = None,
    begun: Part = Part(),  # noqa: B008 - frozen
) -> Job:
    """Return the same job in part; a run of it says so, and is never an occasion.

    Args:
        limit: At most this many samples, the first of those that the job takes.
        models: Only these, or this one; each must be one that the job asks, or match one of its globs.
        max_in_flight: At most this many requests in flight.
        begun: The part that the run which is resumed asked; the other arguments come before it.

    Raises:
        InputError: A model is not the job's, or a number is out of bounds.
    """
    pilot = begun.pilot if limit is None else None
    limit = begun.limit if limit is None else whole_number("limit", limit)
    models = (models,) if isinstance(models, str) else tuple(models) or begun.models
    max_in_flight = begun.max_in_flight if max_in_flight is None else whole_number("max_in_flight", max_in_flight)
    part = Part(limit, models, max_in_flight)
    if limit is not None:
        job = _first(job, limit)
    if models:
        job = _only(job, models)
    if max_in_flight is not None:
        job = _fewer_in_flight(job, max_in_flight)
    job = msgspec.structs.replace(job, part=part)
    return pilot_of(job, pilot) if pilot else job


def part_of(recorded: str | None) -> Part:
    """Return the part of its job that a run asked; all of it, where a version before did not record the values."""
    return Part() if recorded is None else msgspec.json.decode(recorded, type=Part)


def whole_number(name: str, given: Any) -> int:
    """Return a number that an argument gives; numpy's are as good as Python's.

    Raises:
        InputError: It is not a whole number.
    """
    try:
        if isinstance(given, bool):
            raise TypeError(given)
        return operator.index(given)
    except TypeError as error:
        raise InputError(Fault(name, f"expected a whole number, found {given!r}")) from error


def flag(name: str, given: Any) -> bool:
    """Return True or False, as an argument gives it: text such as "no" would be taken for yes.

    Raises:
        InputError: It is neither.
    """
    plain = given.item() if type(given).__module__ == "numpy" else given
    if not isinstance(plain, bool):
        raise InputError(Fault(name, f"expected True or False, found {given!r:.60}"))
    return plain


def pilot_of(job: Job, samples: int) -> Job:
    """Return the job for some of its samples, drawn at random; with a limit of its own, for the first ones within it."""
    run = msgspec.structs.replace(job.run, on_fallback="exclude") if job.run.on_fallback == "fail" else job.run
    job = msgspec.structs.replace(job, gates=None, run=run)  # a few samples decide nothing
    part = msgspec.structs.replace(job.part, pilot=samples)
    if job.dataset.limit is not None:
        return msgspec.structs.replace(_first(job, samples), part=part)
    seed = _PILOT_SEED if job.dataset.shuffle_seed is None else job.dataset.shuffle_seed
    dataset = msgspec.structs.replace(job.dataset, limit=samples, shuffle_seed=seed)
    return msgspec.structs.replace(job, dataset=dataset, part=part)


def _first(job: Job, limit: int) -> Job:
    if limit < 1:
        raise InputError(Fault("limit", f"expected a number of samples from 1, found {limit}"))
    first, last = limit_range(job.dataset.limit)
    newest = first + limit - 1 if last is None else min(last, first + limit - 1)
    return msgspec.structs.replace(job, dataset=msgspec.structs.replace(job.dataset, limit=f"{first}-{newest}"))


def _fewer_in_flight(job: Job, most: int) -> Job:
    if not 1 <= most <= MAX_IN_FLIGHT:
        raise InputError(Fault("max_in_flight", f"expected 1 to {MAX_IN_FLIGHT}, found {most}"))
    if most > job.run.max_in_flight:
        problem = f"{most} is more than the job's run.max_in_flight, {job.run.max_in_flight}"
        raise InputError(Fault("max_in_flight", problem, "raise it in the job"))
    return msgspec.structs.replace(job, run=msgspec.structs.replace(job.run, max_in_flight=most))


def _only(job: Job, models: Sequence[str]) -> Job:
    if job.models is None:
        return msgspec.structs.replace(job, models=tuple(ModelSpec(name) for name in models))
    chosen = []
    for name in models:
        spec = next((spec for spec in job.models if _asks(spec, name)), None)
        if spec is None:
            asked = [each.id for each in job.models]
            problem = f"{name!r} is not one of the job's models"
            raise InputError(Fault("model", problem, nearest(name, asked) or f"its models: {', '.join(asked)}"))
        chosen.append(msgspec.structs.replace(spec, id=name, is_glob=False))
    return msgspec.structs.replace(job, models=tuple(chosen))


def _asks(spec: ModelSpec, name: str) -> bool:
    return fnmatch.fnmatchcase(name, spec.id) if spec.is_glob else name == spec.id
