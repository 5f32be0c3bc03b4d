"""`workbench platform`: the embedded platform for other programs, its keys, and what its accounts drew."""

import os
import sys
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec

from workbench.cli import options
from workbench.cli.output import print_json, print_table, say
from workbench.errors import Fault, InputError, nearest
from workbench.local_platform.access import AccessLog
from workbench.local_platform.accounts import Accounts
from workbench.local_platform.app import Platform
from workbench.local_platform.config import ConfigError, PlatformConfig, contradictions, load_config, read_text
from workbench.local_platform.server import Server, announce_json
from workbench.local_platform.server import serve as serve_until_told
from workbench.local_platform.state import State, StateError, new_key
from workbench.strict import Problem, convert, faults, read_toml

CONFIG, STATE = "platform.toml", "platform.sqlite"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_DRAIN_S = 30.0

_config = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Routes, accounts and limits [default: {CONFIG} in this folder, or else the built-in catalogue].",
)
_state = click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Keys and draws [default: {STATE} beside the configuration].",
)
_account = click.argument("account")


@click.group()
def platform() -> None:
    """Serve the embedded platform, and look after its keys and allowance."""


@platform.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path())
def init(folder: Path) -> None:
    """Put a platform.toml to begin with into FOLDER [default: this one]."""
    path = folder / CONFIG
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(resources.files("workbench.local_platform").joinpath("example.toml").read_text("utf-8"))
    except FileExistsError as error:
        raise InputError(Fault(str(path), "is there already; it is left as it is")) from error
    click.echo(path)
    say("next: `workbench platform keys create ada`, then `workbench platform serve`")


@platform.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@_config
@_state
@click.option("--ephemeral", is_flag=True, help="Keep nothing, and make a key for this once.")
@click.option("--access-log", is_flag=True, help="Tell of every request on standard error, as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Announce base URL and key as one line of JSON.")
def serve(config: Path | None, state: Path | None, ephemeral: bool, access_log: bool, **given: Any) -> None:
    """Serve until SIGTERM or Ctrl-C, which let requests in flight end; a second one does not wait for them."""
    loaded = _load(config)
    key = new_key() if ephemeral else None
    kept = State() if ephemeral else _open_state(config, state)
    if key is None and not kept.living_keys():
        first = loaded.accounts[0].name
        raise InputError(
            Fault("", "no account has a key yet", f"`workbench platform keys create {first}`, or give --ephemeral")
        )
    if given["host"] not in _LOOPBACK and ephemeral:
        raise InputError(
            Fault("--host", f"{given['host']!r} exposes the platform, which takes keys that are kept: no --ephemeral")
        )
    for route in loaded.routes:
        if route.secret_env and not os.environ.get(route.secret_env):
            say(f"note: {route.secret_env} is not set: route {route.id!r} will answer 401")
    own = {} if key is None else {key: loaded.accounts[0].name}
    served = Platform(loaded, kept, own, AccessLog(sys.stderr) if access_log else None)
    server = Server(served, given["host"], given["port"], drain_s=_DRAIN_S)
    try:
        anyio.run(serve_until_told, server, key, _announcer(loaded, given["as_json"]))
    except ConfigError as error:
        raise InputError(Fault("", str(error))) from error


@platform.command()
@_config
@_state
@options.as_json
def accounts(config: Path | None, state: Path | None, as_json: bool) -> None:
    """List the accounts: their keys, and what they drew in the window that goes on."""
    loaded, kept = _load(config), _open_state(config, state)
    known = Accounts(loaded, kept, {})
    living = list(kept.living_keys().values())
    rows = [
        {
            "account": account.name,
            "keys": living.count(account.name),
            "drawn_units": known.drawn_units(account.name),
            "allowance_units": known.units(account.name),
            "unsettled_draws": len(kept.draws(account.name, unsettled_only=True)),
        }
        for account in loaded.accounts
    ]
    _print(rows, as_json)


@platform.group(invoke_without_command=True)
@_config
@_state
@options.as_json
@click.pass_context
def keys(ctx: click.Context, config: Path | None, state: Path | None, as_json: bool) -> None:
    """List the keys; `create`, `regenerate` and `revoke` change them, also while the platform serves."""
    ctx.obj = config, state
    if ctx.invoked_subcommand is None:
        _print_keys(_open_state(config, state), as_json)


@keys.command("list")
@options.as_json
@click.pass_obj
def list_keys(given: tuple[Path | None, Path | None], as_json: bool) -> None:
    """List the keys, as `keys` alone does."""
    _print_keys(_open_state(*given), as_json)


@keys.command()
@_account
@click.pass_obj
def create(given: tuple[Path | None, Path | None], account: str) -> None:
    """Make a key for ACCOUNT and show it this once."""
    _known_account(given[0], account)
    click.echo(_open_state(*given, make=True).create_key(account))
    say("this is the only time that the key is shown")


@keys.command()
@click.argument("key_id")
@click.pass_obj
def regenerate(given: tuple[Path | None, Path | None], key_id: str) -> None:
    """Make a key in place of the one with KEY_ID, which is dead from then on."""
    with _explained():
        click.echo(_open_state(*given).regenerate_key(key_id))
    say("this is the only time that the key is shown")


@keys.command()
@click.argument("key_id")
@click.pass_obj
def revoke(given: tuple[Path | None, Path | None], key_id: str) -> None:
    """Refuse the key with KEY_ID from now on."""
    with _explained():
        _open_state(*given).revoke_key(key_id)


@platform.group(invoke_without_command=True)
@_config
@_state
@click.option("--account", "whose", help="Only this one's.")
@click.option("--unsettled", is_flag=True, help="Only those whose usage nobody reported.")
@click.option("--most", default=20, show_default=True, type=click.IntRange(1), help="How many, newest first.")
@options.as_json
@click.pass_context
def draws(ctx: click.Context, /, config: Path | None, state: Path | None, as_json: bool, **given: Any) -> None:
    """List what was drawn on the allowance; `add` puts down a draw made elsewhere."""
    ctx.obj = config, state
    if ctx.invoked_subcommand is None:
        found = _open_state(config, state).draws(given["whose"], unsettled_only=given["unsettled"], most=given["most"])
        rows = _timed([msgspec.structs.asdict(draw) for draw in found], ("at",))
        _print(rows, as_json, ("at", "account", "route", "settled", "total_tokens", "estimated_tokens", "note"))


@draws.command()
@_account
@click.argument("tokens", type=click.IntRange(0))
@click.option("--note", default="", help="Where it was made, such as in the chat UI.")
@click.pass_obj
def add(given: tuple[Path | None, Path | None], account: str, tokens: int, note: str) -> None:
    """Put down that ACCOUNT drew TOKENS elsewhere."""
    _known_account(given[0], account)
    _open_state(*given, make=True).add_draw(account, tokens, note)


def _config_path(config: Path | None) -> Path | None:
    return config if config is not None else Path(CONFIG) if Path(CONFIG).is_file() else None


def _load(config: Path | None) -> PlatformConfig:
    path = _config_path(config)
    if path is None:
        return load_config()
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(Fault(str(path), f"the configuration cannot be read: {reason}")) from error
    loaded, problems = convert(read_toml(text, str(path)), PlatformConfig)
    if loaded is not None:
        problems = [Problem(place, fault) for place, fault in contradictions(loaded)]
    if loaded is None or problems:
        raise InputError(*faults(problems, text, str(path)))
    return loaded


def _open_state(config: Path | None, state: Path | None, *, make: bool = False) -> State:
    beside = _config_path(config)
    path = state or (beside.with_name(STATE) if beside is not None else Path(STATE))
    if not make and not path.exists():
        raise InputError(Fault(str(path), "there is no platform state yet", "`workbench platform keys create ACCOUNT`"))
    with _explained():
        return State(path)


class _explained:
    """Tells of a state that cannot be used as of any other input."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StateError):
            raise InputError(Fault("", str(error))) from error


def _known_account(config: Path | None, account: str) -> None:
    names = [entry.name for entry in _load(config).accounts]
    if account not in names:
        hint = nearest(account, names) or f"the configuration has {', '.join(names)}"
        raise InputError(Fault("ACCOUNT", f"{account!r} is no account", hint))


def _announcer(config: PlatformConfig, as_json: bool) -> Any:
    kind = "simulated models" if all(route.skill for route in config.routes) else f"{len(config.routes)} routes"

    def announce(base_url: str, key: str | None) -> None:
        if as_json:
            announce_json(base_url, key)
            return
        click.echo(f"export WORKBENCH_BASE_URL={base_url}{f' WORKBENCH_API_KEY={key}' if key else ''}")
        sys.stdout.flush()
        say(f"serving {kind}; Ctrl-C stops it{', and the key is gone with it' if key else ''}")

    return announce


def _print_keys(state: State, as_json: bool) -> None:
    rows = [msgspec.structs.asdict(key) for key in state.keys()]
    _print(_timed(rows, ("created_at", "revoked_at")), as_json)


def _timed(rows: list[dict[str, Any]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [
        row | {name: datetime.fromtimestamp(row[name], UTC) for name in names if row[name] is not None} for row in rows
    ]


def _print(rows: list[dict[str, Any]], as_json: bool, names: tuple[str, ...] = ()) -> None:
    if as_json:
        print_json(rows)
    elif rows:
        print_table(rows, {name: name.replace("_", " ") for name in names or rows[0]}, whole="id")
