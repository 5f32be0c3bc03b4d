"""`workbench routes`: who answers for each route, how well, how fast, and what changed."""

from pathlib import Path
from typing import Any

import click
import msgspec

import workbench.display.commands as commands
from workbench.api.session import ledger_to_read
from workbench.cli import options
from workbench.cli.output import echo, print_json, print_table, say
from workbench.display.columns import column, columns
from workbench.display.text import plural
from workbench.errors import Fault, InputError, nearest
from workbench.evaluation.attention import constancy, suspected
from workbench.ledger.queries import reading
from workbench.ledger.route_rows import RouteName, RouteTotals
from workbench.ledger.usage_rows import LedgerPeriod
from workbench.routes.confirming import confirm_name
from workbench.routes.names import Episode
from workbench.routes.overview import AccountRoute, AccountRoutes, overview
from workbench.wording.routes import (
    attention_text,
    earlier_text,
    identity_text,
    late_text,
    no_name_text,
    routes_verdict,
)

_COLUMNS = columns(
    column("model", "route"), "usual_name", "substituted_share", "accepted_share", "calls", "p50_ms", "p90_ms", "usage_share",
    "tools", "cap", column("last_at", "last"),
)  # fmt: skip
_MOST_SHOWN = 8


@click.group(cls=options.StatusGroup)
def routes() -> None:
    """Say who answers for each route, how well and how fast, from what was recorded; `workbench probe` asks them."""


@routes.command()
@options.ledger
@options.as_json
def status(as_json: bool, **given: Any) -> None:
    """List every route, what needs attention, who answered instead, and what changed."""
    ledger = ledger_to_read(options.where(given))
    with reading(ledger) as reader:
        found = overview(reader, ledger.zone, reader.only(LedgerPeriod))
    if as_json:
        print_json(_as_object(found, ledger.zone))
        return
    echo(routes_verdict(found))
    if found.routes:
        echo()
        print_table(
            [_row(row) for row in found.routes], _COLUMNS, whole=("model",), spare=("p90_ms", "calls", "last_at")
        )
    _print_more(found)


@routes.command()
@click.argument("model")
@click.argument("name")
@options.ledger
def confirm(model: str, name: str, **given: Any) -> None:
    """Record in workbench.toml that MODEL itself answers under NAME: answers under any other name are a fallback's then."""
    ledger = ledger_to_read(options.where(given))
    with reading(ledger) as reader:
        names = [row for row in reader.all(RouteName) if row.model == model]
        models = [route.model for route in reader.all(RouteTotals)]
    if model not in models:
        hint = nearest(model, models) or f"`{commands.LIST_ROUTES}` lists them"
        raise InputError(Fault("MODEL", f"{model!r} was never asked", hint))
    seen = [row.served_model for row in names]
    if name not in [*seen, model]:
        hint = nearest(name, seen) or f"its answers name: {', '.join(seen) or 'none'}"
        raise InputError(Fault("NAME", f"{model!r} never answered as {name!r}", hint))
    if any(row.served_model == name and row.evidence == "another model of the list" for row in names):
        raise InputError(
            Fault(
                "NAME",
                f"{name!r} is another model of the list, not {model!r}",
                f"expected a name that answers of {model!r} carry",
            )
        )
    newest = max((row for row in names if row.served_model == name), default=None, key=lambda row: row.last_at)
    newest = newest or max(names, default=None, key=lambda row: row.last_at)  # its own id need not have been given yet
    path = confirm_name(Path.cwd(), model, name, None if newest is None else newest.last_run_id)
    say(f"{model} answers as {name}: " + ("it was confirmed before" if path is None else f"written to {path}"))


def _print_more(found: AccountRoutes) -> None:
    for item in found.attention[:_MOST_SHOWN]:
        say(f"{item.kind}: {item.model}: {attention_text(item)}")
    if len(found.attention) > _MOST_SHOWN:
        say(f"and {plural(len(found.attention) - _MOST_SHOWN, 'other')}; `{commands.ROUTES_IN_FULL}` has all")
    for one in found.earlier[:_MOST_SHOWN]:
        say(f"earlier: {one.model}: {earlier_text(one)}" + (f", {_runs(one)}" if isinstance(one, Episode) else ""))
    for change in found.probed.changes[:_MOST_SHOWN]:
        say(f"changed on {change.since:%Y-%m-%d}: {change.model}: {change}")
    for late in found.late[:_MOST_SHOWN]:
        say(f"perhaps retried unseen: {late.model}: {late_text(late)}")
    for row in [*suspected(found.matrix), *found.unconfirmed][:_MOST_SHOWN]:
        own = commands.confirm_name(row.requested_model, row.requested_model)
        other = commands.confirm_name(row.requested_model, str(row.served_model))
        say(
            f"not confirmed: {row.requested_model} answers as {row.served_model} ({constancy(row, found.matrix)}): `{own}` "
            f"where that is another model, `{other}` where it is itself"
        )


def _runs(one: Episode) -> str:
    return f"{'run' if len(one.run_ids) == 1 else 'runs'} {', '.join(one.run_ids)}"


def _row(known: AccountRoute) -> dict[str, Any]:
    """Return a route as the terminal has it."""
    row = known.as_row()
    if known.usual_identity == "as_requested":
        row["usual_name"] = "itself"
    elif known.usual_name is None:
        row["usual_name"] = no_name_text(known.totals.answers, known.totals.substituted)
    return row | {"substituted_share": known.totals.substituted_share or None}


def _as_object(found: AccountRoutes, zone: str) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.structs.asdict(found)
    for name in ("matrix", "course", "episodes", "names", "worst", "unconfirmed"):  # dictionaries, whose times say UTC
        plain[name] = [msgspec.structs.asdict(one) for one in plain[name]]
    plain["routes"] = [one.as_row() for one in found.routes]
    plain["recent"] = None if found.recent is None else msgspec.structs.asdict(found.recent)
    plain["strips"] = {
        strip.model: [msgspec.structs.asdict(one) | {"state": one.state} for one in strip.days]
        for strip in found.strips
    }
    plain |= {
        "earlier": [msgspec.structs.asdict(one) | {"says": earlier_text(one)} for one in found.earlier],
        "identities": {one.model: identity_text(one, zone) for one in found.identities},
        "late": [msgspec.structs.asdict(one.row) | {"says": late_text(one)} for one in found.late],
        "verdict": routes_verdict(found),
    }
    plain["probed"] = {model: msgspec.structs.asdict(route) for model, route in found.probed.known.items()}
    return plain | {"changes": [msgspec.structs.asdict(change) for change in found.probed.changes]}
