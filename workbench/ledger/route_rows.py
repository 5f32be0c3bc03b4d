"""The results of queries about routes over everything recorded: one struct per query, with its columns in order."""

from datetime import date, datetime

from workbench.ledger.rows import QueryRow
from workbench.ledger.run_rows import RunServed


class RouteTotals(QueryRow, frozen=True):
    """A requested model over everything recorded; shares are None where there is nothing to share."""

    query = "routes"

    model: str
    calls: int
    accepted: int
    answers: int
    failed: int
    calls_without_usage: int
    accepted_share: float | None
    usage_share: float | None
    substituted: int
    substituted_share: float | None
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    thinking_share: float | None
    tools_offered: int
    tools_forced: int
    tools_called: int
    forced_and_called: int
    tool_calls: int
    served_names: int
    owned_by: str | None
    first_at: datetime
    last_at: datetime
    listed_at: datetime | None


class RouteServed(RunServed, frozen=True):
    """How many answers of a requested model one served model gave, over everything recorded."""

    query = "route_matrix"

    first_at: datetime
    last_at: datetime


class RouteSpan(QueryRow, frozen=True):
    """Calls, failures, answers of other models, missing usage and latency of a requested model in a span of time."""

    query = "route_course"

    model: str
    from_at: datetime
    calls: int
    not_accepted: int
    answers: int
    fallbacks: int
    calls_without_usage: int
    p50_ms: float | None
    p90_ms: float | None


class RouteName(QueryRow, frozen=True):
    """A name under which a requested model answered, and how many of its answers came before that name did."""

    query = "route_names"

    model: str
    served_model: str
    identity: str
    evidence: str | None
    answers: int
    first_at: datetime
    last_at: datetime
    answers_before: int
    last_run_id: str


class RouteSubstitute(QueryRow, frozen=True):
    """Answers of another model than the one that was asked on one day, with the newest runs that got them, the newest first."""

    query = "route_substitutes"

    model: str
    served_model: str
    identity: str
    evidence: str
    day: date
    answers: int
    first_at: datetime
    last_at: datetime
    run_ids: list[str]


class RouteDay(QueryRow, frozen=True):
    """How a requested model's calls of one day ended."""

    query = "route_days"

    model: str
    day: date
    calls: int
    not_accepted: int
    answers: int
    accepted_again: date | None
    """The next day on which one was accepted."""


class RouteRecent(QueryRow, frozen=True):
    """How a requested model's newest calls since a moment ended, and how long its answers take since then, beside before."""

    query = "route_recent"

    model: str
    last_at: datetime
    """Of its newest call, also where that is from before."""
    newest_calls: int
    newest_failed: int
    newest_failure: str | None
    failed_first_at: datetime | None
    failed_last_at: datetime | None
    now_answers: int
    now_p50_ms: float | None
    now_first_at: datetime | None
    now_last_at: datetime | None
    earlier_answers: int
    earlier_p50_ms: float | None
    earlier_from: datetime | None
    earlier_until: datetime | None
    calls_without_usage: int
    without_first_at: datetime | None
    without_last_at: datetime | None
    tools_forced: int
    forced_and_called: int
    prose_first_at: datetime | None
    """Of the answers without the tool call that was forced."""
    prose_last_at: datetime | None


class RouteRetries(QueryRow, frozen=True):
    """Answers of a model so late that the gateway may have tried before, unseen."""

    query = "route_retries"

    model: str
    failures: int
    p50_ms: float
    try_ms: float | None
    limit_ms: float
    longest_ms: float
    beyond_limit: int
    near_failures: int


class RouteProfile(QueryRow, frozen=True):
    """What a simulation of a requested model needs."""

    query = "route_profiles"

    model: str
    calls: int
    fallbacks: int
    substitute: str | None
    served_name: str | None
    p50_ms: float | None
    latency_sigma: float | None
    p99_ms: float | None
    p50_completion_tokens: float | None
    completion_sigma: float | None
    timeout_ms: float | None
    ends: dict[str, int] | None
    """What calls that did not end well resemble, and how many do."""
    answers: int
    calls_without_usage: int
    reasoning_tokens: int
    base: str | None
    """Of a preset."""


class RouteOutcome(QueryRow, frozen=True):
    """How often the calls of a model ended in one way, over everything recorded."""

    query = "route_outcomes"

    model: str
    outcome: str
    accepted: bool
    calls: int
    last_at: datetime
