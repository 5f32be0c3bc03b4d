"""How an attempt can end, and what follows from each: one row per outcome, for everything that acts on it.

What follows is nowhere else. Queries join the view `outcomes`, which is made from the table here, when they read: a
rule that is corrected holds for stored answers too.
"""

from enum import StrEnum
from typing import Literal, NamedTuple

UNKNOWN_REASON = "which is not a known one"
"""Ends the evidence of an answer whose generation ended for a reason that no rule knows."""


class Outcome(StrEnum):
    """How one attempt ended; the room `client` decides which."""

    OK = "ok"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    REASONING_EXHAUSTED = "reasoning_exhausted"
    REFUSED = "refused"
    FILTERED = "filtered"
    BROKEN_OFF = "broken_off"
    NULL_BODY = "null_body"
    MALFORMED_BODY = "malformed_body"
    HTML_BODY = "html_body"
    UNREADABLE_BODY = "unreadable_body"
    KEY_REJECTED = "key_rejected"
    KEY_NOT_ALLOWED = "key_not_allowed"
    ROUTE_UNAUTHORISED = "route_unauthorised"
    MODEL_NOT_VISIBLE = "model_not_visible"
    BAD_REQUEST = "bad_request"
    CONTEXT_TOO_LONG = "context_too_long"
    RATE_LIMITED = "rate_limited"
    ROUTE_COOLING = "route_cooling"
    ROUTE_DOWN = "route_down"
    GATEWAY_UNREACHABLE = "gateway_unreachable"
    PROXY_FAILED = "proxy_failed"
    REDIRECTED = "redirected"
    GATEWAY_TIMEOUT = "gateway_timeout"
    CONNECT_FAILED = "connect_failed"
    CONNECTION_LOST = "connection_lost"
    CLIENT_TIMEOUT = "client_timeout"
    ALLOWANCE_SUSPECTED = "allowance_suspected"
    ALLOWANCE_RESERVED = "allowance_reserved"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Effects(NamedTuple):
    """What follows from an outcome."""

    accepted: bool
    """The answer stands and is reused."""
    scorable: bool
    """There is an answer that scorers may judge."""
    wait_s: float | None
    """Before it is sent again in a later pass of the same run, in s; None: not in the same run."""
    rerun: bool
    """Worth a rerun of the job, which sends it again; what was paid for and is not worth one stands as the answer."""
    drew: Literal["yes", "maybe", "no"]
    """Whether the call may have used allowance, if it was sent at all."""
    route: Literal["well", "sick", ""]
    """What it says of the route: five times sick in a row pauses it, well resumes it; empty: nothing."""
    resembles: Literal[
        "down", "error", "limit", "refusal", "refused", "key", "hidden", "hang", "late", "reset", "gateway", ""
    ]
    """Which fault of a simulated route is most like it: `refused` is an answer, `hidden` a route that the account does not see;
    empty: none."""
    fault: str
    """Whose doing a failure most likely is, in words; empty for an answer."""
    crowded: Literal["load", "limit", ""] = ""
    """Why fewer requests in flight would have helped: a route was too slow, or a limit on requests refused it."""
    exhausted: bool = False
    """Whether the same refusal from several routes suggests an exhausted allowance."""
    stops: Literal["", "key", "allowance", "reserved"] = ""
    """What it says of the account, so that a run sends nothing more."""
    waited_out: bool = False
    """Whether we gave up after our own time limit."""
    ends: Literal["", "empty", "cut_off", "refused", "filtered", "context_too_long"] = ""
    """Why there is nothing to score by the model's own doing, as `[unscored]` of a job names it; else empty."""
    concluded: bool = True
    """False where we cancelled it ourselves: it says nothing of the model or its route."""


EFFECTS: dict[Outcome, Effects] = {
    #                                    accepted scorable wait_s rerun drew route  resembles fault
    Outcome.OK:                  Effects(True,  True,  None, False, "yes",   "well", "",        ""),
    Outcome.TRUNCATED:           Effects(True,  False, None, False, "yes",   "well", "",        "", ends="cut_off"),
    Outcome.REASONING_EXHAUSTED: Effects(True,  False, None, False, "yes",   "well", "",        "", ends="cut_off"),
    Outcome.REFUSED:             Effects(True,  False, None, False, "yes",   "well", "refused", "", ends="refused"),
    Outcome.FILTERED:            Effects(True,  False, None, False, "yes",   "well", "refused", "", ends="filtered"),
    Outcome.EMPTY:               Effects(False, False, 1.0,  False, "yes",   "well", "error",   "the model", ends="empty"),
    Outcome.BROKEN_OFF:          Effects(False, False, 1.0,  True,  "yes",   "sick", "error",   "the route"),
    Outcome.UNREADABLE_BODY:     Effects(False, False, None, False, "yes",   "sick", "error",   "the route"),
    Outcome.BAD_REQUEST:         Effects(False, False, None, False, "no",    "well", "refusal", "the job", exhausted=True),
    Outcome.CONTEXT_TOO_LONG:    Effects(False, False, None, False, "no",    "well", "",        "the job",
                                         ends="context_too_long"),
    Outcome.NULL_BODY:           Effects(False, False, 1.0,  True,  "maybe", "sick", "error",   "the route"),
    Outcome.MALFORMED_BODY:      Effects(False, False, 1.0,  True,  "maybe", "sick", "error",   "the route"),
    Outcome.HTML_BODY:           Effects(False, False, 1.0,  True,  "maybe", "sick", "error",   "the platform"),
    Outcome.KEY_NOT_ALLOWED:     Effects(False, False, None, True,  "no",    "sick", "key",     "the account", exhausted=True),
    Outcome.ROUTE_UNAUTHORISED:  Effects(False, False, None, True,  "no",    "sick", "key",     "the route"),
    Outcome.MODEL_NOT_VISIBLE:   Effects(False, False, None, False, "no",    "sick", "hidden",  "the account"),
    Outcome.RATE_LIMITED:        Effects(False, False, 10.0, True,  "no",    "sick", "limit",   "the route", crowded="limit"),
    Outcome.ROUTE_COOLING:       Effects(False, False, 6.0,  True,  "no",    "sick", "limit",   "the route"),
    Outcome.ROUTE_DOWN:          Effects(False, False, 10.0, True,  "maybe", "sick", "down",    "the route"),
    Outcome.GATEWAY_UNREACHABLE: Effects(False, False, 20.0, True,  "no",    "sick", "gateway", "the platform"),
    Outcome.PROXY_FAILED:        Effects(False, False, 20.0, True,  "maybe", "sick", "gateway", "the platform"),
    Outcome.REDIRECTED:          Effects(False, False, None, True,  "no",    "sick", "gateway", "the platform"),
    Outcome.GATEWAY_TIMEOUT:     Effects(False, False, 30.0, True,  "maybe", "sick", "hang",    "the route", crowded="load"),
    Outcome.CONNECT_FAILED:      Effects(False, False, 10.0, True,  "no",    "sick", "",        "the network"),
    Outcome.CONNECTION_LOST:     Effects(False, False, 10.0, True,  "maybe", "sick", "reset",   "the network"),
    Outcome.CLIENT_TIMEOUT:      Effects(False, False, 1.0,  True,  "maybe", "sick", "late",    "the route", waited_out=True),
    Outcome.UNKNOWN:             Effects(False, False, 1.0,  True,  "maybe", "sick", "error",   "unknown", exhausted=True),
    Outcome.KEY_REJECTED:        Effects(False, False, None, True,  "no",    "",     "",        "the account", stops="key"),
    Outcome.ALLOWANCE_SUSPECTED: Effects(False, False, None, True,  "no",    "",     "",        "the account", stops="allowance"),
    Outcome.ALLOWANCE_RESERVED:  Effects(False, False, None, True,  "no",    "",     "",        "the account", stops="reserved"),
    Outcome.CANCELLED:           Effects(False, False, None, True,  "maybe", "",     "",        "cancelled", concluded=False),
}  # fmt: skip


def outcomes_view() -> str:
    """Return the table as the definition of the SQL view `outcomes`, with the columns of `Effects` after `outcome`."""
    rows = ", ".join(f"({', '.join(map(_sql, (str(name), *row)))})" for name, row in EFFECTS.items())
    columns = ", ".join(("outcome", *Effects._fields))
    return f"CREATE OR REPLACE VIEW outcomes AS SELECT * FROM (VALUES {rows}) AS known({columns});"  # noqa: S608 - ours


def _sql(value: str | float | bool | None) -> str:
    match value:
        case str():
            return f"'{value}'"
        case None:
            return "NULL"
        case _:
            return str(value)
