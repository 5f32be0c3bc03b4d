"""`exact`: the answer equals a target."""

from typing import Literal

from workbench.records.calls import Sample, Score
from workbench.scoring.folding import folded
from workbench.scoring.given import Given
from workbench.scoring.scorer import Scorer
from workbench.scoring.targets import right_or_wrong, text_targets


class Exact(Scorer, frozen=True, tag="exact"):
    """The answer equals a target."""

    ignore_case: bool = False
    """Compare without regard to capitals."""
    ignore_punctuation: bool = False
    """Compare without punctuation."""

    def target_of(self, sample: Sample) -> list[str]:
        """Return the accepted texts."""
        return text_targets(sample)

    def score(self, answer: Given, targets: list[str]) -> Score:
        """1 where the answer is one of the targets."""
        given = self._fold(answer.text)
        return right_or_wrong(given in map(self._fold, targets), given, "equal to", targets)

    @property
    def reads(self) -> Literal["label"]:
        """The whole answer is a label."""
        return "label"

    def right_labels(self, wanted: list[str]) -> list[str]:
        """Return the accepted texts as they compare."""
        return list(map(self._fold, wanted))

    def _fold(self, text: str) -> str:
        return folded(text, ignore_case=self.ignore_case, ignore_punctuation=self.ignore_punctuation)
