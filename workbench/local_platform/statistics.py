"""What a running platform counts of itself."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Statistics:
    """Counters since the platform started."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        """Chat requests for models that the account sees, by requested model."""
        self.in_flight = 0
        self.most_in_flight = 0
        self._account_requests: Counter[str] = Counter()
        self._flying: Counter[tuple[str, str]] = Counter()
        self._most_flying: Counter[tuple[str, str]] = Counter()
        self._attempts: Counter[str] = Counter()
        self._failures: Counter[tuple[str, int]] = Counter()
        self._tokens: Counter[str] = Counter()

    def received(self, account: str, model: str) -> None:
        """Count that an account asks a model that it sees."""
        self.requests[model] += 1
        self._account_requests[account] += 1

    @contextmanager
    def flight(self, account: str, route: str) -> Iterator[None]:
        """Count a request for as long as it holds a slot.

        Args:
            route: The one that is asked first.
        """
        places = (("account", account), ("route", route))
        for place in places:
            self._flying[place] += 1
            self._most_flying[place] = max(self._most_flying[place], self._flying[place])
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        finally:
            self.in_flight -= 1
            for place in places:
                self._flying[place] -= 1

    def attempted(self, route: str) -> None:
        """Count that a route is asked."""
        self._attempts[route] += 1

    def failed(self, route: str, status: int) -> None:
        """Count that it did not answer."""
        self._failures[route, status] += 1

    def reported(self, route: str, tokens: int) -> None:
        """Count what it said that it drew."""
        self._tokens[route] += tokens

    def tokens_reported(self) -> int:
        """By all routes together."""
        return self._tokens.total()

    def as_object(self) -> dict[str, Any]:
        """Return all of it, for JSON."""
        failures: dict[str, dict[str, int]] = {}
        for (route, status), count in self._failures.items():
            failures.setdefault(route, {})[str(status)] = count
        return {
            "requests": self.requests.total(),
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "models": dict(self.requests),
            "accounts": {
                name: {"requests": count, **self._flights("account", name)}
                for name, count in self._account_requests.items()
            },
            "routes": {
                name: {
                    "attempts": count,
                    "failures": failures.get(name, {}),
                    "tokens": self._tokens[name],
                    **self._flights("route", name),
                }
                for name, count in self._attempts.items()
            },
        }

    def _flights(self, kind: str, name: str) -> dict[str, int]:
        return {"in_flight": self._flying[kind, name], "most_in_flight": self._most_flying[kind, name]}
