"""Whole commands about a ledger, of which one continues a run from how it began."""

import shlex
from collections.abc import Sequence

from workbench.endings import BASE_GENERATION, JUDGED_RUN, MADE_IN_PYTHON, continuation
from workbench.ledger.rows import Provenance
from workbench.records import LOCAL


def ledger_command(ledger: str, *words: str) -> str:
    """A command about what a ledger holds, to be typed into a shell wherever one is.

    Args:
        ledger: Its path or address.
        *words: The command and its arguments, without those that name the ledger.
    """
    return shlex.join(["workbench", *words, "--ledger", ledger])


def recorded_continuation(run: Provenance, ledger: str) -> str:
    """The whole command that asks what a run left, to be typed into a shell.

    Args:
        run: How it began.
        ledger: Path of the ledger that it is in.
    """
    platform = ["--local"] if run.endpoint == LOCAL else ["--base-url", run.endpoint]
    if JUDGED_RUN in run.tags:
        return ledger_command(ledger, "score", run.tags[JUDGED_RUN], "--yes", *platform)
    if run.job_path.endswith(MADE_IN_PYTHON):
        return f"the same call in Python: its job {run.job!r} has no file"
    command = _command(run, [*platform, "--ledger", ledger])
    if run.narrowed:  # run as it is, it would send more than that run
        return f"{command}  # the whole job; this run was narrowed to {run.narrowed}"
    return command


def _command(run: Provenance, options: Sequence[str]) -> str:
    if run.occasion is not None:
        return continuation(run.job_path, options, occasion=run.occasion)
    return continuation(run.job_path, options, resume=None if run.generation == BASE_GENERATION else run.run_id)
