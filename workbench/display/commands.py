"""The commands that messages ask for, each whole and ready to paste.

Words in capitals stand for what the reader fills in. A test gives every one of them to the command line.
"""

import shlex
from collections.abc import Sequence

DEMO = "workbench demo"
INIT = "workbench init"
INIT_FOLDER = "workbench init my-evaluations"
RUN_JOB = "workbench run JOB"
ASK = "workbench ask MODEL TEXT"
RUN_IN_FLIGHT = "workbench run JOB --max-in-flight N"
PLAN_JOB = "workbench plan JOB"
EXPORT_TO_FILE = "workbench export --format jsonl --output FILE"
REHEARSE = "workbench run JOB --local --fresh"
LIST_RUNS = "workbench runs"
LIST_MODELS = "workbench models"
ASK_JUDGES = "workbench score RUN --yes"
SCORE_BY_JOB = "workbench score RUN --job JOB"
ACCEPT = "workbench accept JOB --reason TEXT"
SHOW_DATASET = "workbench datasets show FILE"
INVALIDATE = "workbench invalidate"
INVALIDATE_SAMPLE = "workbench invalidate RUN --sample ID --reason TEXT"
ALLOWANCE = "workbench allowance"
TAKE_READING = "workbench allowance reading --used 37%"
LIST_READINGS = "workbench allowance readings"
LIST_ROUTES = "workbench routes"
ROUTES_IN_FULL = "workbench routes status --json"
RELEASE_SLOTS = "workbench slots release"
HELP = "workbench help"
HELP_LEDGER = "workbench help ledger"
LEDGER_PATH = "workbench ledger path"
CHECK_LEDGER = "workbench ledger check"
RECOVER = "workbench ledger recover"
RECOVER_COPY = "workbench ledger recover --journals FOLDER"
HELP_PLATFORM = "workbench help platform"
SERVE_PLATFORM = "workbench platform serve"
RELOAD_PLATFORM = "workbench platform reload"
COMPLETION_OF_BASH = 'eval "$(workbench completion bash)"'
COMPLETION_OF_ZSH = 'eval "$(workbench completion zsh)"'
COMPLETION_OF_FISH = "workbench completion fish > ~/.config/fish/completions/workbench.fish"

MADE_IN_PYTHON = "(made in Python)"
"""What the path of a job ends with that has no file, so that no command can name it."""


def command(*words: str) -> str:
    """Return a command for a shell: `workbench` and these words, quoted where they must be."""
    return shlex.join(["workbench", *words])


def on_ledger(ledger: str, *words: str) -> str:
    """Return a command about what a ledger holds, to be typed wherever one is.

    Args:
        *words: The command and its arguments, without those that name the ledger.
    """
    return command(*words, "--ledger", ledger)


def corrected_targets(job_path: str, ledger: str | None = None) -> str:
    """Return the command that shows which runs of a job a corrected target concerns.

    Args:
        job_path: As its run recorded it; a job that was made in Python has none.
        ledger: Its path or address, as a run's page has it; None is that of the command before.
    """
    option = ["--ledger", ledger] if ledger else []
    path = "JOB" if job_path.endswith(MADE_IN_PYTHON) else job_path
    return command("targets", "diff", path, *option)


def scored_by_job(run_id: str, job_path: str) -> str:
    """Return the command that scores a run by the scorers of a job.

    Args:
        job_path: As a run of the job recorded it; a job that was made in Python has none.
    """
    return command("score", run_id, "--job", "JOB" if job_path.endswith(MADE_IN_PYTHON) else job_path)


def named(name: str) -> list[str]:
    """Return a last argument that is not taken for an option, whatever it begins with."""
    return ["--", name] if name.startswith("-") else [name]


def part(limit: int | None, models: Sequence[str], max_in_flight: int | None) -> list[str]:
    """Return the options that ask for a part of a job."""
    words = [word for model in models for word in ("--model", model)]
    words += ["--limit", str(limit)] if limit else []
    return words + (["--max-in-flight", str(max_in_flight)] if max_in_flight else [])


def resume(job_path: str, options: Sequence[str], occasion: str | None = None, run_id: str | None = None) -> str:
    """Return the command that sends what a run left.

    Args:
        options: Those that say which platform and which ledger.
        run_id: The run whose generation is resumed, where it has one of its own.
    """
    words = ["run", job_path, *options]
    if occasion:
        words += ["--occasion", occasion]
    elif run_id:
        words += ["--resume", run_id]
    return command(*words)


def fill(path: str, job_path: str, options: Sequence[str]) -> str:
    """Return the command that fills a sheet.

    Args:
        options: All others.
    """
    return command("fill", *options, "--job", job_path, *named(path))


def confirm_name(model: str, served: str, ledger: str | None = None) -> str:
    """Return the command that confirms a name of a model; without a ledger, for whoever named it in the command before."""
    option = ["--ledger", ledger] if ledger else []
    dashes = ["--"] if model.startswith("-") or served.startswith("-") else []
    return command("routes", "confirm", *option, *dashes, model, served)


def accept_changes(job: str, ledger: str) -> str:
    """Return the command that accepts what is open of a job."""
    return command("accept", "--reason", "TEXT", "--ledger", ledger, *named(job))


def take_back_acceptance(job: str, model: str | None, options: Sequence[str]) -> str:
    """Return the command that takes an acceptance back.

    Args:
        model: Only of this one; None is all.
    """
    return command("accept", *(["--model", model] if model else []), *options, "--reopen", *named(job))


def create_key(account: str = "ACCOUNT") -> str:
    """Return the command that creates a key of the embedded platform."""
    return command("platform", "keys", "create", account)


def create_ledger(address: str) -> str:
    """Return the command that makes a team's ledger."""
    return command("ledger", "create", address, "--data", "FOLDER")


def invite(account: str) -> str:
    """Return the command that lets an account of the embedded platform open its page."""
    return command("platform", "accounts", "invite", account)
