"""Where a run's numbers come from: code, packages, machine and data, as far as they can be known."""

import os
import platform
import secrets
import socket
import subprocess
from datetime import datetime
from importlib import metadata
from pathlib import Path

import msgspec

from workbench.job.file import MEAN
from workbench.ledger.entries import RunStarted
from workbench.planning.expand import Plan
from workbench.settings.endpoint import Endpoint

_PROJECT = "chat-account-workbench"
_PACKAGES = ("aiohttp", "anyio", "duckdb", "httpx", "jinja2", "msgspec")
_GIT_PATIENCE_S = 5.0


def new_run_id(now: datetime) -> str:
    """Return a run's name: when it began in UTC, and enough chance to tell two of the same second apart."""
    return f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def run_started(
    plan: Plan, endpoint: Endpoint, run_id: str, generation: str, *, now: datetime, simulated: bool
) -> RunStarted:
    """Everything recorded of how a run begins.

    Args:
        endpoint: To whom; the key goes in as a fingerprint.
        now: When, UTC.
        simulated: Whether the platform says its models are.
    """
    job = plan.job
    commit, dirty = git_state(Path(job.path).parent)
    return RunStarted(
        run_id=run_id,
        recorded_at=now,
        job=job.name,
        job_path=job.path,
        job_toml=job.text,
        job_hash=job.hash,
        tags=job.tags,
        generation=generation,
        planned=len(plan),
        dataset_paths="\n".join(job.dataset_paths),
        dataset_hash=plan.dataset_hash,
        dataset_rows=plan.samples,
        endpoint=endpoint.recorded,
        identity=endpoint.identity,
        simulated=simulated,
        key_fingerprint=endpoint.key_fingerprint,
        host=socket.gethostname(),
        pid=os.getpid(),
        max_in_flight=job.run.max_in_flight,
        versions=package_versions(),
        limits={model.id: f"{model.max_in_flight} in flight, {model.timeout_s:g} s a call" for model in plan.models},
        git_commit=commit,
        git_dirty=dirty,
        narrowed=job.narrowed or None,
        part=msgspec.json.encode(job.part).decode() if job.narrowed else None,
        on_fallback=job.run.on_fallback,
        reduce=None if job.run.reduce == MEAN else job.run.reduce,
        epochs=job.run.epochs,
        scorers=[scorer.named for scorer in job.scorers],
        min_answered=job.compare.min_answered,
        counted_unknown=job.unscored.unknown or None,
        variants=[variant.name for variant in job.variants if variant.name] or None,
    )


def package_versions() -> dict[str, str]:
    """Python and the packages that answers and numbers pass through."""
    own = {"python": platform.python_version(), "workbench": metadata.version(_PROJECT)}
    return own | {name: metadata.version(name) for name in _PACKAGES}


def git_state(folder: Path) -> tuple[str | None, bool | None]:
    """Return the commit checked out around a folder and whether anything differs from it; None outside a repository."""
    folder = folder.resolve()
    if not any((above / ".git").exists() for above in (folder, *folder.parents)):
        return None, None
    try:
        commit = _git(folder, "rev-parse", "HEAD").strip()
        return commit, bool(_git(folder, "status", "--porcelain", "--untracked-files=no").strip())
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=_GIT_PATIENCE_S
    )
    return done.stdout
