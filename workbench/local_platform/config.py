"""What a platform serves, as strict values read from `platform.toml`."""

import tomllib
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from workbench.local_platform.silent import Silent

Units = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
Name = Annotated[str, msgspec.Meta(min_length=1, pattern=r"^[^\s\x00-\x1f](.*[^\s\x00-\x1f])?$")]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
PositiveSeconds = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Variable = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", extra_json_schema={"writeOnly": True})]
Simulation = Literal["answers", "prose", "echo"]
FaultKind = Literal["status", "hang", "slow", "html", "cut", "gateway", "reset", "truncate"]
FRONT_FAULTS = frozenset({"gateway", "reset", "truncate"})
GATEWAY_REQUESTS = 64
MOST_BODY_BYTES = 2**30
OWN_FIELDS = frozenset(
    "user metadata params files variables features tool_ids chat_id id parent_id folder_id filter_ids background_tasks "
    "session_id model_item extra_body".split()
)
"""Body fields that the platform takes for itself, so that no model sees them; not shown, as was seen."""
SIMULATED_ONLY = (
    "answers",
    "thinks",
    "wrong_verdicts",
    "latency_ms",
    "token_ms",
    "calls_tools",
    "reports_usage",
    "keeps_max_tokens",
    "answer_tokens",
)
"""Settings for simulated routes only."""


class ConfigError(Exception):
    """A platform configuration that cannot be served; the message names the place."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Latency(_Table, frozen=True):
    """A lognormal distribution of answer times."""

    median: Annotated[float, msgspec.Meta(ge=0, le=1e12)]
    """In ms."""
    sigma: Annotated[float, msgspec.Meta(ge=0, le=3)] = 0.0
    """Standard deviation of the logarithm."""


class Length(_Table, frozen=True):
    """A lognormal distribution of answer lengths."""

    median: Annotated[float, msgspec.Meta(ge=1, le=1e6)]
    """In tokens."""
    sigma: Annotated[float, msgspec.Meta(ge=0, le=3)] = 0.0
    """Standard deviation of the logarithm."""


class RouteFault(_Table, frozen=True):
    """Something that goes wrong on a route, for a share of its requests and, where said, at certain times only."""

    share: Share = 1.0
    """Of the requests, drawn from the seed."""
    status: Literal[400, 401, 404, 408, 429, 500, 502, 503, 530] | None = None
    """What the model server answers, for kind `status`; 502 where it is not said."""
    kind: FaultKind = "status"
    """`status`, `hang` (never answers), `slow` (waits `delay_s` before its first byte), `html` (200 and a page) and `cut`
    (breaks off in its answer) are faults of the model server; `gateway` (the platform cannot reach its gateway), `reset`
    (the caller's connection is reset) and `truncate` (the caller's body ends in its middle) are faults in front of it."""
    lasting: bool = True
    """Whether it meets every attempt of a request, so that the gateway's retries do not help."""
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


class Answers(_Table, frozen=True):
    """How a simulated route's answers stand to the answer key."""

    right: Share = 0.8
    """Of all; which ones depends on the sample too, so that one is hard for every route."""
    empty: Share = 0.0
    """Of the wrong ones: they have no text…"""
    cut: Share = 0.0
    """…break off as at a cap, with the finish reason `length`…"""
    refused: Share = 0.0
    """…refuse…"""
    prose: Share = 0.0
    """…or answer in words that say nothing; the others are another question's answer."""
    contains: str = ""
    """Only for prompts that have this text."""
    from_date: date | None = None
    """Only from this day on: of the scheduled time, where the command has one."""
    tokens: Length | None = None
    """In place of the route's `answer_tokens`."""


class Route(_Table, frozen=True):
    """One route: to a model server, or to a simulated one."""

    id: Name
    upstream: Name
    """The model's name at its server; seen in `model` when the route answers as a fallback."""
    simulated: Simulation | None = None
    """A simulated model answers from the answer key (`answers`), with words about the prompt (`prose`), or with the request
    itself (`echo`); give either this or `base_url`."""
    base_url: str | None = None
    """Of an OpenAI-compatible model server, up to and including `/v1`."""
    secret_env: Variable | None = None
    """The environment variable that holds the model server's own key."""
    answers: tuple[Answers, ...] = ()
    """How well a simulated route answers; of those that suit a request, the last counts."""
    thinks: bool = False
    """Whether a simulated route thinks before it answers."""
    wrong_verdicts: Share = 0.0
    """Of a simulated judge's: they say the opposite of what it sees."""
    latency_ms: Latency = Latency(median=0)
    """Until the answer, or until the first token of a stream; simulated routes only."""
    answer_tokens: Length | None = None
    """How long answers are, with words before what is answered; None: as long as that takes. Simulated routes only."""
    token_ms: Annotated[float, msgspec.Meta(ge=0, le=1e12)] = 0.0
    """Between the pieces of a stream; simulated routes only."""
    faults: tuple[RouteFault, ...] = ()
    calls_tools: bool = False
    unavailable: bool = False
    """The model server behind the route is down: the fallback answers, or else a 502."""
    secret_missing: bool = False
    """The platform lacks the secret of the model server: 401 for this route only."""
    reports_usage: bool = True
    """Whether a simulated route says what it drew."""
    keeps_max_tokens: bool = True
    """Whether a simulated route stops at `max_tokens`."""
    limit_s: PositiveSeconds | None = None
    """Its own time limit."""
    fallback: str | None = None
    template_defaults: dict[str, Any] = {}
    """Default `chat_template_kwargs`; a caller's own object replaces it whole."""
    visible_to: tuple[str, ...] | None = None
    """Names of the accounts that see it; None means all."""
    weight: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 1.0
    """How many units of the allowance a token of this route draws."""


class Preset(_Table, frozen=True):
    """A named system prompt over a route; its server-side tools never run through the API."""

    id: Name
    base: str
    system: str = ""
    visible_to: tuple[str, ...] | None = None
    parameters: dict[str, Any] = {}
    """Body fields that the preset sets."""


class Account(_Table, frozen=True):
    """Whoever owns keys and an allowance."""

    name: Name
    allowance_units: Units | None = None
    """Its own size, in place of `allowance.units`."""
    max_in_flight: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """How many of the platform's slots it may have at a time; None is all of them."""


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
    body_bytes: Annotated[int, msgspec.Meta(ge=1024, le=MOST_BODY_BYTES)] = 32 * 2**20
    header_bytes: Annotated[int, msgspec.Meta(ge=1024, le=2**20)] = 16 * 2**10
    """Of one header line."""
    head_s: PositiveSeconds = 15.0
    """How long a connection may take to bring its first request's head."""
    request_s: PositiveSeconds = 60.0
    """How long a caller may take to send a request's body."""


class Allowance(_Table, frozen=True):
    """`[allowance]`: what every account may draw, through the API and elsewhere together."""

    units: Units | None = None
    """In a window; None is unlimited. A token draws its route's `weight`."""
    window_s: Annotated[float, msgspec.Meta(ge=1, le=1e9)] = 30 * 86400.0
    """Windows follow each other from 1970-01-01 UTC on."""
    reserve_for_chat: Share = 0.0
    """The share of the units that batch work may not use: what is left for people."""
    assumed_completion_tokens: Annotated[int, msgspec.Meta(ge=0)] = 500
    """What an answer is taken for until its usage is known, where the request does not cap it."""


class PlatformConfig(_Table, frozen=True):
    """All of one platform."""

    routes: tuple[Route, ...]
    presets: tuple[Preset, ...] = ()
    accounts: tuple[Account, ...] = (Account("lab"),)
    seed: int = 0
    """Of every latency, fault and answer."""
    clock_speed: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 1.0
    """How many seconds of this platform pass in one: 100 tries a limit of 120 s in 1.2 s."""
    statistics_for: tuple[str, ...] = ()
    """The accounts that may read `GET /statistics`; without any it is off."""
    limits: Limits = Limits()
    allowance: Allowance = Allowance()
    silent: Silent = Silent()


def load_config(path: Path | None = None) -> PlatformConfig:
    """Read a platform configuration, or the built-in catalogue when no path is given.

    Raises:
        ConfigError: The file is missing, is not valid TOML, or has unknown or mistyped keys.
    """
    source = str(path or "the built-in catalogue")
    try:
        config = msgspec.convert(renamed(tomllib.loads(read_text(path))), PlatformConfig)
    except (OSError, ValueError) as error:  # tomllib's and msgspec's errors are ValueErrors
        raise ConfigError(f"{source}: {error}") from error
    return config


def renamed(data: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration as it is written now, where its routes have the `skill` of earlier versions;
    the next one refuses that.
    """
    routes = data.get("routes")
    return data | {"routes": list(map(_renamed, routes))} if isinstance(routes, list) else data


def _renamed(route: Any) -> Any:
    if not isinstance(route, dict) or not isinstance(route.get("skill"), str):
        return route
    rest = {key: value for key, value in route.items() if key not in ("skill", "options")}
    known = {"arithmetic": "answers", "extraction": "answers", "reasoning": "answers", "tools": "prose"}
    now: dict[str, Any] = {"simulated": known.get(route["skill"], route["skill"])}
    if route["skill"] == "reasoning":
        now["thinks"] = True
    if route.get("options") == {"careful": False}:
        now["answers"] = [{"right": 0.6}]
    return now | rest


def read_text(path: Path | None) -> str:
    """Return the text of a configuration, or of the built-in catalogue."""
    if path is not None:
        return path.read_text("utf-8-sig")
    return resources.files(__package__).joinpath("catalogue.toml").read_text("utf-8")
