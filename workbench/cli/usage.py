"""`workbench usage`: what our calls used, as far as it is known."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import click
import msgspec

from workbench.api.session import ledger_to_read
from workbench.cli import options
from workbench.cli.output import print_json, print_table, say
from workbench.display.columns import column, columns
from workbench.ledger.queries import reading
from workbench.ledger.usage_rows import UsageBy, UsageByTag, UsageTotals

_DAYS = ("day", "week", "month")


class _Day(click.ParamType[date]):
    """A day of the calendar."""

    name = "day"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Return the day that a text names."""
        try:
            return date.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a day such as 2026-11-01", param, ctx)


@click.command()
@options.ledger
@click.option("--by", type=click.Choice([*_DAYS, "model", "job", "tag"]), default="day", show_default=True)
@click.option("--since", type=_Day(), metavar="DAY", help="Only calls from this day on, such as 2026-11-01.")
@click.option("--until", type=_Day(), metavar="DAY", help="Only calls up to the end of this day.")
@options.as_json
def usage(by: str, since: date | None, until: date | None, as_json: bool, **given: Any) -> None:
    """Sum up recorded token usage by day, week, month, model, job or tag.

    Calls from the chat UI and other programs are not included: the platform does not report them. Days are those of
    [account] time_zone in workbench.toml, by default UTC; a week is named by its Monday.
    """
    if since and until and since > until:
        raise click.UsageError("--since is after --until: expected the earlier day first")
    ledger = ledger_to_read(options.where(given))
    with reading(ledger) as reader:
        rows: Sequence[UsageTotals] = (
            reader.all(UsageByTag, since=since, until=until)
            if by == "tag"
            else reader.all(UsageBy, by=by, since=since, until=until)
        )
    if as_json:
        found = [msgspec.structs.asdict(row) for row in rows]
        print_json([{by: row.pop("name"), **row} for row in found])
        return
    name = column("name", f"{by} ({ledger.zone})" if by in _DAYS else by)
    unknown = columns("calls_without_usage", "maybe_drawn", "open_intents")
    tokens = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "total_tokens")
    shown = columns(name, "calls", *tokens, *unknown)
    print_table(rows, shown, whole=("name",), spare=("reasoning_tokens", "prompt_tokens", "completion_tokens"))
    if any(row.calls_without_usage or row.maybe_drawn or row.open_intents for row in rows):
        say("; ".join(f"{one.head}: {one.help[0].lower()}{one.help[1:]}" for one in unknown))
