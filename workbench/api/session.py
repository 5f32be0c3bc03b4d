"""Settings become an endpoint, a client and a ledger."""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.display.text import visible
from workbench.errors import Fault, InputError, UnreachableError, missing_file, nearest, read_error_text
from workbench.ledger.address import SCHEME, is_path
from workbench.ledger.kinds import store_of
from workbench.ledger.queries import Reader
from workbench.ledger.rows import LedgerKind
from workbench.ledger.store import Ledger
from workbench.local_platform.config import PlatformConfig, read_text, renamed
from workbench.local_platform.contradictions import contradictions
from workbench.records.calls import Model
from workbench.running.machines import RunPresence, machines_of
from workbench.running.slots import Slots
from workbench.scratch import ScratchFolder, make_private, make_readable
from workbench.settings.endpoint import LOCAL, Endpoint, find_endpoint, key_variables
from workbench.settings.environment import DOTENV, environment_without, found_upward, read_environment, state_folder
from workbench.settings.file import FILE_NAME, Settings, load_settings, place_of, served_as
from workbench.settings.urls import is_loopback, older_slots_names, slots_name
from workbench.strict import Problem, convert, faults, read_toml, without

if TYPE_CHECKING:
    from workbench.client.chat import ChatClient

_TO_STOP_S = 10.0
PLATFORM_CONFIG = "platform.toml"
DEFAULT_LEDGER, LOCAL_LEDGER = "ledger.duckdb", "local.duckdb"


class Target(msgspec.Struct, frozen=True):
    """What the command line says about endpoint and ledger."""

    folder: Path
    """The working folder: `workbench.toml`, `.env`, ledger and reports are looked for there."""
    local: bool = False
    base_url: str | None = None
    profile: str | None = None
    ledger: str | None = None
    rehearses: bool = True
    """Whether `local` serves the simulated routes of a `platform.toml` here in place of the catalogue."""

    @property
    def platform_words(self) -> list[str]:
        """The options that name the platform, as typed on a command line."""
        given = ["--local"] if self.local else []
        for option, value in (("--base-url", self.base_url), ("--profile", self.profile)):
            given += [option, value] if value else []
        return given


@dataclass(frozen=True)
class Session:
    """A platform that answers, and what it offers."""

    endpoint: Endpoint
    client: "ChatClient"
    models: list[Model]
    answers: Path | None = None
    """Where the embedded platform looks for an answer key once it is asked."""

    @property
    def simulated(self) -> bool:
        """Whether the platform says that all its models are simulated."""
        return all(model.simulated for model in self.models)


def warn(text: str) -> None:
    """Print a warning to standard error."""
    _say(f"warning: {text}")


def _note(text: str) -> None:
    _say(f"note: {text}")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # a closed terminal stops nothing
        print(visible(text), file=sys.stderr, flush=True)


@asynccontextmanager
async def connected(where: Target, ids: Sequence[str] = (), occasion: str | None = None) -> AsyncIterator[Session]:
    """Find the platform, start the embedded one if requested, and list its models.

    Args:
        ids: Models that will be asked; the embedded platform has stand-ins for those it does not simulate.
        occasion: That a run is for; the embedded platform's answers of two of them differ.

    Raises:
        InputError: No endpoint is configured.
        KeyRejectedError: There is no key, or it is not accepted.
        UnreachableError: Nothing answers.
    """
    settings = load_settings(where.folder)
    with contextlib.ExitStack() as stack:
        process = answers = None
        if where.local:
            answers = stack.enter_context(ScratchFolder()).path / "answers.sqlite"
            configured = rehearsal(where) if where.rehearses else None
            options = [f"--now={clock.now().isoformat()}"] if clock.is_set() else []
            arguments = [f"--answers={answers}", f"--scheduled={occasion or ''}", *options, "--", *ids]
            process = stack.enter_context(_embedded_platform(settings, configured, arguments))
        from workbench.client.chat import ChatClient  # takes as long to load as the embedded platform takes to start
        from workbench.client.transport import Http

        if process is not None:
            endpoint = _announced(process)
        else:
            environment = read_environment(where.folder)
            endpoint = find_endpoint(
                settings, environment, base_url=where.base_url, profile=where.profile, folder=where.folder
            )
            if endpoint.base_url.startswith("http://") and not is_loopback(endpoint.base_url):
                warn(f"the API key goes to {endpoint.base_url} unencrypted; use https:// if the platform supports it")
        headers = {
            "Authorization": f"Bearer {endpoint.key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "User-Agent": "workbench",
        }
        async with Http(headers, proxy=endpoint.proxy and endpoint.proxy.url) as http:
            client = ChatClient(http, endpoint, settings.allowance.signature)
            models = await client.list_models()
            session = Session(endpoint, client, models, answers)
            if is_loopback(endpoint.base_url) and session.simulated:
                session = replace(
                    session, endpoint=msgspec.structs.replace(endpoint, identity=LOCAL)
                )  # whatever its port
            yield session


@contextmanager
def _embedded_platform(
    settings: Settings, config: Path | None, arguments: Sequence[str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Serve the embedded platform in its own process, for as long as this one lives."""
    configured = [] if config is None else [f"--config={config}"]
    # -P: not from the working folder
    command = [sys.executable, "-P", "-m", "workbench.local_platform", *configured, *arguments]
    if config is not None:
        _note(f"rehearsing on the simulated routes of {config.name}")
    # a group of its own: a terminal's Ctrl-C is for this process, which has calls in flight there
    environment, pipe = environment_without(key_variables(settings)), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, process_group=0, env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()
            if process.stdin is not None:
                process.stdin.close()  # stops it too: it ignores the signal where whoever started us does
            try:
                process.wait(_TO_STOP_S)
            except subprocess.TimeoutExpired:  # it is stopped, or hangs: nothing in it is worth waiting for
                process.kill()


def rehearsal(where: Target) -> Path | None:
    """Return the configuration that `--local` serves in place of its catalogue: that of the folder,
    if all its routes are simulated.

    Raises:
        InputError: It cannot be served.
    """
    path = where.folder / PLATFORM_CONFIG
    if not path.exists():
        return None
    try:
        config, _ = checked_config(path)
    except InputError as error:
        hint = "--local serves this file"
        raise InputError(
            *(replace(fault, hint=f"{fault.hint}; {hint}" if fault.hint else hint) for fault in error.faults)
        ) from error
    if any(route.base_url is not None for route in config.routes):
        return None
    return path


def checked_config(path: Path) -> tuple[PlatformConfig, bool]:
    """Read and check a platform's configuration; also, whether it is written as for an earlier version.

    Raises:
        InputError: With every fault, named by line.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        problem = f"the configuration cannot be read: {read_error_text(error)}"
        hint = missing_file(path) if isinstance(error, FileNotFoundError) else ""
        raise InputError(Fault(str(path), problem, hint)) from error
    written = read_toml(text, str(path))
    data = renamed(written)
    loaded, problems = convert(data, PlatformConfig)
    tables = {problem.path[:-1] for problem in problems}  # what else is wrong in these may follow from that
    readable = loaded or convert(without(data, [problem.path for problem in problems]), PlatformConfig)[0]
    problems += [
        Problem(found.place, found.text, nearest(found.wrong, found.known))
        for found in (contradictions(readable) if readable else ())
        if not any(table and found.place[: len(table)] == table for table in tables)
    ]
    if loaded is None or problems:
        raise InputError(*faults(problems, text, str(path)))
    return loaded, data != written


def _announced(process: subprocess.Popen[bytes]) -> Endpoint:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise UnreachableError("the embedded platform did not start; its message is above")
    served = msgspec.json.decode(line, type=dict[str, str])
    return Endpoint(served["base_url"], served["key"], LOCAL, embedded=True)


def settings_files(where: Target) -> tuple[str, ...]:
    """Return the `workbench.toml` and `.env` that are used here; the embedded platform needs none."""
    names = (FILE_NAME,) if where.local else (FILE_NAME, DOTENV)
    return tuple(str(path) for name in names if (path := found_upward(where.folder, name)))


def ledger_to_write(where: Target) -> Ledger:
    """Return the ledger that a run records in: the one named, or the folder's for this kind of data."""
    if where.ledger is not None:
        return _named(where, where.ledger)
    return _ledger(where, where.folder / LOCAL_LEDGER) if where.local else account_ledger(where)


def account_ledger(where: Target) -> Ledger:
    """Return the account's ledger, whatever this command records in: the team's, or the folder's.

    Raises:
        InputError: The settings name one that cannot be used.
    """
    shared = load_settings(where.folder).ledger
    if shared is None:
        return _ledger(where, where.folder / DEFAULT_LEDGER)
    data = None if shared.data is None else Path(shared.data).expanduser()
    if data is not None and not data.is_absolute():  # it would be another folder for each command
        place = place_of(where.folder, ("ledger", "data"))
        raise InputError(Fault(place, f"{shared.data!r} is a relative path", "name the whole path"))
    place = place_of(where.folder, ("ledger", "url"))
    if not shared.url.startswith(SCHEME):  # a misspelt address would become a file, and a ledger of this machine alone
        problem = f"{shared.url!r} is not the address of a team's ledger"
        example = f'"{SCHEME}dbname=workbench host=db.lab.example"; --ledger names a file'
        raise InputError(Fault(place, problem, example))
    try:
        return _ledger(where, shared.url, data)
    except InputError as error:
        raise InputError(*(replace(fault, where=place) for fault in error.faults)) from error


def no_ledger(place: str, problem: str, path: Path) -> Fault:
    """Return the fault of a ledger that is not where it was said to be, with what was perhaps meant."""
    ledgers = [entry.name for entry in path.parent.glob("*.duckdb")]
    return Fault(place, problem, nearest(path.name, ledgers) or f"`{commands.LEDGER_PATH}` prints that of this folder")


def ledger_to_read(where: Target) -> Ledger:
    """Return the ledger to read: the one named, or the one here; of two, the account's, with a note.

    Raises:
        InputError: There is none.
    """
    if where.ledger is not None:
        ledger = _named(where, where.ledger)
        if not ledger.exists:
            raise InputError(no_ledger("--ledger", f"there is no ledger at {ledger.name}", ledger.path))
        return ledger
    local = _ledger(where, where.folder / LOCAL_LEDGER)
    found = [ledger for ledger in ([local] if where.local else [account_ledger(where), local]) if ledger.exists]
    if not found:
        raise InputError(
            Fault("", f"there is no ledger in {where.folder}", f"`{commands.DEMO}` or `{commands.RUN_JOB}` creates one")
        )
    if len(found) > 1:
        _note(f"reading {found[0].label}; --local reads {LOCAL_LEDGER}")
    return found[0]


def ledger_to_change(where: Target) -> Ledger:
    """Return the ledger to read, and to write in: of a team's this user may do so.

    Raises:
        InputError: There is none, or a right is missing.
    """
    ledger = ledger_to_read(where)
    store_of(ledger).require_rights()
    return ledger


def _named(where: Target, text: str) -> Ledger:
    """Return the ledger that a user names; a path is relative to the working folder."""
    named = _ledger(where, where.folder / text if is_path(text) else text)
    if not named.address.is_shared:
        return named
    own = account_ledger(where)  # where it is the same, the settings may say where its rows are on this machine
    return own if own.address.name == named.address.name else named


def _ledger(where: Target, address: str | Path, data: Path | None = None) -> Ledger:
    """Return a ledger, read as the account's settings say."""
    settings = load_settings(where.folder)
    caps = [] if where.local else settings.caps  # they are the account's: nothing simulated counts
    return Ledger(address, settings.account.time_zone, served_as(settings), settings.allowance, caps, data)


@contextmanager
def presence_of(ledger: Ledger) -> Iterator[RunPresence]:
    """Return this process among those that work on a ledger."""
    store_of(ledger).require_rights()
    with machines_of(ledger).presence() as presence:
        yield presence


@contextmanager
def slots_of(
    where: Target, endpoint: Endpoint, limit: int, job: str, presence: RunPresence, hold_s: float
) -> Iterator[Slots]:
    """Return the slots of an endpoint, kept for all of this machine, whatever the key, and for a team's machines together; an
    embedded platform has its own.

    Args:
        where: Whose settings say where they are kept.
    """
    if where.local:
        with ScratchFolder() as scratch, Slots(scratch.path, limit, job) as slots:
            yield slots
        return
    root, shared = slots_root(where)
    folder = root / slots_name(endpoint.base_url)
    older = [root / name for name in older_slots_names(endpoint.base_url)]
    with presence.slots(folder, limit, job, shared=shared, older=older, hold_s=hold_s) as slots:
        yield slots


def slots_root(where: Target) -> tuple[Path, bool]:
    """Return where the slots of all endpoints are kept, and whether other users of this machine share them."""
    named = load_settings(where.folder).slots_folder
    return (state_folder() / "slots", False) if named is None else (Path(named).expanduser(), True)


def pages_folder(where: Target, ledger: Ledger, named: Path | None = None) -> Path:
    """Return where a ledger's pages go: `reports/`, and a folder of its own in there for any but the default ledger.

    It is made here where the settings open it to others.

    Args:
        named: The folder that a user names in place of it.
    """
    folder = where.folder / "reports"
    is_default = ledger.address.is_shared or ledger.path.name == DEFAULT_LEDGER
    folder = named or (folder if is_default else folder / ledger.path.stem)
    if load_settings(where.folder).reports_mode == "shared":
        with contextlib.suppress(OSError):  # whoever writes there says why it cannot be
            make_readable(folder)
    return folder


def check_folder(folder: Path, named: str) -> None:
    """Make a folder for results before anything is spent on them.

    Raises:
        InputError: Nothing can be written there.
    """
    try:
        make_private(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        problem = f"{folder} cannot be written: {error.strerror or error}"
        raise InputError(Fault(named, problem, "name another folder")) from error


def refuse_mixing(reader: Reader | None, ledger: Ledger, *, simulated: bool) -> None:
    """Keep simulated data and an account's apart.

    Args:
        reader: Of the ledger; None where there is none yet.

    Raises:
        InputError: The ledger holds data of the other kind.
    """
    kinds = [kind.simulated for kind in reader.all(LedgerKind)] if reader is not None else []
    if kinds and kinds[0] is not simulated:
        held, given = ("simulated data", "an account's data") if kinds[0] else ("an account's data", "simulated data")
        raise InputError(Fault("--ledger", f"{ledger.name} holds {held}; {given} needs its own ledger"))
