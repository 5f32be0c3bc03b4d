"""What a platform serves, as strict values read from `platform.toml`."""

import tomllib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from workbench.local_platform.silent import Silent

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
PositiveSeconds = Annotated[float, msgspec.Meta(gt=0)]
Skill = Literal["arithmetic", "extraction", "tools", "reasoning", "prose", "echo"]
FaultKind = Literal["status", "hang", "slow", "html", "cut", "gateway", "reset", "truncate"]
FRONT_FAULTS = frozenset({"gateway", "reset", "truncate"})
Place = tuple[str | int, ...]
GATEWAY_REQUESTS = 64


class ConfigError(Exception):
    """A platform configuration that cannot be served; the message names the place."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Latency(_Table, frozen=True):
    """A lognormal distribution of answer times."""

    median: Annotated[float, msgspec.Meta(ge=0)]
    """In ms."""
    sigma: Annotated[float, msgspec.Meta(ge=0, le=3)] = 0.0
    """Standard deviation of the logarithm."""


class RouteFault(_Table, frozen=True):
    """Something that goes wrong on a route, for a share of its requests and, where said, at certain times only."""

    share: Share = 1.0
    """Of the requests, drawn from the seed."""
    status: Literal[400, 401, 404, 408, 429, 500, 502, 503, 530] = 502
    """What the model server answers, for kind `status`."""
    kind: FaultKind = "status"
    """`status`, `hang` (never answers), `slow` (waits `delay_s` before its first byte), `html` (200 and a page) and `cut`
    (breaks off in its answer) are faults of the model server; `gateway` (the platform cannot reach its gateway), `reset`
    (the caller's connection is reset) and `truncate` (the caller's body ends in its middle) are faults in front of it."""
    lasting: bool = True
    """Whether it meets every attempt of a request, so that the gateway's retries do not mend it."""
    delay_s: Seconds = 0.0
    """For kind `slow`."""
    from_s: Seconds = 0.0
    """Begin of an outage window, since the platform started."""
    until_s: Seconds | None = None
    """Its end; None is never."""
    every_s: PositiveSeconds | None = None
    """Bursts: a period…"""
    for_s: Seconds = 0.0
    """…and how long the fault lasts in it."""


class Route(_Table, frozen=True):
    """One route: to a model server, or to a simulated one."""

    id: str
    upstream: str
    """The model's name at its server; seen in `model` when the route answers as a fallback."""
    skill: Skill | None = None
    """Of a simulated model; give either this or `base_url`."""
    base_url: str | None = None
    """Of an OpenAI-compatible model server, up to and including `/v1`."""
    secret_env: str | None = None
    """The environment variable that holds the model server's own key."""
    options: dict[str, bool] = {}
    latency_ms: Latency = Latency(median=0)
    """Until the answer, or until the first token of a stream; simulated routes only."""
    token_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Between the pieces of a stream; simulated routes only."""
    faults: tuple[RouteFault, ...] = ()
    calls_tools: bool = False
    unavailable: bool = False
    """The model server behind the route is down: the fallback answers, or else a 502."""
    secret_missing: bool = False
    """The platform lacks the secret of the model server: 401 for this route only."""
    reports_usage: bool = True
    """Whether a simulated route says what it drew."""
    limit_s: PositiveSeconds | None = None
    """Its own time limit."""
    fallback: str | None = None
    template_defaults: dict[str, Any] = {}
    """Default `chat_template_kwargs`; a caller's own object replaces it whole."""
    visible_to: tuple[str, ...] | None = None
    """Names of the accounts that see it; None means all."""
    weight: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    """How many units of the allowance a token of this route draws."""


class Preset(_Table, frozen=True):
    """A named system prompt over a route; its server-side tools never run through the API."""

    id: str
    base: str
    system: str = ""
    visible_to: tuple[str, ...] | None = None
    parameters: dict[str, Any] = {}
    """Body fields that the preset sets."""


class Account(_Table, frozen=True):
    """Whoever owns keys and an allowance."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    allowance_units: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Its own size, in place of `allowance.units`."""


class Limits(_Table, frozen=True):
    """`[limits]`: the gateway's, as the document gives them."""

    in_flight: Annotated[int, msgspec.Meta(ge=1)] = GATEWAY_REQUESTS
    """Requests in flight, platform-wide."""
    time_limit_s: PositiveSeconds = 120.0
    """Per request; a route may have its own."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=10)] = 2
    """Automatic ones, after a failure that may pass."""
    retry_pause_s: Seconds = 0.5
    """Before the first retry; doubled before each further one."""
    body_bytes: Annotated[int, msgspec.Meta(ge=1024)] = 32 * 2**20
    header_bytes: Annotated[int, msgspec.Meta(ge=1024)] = 16 * 2**10
    """Of one header line."""


class Allowance(_Table, frozen=True):
    """`[allowance]`: what every account may draw, through the API and elsewhere together."""

    units: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """In a window; None is without end. A token draws its route's `weight`."""
    window_s: PositiveSeconds = 30 * 86400.0
    """Windows follow each other from 1970-01-01 UTC on."""
    assumed_completion_tokens: Annotated[int, msgspec.Meta(ge=0)] = 500
    """What an answer is taken for until its usage is known, where the request does not cap it."""


class PlatformConfig(_Table, frozen=True):
    """All of one platform."""

    routes: tuple[Route, ...]
    presets: tuple[Preset, ...] = ()
    accounts: tuple[Account, ...] = (Account("lab"),)
    seed: int = 0
    """Of every latency and fault."""
    clock_speed: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    """How many seconds of this platform pass in one: 100 tries a limit of 120 s in 1.2 s."""
    statistics_for: tuple[str, ...] = ()
    """The accounts that may read `GET /statistics`; without any it is off."""
    limits: Limits = Limits()
    allowance: Allowance = Allowance()
    silent: Silent = Silent()


def load_config(path: Path | None = None) -> PlatformConfig:
    """Read a platform configuration, or the built-in catalogue when no path is given.

    Raises:
        ConfigError: The file is missing, is no TOML, has unknown or mistyped keys, or names routes that do not exist.
    """
    source = str(path or "the built-in catalogue")
    try:
        config = msgspec.convert(tomllib.loads(read_text(path)), PlatformConfig)
    except (OSError, ValueError) as error:  # tomllib's and msgspec's errors are ValueErrors
        raise ConfigError(f"{source}: {error}") from error
    check(config, source)
    return config


def read_text(path: Path | None) -> str:
    """The text of a configuration, or of the built-in catalogue."""
    if path is not None:
        return path.read_text("utf-8-sig")
    return resources.files(__package__).joinpath("catalogue.toml").read_text("utf-8")


def check(config: PlatformConfig, source: str) -> None:
    """Refuse what each key allows by itself and the keys together do not.

    Raises:
        ConfigError: For the first such fault.
    """
    for place, text in contradictions(config):
        raise ConfigError(f"{source}: {'.'.join(map(str, place))}: {text}")


def contradictions(config: PlatformConfig) -> Iterator[tuple[Place, str]]:
    """What the keys together do not allow, with its place."""
    routes = {route.id for route in config.routes}
    accounts = {account.name for account in config.accounts}
    if not config.routes:
        yield ("routes",), "at least one route is needed"
    if not config.accounts or len(accounts) < len(config.accounts):
        yield ("accounts",), "at least one account is needed, and every name once"
    yield from _name_faults(config, accounts)
    for number, route in enumerate(config.routes):
        yield from ((("routes", number, *place), text) for place, text in _route_faults(route, routes))
    for number, preset in enumerate(config.presets):
        if preset.base not in routes:
            yield ("presets", number, "base"), f"{preset.base!r} is no route"


def _name_faults(config: PlatformConfig, accounts: set[str]) -> Iterator[tuple[Place, str]]:
    places: list[tuple[Place, Route | Preset]] = [(("routes", n), route) for n, route in enumerate(config.routes)]
    places += [(("presets", n), preset) for n, preset in enumerate(config.presets)]
    seen: set[str] = set()
    for place, entry in places:
        if entry.id in seen:
            yield (*place, "id"), f"{entry.id!r} is given twice"
        seen.add(entry.id)
        for name in set(entry.visible_to or ()) - accounts:
            yield (*place, "visible_to"), f"{name!r} is no account"
    for name in set(config.statistics_for) - accounts:
        yield ("statistics_for",), f"{name!r} is no account"


def _route_faults(route: Route, routes: set[str]) -> Iterator[tuple[Place, str]]:
    if (route.skill is None) == (route.base_url is None):
        yield ("skill",), "give either skill, for a simulated model, or base_url, for a model server"
    if route.base_url is not None and not route.base_url.startswith(("http://", "https://")):
        yield ("base_url",), f"expected an http or https URL, found {route.base_url!r}"
    if route.base_url is not None and any(fault.kind not in FRONT_FAULTS for fault in route.faults):
        yield (
            ("faults",),
            "a real model server makes its own faults; only gateway, reset and truncate are in front of it",
        )
    if route.fallback is not None and (route.fallback not in routes or route.fallback == route.id):
        yield ("fallback",), f"{route.fallback!r} is no other route"
    if sum(fault.share for fault in route.faults if fault.until_s is None and fault.every_s is None) > 1 + 1e-9:
        yield ("faults",), "the shares add up to more than 1"
