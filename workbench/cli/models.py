"""`workbench models`: what the account sees."""

from typing import Any

import anyio
import click

from workbench.api.session import Target, connected
from workbench.cli import options
from workbench.cli.output import print_json, print_table
from workbench.display.columns import column, columns
from workbench.records.calls import Model


@click.command()
@options.endpoint
@options.as_json
def models(as_json: bool, **given: Any) -> None:
    """List the models visible to the account."""
    found = anyio.run(_list, options.where(given))
    rows = [{"id": model.id, "owned_by": model.owned_by, "preset": model.preset} for model in found]
    if as_json:
        print_json(rows)
    else:
        print_table(rows, columns("id", column("owned_by", "owner"), "preset"))


async def _list(where: Target) -> list[Model]:
    async with connected(where) as session:
        return session.models
