"""`workbench help`: the longer explanations, by topic."""

from importlib import resources

import click

from workbench.errors import nearest

TOPICS = {
    "jobs": "the keys of a job file",
    "datasets": "formats and columns",
    "scorers": "how answers are scored",
    "runs": "reruns, retries, limits, failing routes, guards",
    "schedules": "jobs that run by the clock",
    "ledger": "where data lives, and its upkeep",
    "platform": "serving the embedded platform to a team",
    "exit-codes": "what a command ends with",
}


@click.command("help")
@click.argument("topic", required=False, shell_complete=lambda *_: list(TOPICS))
def help_(topic: str | None) -> None:
    """Explain TOPIC; without one, list the topics."""
    if topic is None:
        for name, text in TOPICS.items():
            click.echo(f"workbench help {name:<11} {text}")
        return
    if topic not in TOPICS:
        hint = nearest(topic, TOPICS) or f"topics: {', '.join(TOPICS)}"
        raise click.UsageError(f"there is no topic {topic!r}; {hint}")
    click.echo_via_pager(resources.files("workbench.topics").joinpath(f"{topic}.md").read_text("utf-8"))
