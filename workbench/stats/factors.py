"""Two factors of a grid whose combinations were all measured on the same samples: what one of them does over the other."""

import math
from collections.abc import Sequence

Values = Sequence[float | None]
"""One for each sample, in the same order; None where it is not known."""


def over_levels(cells: Sequence[Values]) -> list[float | None]:
    """Return the mean of each sample over several cells of a grid; None where one of them is not known.

    The difference of two such means over the same levels is a main effect of a balanced design, and `paired` tests it with the
    samples, or their clusters, as units: each contrast has an error term of its own, so that neither what a sample does in
    every cell nor what it does with one level makes it look surer than it is. The levels are taken as they are: nothing is
    said of models that were not asked.

    Source: Boik, R. J. (1981), A priori tests in repeated measures designs: effects of nonsphericity, Psychometrika 46,
    241-255: a contrast that is tested against its own variability holds its level whatever the covariances are, and one
    against a pooled error does not.

    Args:
        cells: At least one, of equally many samples.
    """
    return [_mean(values) for values in zip(*cells, strict=True)]


def apart(one: Values, other: Values) -> list[float | None]:
    """Return the difference of each sample between two cells; None where one of them is not known."""
    return [
        None if value is None or beside is None else value - beside for value, beside in zip(one, other, strict=True)
    ]


def _mean(values: Values) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if len(known) == len(values) else None
