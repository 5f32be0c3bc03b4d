"""Which of the visible models a job asks, and with which fields and limits."""

import fnmatch
from typing import Any

import msgspec

from workbench.errors import Fault, InputError, nearest
from workbench.job.job import GATEWAY_LIMIT_S, Job, ModelSpec
from workbench.records.calls import Model

GATEWAY_ATTEMPTS = 3
"""The gateway's own first try and its two retries; its time limit was measured to be per attempt."""
TIMEOUT_MARGIN_S = 15.0
QUESTION, PROBE = "ask", "probe"
"""The names of the jobs that the commands of these names make."""
UNCAPPED_REPLY_BYTES = 16 * 2**20
BESIDE_THE_TOKENS_BYTES = 2**20
"""Room for what an answer carries beside its tokens: sources, tool results, and what a preset adds."""
BYTES_A_TOKEN = 4096
"""Far more than a token's text takes in JSON, escaped; log probabilities take most."""


class PlannedModel(msgspec.Struct, frozen=True):
    """One model of a run."""

    id: str
    fields: dict[str, Any]
    """Body fields: the job's, overridden by the model's own."""
    max_in_flight: int
    timeout_s: float
    """Longer than the gateway's worst case: whoever gives up earlier has paid for an answer and not got it."""
    max_reply_bytes: int
    """A longer reply is not kept."""
    max_tokens: int | None
    """The highest cap on generated tokens that any of its requests carries; None where one has none."""


def planned_models(job: Job, visible: list[Model], gateway_limit_s: float | None = None) -> tuple[PlannedModel, ...]:
    """Resolve a job's models against the platform's list.

    Args:
        job: Ids verbatim, globs, or every visible model.
        gateway_limit_s: The endpoint's own setting, below the job's.

    Raises:
        InputError: An id is not visible to the account, or a glob matches nothing.
    """
    ids = [model.id for model in visible]
    text = job.rows[0].get("input") if job.rows and job.name == QUESTION else None
    if text in ids and text not in job.ids:
        raise InputError(Fault("TEXT", f"{text!r} is the id of a model", "MODEL comes first, then TEXT"))
    specs = job.models if job.models is not None else tuple(ModelSpec(name) for name in ids)
    planned: dict[str, PlannedModel] = {}
    faults = []
    for number, spec in enumerate(specs):
        matches = [name for name in ids if fnmatch.fnmatchcase(name, spec.id)] if spec.is_glob else [spec.id]
        if not matches or not set(matches) <= set(ids):
            problem = (
                f"no visible model matches {spec.id!r}"
                if spec.is_glob
                else f"{spec.id!r} is not visible to this account"
            )
            faults.append(Fault(_place(job, number), problem, nearest(spec.id, ids) or f"visible: {', '.join(ids)}"))
            continue
        fields = job.request_fields | spec.fields
        limit = min(spec.max_in_flight or job.run.max_in_flight, job.run.max_in_flight)
        timeout_s = _timeout_s(spec, job, gateway_limit_s)
        asked = [fields | variant.fields for variant in job.variants]
        caps = [max_tokens_of(each) for each in asked]
        cap = None if None in caps else max(cap for cap in caps if cap is not None)
        reply_bytes = max(_reply_bytes(job, each) for each in asked)
        for name in matches:
            planned.setdefault(name, PlannedModel(name, fields, limit, timeout_s, reply_bytes, cap))
    if faults:
        raise InputError(*faults)
    return tuple(planned.values())


def _place(job: Job, number: int) -> str:
    """Name where a model stands: the argument, where the job is made of one command."""
    is_argument = job.rows is not None and job.name in (QUESTION, PROBE)
    return "MODEL" if is_argument else job.where("models", number)


def with_cap(models: tuple[PlannedModel, ...], max_tokens: int | None) -> tuple[PlannedModel, ...]:
    """Return the same where some requests may carry a higher cap.

    Raises:
        InputError: It is not higher than that of any model.
    """
    if max_tokens is None:
        return models
    caps = [model.max_tokens for model in models if model.max_tokens is not None]
    if not any(cap < max_tokens for cap in caps):
        if not caps:
            raise InputError(Fault("--max-tokens", "the job's requests have no cap", "leave it out"))
        problem = f"{max_tokens} is not above the cap of the job's requests"
        raise InputError(Fault("--max-tokens", problem, f"expected more than {max(caps)}"))
    most = BESIDE_THE_TOKENS_BYTES + BYTES_A_TOKEN * max_tokens
    return tuple(
        model if model.max_tokens is None else msgspec.structs.replace(
            model, max_tokens=max(model.max_tokens, max_tokens), max_reply_bytes=max(model.max_reply_bytes, most)
        )
        for model in models
    )  # fmt: skip


def longest_timeout_s(job: Job, gateway_limit_s: float | None = None) -> float:
    """Return how long a call of a job may take at most, whichever models turn out to be visible."""
    specs = job.models if job.models is not None else (ModelSpec("*", is_glob=True),)
    return max(_timeout_s(spec, job, gateway_limit_s) for spec in specs)


def _timeout_s(spec: ModelSpec, job: Job, gateway_limit_s: float | None) -> float:
    limit_s = spec.gateway_limit_s or job.run.gateway_limit_s or gateway_limit_s or GATEWAY_LIMIT_S
    return GATEWAY_ATTEMPTS * limit_s + TIMEOUT_MARGIN_S


def _reply_bytes(job: Job, fields: dict[str, Any]) -> int:
    """Return the longest reply that is kept: what is set, or room enough for all the tokens that are asked for.

    A cap keeps the memory of a run small whatever replies claim: DuckDB reads a column by 2,048 rows, so that eight
    answers of 15 MiB that arrive together take about 550 MiB to ingest.
    """
    if job.run.max_reply_bytes is not None:
        return job.run.max_reply_bytes
    cap = max_tokens_of(fields)
    if cap is None:
        return UNCAPPED_REPLY_BYTES
    return BESIDE_THE_TOKENS_BYTES + BYTES_A_TOKEN * cap * max(1, _count(fields.get("n")))


def reserve_of(body_bytes: int, max_tokens: int | None) -> int:
    """Return the most tokens that a request can use, if its route keeps to the cap: a token of the prompt is at least a byte."""
    return body_bytes + (max_tokens or 0)


def max_tokens_of(fields: dict[str, Any]) -> int | None:
    """Return the cap on generated tokens of a request; the higher one where it carries two."""
    caps = [fields[name] for name in ("max_tokens", "max_completion_tokens") if isinstance(fields.get(name), int)]
    return max(caps, default=None)


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 1
