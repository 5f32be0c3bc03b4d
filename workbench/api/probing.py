"""A probe: a run of a job made here, whose answers show what routes can do."""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from workbench.api.made_jobs import make_job
from workbench.display.text import milliseconds, plural
from workbench.job.job import Job, ModelSpec
from workbench.records.calls import CallRecord
from workbench.routes.facts import JOB, QUESTIONS, TAG, VERSION

DEADLINE_S = 300.0
"""How long a probe waits where nothing else is said: as long as the gateway waits for a model."""
_SIDE_BY_SIDE = 32


def probe_job(models: Sequence[str], repeat: int = 1, deadline_s: float = DEADLINE_S) -> Job:
    """Return the job that asks routes what they can do, side by side; every answer is kept in the ledger like any other.

    Args:
        models: Ids, or globs with `*` or `?`; none asks every visible one.
        repeat: How often each question is asked.
        deadline_s: After this time nothing more is asked, and no answer is waited for.

    Raises:
        InputError: A model is named twice.
    """
    globs = {name for name in models if "*" in name or "?" in name}
    job = make_job(
        JOB,
        [{"id_glob": name} if name in globs else name for name in models] or "visible",
        [{"id": "route", "input": "probe"}],
        variants=[{"name": name} | question for name, question in QUESTIONS.items()],
        run={"epochs": repeat, "passes": 1, "max_in_flight": _SIDE_BY_SIDE, "deadline_s": deadline_s},
        tags={TAG: VERSION},
        description="Shows of each route whether it answers, as whom, and what it can do",
    )
    # one question of a route after another: one that hangs holds one slot, and its first time-out says enough
    specs = [ModelSpec(name, is_glob=name in globs or not models, max_in_flight=1) for name in models or ("*",)]
    return msgspec.structs.replace(job, models=tuple(specs))


def finished_routes(repeat: int) -> Callable[[CallRecord], str | None]:
    """Return what to say of a route once all its questions are answered or failed (see `FanOutSettings.line_of`)."""
    ended: Counter[str] = Counter()
    answers: dict[str, list[float]] = {}
    failures: dict[str, str] = {}

    def finished(record: CallRecord) -> str | None:
        model, attempt = record.request.model, record.attempt
        ended[model] += 1
        if attempt.accepted:
            answers.setdefault(model, []).append(attempt.latency_ms)
        else:
            failures[model] = attempt.outcome.replace("_", " ")
        if ended[model] < len(QUESTIONS) * repeat:
            return None
        came = answers.get(model, [])
        parts = [f"{plural(len(came), 'answer')}, the slowest in {milliseconds(max(came))}"] if came else []
        parts += [failures[model]] if model in failures else []
        return f"{model}: {'; '.join(parts)}"

    return finished
