"""What a running platform counts of itself."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Statistics:
    """Counters since the platform started."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        """Chat requests accepted, by requested model."""
        self.in_flight = 0
        self.most_in_flight = 0
        self._account_requests: Counter[str] = Counter()
        self._account_in_flight: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()
        self._failures: Counter[tuple[str, int]] = Counter()
        self._tokens: Counter[str] = Counter()

    def received(self, account: str, model: str) -> None:
        """An account asks a model that it sees."""
        self.requests[model] += 1
        self._account_requests[account] += 1

    @contextmanager
    def flight(self, account: str) -> Iterator[None]:
        """Count a request for as long as it holds a slot."""
        self._account_in_flight[account] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        finally:
            self.in_flight -= 1
            self._account_in_flight[account] -= 1

    def attempted(self, route: str) -> None:
        """A route is asked."""
        self._attempts[route] += 1

    def failed(self, route: str, status: int) -> None:
        """It did not answer."""
        self._failures[route, status] += 1

    def reported(self, route: str, tokens: int) -> None:
        """It said what it drew."""
        self._tokens[route] += tokens

    def tokens_reported(self) -> int:
        """By all routes together."""
        return self._tokens.total()

    def as_object(self) -> dict[str, Any]:
        """All of it, for JSON."""
        failures: dict[str, dict[str, int]] = {}
        for (route, status), count in self._failures.items():
            failures.setdefault(route, {})[str(status)] = count
        return {
            "requests": self.requests.total(),
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "models": dict(self.requests),
            "accounts": {
                name: {"requests": count, "in_flight": self._account_in_flight[name]}
                for name, count in self._account_requests.items()
            },
            "routes": {
                name: {"attempts": count, "failures": failures.get(name, {}), "tokens": self._tokens[name]}
                for name, count in self._attempts.items()
            },
        }
