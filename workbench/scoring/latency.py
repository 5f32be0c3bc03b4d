"""`latency`: the answer came in time."""

from typing import Annotated, ClassVar

import msgspec

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import Scorer


class Latency(Scorer, frozen=True, tag="latency"):
    """The answer came within a time, from sending to its last byte; a slot or another attempt waited for does not count."""

    at_most_ms: Annotated[float, msgspec.Meta(gt=0)]
    """How long it may take."""

    needs_text: ClassVar[bool] = False
    by_target: ClassVar[bool] = False

    def target_of(self, sample: Sample) -> None:
        """Nothing: no sample says how long its answer may take."""

    def score(self, answer: Given, wanted: None) -> Score:
        """1 where it came in time."""
        if answer.latency_ms is None:
            return Score(None, "its time is unknown")
        in_time = answer.latency_ms <= self.at_most_ms
        return Score(
            float(in_time), f"{'' if in_time else 'not '}within {self.at_most_ms:g} ms", f"{answer.latency_ms:.0f} ms"
        )
