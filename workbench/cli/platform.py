"""`workbench platform`: the embedded platform for other programs and people."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import anyio
import click

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.api.session import Target, ledger_to_read
from workbench.cli import options
from workbench.cli.output import print_json, print_table, say
from workbench.cli.platform_files import (
    CONFIG,
    Files,
    Serving,
    explained,
    given_files,
    known_account,
    load,
    open_state,
    platform_clock,
    reload_served,
    served_by,
    serving,
    tell_served,
    with_files,
)
from workbench.cli.platform_state import keys, usage
from workbench.display.columns import column, columns
from workbench.display.text import amount, duration, percent, plural
from workbench.errors import Fault, InputError
from workbench.job.job import Job, load_job
from workbench.ledger.queries import reading
from workbench.local_platform.access import AccessLog
from workbench.local_platform.accounts import Accounts
from workbench.local_platform.app import Platform
from workbench.local_platform.calls import Catalogue
from workbench.local_platform.config import ConfigError, PlatformConfig, Preset, Route, load_config
from workbench.local_platform.pane import INVITATION_S
from workbench.local_platform.server import Server, announce_json
from workbench.local_platform.server import serve as serve_until_told
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import State, new_key
from workbench.planning.answer_key import write_answers
from workbench.routes.rehearsal import rehearsal_of
from workbench.scratch import ScratchFolder
from workbench.settings.environment import read_environment

Announce = Callable[[str, str | None], None]
_ACCOUNTS = columns(
    "account", "keys", column("drawn_units", "drawn"), column("allowance_units", "allowance"),
    column("unsettled_draws", "unsettled"), column("window_ends_at", "until"),
)  # fmt: skip
_MODELS = columns("id", "kind", "fallback", column("visible_to", "visible"))
_NAMED = 5
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_KILLED = "the platform was killed before its answer was in"


@click.group()
def platform() -> None:
    """Serve the embedded platform, and manage its keys and allowance."""


platform.add_command(keys)
platform.add_command(usage)
_earlier = copy(usage)
_earlier.hidden = True
platform.add_command(_earlier, "draws")  # its name before; the next version refuses it


@platform.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path())
@click.option(
    "--from-history",
    is_flag=True,
    help="With simulated routes like the account's own, by what the ledger here has of them.",
)
@click.option("--ledger", "ledger_path", metavar="PATH", help="The ledger to read [default: the one in this folder].")
def init(folder: Path, from_history: bool, ledger_path: str | None) -> None:
    """Create a platform.toml to start with in FOLDER [default: this one]."""
    if ledger_path is not None and not from_history:
        raise click.UsageError("--ledger goes with --from-history")
    path = folder / CONFIG
    text = _rehearsal(ledger_path) if from_history else None
    if text is None:
        text = resources.files("workbench.local_platform").joinpath("example.toml").read_text("utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputError(Fault(str(path), "already exists; nothing was changed", "name another folder")) from error
    click.echo(path)
    if from_history:
        say(f"next: `{commands.REHEARSE}` rehearses on these routes")
    else:
        say(f"next: `{commands.create_key('ada')}`, then `{commands.SERVE_PLATFORM}`")


def _rehearsal(ledger_path: str | None) -> str:
    """Return a configuration like the account's routes, as TOML."""
    import tomli_w

    ledger = ledger_to_read(Target(Path.cwd(), ledger=ledger_path))
    with reading(ledger) as reader:
        found = rehearsal_of(reader)
    if not found["routes"]:
        raise InputError(
            Fault("--from-history", f"no call is recorded at {ledger.name}", f"`{commands.RUN_JOB}` records some")
        )
    about = f"# Simulated routes like those of {ledger.label}, {clock.now():%Y-%m-%d}: their latencies, answer lengths,"
    means = "# failures and fallbacks. What they answer is made from the targets of the job, and says nothing of the real models."
    return f"{about}\n{means}\n\n{tomli_w.dumps(found)}"


@platform.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free port.")
@with_files
@click.option("--ephemeral", is_flag=True, help="Keep no state, and create a key for this session only.")
@click.option(
    "--answers",
    "answered",
    multiple=True,
    metavar="JOB",
    help="A job whose right answers the simulated routes know; may be given several times.",
)
@click.option("--access-log", is_flag=True, help="Log every request on standard error, as JSON.")
@click.option(
    "--drain",
    "drain_s",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0, 86_400),
    help="Seconds to wait for requests in flight when stopping.",
)
@click.option("--json", "as_json", is_flag=True, help="Print base URL and key as one line of JSON.")
@click.pass_context
def serve(ctx: click.Context, /, ephemeral: bool, access_log: bool, answered: tuple[str, ...], **given: Any) -> None:
    """Serve until SIGTERM or Ctrl-C, then wait for requests in flight; a second signal does not wait."""
    given_for = given_files(ctx)
    # settled once: a file that is gone at a reload is a fault, and not the built-in catalogue
    files = Files(given_for.config_path, given_for.state_path)
    if ephemeral and given_for.state is not None:
        raise click.UsageError("give either --ephemeral, which keeps no state, or --state, not both")
    if ephemeral and given["host"] not in _LOOPBACK:
        problem = f"{given['host']!r} exposes the platform: use stored keys, not --ephemeral"
        raise InputError(Fault("--host", problem))
    loaded = load(files)
    key = new_key() if ephemeral else None
    kept = State(busy_s=0.0, clock=platform_clock()) if ephemeral else open_state(files, busy_s=0.0)
    if key is None:
        _require_keys(loaded, kept)
    environment = read_environment(Path.cwd()).values()
    for route in loaded.routes:
        if route.secret_env and not environment.get(route.secret_env):
            say(f"note: {route.secret_env} is not set: route {route.id!r} will answer 401")
    say(f"configuration: {files.config_path or 'the built-in catalogue'}")
    own = {} if key is None else {key: loaded.accounts[0].name}
    log = AccessLog(sys.stderr) if access_log else None
    alone = nullcontext() if ephemeral else serving(files)
    with alone as known, _answer_key([load_job(Path(path)) for path in answered]) as answers:
        if not ephemeral:
            with explained():
                kept.explain_left_open(_KILLED)
        served = Platform(
            loaded, kept, own, log, Surroundings(environment, platform_clock(loaded.clock_speed), answers)
        )
        server = Server(served, given["host"], given["port"], drain_s=given["drain_s"])
        announce = _announcer(served, files, known, given["as_json"])
        try:
            anyio.run(partial(serve_until_told, reload=_reloader(served, files, known)), server, key, announce)
        except ConfigError as error:
            raise InputError(Fault("", str(error))) from error


@contextmanager
def _answer_key(jobs: list[Job]) -> Iterator[Path | None]:
    """Yield a file with what is right by some jobs, for as long as it is needed; of a prompt in two of them the first counts."""
    if not jobs:
        yield None
        return
    with ScratchFolder() as scratch:
        path = scratch.path / "answers.sqlite"
        for job in jobs:
            write_answers(path, job)
        yield path


@platform.command()
@with_files
@click.pass_context
def reload(ctx: click.Context, /, **_: Any) -> None:
    """Have the running platform read its configuration again; requests in flight keep what they began with.

    A configuration with a fault changes nothing.
    """
    files = given_files(ctx)
    served = reload_served(files)
    if served is None:
        hint = f"`{commands.SERVE_PLATFORM}` starts one"
        raise InputError(Fault(str(files.state_path), "no platform serves with this state", hint))
    say(f"process {served.pid} serves {files.config_path or 'the built-in catalogue'} as it is now")


@platform.group(invoke_without_command=True)
@with_files
@options.as_json
@click.pass_context
def accounts(ctx: click.Context, /, as_json: bool, **_: Any) -> None:
    """List the accounts: their keys, and their usage in the current window; `invite` lets one open its page."""
    if ctx.invoked_subcommand is not None:
        return
    files = given_files(ctx)
    loaded, kept = load(files), open_state(files)
    with explained():
        known = Accounts(loaded, kept, {})
        living = list(kept.living_keys().values())
        window_s = loaded.allowance.window_s
        rows = [
            {
                "account": account.name,
                "keys": living.count(account.name),
                "drawn_units": _plain(known.drawn_units(account.name)),
                "allowance_units": _plain(known.units(account.name)),
                "unsettled_draws": len(kept.draws(account.name, unsettled_only=True)),
                "window_ends_at": datetime.fromtimestamp((known.window() + 1) * window_s, UTC),
            }
            for account in loaded.accounts
        ]
    if as_json:
        print_json(rows)
    else:
        print_table(rows, _ACCOUNTS)
    _note_strangers(loaded, living)


@accounts.command()
@click.argument("account")
@click.option("--base-url", metavar="URL", help="Where the account opens the platform [default: where it serves here].")
@with_files
@click.pass_context
def invite(ctx: click.Context, /, account: str, base_url: str | None, **_: Any) -> None:
    """Print a link with which ACCOUNT signs in to its page, once: own keys, usage and models.

    It works for seven days; a browser then stays signed in for four weeks.
    """
    files = given_files(ctx)
    known_account(files, account)
    served = served_by(files)
    address = base_url if base_url is not None else "" if served is None else served.base_url
    if not address.startswith(("http://", "https://")):
        problem = f"{address!r} is not an address" if address else "no platform serves with this state"
        raise InputError(
            Fault("--base-url", problem, "expected where the account opens it, such as https://chat.lab.example")
        )
    with explained():
        secret = open_state(files, make=True).make_link(account, "invitation", INVITATION_S)
    click.echo(f"{address.rstrip('/')}/sign-in?link={secret}")
    say(f"for {account} alone: it signs in once, within {_window_text(INVITATION_S)}")
    tell_served(files)


@platform.command()
@click.argument("account", required=False)
@with_files
@options.as_json
@click.pass_context
def models(ctx: click.Context, /, account: str | None, as_json: bool, **_: Any) -> None:
    """List the models and who sees them; with ACCOUNT, those that it sees, as `GET /api/models` would."""
    files = given_files(ctx)
    loaded = load(files)
    shown: tuple[list[Route], list[Preset]] = ([*loaded.routes], [*loaded.presets])
    if account is not None:
        shown = Catalogue(loaded).visible(known_account(files, account))
    rows: list[dict[str, Any]] = [_row(route, "simulated" if route.simulated else "model server") for route in shown[0]]
    rows += [_row(preset, f"preset of {preset.base}") for preset in shown[1]]
    if as_json:
        print_json(rows)
    elif rows:
        listed = [row | {"visible_to": _seen_by(row["visible_to"])} for row in rows]
        print_table(listed, _MODELS, whole=("id",))


def _seen_by(accounts: tuple[str, ...] | None) -> str:
    return "everybody" if accounts is None else ", ".join(accounts) or "no account"


def _row(model: Route | Preset, kind: str) -> dict[str, Any]:
    fallback = model.fallback if isinstance(model, Route) else None
    return {"id": model.id, "kind": kind, "fallback": fallback, "visible_to": model.visible_to}


def _plain(units: float | None) -> float | int | None:
    return int(units) if units is not None and units.is_integer() else units


def _require_keys(config: PlatformConfig, kept: State) -> None:
    living = list(kept.living_keys().values())
    if not {account.name for account in config.accounts} & set(living):
        hint = f"`{commands.create_key(config.accounts[0].name)}`, or give --ephemeral"
        raise InputError(Fault("", "no configured account has a key", hint))
    _note_strangers(config, living)


def _note_strangers(config: PlatformConfig, living: list[str]) -> None:
    for name in sorted(set(living) - {account.name for account in config.accounts}):
        say(f"note: keys of {name!r} are refused: the configuration has no such account")


def _reloader(served: Platform, files: Files, known: Serving | None) -> Callable[[], None]:
    """Return what reads the configuration again; a faulty one is refused whole."""

    def reload() -> None:
        try:
            loaded = load(files) if files.config is not None else load_config()
            environment = read_environment(Path.cwd()).values()
        except InputError as error:
            for fault in error.faults:
                say(f"error: {fault}")
            say("the configuration stays as it was")
            return
        needs_restart = served.change(loaded, environment)
        if known is not None:
            known.took()
        say(f"the configuration was read again: {_models_text(loaded)} for {_accounts_text(loaded)}")
        for name in needs_restart:
            say(f"note: {name} changes with the next start")

    return reload


def _announcer(served: Platform, files: Files, known: Serving | None, as_json: bool) -> Announce:
    def announce(base_url: str, key: str | None) -> None:
        if known is not None:
            known.took(base_url)
        if as_json:
            announce_json(base_url, key)
            return
        click.echo(f"export WORKBENCH_BASE_URL={base_url}{f' WORKBENCH_API_KEY={key}' if key else ''}")
        sys.stdout.flush()
        for line in _description(served, files, key):
            say(line)

    return announce


def _description(served: Platform, files: Files, key: str | None) -> Iterator[str]:
    """Yield what a platform is, a line each."""
    config, limits = served.config, served.config.limits
    yield f"serving {_models_text(config)}, process {os.getpid()}"
    yield f"accounts: {_accounts_text(config)}"
    beyond = {"queue": "further ones wait for their turn", "429": "further ones get 429", "503": "further ones get 503"}
    most = f"{limits.in_flight} requests in flight, {beyond[config.silent.past_limit]}"
    yield f"limits: {most}; {duration(limits.time_limit_s)} each"
    yield f"allowance: {_allowance_text(config)}"
    if key is None:
        yield f"page: {'on' if served.state.has_invited() else 'off'}; `{commands.invite('NAME')}` prints a link to it"
        yield f"state: {files.state_path}; `{commands.RELOAD_PLATFORM}` reads the configuration again"
        yield "Ctrl-C stops it"
    else:
        yield "state: none is kept; Ctrl-C stops it and discards the key"


def _allowance_text(config: PlatformConfig) -> str:
    """Return what an account may use, and who may use something else."""
    allowance, window = config.allowance, _window_text(config.allowance.window_s)
    given = [(account.name, account.allowance_units) for account in config.accounts]
    own = [f"{amount(round(units))} units in {window} for {name}" for name, units in given if units is not None]
    text = "no limit"
    if allowance.units is not None:
        text = f"{amount(round(allowance.units))} units in {window} for each account"
    if own:
        text += f", but {_first(own)}"
    is_limited = bool(own) or allowance.units is not None
    reserve = allowance.reserve_for_chat if is_limited else 0
    return text + (f", {percent(reserve)} of it for people" if reserve else "")


def _window_text(window_s: float) -> str:
    days, rest_s = divmod(window_s, 86400)
    return plural(int(days), "day") if days and not rest_s else duration(window_s)


def _models_text(config: PlatformConfig) -> str:
    simulated = sum(route.simulated is not None for route in config.routes)
    kinds = "simulated" if simulated == len(config.routes) else f"{simulated} simulated" if simulated else ""
    routes = plural(len(config.routes), "route") + (f" ({kinds})" if kinds else "")
    return routes + (f" and {plural(len(config.presets), 'preset')}" if config.presets else "")


def _accounts_text(config: PlatformConfig) -> str:
    return _first([account.name for account in config.accounts])


def _first(texts: list[str]) -> str:
    """Return the first few of a list, and how many more there are."""
    return ", ".join(texts[:_NAMED]) + (f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else "")
