"""`workbench platform keys | usage`: who may call, and what they used."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.cli import options
from workbench.cli.output import print_json, print_table, say
from workbench.cli.platform_files import explained, given_files, known_account, open_state, tell_served, with_files
from workbench.display.columns import Column, column, columns
from workbench.display.text import plural
from workbench.errors import Fault, InputError
from workbench.local_platform.state import MOST_NAME_CHARS, is_a_name

_MOST_TOKENS = 10**15
_DRAWS = columns(
    "id", "at", "account", "route", "settled", "total_tokens", column("estimated_tokens", "estimated"), "note"
)
_KEYS = columns(
    "id", "account", "name", column("created_at", "created"), column("last_used_at", "used"), column("revoked_at", "revoked"),
)  # fmt: skip


@click.group(invoke_without_command=True)
@with_files
@options.as_json
@click.pass_context
def keys(ctx: click.Context, /, **_: Any) -> None:
    """List the keys; `create`, `regenerate` and `revoke` change them, also while the platform is running."""
    if ctx.invoked_subcommand is None:
        _list_keys(ctx)


@keys.command("list")
@with_files
@options.as_json
@click.pass_context
def list_keys(ctx: click.Context, /, **_: Any) -> None:
    """List the keys, as `keys` alone does."""
    _list_keys(ctx)


@keys.command()
@click.argument("account")
@click.option("--name", default="", help="What the key is for, such as laptop.")
@with_files
@options.as_json
@click.pass_context
def create(ctx: click.Context, /, account: str, name: str, **_: Any) -> None:
    """Create a key for ACCOUNT and show it once; a running platform accepts it at once."""
    files = given_files(ctx)
    known_account(files, account)
    if not is_a_name(name):
        raise InputError(Fault("--name", f"expected at most {MOST_NAME_CHARS} characters, without control characters"))
    state = open_state(files, make=True)
    with explained():
        _show_key(ctx, state.create_key(account, name))
    tell_served(files)


@keys.command()
@click.argument("key_id")
@with_files
@options.as_json
@click.pass_context
def regenerate(ctx: click.Context, /, key_id: str, **_: Any) -> None:
    """Create a key in place of the one with KEY_ID (see `keys list`), which is revoked."""
    state = open_state(given_files(ctx))
    with explained():
        _show_key(ctx, state.regenerate_key(key_id))


@keys.command()
@click.argument("key_id")
@with_files
@click.pass_context
def revoke(ctx: click.Context, /, key_id: str, **_: Any) -> None:
    """Revoke the key with KEY_ID (see `keys list`)."""
    state = open_state(given_files(ctx))
    with explained():
        account = state.revoke_key(key_id)
    say(f"revoked a key of {account}")


@click.group(invoke_without_command=True)
@with_files
@click.option("--account", "whose", help="Only usage of this account.")
@click.option("--unsettled", is_flag=True, help="Only entries whose usage was not reported.")
@click.option(
    "--most", default=20, show_default=True, type=click.IntRange(1, 10**9), help="How many, the last recorded first."
)
@options.as_json
@click.pass_context
def usage(ctx: click.Context, /, as_json: bool, whose: str | None, unsettled: bool, most: int, **_: Any) -> None:
    """List usage of the allowance; `add` records usage elsewhere, `remove` undoes that."""
    if ctx.invoked_subcommand is not None:
        return
    files = given_files(ctx)
    if whose is not None:
        known_account(files, whose)
    state = open_state(files)
    with explained():
        found = state.draws(whose, unsettled_only=unsettled, most=most)
    rows = [msgspec.structs.asdict(draw) | {"at": _time(draw.at)} for draw in found]
    _print(rows, as_json, _DRAWS)


@usage.command()
@click.argument("account")
@click.argument("tokens", type=click.IntRange(0, _MOST_TOKENS))
@click.option("--note", default="", help="Where it was used, such as in the chat UI.")
@click.option(
    "--at", metavar="TIME", help="When, in UTC unless it has an offset, such as 2026-11-18T09:30 [default: now]."
)
@with_files
@options.as_json
@click.pass_context
def add(ctx: click.Context, /, account: str, tokens: int, note: str, at: str | None, **_: Any) -> None:
    """Record that ACCOUNT used TOKENS elsewhere."""
    files = given_files(ctx)
    known_account(files, account)
    used_at = None if at is None else _past("--at", at)
    state = open_state(files, make=True)
    with explained():
        number = state.add_draw(account, tokens, note, used_at)
    if _as_json(ctx):
        print_json({"id": number})
    else:
        say(f"recorded as entry {number}; `{commands.command('platform', 'usage', 'remove', str(number))}` undoes it")


@usage.command()
@click.argument("draw_id", metavar="ID", type=click.IntRange(1, 2**62))
@with_files
@click.pass_context
def remove(ctx: click.Context, /, draw_id: int, **_: Any) -> None:
    """Remove the entry ID, which was added by hand."""
    state = open_state(given_files(ctx))
    with explained():
        state.remove_draw(draw_id)


@usage.command()
@click.argument("draw_id", metavar="ID", type=click.IntRange(1, 2**62))
@click.argument("tokens", type=click.IntRange(0, _MOST_TOKENS))
@click.option("--reason", required=True, help="Where the number is from; kept with the entry.")
@with_files
@click.pass_context
def settle(ctx: click.Context, /, draw_id: int, tokens: int, reason: str, **_: Any) -> None:
    """Settle the entry ID, whose usage was not reported, at TOKENS."""
    _settle(ctx, draw_id, tokens, reason)


@usage.command()
@click.argument("draw_id", metavar="ID", type=click.IntRange(1, 2**62))
@click.option("--reason", required=True, help="How it is known that it used nothing; kept with the entry.")
@with_files
@click.pass_context
def release(ctx: click.Context, /, draw_id: int, reason: str, **_: Any) -> None:
    """Settle the entry ID, whose usage was not reported, at no tokens."""
    _settle(ctx, draw_id, 0, reason)


def _settle(ctx: click.Context, draw_id: int, tokens: int, reason: str) -> None:
    if not reason.strip():
        raise click.UsageError("--reason is empty: expected what was found out")
    state = open_state(given_files(ctx))
    with explained():
        state.settle_by_hand(draw_id, tokens, reason)
    say(f"entry {draw_id} is settled at {plural(tokens, 'token')}: {reason}")


def _list_keys(ctx: click.Context) -> None:
    state = open_state(given_files(ctx))
    with explained():
        found = state.keys()
    rows = [
        msgspec.structs.asdict(key)
        | {name: _time(getattr(key, name)) for name in ("created_at", "last_used_at", "revoked_at")}
        for key in found
    ]
    _print(rows, _as_json(ctx), _KEYS)


def _show_key(ctx: click.Context, key: str) -> None:
    if _as_json(ctx):
        print_json({"key": key})
    else:
        click.echo(key)
    say("the key will not be shown again")


def _past(option: str, text: str) -> float:
    moment = options.moment(option, text, "UTC")
    if moment > clock.now():
        raise InputError(Fault(option, f"{text!r} is still to come; expected a time up to now"))
    return moment.timestamp()


def _as_json(ctx: click.Context) -> bool:
    return bool(ctx.params.get("as_json") or (ctx.parent and ctx.parent.params.get("as_json")))


def _time(moment: float | None) -> datetime | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC)


def _print(rows: list[dict[str, Any]], as_json: bool, shown: Sequence[Column]) -> None:
    if as_json:
        print_json(rows)
    elif rows:
        print_table(rows, shown, whole=("id",))
