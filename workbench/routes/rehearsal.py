"""An account's routes as a configuration of the embedded platform, so that a job can be rehearsed on their like."""

from collections.abc import Sequence
from typing import Any

from workbench.ledger.queries import Reader, Row
from workbench.planning.models import GATEWAY_ATTEMPTS
from workbench.routes.facts import RouteFacts
from workbench.routes.probes import probed

_LEAST_ANSWERS = 5
_MOST_SIGMA = 3.0
_MOST_SHARE = 0.999
"""What always failed is down."""
_FAULTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("route_down", {"status": 502}),
    ("rate_limited", {"status": 429}),
    ("gateway_timeout", {"kind": "hang"}),
    ("html_body", {"kind": "html"}),
    ("connection_lost", {"kind": "reset"}),
    ("gateway_unreachable", {"kind": "gateway"}),
)


def rehearsal_of(reader: Reader) -> dict[str, Any]:
    """A `platform.toml` as plain values: a simulated route for every model that the ledger knows answers or failures of.

    Latencies and answer lengths are lognormal with the history's median and spread; failures keep their shares, and a model
    that another one answered for falls back to it as often. What an answer says is computed, and means nothing.
    """
    rows = reader.rows("route_profiles")
    known = {model: route.facts for model, route in probed(reader).known.items()}
    names = {row["model"] for row in rows}
    return {"routes": [_route(row, known.get(row["model"], RouteFacts()), names) for row in rows]}


def _route(row: Row, facts: RouteFacts, names: set[str]) -> dict[str, Any]:
    thinks = row["reasoning_tokens"] > 0 if facts.thinks is None else facts.thinks
    found: dict[str, Any] = {
        "id": row["model"],
        "upstream": row["model"],
        "skill": "reasoning" if thinks else "arithmetic",
        "calls_tools": facts.tools == "called",
    }
    if row["answers"] - row["fallbacks"] >= _LEAST_ANSWERS:
        found["latency_ms"] = _lognormal(row["p50_ms"], row["latency_sigma"])
        if row["p50_completion_tokens"]:
            found["answer_tokens"] = _lognormal(row["p50_completion_tokens"], row["completion_sigma"])
    if row["answers"] and row["calls_without_usage"] > row["answers"] / 2:
        found["reports_usage"] = False
    if facts.keeps_cap is False:
        found["keeps_max_tokens"] = False
    if row["timeout_ms"] is not None:
        found["limit_s"] = round(row["timeout_ms"] / 1000 / GATEWAY_ATTEMPTS, 1) or 0.1
    return found | _failures(row, names)


def _failures(row: Row, names: set[str]) -> dict[str, Any]:
    """What goes wrong on a route: a fallback answers as often as one did, and failures keep their shares."""
    if row["route_unauthorised"] > row["calls"] * _MOST_SHARE:
        return {"secret_missing": True}
    if row["substitute"] in names and row["fallbacks"]:
        share = row["fallbacks"] / row["calls"]
        if share > _MOST_SHARE:
            return {"unavailable": True, "fallback": row["substitute"]}
        # a fault of the model server leads to the fallback; its other failures are left to those in front of it
        faults = [{"share": round(share, 4), "status": 502}, *_shares(row, front=True)]
        return {"fallback": row["substitute"], "faults": faults}
    if row["route_down"] > row["calls"] * _MOST_SHARE:
        return {"unavailable": True}
    faults = _shares(row, front=False)
    return {"faults": faults} if faults else {}


def _shares(row: Row, *, front: bool) -> list[dict[str, Any]]:
    kinds: Sequence[tuple[str, dict[str, Any]]] = _FAULTS[4:] if front else _FAULTS
    return [{"share": round(row[name] / row["calls"], 4)} | fault for name, fault in kinds if row[name]]


def _lognormal(median: float, sigma: float | None) -> dict[str, float]:
    return {"median": round(median, 1), "sigma": round(min(sigma or 0.0, _MOST_SIGMA), 3)}
