"""`workbench platform serve`: the embedded platform for other programs."""

import sys
from pathlib import Path

import anyio
import click

from workbench.cli.output import say
from workbench.errors import Fault, InputError
from workbench.local_platform.app import Platform
from workbench.local_platform.config import ConfigError, load_config
from workbench.local_platform.server import Server, announce_json, new_key
from workbench.local_platform.server import serve as serve_until_told
from workbench.settings import read_environment

KEY_VARIABLE = "WORKBENCH_PLATFORM_KEY"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.group()
def platform() -> None:
    """Serve the embedded platform."""


@platform.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Routes and accounts [default: the built-in catalogue].",
)
@click.option("--ephemeral", is_flag=True, help=f"Make a key for this once, instead of taking it from {KEY_VARIABLE}.")
@click.option("--json", "as_json", is_flag=True, help="Announce base URL and key as one line of JSON.")
def serve(host: str, port: int, config: Path | None, ephemeral: bool, as_json: bool) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    if host not in _LOOPBACK:
        raise InputError(Fault("--host", f"{host!r}: this version listens on loopback only", "127.0.0.1"))
    key = new_key() if ephemeral else read_environment(Path.cwd()).get(KEY_VARIABLE, "")
    if not key.startswith("sk-"):
        raise InputError(
            Fault(KEY_VARIABLE, "expected a key that begins with sk-", "or give --ephemeral for a fresh one")
        )
    try:
        loaded = load_config(config)
        server = Server(Platform(loaded, {key: loaded.accounts[0].name}), host, port)
        announce = announce_json if as_json else _announce_shown if ephemeral else _announce
        anyio.run(serve_until_told, server, key, announce)
    except ConfigError as error:
        raise InputError(Fault("", str(error))) from error


def _announce(base_url: str, key: str) -> None:
    click.echo(f"serving simulated models at {base_url}")
    sys.stdout.flush()
    say("Ctrl-C stops it")


def _announce_shown(base_url: str, key: str) -> None:
    click.echo(f"export WORKBENCH_BASE_URL={base_url} WORKBENCH_API_KEY={key}")
    sys.stdout.flush()
    say("serving simulated models; Ctrl-C stops it, and the key is gone with it")
