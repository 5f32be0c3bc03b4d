"""`match`: the answer begins or ends with a target."""

from collections.abc import Collection
from typing import Literal

from workbench.records.calls import Sample, Score
from workbench.scoring.folding import folded
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.targets import right_or_wrong, text_targets

_SHOWN_CHARS = 80
_NUMBER = (
    r"(?<![\w.])[-+]?(?:\d+(?:[.,]\d+)*|\.\d+)(?:[/^*]\d+)*"  # with its sign, its decimal point, its divisor or power
)
_GRADE = r"(?<![\w-])[A-Fa-f]-(?![\w-])"
_WORD = rf"{_NUMBER}|{_GRADE}|[\w\p{{M}}]+(?:'[\w\p{{M}}]+)*(?:(?:\+{{1,2}}|#)(?!\w))?"  # C++, A+ and A- are words of their own
_SPACELESS = r"([不没非无未]?[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]\p{M}*)"
"""A word of what is written without spaces between words, with what negates it."""


class Match(Scorer, frozen=True, tag="match"):
    """The answer begins or ends with a target, as whole words and without regard to punctuation."""

    at: Literal["end", "begin", "any"] = "end"
    """Where the target must stand; "any" is anywhere, and unlike `includes` never within a word."""
    ignore_case: bool = True
    """Compare without regard to capitals."""

    def target_of(self, sample: Sample) -> list[str]:
        """Return the texts of which one must be there."""
        targets = text_targets(sample)
        if not all(map(self._fold, targets)):
            raise CannotJudgeError("a target has no letters or digits: every answer matches it")
        return targets

    def score(self, answer: Given, targets: list[str]) -> Score:
        """1 where a target stands at that place."""
        given = f" {self._fold(answer.text)} "
        wanted = [f" {self._fold(target)} " for target in targets]
        found = {"end": given.endswith, "begin": given.startswith, "any": given.__contains__}[self.at]
        shown = {"end": given[-_SHOWN_CHARS:], "begin": given[:_SHOWN_CHARS], "any": None}[self.at]
        how = {"end": "ending with", "begin": "beginning with", "any": "including"}[self.at]
        return right_or_wrong(any(map(found, wanted)), shown and shown.strip(), how, targets)

    @property
    def reads(self) -> Literal["label"] | None:
        """What stands at that place is a label; which of several words anywhere would be one, nothing says."""
        return None if self.at == "any" else "label"

    def right_labels(self, wanted: list[str]) -> list[str]:
        """Return the texts of which one must be there, as they compare."""
        return list(map(self._fold, wanted))

    def label_read(self, extracted: str, labels: Collection[str]) -> str | None:
        """Return the longest label that stands at that place."""
        given = f" {extracted} "
        found = given.endswith if self.at == "end" else given.startswith
        return max((label for label in labels if found(f" {label} ")), key=len, default=None)

    def _fold(self, text: str) -> str:
        import regex  # takes 10 ms, and few jobs have this scorer

        text = folded(text, ignore_case=self.ignore_case).replace("’", "'").replace("−", "-")
        if not text.isascii():
            text = regex.sub(_SPACELESS, r" \1 ", text)
        return " ".join(regex.findall(_WORD, text))
