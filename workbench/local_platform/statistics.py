"""What a running platform counts of itself."""

import bisect
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_BOUNDS_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)


class Durations:
    """How long some requests took: counts up to each of some bounds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS_S) + 1)
        self.sum_s = 0.0

    def add(self, duration_s: float) -> None:
        """Count one."""
        self._counts[bisect.bisect_left(_BOUNDS_S, duration_s)] += 1
        self.sum_s += duration_s

    def buckets(self) -> list[tuple[str, int]]:
        """Return (bound in s, how many took at most so long); the last bound is `+Inf`."""
        return list(zip([*map(str, _BOUNDS_S), "+Inf"], itertools.accumulate(self._counts), strict=True))


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
        self.attempts: Counter[str] = Counter()
        """Route -> how often it was asked."""
        self.failures: Counter[tuple[str, int]] = Counter()
        """(route, status) -> attempts without an answer."""
        self.tokens: Counter[str] = Counter()
        """Route -> what it said that it drew."""
        self.ends: Counter[tuple[str, int]] = Counter()
        """(requested model, status of the answer) -> chat requests that ended."""
        self.fallbacks: Counter[tuple[str, str]] = Counter()
        """(route that was asked, route that answered in its place) -> answers."""
        self.draws: Counter[tuple[str, str]] = Counter()
        """(route, `settled`, `estimated` or `released`) -> attempts."""
        self.durations: dict[str, Durations] = {}
        """By requested model, of those that ended with an answer."""

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

    def ended(self, model: str, status: int, duration_s: float) -> None:
        """Count how a chat request ended."""
        self.ends[model, status] += 1
        if status == 200:
            self.durations.setdefault(model, Durations()).add(duration_s)

    def flying(self) -> dict[str, int]:
        """Return how many requests of an account hold a slot, of those that have any."""
        return {name: count for (kind, name), count in self._flying.items() if kind == "account" and count}

    def attempted(self, route: str) -> None:
        """Count that a route is asked."""
        self.attempts[route] += 1

    def failed(self, route: str, status: int) -> None:
        """Count that it did not answer."""
        self.failures[route, status] += 1

    def reported(self, route: str, tokens: int) -> None:
        """Count what it said that it drew."""
        self.tokens[route] += tokens

    def as_object(self) -> dict[str, Any]:
        """Return all of it, for JSON."""
        failures: dict[str, dict[str, int]] = {}
        for (route, status), count in self.failures.items():
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
                    "tokens": self.tokens[name],
                    **self._flights("route", name),
                }
                for name, count in self.attempts.items()
            },
        }

    def _flights(self, kind: str, name: str) -> dict[str, int]:
        return {"in_flight": self._flying[kind, name], "most_in_flight": self._most_flying[kind, name]}
