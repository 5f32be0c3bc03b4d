"""In which order a model's items are sent: those that will take longest first, so that no slow one is left for the end.

Graham, R. L. (1969), Bounds on multiprocessing timing anomalies, SIAM Journal on Applied Mathematics 17, 416-429: longest first
is never more than a third beyond the shortest span, while any other order may be twice as long.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat

UNKNOWN = math.nan


class Expected:
    """How long each sample is expected to take, as the logarithm of ms, by what the ledger knows of it."""

    def __init__(self, models: Sequence[str], samples: int) -> None:
        self._places = {model: place for place, model in enumerate(models)}
        self._known = [array("d", [UNKNOWN]) * samples for _ in self._places]

    def take(self, model: str, samples: Iterable[int], log_ms: float) -> None:
        """Note how long a model took for a sample before."""
        for sample in samples:
            self._known[self._places[model]][sample] = log_ms

    def by_model(self) -> list[Sequence[float]] | None:
        """Of each model, by sample, `UNKNOWN` where nothing is known of it on any route; None where nothing is known at all.

        A sample that a model was not asked before takes as much longer than its others as it does on other routes.
        """
        means = [_mean(values) for values in self._known]
        routes = [(values, mean) for values, mean in zip(self._known, means, strict=True) if not math.isnan(mean)]
        if not routes:
            return None
        usual = math.fsum(mean for _, mean in routes) / len(routes)  # of a route that has never answered
        apart = array("d", (_mean(values[n] - mean for values, mean in routes) for n in range(len(self._known[0]))))
        return [
            array("d", map(_expected, own, repeat(usual if math.isnan(mean) else mean), apart))
            for own, mean in zip(self._known, means, strict=True)
        ]


def _expected(own: float, base: float, apart: float) -> float:
    return base + apart if math.isnan(own) else own


def longest_first(items: Iterable[int], samples: Sequence[int], expected: Sequence[float]) -> list[int]:
    """Items in the order in which they are sent: those of which nothing is known before all others.

    Args:
        items: In file order.
        samples: The sample of each.
        expected: By sample.
    """
    ordered = sorted(
        zip(items, samples, strict=True),
        key=lambda pair: -math.inf if math.isnan(expected[pair[1]]) else -expected[pair[1]],
    )
    return [item for item, _ in ordered]


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else UNKNOWN
