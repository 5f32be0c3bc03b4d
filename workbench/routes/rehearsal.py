"""An account's routes as a configuration of the embedded platform, so that a job can be rehearsed on their like."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from workbench.ledger.queries import Reader
from workbench.ledger.route_rows import RouteProfile
from workbench.planning.models import GATEWAY_ATTEMPTS
from workbench.routes.facts import RouteFacts
from workbench.routes.probes import probed

_LEAST_ANSWERS = 5
_RIGHT = 0.8
"""Of a route's answers, where nothing is known: what the embedded platform takes by itself."""
_MOST_SIGMA = 3.0
_ALWAYS = 0.999
_NAME = re.compile(r"[^\s\x00-\x1f](.*[^\s\x00-\x1f])?")
_FAULTS: dict[str, dict[str, Any]] = {
    "down": {"status": 502},
    "error": {"status": 500},
    "limit": {"status": 429},
    "refusal": {"status": 400},
    "key": {"status": 401},
    "hang": {"kind": "hang"},
    "late": {"kind": "hang"},
    "reset": {"kind": "reset"},
    "gateway": {"kind": "gateway"},
}
"""What a failed call resembles (see `outcomes`), and the fault of a simulated route."""
_IN_FRONT = ("reset", "gateway")
"""Kinds of faults that no fallback helps against."""


def rehearsal_of(reader: Reader) -> dict[str, Any]:
    """Return a `platform.toml` as plain values: a simulated route for every model that the ledger knows answers or failures of.

    Latencies and answer lengths are lognormal with the history's median and spread; failures keep their shares, and a model
    that another one answered for falls back as often, one that refuses refuses as often, and one that the account does not see is
    not seen. A preset stays one, over its base: else its base's name, under which it answers, would be a stranger's. What an
    answer says is computed, and means nothing.
    """
    rows = [row for row in reader.all(RouteProfile) if _NAME.fullmatch(row.model)]
    known = {model: route.facts for model, route in probed(reader).known.items()}
    by_name = {row.model: row for row in rows}
    presets = _presets(rows)
    routes: list[dict[str, Any]] = []
    for row in _behind(rows, presets):
        route = _healthy(row, known.get(row.model, RouteFacts())) | {"id": row.model}
        faults = _faults(row)
        if row.fallbacks and row.substitute and _NAME.fullmatch(row.substitute):
            instead = _substitute(row, by_name.get(row.substitute), faults)
            routes.append(instead)
            route["fallback"] = instead["id"]
            hidden = [fault for fault in faults if fault.get("kind") not in _IN_FRONT]
            share = row.fallbacks / row.calls + sum(fault["share"] for fault in hidden)
            faults = [{"share": _down(share), "status": 502}, *(fault for fault in faults if fault not in hidden)]
        if faults:
            route["faults"] = faults
        if (row.ends or {}).get("hidden") == row.calls:
            route["visible_to"] = []
        routes.append(route)
    found = {"silent": {"served_name": "upstream"}, "routes": routes}
    return found | ({"presets": [{"id": name, "base": base} for name, base in presets.items()]} if presets else {})


def _presets(rows: Sequence[RouteProfile]) -> dict[str, str]:
    """Return the models that are presets and answer under another name than their own, each with the last of its bases."""
    bases = {
        row.model: row.base
        for row in rows
        if row.base and row.base != row.model and row.served_name != row.model and _NAME.fullmatch(row.base)
    }
    found: dict[str, str] = {}
    for model, first in bases.items():
        base, passed = first, {model}
        while base in bases and base not in passed:
            passed.add(base)
            base = bases[base]
        if base not in bases:  # else they are each other's
            found[model] = base
    return found


def _behind(rows: Sequence[RouteProfile], presets: dict[str, str]) -> list[RouteProfile]:
    """Return the routes without the presets, whose calls, failures and refusals are their bases'."""
    found = {row.model: row for row in rows if row.model not in presets}
    for row in rows:
        base = presets.get(row.model)
        if base is None:
            continue
        known = found.get(base)
        found[base] = msgspec.structs.replace(row, model=base) if known is None else _together(known, row)
    return list(found.values())


def _together(one: RouteProfile, other: RouteProfile) -> RouteProfile:
    """Return a route with the calls of another one; latencies and lengths stay its own where it answered."""
    told = one if one.answers else msgspec.structs.replace(other, model=one.model)
    ends = Counter(one.ends or {}) + Counter(other.ends or {})
    return msgspec.structs.replace(
        told,
        calls=one.calls + other.calls,
        fallbacks=one.fallbacks + other.fallbacks,
        substitute=one.substitute or other.substitute,
        answers=one.answers + other.answers,
        calls_without_usage=one.calls_without_usage + other.calls_without_usage,
        ends=dict(ends) or None,
    )


def _substitute(row: RouteProfile, own: RouteProfile | None, faults: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a route that no account sees and that answers in another's place; it fails as often as both were down."""
    found = {} if own is None else _healthy(own, RouteFacts())
    failed = sum(fault["share"] for fault in faults if fault.get("kind") not in _IN_FRONT) * row.calls
    found |= {"id": f"in place of {row.model}", "upstream": row.substitute, "visible_to": []}
    if failed:
        found["faults"] = [{"share": _down(failed / (failed + row.fallbacks)), "status": 502}]
    return {"simulated": "answers"} | found


def _healthy(row: RouteProfile, facts: RouteFacts) -> dict[str, Any]:
    """Return a route as it answers where nothing goes wrong."""
    thinks = row.reasoning_tokens > 0 if facts.thinks is None else facts.thinks
    found: dict[str, Any] = {
        "upstream": row.served_name if _NAME.fullmatch(row.served_name or "") else row.model,
        "simulated": "answers",
        "thinks": thinks,
        "calls_tools": facts.tools == "called",
    }
    if row.answers - row.fallbacks >= _LEAST_ANSWERS and row.p50_ms is not None:
        found["latency_ms"] = _lognormal(row.p50_ms, row.latency_sigma)
        if row.p50_completion_tokens:
            found["answer_tokens"] = _lognormal(max(row.p50_completion_tokens, 1.0), row.completion_sigma)
    if refused := (row.ends or {}).get("refused"):
        share = refused / row.answers
        right = min(_RIGHT, 1 - share)
        found["answers"] = [{"right": round(right, 4), "refused": round(share / (1 - right), 4)}]
    if row.answers and row.calls_without_usage > row.answers / 2:
        found["reports_usage"] = False
    if facts.keeps_cap is False:
        found["keeps_max_tokens"] = False
    limit_ms = None if row.timeout_ms is None else row.timeout_ms / GATEWAY_ATTEMPTS
    if limit_ms is not None and limit_ms > (row.p99_ms or 0.0):  # a failure that came early is not its limit
        found["limit_s"] = round(max(limit_ms / 1000, 0.1), 1)
    return found


def _faults(row: RouteProfile) -> list[dict[str, Any]]:
    ends = row.ends or {}
    return [{"share": _down(ends[name] / row.calls)} | fault for name, fault in _FAULTS.items() if name in ends]


def _down(share: float) -> float:
    """Return a share cut to four digits, so that several never add up to more than all; what always was stays so."""
    return 1.0 if share > _ALWAYS else math.floor(share * 10_000) / 10_000


def _lognormal(median: float, sigma: float | None) -> dict[str, float]:
    return {"median": round(median, 1), "sigma": round(min(sigma or 0.0, _MOST_SIGMA), 3)}
