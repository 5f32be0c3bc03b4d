"""`workbench.toml` as one value.

default_profile = "lab"

[profiles.lab]
base_url = "https://chat.example.org"      # with or without /api
key_env = "LAB_API_KEY"                    # the name of a variable, in the environment or in .env
# key_file = "~/.config/lab.key"           # or a file that holds the key alone
# gateway_limit_s = 300

# reports_mode = "shared"                  # new folders of pages are readable by all users of this machine
# slots_folder = "/var/lib/workbench/slots"  # shared by all users of this machine, who make it writable for each other

[account]
time_zone = "Europe/Berlin"                # whose days usage is summed up by; by default UTC

[allowance]
signature = "allowance .* used up"         # regular expression: what an exhausted allowance says
window = "month"                           # what it is counted over: "month", "week", or the last hours, as "5h"
anchor_day = 1                             # of a month; 29 to 31 is the last day where a month has no such day
anchor_weekday = "Monday"                  # of a week
total_units = 3_000_000                    # in a window, where it is known
unit = "credits"                           # what units are called; without weights a unit is a token
warn_at = 0.8                              # share of the total; `workbench allowance status` ends with 100 from it on
price_per_unit = 0.002                     # shown beside units
currency = "EUR"

[[allowance.weights]]                      # units per 1,000 tokens; with `since` from that day on
model = "Qwen3 Coder [fast]"               # or "*"
since = 2026-11-01
prompt = 1.0
completion = 4.0
reasoning = 4.0                            # by default as completion

[confirm]                                  # `workbench run` asks before it sends more, without a terminal it needs --yes
requests = 10_000                          # or total_tokens, units

[[caps]]                                   # one of requests, total_tokens, units and share of the total
per = "day"                                # "window" of the allowance, "day", "week", "month" or hours as "5h"
job = "nightly"                            # by default all runs of the ledger together
tag = { team = "optics" }
total_tokens = 1_000_000

[ledger]                                   # one for several machines; without it, ledger.duckdb in this folder
url = "ducklake:postgres:host=db.lab.example dbname=workbench"   # passwords: ~/.pgpass or PGPASSWORD
data = "/srv/workbench/data"               # where this machine sees the folder of its rows, if not where it was made

[routes."Qwen3 Coder [fast]"]
served_as = "qwen3-coder-30b"              # this name is the model itself; answers under any other are a fallback's
"""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import msgspec

from workbench.errors import BACKSLASH, Fault, InputError, nearest, read_error_text
from workbench.settings.environment import found_upward
from workbench.settings.urls import normalised_url
from workbench.strict import PathTo, Problem, convert, faults, located, read_toml

FILE_NAME = "workbench.toml"
WINDOWS = r"month|week|[1-9][0-9]{0,3}h"
"""What `allowance.window` may be."""


_Variable = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", extra_json_schema={"writeOnly": True})]


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One named endpoint of `workbench.toml`."""

    base_url: str
    """Of the platform, with or without /api."""
    key_env: _Variable | None = None
    """The variable that holds the API key, in the environment or in `.env`."""
    key_file: str | None = None
    """Or the file that holds the API key alone."""
    gateway_limit_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """How long the platform's gateway waits for a route, an attempt; a job may say otherwise."""


_NotNegative = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class WeightSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model's tokens draw from a day on, in units per 1,000 tokens."""

    model: str
    """Its id, or `*` for those that have no weight of their own."""
    prompt: _NotNegative
    """Units per 1,000 prompt tokens."""
    completion: _NotNegative
    """Units per 1,000 completion tokens."""
    reasoning: _NotNegative | None = None
    """Of the completion tokens that are reasoning; by default as completion."""
    since: date = date(2000, 1, 1)
    """In the account's time zone; by default before any call."""


class AllowanceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the account's allowance."""

    signature: str | None = None
    """A regular expression: what the platform says when the allowance is used up."""
    window: str | None = None
    """What it is counted over: "month", "week", or the last hours, as "5h"."""
    anchor_day: Annotated[int, msgspec.Meta(ge=1, le=31)] = 1
    """The day on which a month begins; 29 to 31 is the last day where a month has no such day."""
    anchor_weekday: Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] = "Monday"
    """The day on which a week begins."""
    total_units: Annotated[float, msgspec.Meta(gt=0, le=1e15)] | None = None
    """How many units a window has, where that is known."""
    unit: str | None = None
    """What units are called; without weights a unit is a token."""
    warn_at: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """The share of the total from which on `workbench allowance status` ends with 100."""
    price_per_unit: Annotated[float, msgspec.Meta(ge=0, le=1e9)] | None = None
    """What a unit costs, shown beside units."""
    currency: str | None = None
    """Of the price."""
    weights: list[WeightSettings] = []
    """`[[allowance.weights]]`: what models draw, in units per 1,000 tokens."""


class CapSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be used in a window, by all, by one job, or by the runs with some tags."""

    per: str = "window"
    """`window` of the allowance, `day`, `week`, `month`, or the last hours, as `5h`."""
    job: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    """Only the runs of this job; by default all runs of the ledger together."""
    tag: dict[str, str] = {}
    """Only the runs with these tags."""
    requests: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The most requests in the window."""
    total_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The most tokens."""
    units: Annotated[float, msgspec.Meta(gt=0, le=1e15)] | None = None
    """The most units of the allowance."""
    share: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """The most, as a share of the allowance's total."""


class ConfirmSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Above which of these a run asks first; `--yes` runs it all the same."""

    requests: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """How many a run may send."""
    total_tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """How many it may use by its estimate."""
    units: Annotated[float, msgspec.Meta(ge=0, le=1e15)] | None = None
    """How many units of the allowance, by its estimate."""


class RouteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one model."""

    served_as: str | list[str] = []
    """Names under which it answers itself, besides its own: any other is a fallback then."""


class AccountSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for everything of this account."""

    time_zone: str = "UTC"
    """Whose days usage is summed up by (IANA time zone)."""


class LedgerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ledger that several machines share."""

    url: str
    """`ducklake:postgres:` and what PostgreSQL's clients are given."""
    data: str | None = None
    """The folder of its rows, where this machine sees it elsewhere than the one that made it."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of `workbench.toml`."""

    profiles: dict[str, Profile] = {}
    """Platforms by name, for `--profile NAME`."""
    default_profile: str | None = None
    """The profile that is used where none is named."""
    account: AccountSettings = AccountSettings()
    """What holds for everything of this account."""
    allowance: AllowanceSettings = AllowanceSettings()
    """What is known of the account's allowance."""
    caps: list[CapSettings] = []
    """`[[caps]]`: how much may be used in a window; one of requests, total_tokens, units and share each."""
    confirm: ConfirmSettings = ConfirmSettings()
    """Above which of these a run asks first."""
    ledger: LedgerSettings | None = None
    """The ledger that several machines share; by default `ledger.duckdb` in this folder."""
    routes: dict[str, RouteSettings] = {}
    """By model id, what is known of it."""
    reports_mode: Literal["private", "shared"] = "private"
    """Who may read new folders of pages: you alone (0700), or all users of this machine (0755)."""
    slots_folder: str | None = None
    """Where the slots of all users of this machine are kept; by default each user's own are in the state folder."""


def served_as(settings: Settings) -> dict[str, list[str]]:
    """Model -> the names that the settings confirm for it."""
    return {
        model: [route.served_as] if isinstance(route.served_as, str) else route.served_as
        for model, route in settings.routes.items()
        if route.served_as
    }


def load_settings(folder: Path) -> Settings:
    """Read `workbench.toml` of a folder; without one, everything has its default.

    Raises:
        InputError: The file is not valid TOML, or has unknown or mistyped keys.
    """
    path = found_upward(folder, FILE_NAME)
    if path is None:
        return Settings()
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(str(path), f"cannot be read: {read_error_text(error)}")) from error
    settings, problems = convert(read_toml(text, str(path)), Settings)
    if settings is not None:
        problems = list(_contradictions(settings))
    if settings is None or problems:
        raise InputError(*faults(problems, text, str(path)))
    return settings


def place_of(folder: Path, key: PathTo) -> str:
    """Name a key of a folder's `workbench.toml`, with its line, for a fault that shows only when it is used."""
    path = found_upward(folder, FILE_NAME)
    assert path is not None  # who asks has read it
    return located(key, path.read_text("utf-8-sig"), str(path))


def _contradictions(settings: Settings) -> Iterator[Problem]:
    """Return what the types of the keys do not say."""
    zone, slots, default = settings.account.time_zone, settings.slots_folder, settings.default_profile
    try:
        ZoneInfo(zone)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        known = nearest(zone, available_timezones()) or 'such as "Europe/Berlin"'
        yield Problem(("account", "time_zone"), f"{zone!r} is not a known time zone", known)
    if slots is not None and not Path(slots).expanduser().is_absolute():
        # another folder for each command: nothing shared
        yield Problem(("slots_folder",), f"{slots!r} is a relative path", "name the whole path")
    if default is not None and default not in settings.profiles:
        known = nearest(default, settings.profiles) or f"known: {', '.join(settings.profiles) or 'none'}"
        yield Problem(("default_profile",), f"there is no profile {default!r}", known)
    for name, profile in settings.profiles.items():
        try:
            normalised_url(profile.base_url)
        except InputError as error:
            yield Problem(("profiles", name, "base_url"), error.faults[0].problem, error.faults[0].hint)
        if profile.key_env is not None and profile.key_file is not None:
            yield Problem(("profiles", name), "has both key_env and key_file", "the key is in one of them")
    yield from _of_allowance(settings.allowance)
    for number, cap in enumerate(settings.caps):
        if (found := _of_cap(cap, settings.allowance)) is not None:
            yield Problem(("caps", number), *found)


def _of_allowance(allowance: AllowanceSettings) -> Iterator[Problem]:
    window = allowance.window
    if window is not None and not re.fullmatch(WINDOWS, window):
        known = nearest(window, ("month", "week")) or '"month", "week" or hours such as "5h"'
        yield Problem(("allowance", "window"), f"{window!r} is not a window", known)
    if allowance.price_per_unit is not None and allowance.currency is None:
        hint = 'allowance.currency = "EUR"'
        yield Problem(("allowance", "price_per_unit"), "a price needs its currency", hint)
    if allowance.signature is not None:
        import regex  # as the client searches with

        try:
            regex.compile(allowance.signature)
        except (regex.error, OverflowError, RecursionError) as error:
            yield Problem(("allowance", "signature"), f"not a valid regular expression: {error}", BACKSLASH)
    weighted = set[tuple[str, date]]()
    for number, weight in enumerate(allowance.weights):
        if (weight.model, weight.since) in weighted:
            problem = f"{weight.model!r} has another weight from the same day on"
            yield Problem(("allowance", "weights", number), problem, "`since` says from when on each counts")
        weighted.add((weight.model, weight.since))


def _of_cap(cap: CapSettings, allowance: AllowanceSettings) -> tuple[str, str] | None:
    """Return why a cap says nothing, or is of a window that is not known."""
    given = [name for name in ("requests", "total_tokens", "units", "share") if getattr(cap, name) is not None]
    if len(given) != 1:
        return f"expected one of requests, total_tokens, units and share, found {' and '.join(given) or 'none'}", ""
    if cap.per == "window" and allowance.window is None:
        return "the window of the allowance is not known", '[allowance] window = "month"; or per = "day"'
    if cap.per not in ("window", "day") and not re.fullmatch(WINDOWS, cap.per):
        periods = '"window", "day", "week", "month" or hours as "5h"'
        return f"{cap.per!r} is not a window", nearest(cap.per, ("window", "day", "week", "month")) or periods
    return None
