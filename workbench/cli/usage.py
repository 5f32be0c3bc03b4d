"""`workbench usage`: what our calls drew, as far as it is known."""

from typing import Any

import click

from workbench.cli import options
from workbench.cli.output import print_json, print_table, say
from workbench.ledger.queries import reading
from workbench.session import ledger_to_read


@click.command()
@options.ledger
@click.option("--by", type=click.Choice(["day", "model", "job", "tag"]), default="day", show_default=True)
@options.as_json
def usage(by: str, as_json: bool, **given: Any) -> None:
    """Sum up what our calls drew by day, model, job or tag.

    Calls of the chat UI and of other programs are not in it: the platform tells nobody about them.
    """
    with reading(ledger_to_read(options.where(given))) as reader:
        rows = reader.rows("usage_by_tag") if by == "tag" else reader.rows("usage_by", by=by)
    if as_json:
        print_json([{by: row.pop("name"), **row} for row in rows])
        return
    counts = {
        "calls": "calls", "prompt_tokens": "prompt", "completion_tokens": "completion", "total_tokens": "tokens",
        "calls_without_usage": "no usage", "maybe_drawn": "maybe", "open_intents": "open",
    }  # fmt: skip
    print_table(rows, {"name": by, **counts})
    if any(row["calls_without_usage"] or row["maybe_drawn"] or row["open_intents"] for row in rows):
        say(
            "no usage: answered, usage not reported; maybe: failed, may have used tokens; open: sent, no outcome recorded"
        )
