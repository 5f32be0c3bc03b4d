"""What each key of a platform's configuration allows by itself and the keys together do not."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from workbench.local_platform.config import (
    FRONT_FAULTS,
    OWN_FIELDS,
    SIMULATED_ONLY,
    PlatformConfig,
    Preset,
    Route,
    RouteFault,
)
from workbench.local_platform.request_check import parameter_fault

Place = tuple[str | int, ...]
_PLAIN = Route(id="any", upstream="any")


class Contradiction(NamedTuple):
    """One thing that cannot be served."""

    place: Place
    text: str
    wrong: str = ""
    """A name that is none…"""
    known: tuple[str, ...] = ()
    """…and those that are."""


def contradictions(config: PlatformConfig) -> Iterator[Contradiction]:
    """List them all."""
    routes = tuple(route.id for route in config.routes)
    accounts = tuple(account.name for account in config.accounts)
    if not routes:
        yield Contradiction(("routes",), "at least one route is needed")
    if not accounts:
        yield Contradiction(("accounts",), "at least one account is needed")
    yield from _repeated((("accounts", n, "name"), name) for n, name in enumerate(accounts))
    for number, account in enumerate(config.accounts):
        if account.max_in_flight is not None and account.max_in_flight > config.limits.in_flight:
            text = f"the platform has {config.limits.in_flight} slots in all (limits.in_flight)"
            yield Contradiction(("accounts", number, "max_in_flight"), text)
    entries: list[tuple[Place, Route | Preset]] = [(("routes", n), route) for n, route in enumerate(config.routes)]
    entries += [(("presets", n), preset) for n, preset in enumerate(config.presets)]
    yield from _repeated(((*place, "id"), entry.id) for place, entry in entries)
    for place, entry in entries:
        yield from _unknown((*place, "visible_to"), entry.visible_to or (), accounts, "account")
        checks = config.silent.requests == "checked"
        found = _route_faults(entry, routes) if isinstance(entry, Route) else _preset_faults(entry, routes, checks)
        yield from (fault._replace(place=(*place, *fault.place)) for fault in found)
    yield from _unknown(("statistics_for",), config.statistics_for, accounts, "account")
    for status in config.silent.cooldown_after:
        if not 400 <= status <= 599:
            yield Contradiction(
                ("silent", "cooldown_after"), f"{status} is not a status of a failure: expected 400 to 599"
            )


def _repeated(named: Iterable[tuple[Place, str]]) -> Iterator[Contradiction]:
    seen: set[str] = set()
    for place, name in named:
        if name in seen:
            yield Contradiction(place, f"{name!r} is given twice: each needs its own")
        seen.add(name)


def _unknown(place: Place, names: Iterable[str], known: tuple[str, ...], kind: str) -> Iterator[Contradiction]:
    for name in names:
        if name not in known:
            yield Contradiction(place, f"{name!r} is not a known {kind}", name, known)


def _preset_faults(preset: Preset, routes: tuple[str, ...], checks: bool) -> Iterator[Contradiction]:
    yield from _unknown(("base",), (preset.base,), routes, "route")
    for name in preset.parameters:
        if name in OWN_FIELDS or name in ("model", "messages", "stream", "stream_options"):
            yield Contradiction(("parameters", name), "a caller or the platform sets this field: leave it out")
    if checks and (fault := parameter_fault(preset.parameters)):  # each caller would be told that the request is wrong
        yield Contradiction(("parameters",), fault)


def _route_faults(route: Route, routes: tuple[str, ...]) -> Iterator[Contradiction]:
    if route.fallback is not None:
        others = tuple(name for name in routes if name != route.id)
        yield from _unknown(("fallback",), (route.fallback,), others, "other route")
    if (route.simulated is None) == (route.base_url is None):
        text = "give either simulated, for a simulated model, or base_url, for a model server"
        yield Contradiction(("simulated",), text)
    elif route.base_url is not None:
        yield from _server_faults(route, route.base_url)
    elif route.secret_env is not None:
        yield Contradiction(("secret_env",), "a simulated model has no secret; secret_env needs base_url")
    yield from _answer_faults(route)
    for number, fault in enumerate(route.faults):
        yield from (found._replace(place=("faults", number, *found.place)) for found in _fault_faults(fault))
    for front in (True, False):
        always = [f for f in route.faults if (f.kind in FRONT_FAULTS) is front and f.until_s is f.every_s is None]
        if sum(fault.share for fault in always) > 1 + 1e-9:
            yield Contradiction(("faults",), "the shares add up to more than 1: expected 1 at most")


def _answer_faults(route: Route) -> Iterator[Contradiction]:
    if route.answers and route.simulated in ("prose", "echo"):
        yield Contradiction(("answers",), f"only for simulated = 'answers', not {route.simulated!r}: leave it out")
    for number, answers in enumerate(route.answers):
        if answers.empty + answers.cut + answers.refused + answers.prose > 1 + 1e-9:
            yield Contradiction(
                ("answers", number), "the shares of the wrong ones add up to more than 1: expected 1 at most"
            )


def _server_faults(route: Route, base_url: str) -> Iterator[Contradiction]:
    try:
        parts = urlsplit(base_url)
        host = (parts.hostname or "").encode("idna")
        sound = (
            parts.scheme in ("http", "https")
            and host
            and parts.port != 0
            and not any(map(str.isspace, base_url.strip()))
        )
    except ValueError:  # UnicodeError is one
        sound = False
    if not sound:
        found = "" if "@" in base_url else f", found {base_url!r}"  # a password may stand before it
        yield Contradiction(("base_url",), f"expected an http or https URL{found}")
    elif parts.query or parts.fragment or parts.username or parts.password:
        yield Contradiction(("base_url",), "expected a URL without a query, a fragment, a user name or a password")
    elif parts.path.rstrip("/").endswith("/chat/completions"):
        yield Contradiction(("base_url",), "expected it up to and including /v1, as /chat/completions is added")
    for name in SIMULATED_ONLY:
        if getattr(route, name) != getattr(_PLAIN, name):
            yield Contradiction((name,), "only for simulated models: leave it out")
    if any(fault.kind not in FRONT_FAULTS for fault in route.faults):
        text = "a real model server has its own faults: expected one of gateway, reset and truncate"
        yield Contradiction(("faults",), text)


def _fault_faults(fault: RouteFault) -> Iterator[Contradiction]:
    if fault.status is not None and fault.kind != "status":
        yield Contradiction(("status",), f"only for kind 'status', not {fault.kind!r}: leave it out")
    if bool(fault.delay_s) != (fault.kind == "slow"):
        yield Contradiction(("delay_s",), "must be more than 0 for kind 'slow', and is only for that kind")
    if bool(fault.for_s) != (fault.every_s is not None):
        yield Contradiction(("every_s",), "bursts need every_s and for_s: give both or neither")
    if fault.until_s is not None and fault.until_s <= fault.from_s:
        yield Contradiction(("until_s",), "must be later than from_s")
