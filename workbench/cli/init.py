"""`workbench init`: a folder to start with."""

import json
import shlex
from importlib import resources
from pathlib import Path

import anyio
import click

import workbench.display.commands as commands
from workbench.api.session import Target, connected
from workbench.cli.output import echo, say
from workbench.errors import Fault, InputError, WorkbenchError

_FILES = {
    "jobs/first.toml": "first.toml",
    "datasets/first.jsonl": "first.jsonl",
    "workbench.toml": "workbench.toml",
    ".env.example": "env.example",
    ".gitignore": "gitignore",
}
_PRIVATE = (".env.example",)
_SCHEMA = "jobs/job.schema.json"
_EXAMPLE_URL, _EXAMPLE_MODELS = "https://chat.example.org", '["Abacus Large [careful]", "Abacus Mini [fast]"]'


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
def init(folder: Path) -> None:
    """Create a job, a dataset and settings files in FOLDER; existing files are not changed.

    Where a platform is configured already, they name it and two of its models.
    """
    account = anyio.run(_account)
    texts = starter_files() if account is None else _for_account(starter_files(), *account)
    there = [name for name in texts if (folder / name).exists()]
    if there:
        raise InputError(
            *(Fault(str(folder / name), "already exists; nothing was changed") for name in there),
            Fault(str(folder), f"use an empty folder, such as `{commands.INIT_FOLDER}`"),
        )
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        if name in _PRIVATE:
            path.chmod(0o600)  # a copy of it holds the key, and `cp` keeps the mode
        echo(str(path))
    go = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    local = ["--local"] if account is None else []
    steps = (commands.command(step, "jobs/first.toml", *local) for step in ("lint", "run"))
    say(f"next: {go}{' && '.join(steps)}")


async def _account() -> tuple[str, list[str]] | None:
    """Return the platform that is configured here, and the models that it lists; None where there is none to ask."""
    try:
        async with connected(Target(Path.cwd())) as session:
            ids = [model.id for model in session.models if not model.preset]
            return (session.endpoint.base_url, ids) if ids else None
    except WorkbenchError:
        return None


def _for_account(texts: dict[str, str], base_url: str, ids: list[str]) -> dict[str, str]:
    """Return the starter files for a platform: its URL in place of the example's, and two of its models."""
    texts = {name: text.replace(_EXAMPLE_URL, base_url) for name, text in texts.items()}
    job = "jobs/first.toml"
    return texts | {job: texts[job].replace(_EXAMPLE_MODELS, json.dumps(ids[:2], ensure_ascii=False))}


def starter_files() -> dict[str, str]:
    """Return the files' texts by their path in the folder."""
    from workbench.job.keys import job_schema

    source = resources.files("workbench.starter").joinpath("init")
    texts = {name: source.joinpath(file).read_text("utf-8") for name, file in _FILES.items()}
    return texts | {_SCHEMA: json.dumps(job_schema(), indent=1, ensure_ascii=False) + "\n"}
