"""Batch evaluation and usage tracking for accounts on a multi-model chat platform.

Public are the names of this package itself; what its modules hold may change with any version.

The modules, in the order in which a prompt passes through them:

- `job`: what is asked for, and when; `settings`: where, and the time;
- `dataset`: files become samples; `template`: what `job` makes messages of them with;
- `planning`: every request of a run with its key, what is answered already, and what is questionable;
- `local_platform`: the embedded platform, which is self-contained;
- `client`: one request over HTTP, and what its reply means; `records`: what follows from that, and all that is recorded;
- `running`: the fan-out with its slots, limits, passes, breakers and guards; `team`: the same limit and jobs over machines;
- `ledger`: the journal, the DuckDB file or a team's DuckLake, and every query;
- `scoring`, `evaluation`, `stats`: answers become scores, and scores become figures;
- `allowance`: what the account used and what is left of it; `routes`: who answers, how well and since when; `wording`: figures
  in sentences; `report`: figures become pages;
- `api`: all of it wired together, with the functions for Python and the ledger as tables; `schedule`: timers; `cli`: for the
  terminal; `display`: texts and numbers as people read them, the columns of tables, the commands that messages ask for;
- beside these, `errors`, `strict`, `scratch`, `zstd`: helpers that all of them share; `starter`: the files behind three
  commands.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.api.frames import Frames
    from workbench.api.functions import Run, ask, load_job, open, plan, plan_async, run, run_async
    from workbench.api.made_jobs import make_job
    from workbench.errors import WorkbenchError
    from workbench.job.job import Job
    from workbench.records.endings import RunStatus

_HOMES = {
    "Frames": "api.frames", "Job": "job.job", "RunStatus": "records.endings", "WorkbenchError": "errors",
    "make_job": "api.made_jobs",
}  # fmt: skip

__all__ = [
    "Frames", "Job", "Run", "RunStatus", "WorkbenchError", "ask", "load_job", "make_job", "open", "plan", "plan_async", "run",
    "run_async",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import names when they are first used: `import workbench` itself takes a millisecond."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"workbench.{_HOMES.get(name, 'api.functions')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
