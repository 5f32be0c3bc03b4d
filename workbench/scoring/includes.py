"""`includes`: the answer contains a target."""

from workbench.job_file import Includes
from workbench.records import Sample, Score
from workbench.scoring.extract import folded
from workbench.scoring.given import Given
from workbench.scoring.targets import CannotJudgeError, text_targets, verdict


def target_of(scorer: Includes, sample: Sample) -> list[str]:
    """The texts of which one must be there."""
    targets = text_targets(sample)
    if not all(folded(target, ignore_case=scorer.ignore_case) for target in targets):
        raise CannotJudgeError("a target is empty: every answer includes it")
    return targets


def score(scorer: Includes, answer: Given, targets: list[str]) -> Score:
    """1 where one of the targets is within the answer."""
    given = folded(answer.text, ignore_case=scorer.ignore_case)
    wanted = [folded(target, ignore_case=scorer.ignore_case) for target in targets]
    found = next((target for target in wanted if target in given), None)
    return verdict(found is not None, found, "including", targets)
