"""`length`: the answer is neither too short nor too long."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import msgspec

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import Scorer


class Length(Scorer, frozen=True, tag="length"):
    """The answer's text is neither too short nor too long."""

    at_least: Annotated[int, msgspec.Meta(ge=0)] = 0
    """The fewest it may have."""
    at_most: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """The most it may have."""
    unit: Literal["characters", "words", "lines"] = "characters"
    """What is counted."""

    by_target: ClassVar[bool] = False

    def target_of(self, sample: Sample) -> None:
        """Nothing: the bounds are the scorer's."""

    def score(self, answer: Given, wanted: None) -> Score:
        """1 where the length is within the bounds."""
        text = answer.text.strip()
        counted = {"characters": len(text), "words": len(text.split()), "lines": len(text.splitlines())}[self.unit]
        fits = self.at_least <= counted and (self.at_most is None or counted <= self.at_most)
        bounds = f"at least {self.at_least}" if self.at_most is None else f"{self.at_least} to {self.at_most}"
        return Score(float(fits), f"{'' if fits else 'not '}{bounds} {self.unit}", f"{counted} {self.unit}")

    def faults(self) -> Iterator[tuple[str, str]]:
        """Bounds that nothing fits."""
        if self.at_most is None and not self.at_least:
            yield "at_most", "give at_least, at_most or both"
        elif self.at_most is not None and self.at_most < self.at_least:
            yield "at_most", "is below at_least"
