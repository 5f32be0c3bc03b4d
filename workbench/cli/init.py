"""`workbench init`: a folder to start with."""

import json
import shlex
from importlib import resources
from pathlib import Path

import click

from workbench.cli.output import echo, say
from workbench.errors import Fault, InputError

_FILES = {
    "jobs/first.toml": "first.toml",
    "datasets/first.jsonl": "first.jsonl",
    "workbench.toml": "workbench.toml",
    ".env.example": "env.example",
    ".gitignore": "gitignore",
}
_PRIVATE = (".env.example",)
_SCHEMA = "jobs/job.schema.json"


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
def init(folder: Path) -> None:
    """Create a job, a dataset and settings files in FOLDER; existing files are not changed."""
    texts = starter_files()
    there = [name for name in texts if (folder / name).exists()]
    if there:
        raise InputError(
            *(Fault(str(folder / name), "already exists; nothing was changed") for name in there),
            Fault(str(folder), "use an empty folder, such as `workbench init my-evaluations`"),
        )
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        if name in _PRIVATE:
            path.chmod(0o600)  # a copy of it holds the key, and `cp` keeps the mode
        echo(str(path))
    go = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    say(f"next: {go}workbench lint jobs/first.toml --local && workbench run jobs/first.toml --local")


def starter_files() -> dict[str, str]:
    """The files' texts by their path in the folder."""
    from workbench.job_keys import job_schema

    source = resources.files("workbench.starter")
    texts = {name: source.joinpath(file).read_text("utf-8") for name, file in _FILES.items()}
    return texts | {_SCHEMA: json.dumps(job_schema(), indent=1, ensure_ascii=False) + "\n"}
