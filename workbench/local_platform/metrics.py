"""What an operator watches, as Prometheus reads it."""

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.shared import Shared

CONTENT_TYPE = CONTENT_TYPE_LATEST
_PREFIX = "workbench_platform_"


def metrics(config: PlatformConfig, shared: Shared) -> bytes:
    """Return all counters since the start, and how slots and allowances stand, in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Counted(config, shared))
    return generate_latest(registry)


class _Counted(Collector):
    """Reads what the platform counts anyway, so that no request pays for being watched."""

    def __init__(self, config: PlatformConfig, shared: Shared) -> None:
        self._config, self._shared = config, shared

    def collect(self) -> Iterator[Metric]:
        yield from self._slots()
        yield from self._requests()
        yield from self._routes()
        yield from self._allowance()

    def _slots(self) -> Iterator[Metric]:
        names = [account.name for account in self._config.accounts]
        flying, waiting = self._shared.statistics.flying(), self._shared.turns.waiting()
        limit = _gauge("slots", "Requests that may be in flight, platform-wide.", [])
        limit.add_metric([], self._config.limits.in_flight)
        yield limit
        for name, counts, text in (
            ("in_flight", flying, "Requests that hold a slot."), ("waiting", waiting, "Requests that wait for a slot."),
        ):  # fmt: skip
            found = _gauge(name, text, ["account"])
            for account in dict.fromkeys([*names, *counts]):
                found.add_metric([account], counts.get(account, 0))
            yield found

    def _requests(self) -> Iterator[Metric]:
        statistics = self._shared.statistics
        yield _counter("requests", "Chat requests that ended.", ["model", "status"], statistics.ends)
        took = HistogramMetricFamily(
            f"{_PREFIX}duration_seconds", "How long answered chat requests took, waiting included.", labels=["model"]
        )
        for model, durations in statistics.durations.items():
            took.add_metric([model], durations.buckets(), durations.sum_s)
        yield took

    def _routes(self) -> Iterator[Metric]:
        found = self._shared.statistics
        attempts = {(route,): count for route, count in found.attempts.items()}
        tokens = {(route,): count for route, count in found.tokens.items()}
        yield _counter("attempts", "How often a route was asked, retries included.", ["route"], attempts)
        yield _counter("failures", "Attempts without an answer.", ["route", "status"], found.failures)
        yield _counter("tokens", "Tokens that a route reported.", ["route"], tokens)
        yield _counter("fallbacks", "Answers in a route's place.", ["route", "served_by"], found.fallbacks)
        yield _counter("draws", "Attempts by how their draw ended.", ["route", "settlement"], found.draws)

    def _allowance(self) -> Iterator[Metric]:
        accounts = self._shared.accounts
        drawn = _gauge("allowance_used_units", "What an account used in the current window.", ["account"])
        left = _gauge("allowance_left_units", "What it has left, where a limit is set.", ["account"])
        for account in self._config.accounts:
            used, units = accounts.drawn_units(account.name), accounts.units(account.name)
            drawn.add_metric([account.name], used)
            if units is not None:
                left.add_metric([account.name], max(0.0, units - used))
        yield from (drawn, left)


def _gauge(name: str, text: str, labels: list[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_PREFIX}{name}", text, labels=labels)


def _counter(name: str, text: str, labels: list[str], counts: Mapping[Any, int]) -> CounterMetricFamily:
    found = CounterMetricFamily(f"{_PREFIX}{name}", text, labels=labels)
    for key, count in counts.items():
        found.add_metric([str(part) for part in key], count)
    return found
