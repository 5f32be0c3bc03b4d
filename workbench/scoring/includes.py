"""`includes`: the answer contains a target."""

from workbench.records.calls import Sample, Score
from workbench.scoring.folding import folded
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.targets import right_or_wrong, text_targets


class Includes(Scorer, frozen=True, tag="includes"):
    """The answer contains a target."""

    ignore_case: bool = True
    """Search without regard to capitals."""

    def target_of(self, sample: Sample) -> list[str]:
        """Return the texts of which one must be there."""
        targets = text_targets(sample)
        if not all(folded(target, ignore_case=self.ignore_case) for target in targets):
            raise CannotJudgeError("a target is empty: every answer includes it")
        return targets

    def score(self, answer: Given, targets: list[str]) -> Score:
        """1 where one of the targets is within the answer."""
        given = folded(answer.text, ignore_case=self.ignore_case)
        wanted = [folded(target, ignore_case=self.ignore_case) for target in targets]
        found = next((target for target in wanted if target in given), None)
        return right_or_wrong(found is not None, found, "including", targets)
