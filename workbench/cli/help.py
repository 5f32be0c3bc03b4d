"""`workbench help`: the longer explanations, by topic."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

import click

import workbench.display.commands as commands
from workbench.errors import nearest

if TYPE_CHECKING:
    from workbench.job.keys import Key

TOPICS = {
    "tutorial": "one evaluation, from a spreadsheet to a decision",
    "commands": "what each command does",
    "jobs": "the keys of a job file",
    "datasets": "formats and columns",
    "scorers": "how answers are scored",
    "runs": "reruns, retries, limits, failing routes, guards",
    "comparisons": "tests, fallbacks, wrong samples, gates, exports",
    "allowance": "what is known of it, readings, how long it lasts",
    "schedules": "jobs that run at scheduled times",
    "routes": "who answers for a model id, how well and how fast",
    "ledger": "where data is stored, and its maintenance",
    "platform": "serving the embedded platform to a team",
    "settings": "the keys of workbench.toml",
    "python": "the same from a script or a notebook",
    "faq": "what it costs, when to use something else, where data is",
    "glossary": "what each word means",
    "exit-codes": "what each exit code means",
}
_TABLES = {
    "jobs": [
        ("Top level", "JobFile"), ("[dataset]", "DatasetTable"), ("[dataset.fields]", "FieldNames"), ("[prompt]", "PromptTable"),
        ("[[prompt.messages]]", "PromptMessage"), ("[request]", "RequestFields"), ("[[models]]", "ModelTable"),
        ("[[variants]]", "VariantTable"), ("[run]", "RunTable"), ("[budget]", "BudgetTable"), ("[compare]", "CompareTable"),
        ("[unscored]", "UnscoredTable"), ("[judge]", "JudgeTable"), ("[gates]", "GatesTable"), ("[schedule]", "ScheduleTable"),
    ],
    "settings": [
        ("Top level", "Settings"), ("[profiles.NAME]", "Profile"), ("[account]", "AccountSettings"),
        ("[allowance]", "AllowanceSettings"), ("[[allowance.weights]]", "WeightSettings"), ("[confirm]", "ConfirmSettings"),
        ("[[caps]]", "CapSettings"), ("[ledger]", "LedgerSettings"), ("[routes.ID]", "RouteSettings"),
    ],
}  # fmt: skip
"""By topic: the tables of a file whose keys follow its text."""


@click.command("help")
@click.argument("topic", required=False, shell_complete=lambda *_: list(TOPICS))
def help_(topic: str | None) -> None:
    """Explain TOPIC; without one, list the topics."""
    if topic is None:
        for name, text in TOPICS.items():
            click.echo(f"{commands.HELP} {name:<12} {text}")
        return
    if topic not in TOPICS:
        root = click.get_current_context().find_root()
        if isinstance(root.command, click.Group) and topic in root.command.list_commands(root):
            raise click.UsageError(f"{topic!r} is a command: workbench {topic} --help")
        hint = nearest(topic, TOPICS) or f"topics: {', '.join(TOPICS)}"
        raise click.UsageError(f"there is no topic {topic!r}; {hint}")
    text = resources.files("workbench.starter").joinpath("topics", f"{topic}.md").read_text("utf-8")
    click.echo_via_pager(text.removesuffix(_pointer(topic)) + "".join(_sections(topic)))


def _pointer(topic: str) -> str:
    """Return how the text of a topic ends in the repository, where the keys do not follow it."""
    return f"\n`{commands.HELP} {topic}` lists every key with its type and default.\n"


def _tables(topic: str) -> list[tuple[str, str]]:
    if topic != "scorers":
        return _TABLES.get(topic, [])
    from workbench.job.keys import scorers  # reads the source of the tables

    return [(str(scorer.__struct_config__.tag), scorer.__name__) for scorer in scorers()]


def _sections(topic: str) -> Iterator[str]:
    """Yield the keys of each table of a topic, with type, default and meaning; what several tables have, once."""
    tables = _tables(topic)
    if not tables:
        return
    from workbench.job.file import JobFile
    from workbench.job.keys import keys_of  # reads the source of the tables
    from workbench.settings.file import Settings

    found = {heading: list(keys_of(table, Settings if topic == "settings" else JobFile)) for heading, table in tables}
    of_all = [key for key in next(iter(found.values())) if all(key in keys for keys in found.values())]
    if of_all:
        yield _section("Every table", of_all, {})
    known: dict[Key, str] = {}
    for heading, keys in found.items():
        own = [key for key in keys if key not in of_all]
        if own:
            yield _section(heading, own, known)
        known = {key: heading for key in own} | known


def _section(heading: str, keys: Sequence["Key"], known: Mapping["Key", str]) -> str:
    """Return the keys of one table; of those that an earlier one has, the names and where they are explained."""
    lines = [f"\n## {heading}\n\n"]
    texts = {key.text: other for key, other in known.items()}  # the first table is the last here
    for key in keys:
        if key not in known:
            default = f", default {key.default}" if key.default else ""
            text = f"As under {texts[key.text]}." if key.text in texts else key.text
            lines += f"    {key.name} ({key.kind}{default})\n", _indented(text, 8)
    for other in dict.fromkeys(known[key] for key in keys if key in known):
        names = [key.name for key in keys if known.get(key) == other]
        is_all = len(names) > 1 and len(names) == sum(one == other for one in known.values())
        lines.append(_indented(f"every key of {other}" if is_all else f"{', '.join(names)}: as under {other}", 4))
    return "".join(lines)


def _indented(text: str, by: int) -> str:
    return textwrap.fill(text, 116, initial_indent=" " * by, subsequent_indent=" " * by) + "\n"
