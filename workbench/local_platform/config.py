"""What the embedded platform serves, as strict values read from TOML."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Skill = Literal["arithmetic", "extraction", "tools", "reasoning", "prose"]


class ConfigError(Exception):
    """A platform configuration that cannot be served; the message names the place."""


class Latency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lognormal distribution of answer times."""

    median: Annotated[float, msgspec.Meta(ge=0)]
    """In ms."""
    sigma: Annotated[float, msgspec.Meta(ge=0, le=3)] = 0.0
    """Standard deviation of the logarithm."""


class RouteFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A share of requests that end with an HTTP status instead of an answer."""

    share: Share
    status: Literal[408, 429, 500, 502, 503, 530]


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One simulated route."""

    id: str
    skill: Skill
    upstream: str
    """The name of the model server behind the route; seen in `model` when the route answers as a fallback."""
    options: dict[str, bool] = {}
    latency_ms: Latency = Latency(median=0)
    faults: tuple[RouteFault, ...] = ()
    calls_tools: bool = False
    unavailable: bool = False
    """The model server behind the route is down: the fallback answers, or else a 502."""
    secret_missing: bool = False
    """The platform lacks the secret of the model server: 401 for this route only."""
    fallback: str | None = None
    template_defaults: dict[str, Any] = {}
    """Default `chat_template_kwargs`; a caller's own object replaces it whole."""
    visible_to: tuple[str, ...] | None = None
    """Names of the accounts that see it; None means all."""


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named system prompt over a route; its server-side tools never run through the API."""

    id: str
    base: str
    system: str
    visible_to: tuple[str, ...] | None = None


class Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whoever owns a key."""

    name: str


class PlatformConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Routes, presets and accounts of one platform."""

    routes: tuple[Route, ...]
    presets: tuple[Preset, ...] = ()
    accounts: tuple[Account, ...] = (Account("lab"),)
    seed: int = 0


def load_config(path: Path | None = None) -> PlatformConfig:
    """Read a platform configuration, or the built-in catalogue when no path is given.

    Raises:
        ConfigError: The file is missing, is no TOML, has unknown or mistyped keys, or names routes that do not exist.
    """
    try:
        if path is None:
            text = resources.files(__package__).joinpath("catalogue.toml").read_text("utf-8")
        else:
            text = path.read_text("utf-8")
        config = msgspec.convert(tomllib.loads(text), PlatformConfig)
    except (OSError, ValueError) as error:  # tomllib's and msgspec's errors are ValueErrors
        raise ConfigError(f"{path or 'the built-in catalogue'}: {error}") from error
    _check_names(config, str(path or "the built-in catalogue"))
    return config


def _check_names(config: PlatformConfig, source: str) -> None:
    ids = [route.id for route in config.routes] + [preset.id for preset in config.presets]
    if repeated := sorted({name for name in ids if ids.count(name) > 1}):
        raise ConfigError(f"{source}: the id {repeated[0]!r} is given twice")
    routes = {route.id for route in config.routes}
    for route in config.routes:
        if route.fallback is not None and (route.fallback not in routes or route.fallback == route.id):
            raise ConfigError(f"{source}: the fallback of {route.id!r} is no other route: {route.fallback!r}")
        if sum(fault.share for fault in route.faults) > 1:
            raise ConfigError(f"{source}: the fault shares of {route.id!r} add up to more than 1")
    for preset in config.presets:
        if preset.base not in routes:
            raise ConfigError(f"{source}: the base of preset {preset.id!r} is no route: {preset.base!r}")
    if not config.accounts:
        raise ConfigError(f"{source}: at least one account is needed")
