"""`exact`: the answer equals a target."""

from workbench.job_file import Exact
from workbench.records import Sample, Score
from workbench.scoring.extract import folded
from workbench.scoring.given import Given
from workbench.scoring.targets import text_targets, verdict


def target_of(scorer: Exact, sample: Sample) -> list[str]:
    """The accepted texts."""
    return text_targets(sample)


def score(scorer: Exact, answer: Given, targets: list[str]) -> Score:
    """1 where the answer is one of the targets."""

    def fold(text: str) -> str:
        return folded(text, ignore_case=scorer.ignore_case, ignore_punctuation=scorer.ignore_punctuation)

    given = fold(answer.text)
    return verdict(given in {fold(target) for target in targets}, given, "equal to", targets)
