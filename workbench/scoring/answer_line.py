"""`answer_line`: what follows the answer's last `ANSWER:` equals a target."""

import re
from collections.abc import Iterator

from workbench.records import Sample, Score
from workbench.scoring.folding import folded
from workbench.scoring.given import Given
from workbench.scoring.scorer import Scorer
from workbench.scoring.targets import text_targets, verdict

_LINE_CHARS = 10_000
_WRAPPED = r"""(?:\*{1,3}([^*]+)\*{1,3}|_([^_]+)_|"([^"]+)"|'([^']+)'|`([^`]+)`|“([^”]+)”|‘([^’]+)’)\Z"""


class AnswerLine(Scorer, frozen=True, tag="answer_line"):
    """What follows the last `ANSWER:` on its line equals a target; for prompts that ask to end so."""

    marker: str = "ANSWER"
    """The word before the colon, in any case, plain or in bold."""
    ignore_case: bool = True
    """Compare without regard to capitals."""

    def target_of(self, sample: Sample) -> list[str]:
        """The accepted texts."""
        return text_targets(sample)

    def score(self, answer: Given, targets: list[str]) -> Score:
        """1 where the line states a target, with or without a full stop."""
        marks = list(
            re.finditer(rf"(?i)(?<!\w){re.escape(self.marker)}[*_]{{0,3}}\s?[:：](?:[*_]{{1,3}}(?=\s))?", answer.text)
        )
        if not marks:
            return Score(0.0, f"no line with {self.marker}:")
        line = answer.text[marks[-1].end() :][:_LINE_CHARS].lstrip(" \t").split("\n", 1)[0]
        given = self._fold(line)
        return verdict(given in map(self._fold, targets), given, "equal to", targets)

    def _fold(self, text: str) -> str:
        """A text without a full stop, and without quotes or marks of emphasis around it."""
        text = folded(text, ignore_case=self.ignore_case).rstrip(". ")
        if not text.startswith("*"):
            text = text.rstrip("*").rstrip(". ")  # of emphasis that began before the marker
        while found := re.match(_WRAPPED, text):
            text = found[found.lastindex or 0].strip().rstrip(". ")
        return text

    def faults(self) -> Iterator[tuple[str, str]]:
        """An empty marker."""
        if not self.marker.strip():
            yield "marker", "is empty"
