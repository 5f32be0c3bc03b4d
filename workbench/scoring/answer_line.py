"""`answer_line`: what follows the answer's last `ANSWER:` equals a target."""

import re
from collections.abc import Collection, Iterator
from typing import Literal

from workbench.records.calls import Sample, Score
from workbench.scoring.folding import folded
from workbench.scoring.given import Given
from workbench.scoring.scorer import Scorer
from workbench.scoring.targets import right_or_wrong, text_targets

_LINE_CHARS = 10_000
_MARKS = "*_\"'`“”‘’ "


class AnswerLine(Scorer, frozen=True, tag="answer_line"):
    """What follows the last `ANSWER:` on its line equals a target; for prompts that ask to end so."""

    marker: str = "ANSWER"
    """The word before the colon, in any case, plain or in bold."""
    ignore_case: bool = True
    """Compare without regard to capitals."""

    def target_of(self, sample: Sample) -> list[str]:
        """Return the accepted texts."""
        return text_targets(sample)

    def score(self, answer: Given, targets: list[str]) -> Score:
        """1 where the line states a target, with or without a full stop."""
        marks = list(re.finditer(rf"(?i)(?<!\w){re.escape(self.marker)}[*_]{{0,3}}\s?[:：]", answer.text))
        if not marks:
            return Score(0.0, f"no line with {self.marker}:")
        line = answer.text[marks[-1].end() :][:_LINE_CHARS].lstrip(" \t").split("\n", 1)[0]
        whole = self._fold(line)
        bare = whole.strip(_MARKS).rstrip("." + _MARKS)
        wanted = {self._fold(target) for target in targets}
        # a target that has marks of its own, as *.py and __init__ have, wants them
        is_right = whole in wanted or bare in {one for one in wanted if one == one.strip(_MARKS)}
        return right_or_wrong(is_right, bare, "equal to", targets)

    @property
    def reads(self) -> Literal["label"]:
        """What the line states is a label."""
        return "label"

    def right_labels(self, wanted: list[str]) -> list[str]:
        """Return the accepted texts as they compare."""
        return list(map(self._fold, wanted))

    def label_read(self, extracted: str, labels: Collection[str]) -> str | None:
        """Return the label that the line states, without marks around it."""
        return next((label for label in labels if label.strip(_MARKS) == extracted), None)

    def _fold(self, text: str) -> str:
        return folded(text, ignore_case=self.ignore_case).rstrip(". ")

    def faults(self) -> Iterator[tuple[str, str]]:
        """Return an empty marker."""
        if not self.marker.strip():
            yield "marker", "is empty"
