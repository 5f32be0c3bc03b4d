"""`workbench allowance`: how the account stands, what was read of it elsewhere, and how long it lasts."""

import math
import sys
from datetime import datetime
from typing import Any, Literal

import anyio
import click
import msgspec

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.allowance.account import AccountState, account_state
from workbench.allowance.caps import CapUse, caps_used
from workbench.allowance.readings import (
    amount,
    begin_of_window,
    counts_alike,
    read_from_platform,
    readings_of,
    take_reading,
    withdraw,
)
from workbench.allowance.scheduled import Demand, demands
from workbench.allowance.weights import weights_of
from workbench.api.session import Target, connected, ledger_to_change, ledger_to_read, ledger_to_write
from workbench.cli import options
from workbench.cli.output import echo, note_ingest, print_json, print_table, say, say_notes
from workbench.display.columns import column, columns
from workbench.display.text import exact_percent, plural
from workbench.errors import ExitCode, Fault, InputError, nearest_id
from workbench.ledger.ingest import Ingested
from workbench.ledger.kinds import store_of
from workbench.ledger.queries import reading as reading_ledger
from workbench.ledger.store import Ledger
from workbench.wording.allowance import (
    CAPS,
    cap_row,
    demand_text,
    drawn_text,
    headline,
    missing,
    runs_out,
    units,
    used_text,
)

_MOST_PARTS = 8


@click.group(cls=options.StatusGroup)
def allowance() -> None:
    """Say how the account stands: used here, used elsewhere, left, and how long that lasts.

    The platform does not publish the allowance: `workbench.toml` says what is known of it, and readings of the chat UI say what
    others used.
    """


@allowance.command()
@options.ledger
@click.option("--line", is_flag=True, help="Print one line of name=value for programs, and nothing else.")
@options.as_json
def status(line: bool, as_json: bool, **given: Any) -> None:
    """Show what was used in the window, by us and by others, and what is left.

    Exits with 100 once at least [allowance] warn_at of the total is used.
    """
    ledger = ledger_to_read(options.where(given))
    found, needs = _state(ledger)
    crossed = _crossed(found, ledger)
    with reading_ledger(ledger) as reader:
        caps = caps_used(reader, ledger)
    if as_json:
        kept = [msgspec.to_builtins(one) | {"left": one.left} for one in caps]
        print_json(as_object(found) | {"warn": crossed, "caps": kept})
    elif line:
        click.echo(_line(found, crossed))
    else:
        _print_status(found, ledger, caps, needs)
    if crossed == "may be beyond":
        share = exact_percent(ledger.allowance.warn_at)
        say(f"note: whether {share} of the total are used cannot be told")
    sys.exit(ExitCode.GATE_NOT_MET if crossed == "beyond" else ExitCode.DONE)


@allowance.command()
@options.endpoint
@click.option("--from-platform", is_flag=True, help="Ask the platform, where it says what was used (GET /api/usage).")
@click.option("--used", metavar="AMOUNT", help="What is used, such as 37%, 1200000 or 1.2M.")
@click.option("--left", metavar="AMOUNT", help="Or what is left.")
@click.option(
    "--of",
    "total",
    callback=lambda _ctx, _param, text: _total(text),
    metavar="UNITS",
    help="The total, if it is shown too.",
)
@click.option(
    "--at", metavar="TIME", help="When it was so, in the account's time zone, such as 2026-11-18T09:30 [default: now]."
)
@click.option("--withdraw", "withdrawn", metavar="ID", help="Take a reading back instead; see `allowance readings`.")
def reading(
    used: str | None,
    left: str | None,
    total: float | None,
    at: str | None,
    withdrawn: str | None,
    from_platform: bool,
    **given: Any,
) -> None:
    """Record how much of the allowance the chat UI says is used, or left, or ask the platform itself.

    A number stands for all that rounds to it: 37% is from 36.5 to 37.5 %.
    """
    if sum(option is not None for option in (used, left, withdrawn, from_platform or None)) != 1:
        raise click.UsageError("give one of --used, --left, --from-platform and --withdraw")
    if from_platform and (total is not None or at is not None):
        raise click.UsageError("--of and --at are of what somebody read; with --from-platform the platform says both")
    where = options.where(given)
    if from_platform and where.local:
        raise click.UsageError(
            "the embedded platform of --local lives as long as one command, and has no usage to read: leave --local out"
        )
    if withdrawn is not None:
        _withdraw(ledger_to_change(where), withdrawn)
        return
    ledger = ledger_to_write(where) if where.ledger is None else ledger_to_read(where)  # the first may precede any run
    store_of(ledger).require_rights()
    _state(ledger)  # before it is written: one that cannot be opened takes no reading
    of_what: Literal["used", "left"] = "left" if used is None else "used"
    if from_platform:
        number, done = anyio.run(_asked, where, ledger)
    else:
        number, done = take_reading(ledger, of_what, used or left or "", _read_at(at, ledger.zone), total)
    note_ingest(done)
    back = commands.command("allowance", "reading", "--withdraw", number, *options.words(where))
    say(f"recorded as reading {number}; `{back}` takes it back")
    found, _ = _state(ledger)
    echo(headline(found, ledger.zone))


def _total(text: str | None) -> float | None:
    """Return a number of units, as `--used` takes it."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        pass
    expected = f"{text!r} is not a number of units, such as 1200000 or 1.2M"
    try:
        read = amount(text)
    except ValueError as error:
        raise click.BadParameter(expected) from error
    if read.is_share:
        raise click.BadParameter(expected)
    return (read.low + read.high) / 2


async def _asked(where: Target, ledger: Ledger) -> tuple[str, Ingested]:
    """Take a reading from the platform."""
    async with connected(where) as session:
        if not session.client.states_usage:
            problem = "this platform does not say what was used"
            raise InputError(Fault("--from-platform", problem, "--used takes what its chat UI shows, such as 37%"))
        said = await session.client.usage(begin_of_window(ledger, clock.now()))
        if said.allowance_units is not None and not counts_alike(ledger, said):
            limit = f"the platform's limit of {units(said.allowance_units)} units"
            say(
                f"note: {limit} is for its own window, until {said.window_ends_at:%Y-%m-%d %H:%M} UTC, and is left out here"
            )
        return read_from_platform(ledger, said)


@allowance.command()
@options.ledger
@options.as_json
def readings(as_json: bool, **given: Any) -> None:
    """List the readings that were recorded."""
    with reading_ledger(ledger_to_read(options.where(given))) as reader:
        found = readings_of(reader)
    rows = [msgspec.structs.asdict(one) for one in found]
    if as_json:
        print_json(rows)
        return
    shown = columns(column("reading_id", "id"), "read_at", column("said", "read"), column("total_units", "of"))
    print_table([row | {"said": f"{row['of_what']} {row['said']}"} for row in rows], shown, whole=("reading_id",))


@allowance.command(name="forecast")
@options.ledger
@options.as_json
def forecast_(as_json: bool, **given: Any) -> None:
    """Say when the allowance runs out, and what scheduled jobs still need of it."""
    ledger = ledger_to_read(options.where(given))
    found, needs = _state(ledger)
    if as_json:
        print_json({"forecast": msgspec.to_builtins(found.forecast), "left": found.left, "unit": found.unit,
                    "says": runs_out(found, ledger.zone), "scheduled": msgspec.to_builtins(needs)})  # fmt: skip
        return
    echo(runs_out(found, ledger.zone))
    _print_demands(needs, found.unit)


def _state(ledger: Ledger) -> tuple[AccountState, list[Demand]]:
    with reading_ledger(ledger) as reader:
        found = account_state(reader, ledger.allowance, ledger.zone, clock.now())
        return found, demands(reader, weights_of(ledger.allowance, ledger.zone), found)


def as_object(found: AccountState) -> dict[str, Any]:
    """Return the state as plain values."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    finite = {name: _finite(plain[name]) for name in ("used", "unseen")}
    return plain | finite | {"used_share": found.used_share, "missing": missing(found)}


def _finite(limits: Any) -> Any:
    """Return the same with null in place of what nothing bounds: JSON has no infinity."""
    return None if limits is None else [None if math.isinf(value) else value for value in limits]


def _crossed(found: AccountState, ledger: Ledger) -> str:
    """Return whether the share to warn at is used: not known, below, may be beyond, beyond."""
    share, warn_at = found.used_share, ledger.allowance.warn_at
    if share is None or warn_at is None:
        return "not known"
    return "beyond" if share[0] >= warn_at else "may be beyond" if share[1] >= warn_at else "below"


def _line(found: AccountState, crossed: str) -> str:
    known: dict[str, Any] = {
        "warn": crossed.replace(" ", "_"), "unit": found.unit.replace(" ", "_"), "seen": round(found.seen.units),
        "window_end": "unknown" if found.window is None else f"{found.window.end_at:%Y-%m-%dT%H:%M:%SZ}",
    }  # fmt: skip
    for name, limits in (("unseen", found.unseen), ("left", found.left), ("used_share", found.used_share)):
        low, high = limits or (None, None)
        known |= {f"{name}_low": _plain(low), f"{name}_high": _plain(high)}
    return "allowance " + " ".join(f"{name}={value}" for name, value in known.items())


def _plain(value: float | None) -> str:
    return "unknown" if value is None or math.isinf(value) else f"{value:.4g}" if value <= 1 else f"{value:.0f}"


def _print_status(found: AccountState, ledger: Ledger, caps: list[CapUse], needs: list[Demand]) -> None:
    echo(headline(found, ledger.zone))
    share = found.used_share
    if share is not None:
        echo(used_text(found, share))
    if found.left is not None:
        echo(runs_out(found, ledger.zone))
    if caps:
        echo()
        print_table([cap_row(one, ledger.zone) for one in caps], CAPS, whole=("left",), spare=("reserved", "bar"))
    if needs and found.window is not None:
        _print_demands(needs, found.unit)
    price, currency = ledger.allowance.price_per_unit, ledger.allowance.currency
    for title, parts in (("model", found.models), ("job", found.jobs)):
        if parts:
            echo()
            rows = [
                {"name": part.name, "units": drawn_text(part.drawn), "calls": part.drawn.calls,
                 "unweighted": part.drawn.unweighted_tokens or None, "unknown": part.drawn.unknown_calls or None,
                 "price": None if price is None else drawn_text(part.drawn, price)}
                for part in parts[:_MOST_PARTS]
            ]  # fmt: skip
            shown = columns(
                column("name", title), column("units", found.unit, "plain"), "calls",
                column("unweighted"),
                column("unknown", "uncertain"), column("price", currency or "price", "plain"),
            )  # fmt: skip
            print_table(rows, [one for one in shown if any(row[one.name] is not None for row in rows)], whole=("name",))
            if len(parts) > len(rows):
                say(f"{len(rows)} of {plural(len(parts), title)}; --json has all")
    say_notes([*missing(found), *found.notes])


def _print_demands(needs: list[Demand], unit: str) -> None:
    if not needs:
        echo("No job with a schedule has run.")
        return
    echo()
    rows = [
        {
            "affordable": one.affordable,
            "job": one.job,
            "occasions": "–" if one.occasions is None else one.occasions,
            "each": units(one.each),
            "needs": demand_text(one, unit),
            "next_at": one.next_at,
        }
        for one in needs
    ]
    shown = columns(
        "affordable", "job", "next_at", column("occasions", kind="text"), column("each", kind="text"), "needs"
    )
    print_table(rows, shown, whole=("job",))


def _withdraw(ledger: Ledger, name: str) -> None:
    with reading_ledger(ledger) as reader:
        known = {one.reading_id: one for one in readings_of(reader)}
    if name not in known:
        hint = nearest_id(name, known) or f"`{commands.LIST_READINGS}` lists them"
        raise InputError(Fault("--withdraw", f"there is no reading {name!r}", hint))
    done = withdraw(ledger, known[name])
    note_ingest(done)
    say(f"reading {name} is taken back")


def _read_at(text: str | None, zone: str) -> datetime:
    return clock.now() if text is None else options.moment("--at", text, zone)
