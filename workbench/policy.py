"""What follows from how a call ended: one row an outcome, for everything that acts on it.

Who reads which column: reruns and reports `accepted`, `scored`, `rerun` and `drew`; the passes of a run `wait_s`; the breaker
of a route `route`; the limit that adapts `crowded`; the guard of the allowance `refused`; people, at the end of a run, `fault`.
"""

from typing import Literal, NamedTuple

from workbench.records import Outcome


class Policy(NamedTuple):
    """What follows from an outcome."""

    accepted: bool
    """The answer stands and is reused."""
    scored: bool
    """There is an answer that scorers may judge."""
    wait_s: float | None
    """Before it is sent again in a later pass of the same run, in s; None: not in the same run."""
    rerun: bool
    """Sent again by a rerun of the job."""
    drew: Literal["yes", "maybe", "no"]
    """Whether the call may have used allowance."""
    route: Literal["well", "sick", "unknown"]
    """What it says of the route: five times sick in a row pauses it, well resumes it."""
    fault: str
    """Whose fault a failure most likely is, in words; empty for an answer."""
    crowded: bool = False
    """Whether fewer requests in flight would have helped."""
    refused: bool = False
    """Whether the same refusal from several routes suggests an exhausted allowance."""


POLICIES: dict[Outcome, Policy] = {
    #                                  accepted scored wait_s rerun  drew     route      fault           crowded refused
    Outcome.OK:                  Policy(True,  True,  None, False, "yes",   "well",    ""),
    Outcome.TRUNCATED:           Policy(True,  False, None, False, "yes",   "well",    ""),
    Outcome.REASONING_EXHAUSTED: Policy(True,  False, None, False, "yes",   "well",    ""),
    Outcome.EMPTY:               Policy(False, False, 1.0,  True,  "yes",   "well",    "the model"),
    Outcome.BAD_REQUEST:         Policy(False, False, None, False, "no",    "well",    "the job",      False, True),
    Outcome.CONTEXT_TOO_LONG:    Policy(False, False, None, False, "no",    "well",    "the job"),
    Outcome.NULL_BODY:           Policy(False, False, 1.0,  True,  "maybe", "sick",    "the route"),
    Outcome.MALFORMED_BODY:      Policy(False, False, 1.0,  True,  "maybe", "sick",    "the route"),
    Outcome.HTML_BODY:           Policy(False, False, 1.0,  True,  "maybe", "sick",    "the platform"),
    Outcome.KEY_NOT_ALLOWED:     Policy(False, False, None, True,  "no",    "sick",    "the account",  False, True),
    Outcome.ROUTE_UNAUTHORISED:  Policy(False, False, None, True,  "no",    "sick",    "the route"),
    Outcome.MODEL_NOT_VISIBLE:   Policy(False, False, None, False, "no",    "sick",    "the account"),
    Outcome.RATE_LIMITED:        Policy(False, False, 10.0, True,  "no",    "sick",    "the route",    True),
    Outcome.ROUTE_COOLING:       Policy(False, False, 6.0,  True,  "no",    "sick",    "the route"),
    Outcome.ROUTE_DOWN:          Policy(False, False, 10.0, True,  "maybe", "sick",    "the route"),
    Outcome.GATEWAY_UNREACHABLE: Policy(False, False, 20.0, True,  "no",    "sick",    "the platform"),
    Outcome.GATEWAY_TIMEOUT:     Policy(False, False, 30.0, True,  "maybe", "sick",    "the route",    True),
    Outcome.CONNECT_FAILED:      Policy(False, False, 10.0, True,  "no",    "sick",    "the network"),
    Outcome.CONNECTION_LOST:     Policy(False, False, 10.0, True,  "maybe", "sick",    "the network"),
    Outcome.CLIENT_TIMEOUT:      Policy(False, False, 1.0,  True,  "maybe", "sick",    "the route"),
    Outcome.UNKNOWN:             Policy(False, False, 1.0,  True,  "maybe", "sick",    "unknown",      False, True),
    Outcome.KEY_REJECTED:        Policy(False, False, None, True,  "no",    "unknown", "the account"),
    Outcome.ALLOWANCE_SUSPECTED: Policy(False, False, None, True,  "no",    "unknown", "the account"),
    Outcome.CANCELLED:           Policy(False, False, None, True,  "maybe", "unknown", "cancelled"),
}  # fmt: skip
