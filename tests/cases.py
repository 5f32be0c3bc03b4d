"""Cases of one kind: the first with every run of the tests, the others with the slow ones."""

from typing import Any

import pytest


def first_of(*cases: Any, default: int = 1) -> list[Any]:
    """Return the cases of a parameter, all but the first of them slow; those that are tuples are of several parameters.

    Args:
        default: How many are with every run.
    """
    return [
        *cases[:default],
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            if isinstance(case, tuple)
            else pytest.param(case, marks=pytest.mark.slow)
            for case in cases[default:]
        ),
    ]
