"""What follows from how a call ended: one row an outcome, for everything that acts on it.

Who reads which column: reruns and reports `accepted`, `scored`, `rerun` and `used`; the passes of a run `wait_s`; the breaker
of a route `route`; the limit that adapts `crowded`; the guard of the allowance `refused`.
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
    crowded: bool = False
    """Whether fewer requests in flight would have helped."""
    refused: bool = False
    """Whether several routes that refuse in the same words make one think of the allowance."""


POLICIES: dict[Outcome, Policy] = {
    #                                  accepted scored wait_s rerun  drew     route      crowded refused
    Outcome.OK:                  Policy(True,   True,  None,  False, "yes",   "well"),
    Outcome.TRUNCATED:           Policy(True,   False, None,  False, "yes",   "well"),
    Outcome.REASONING_EXHAUSTED: Policy(True,   False, None,  False, "yes",   "well"),
    Outcome.EMPTY:               Policy(False,  False, 1.0,   True,  "yes",   "well"),
    Outcome.BAD_REQUEST:         Policy(False,  False, None,  False, "no",    "well",    False,  True),
    Outcome.CONTEXT_TOO_LONG:    Policy(False,  False, None,  False, "no",    "well"),
    Outcome.NULL_BODY:           Policy(False,  False, 1.0,   True,  "maybe", "sick"),
    Outcome.MALFORMED_BODY:      Policy(False,  False, 1.0,   True,  "maybe", "sick"),
    Outcome.HTML_BODY:           Policy(False,  False, 1.0,   True,  "maybe", "sick"),
    Outcome.KEY_NOT_ALLOWED:     Policy(False,  False, None,  True,  "no",    "sick",    False,  True),
    Outcome.ROUTE_UNAUTHORISED:  Policy(False,  False, None,  True,  "no",    "sick"),
    Outcome.MODEL_NOT_VISIBLE:   Policy(False,  False, None,  False, "no",    "sick"),
    Outcome.RATE_LIMITED:        Policy(False,  False, 10.0,  True,  "no",    "sick",    True),
    Outcome.ROUTE_COOLING:       Policy(False,  False, 6.0,   True,  "no",    "sick"),
    Outcome.ROUTE_DOWN:          Policy(False,  False, 10.0,  True,  "maybe", "sick"),
    Outcome.GATEWAY_UNREACHABLE: Policy(False,  False, 20.0,  True,  "no",    "sick"),
    Outcome.GATEWAY_TIMEOUT:     Policy(False,  False, 30.0,  True,  "maybe", "sick",    True),
    Outcome.CONNECT_FAILED:      Policy(False,  False, 10.0,  True,  "no",    "sick"),
    Outcome.CONNECTION_LOST:     Policy(False,  False, 10.0,  True,  "maybe", "sick"),
    Outcome.CLIENT_TIMEOUT:      Policy(False,  False, 1.0,   True,  "maybe", "sick"),
    Outcome.UNKNOWN:             Policy(False,  False, 1.0,   True,  "maybe", "sick",    False,  True),
    Outcome.KEY_REJECTED:        Policy(False,  False, None,  True,  "no",    "unknown"),
    Outcome.ALLOWANCE_SUSPECTED: Policy(False,  False, None,  True,  "no",    "unknown"),
    Outcome.CANCELLED:           Policy(False,  False, None,  True,  "maybe", "unknown"),
}  # fmt: skip
