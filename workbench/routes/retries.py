"""Answers that came so late that the gateway may have tried before, unseen: a share with its evidence, never a fact."""

import msgspec

from workbench.display import count, milliseconds, percent
from workbench.ledger.queries import Reader
from workbench.ledger.route_rows import RouteRetries
from workbench.planning.models import GATEWAY_ATTEMPTS, TIMEOUT_MARGIN_S

_LEAST_FAILURES = 5
_TIMES = 3.0
"""A failed try this many times as long as an answer stands apart from it."""


class LateAnswers(msgspec.Struct, frozen=True):
    """Late answers of one route."""

    model: str
    answers: int
    beyond_limit: int
    """Later than one try may last."""
    near_failures: int
    """As late as one or two tries that failed fast, and an answer."""
    row: RouteRetries
    """The evidence."""

    @property
    def says(self) -> str:
        """The shares and what they rest on."""
        row, parts = self.row, []
        if self.beyond_limit:
            parts.append(
                f"{_share(self.beyond_limit, self.answers)} came later than one try may last "
                f"({milliseconds(row.limit_ms)}, as its runs assume; the latest after {milliseconds(row.longest_ms)})"
            )
        if self.near_failures:
            parts.append(
                f"{_share(self.near_failures, self.answers)} came as late as one or two failed tries and an answer "
                f"(a try of its {count(row.failures)} failures lasts {milliseconds(row.try_ms)}, an answer "
                f"{milliseconds(row.p50_ms)}, by their medians)"
            )
        return "; ".join(parts)


def late_answers(reader: Reader) -> list[LateAnswers]:
    """Every route with such answers."""
    rows = reader.all(
        RouteRetries, tries=GATEWAY_ATTEMPTS, margin_s=TIMEOUT_MARGIN_S, least_failures=_LEAST_FAILURES, times=_TIMES
    )
    return [LateAnswers(row.model, row.answers, row.beyond_limit, row.near_failures, row) for row in rows]


def _share(part: int, whole: int) -> str:
    return f"{percent(part / whole)} of its answers ({count(part)} of {count(whole)})"
