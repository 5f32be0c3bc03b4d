"""`pattern`: a regular expression finds the answer."""

from collections.abc import Iterator
from typing import Literal

from workbench.errors import BACKSLASH
from workbench.records.calls import Sample, Score
from workbench.scoring.folding import folded
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.targets import right_or_wrong, targets_of

_LONGEST_SEARCH_S = 1.0


class Pattern(Scorer, frozen=True, tag="pattern"):
    """A regular expression finds the answer; the first of its groups that took part is compared with the target."""

    pattern: str
    """The regular expression."""
    ignore_case: bool = True
    """Search without regard to capitals."""
    use_group: bool = True
    """Whether a group is compared, the first that took part; else finding the expression is enough."""

    def target_of(self, sample: Sample) -> list[str]:
        """Return what the group must be; empty where the expression has none, and finding it is enough."""
        targets = targets_of(sample)
        if self._compares() and not targets:
            raise CannotJudgeError("the sample has no target")
        return targets

    def score(self, answer: Given, targets: list[str]) -> Score:
        """1 where the expression is found, and its group, if it has one, is a target."""
        import regex  # takes 10 ms, and few jobs have such a scorer

        flags = (regex.IGNORECASE if self.ignore_case else 0) | regex.MULTILINE
        try:  # unlike `re`, it can be told to give up: some patterns take years on some answers
            found = regex.search(self.pattern, answer.text, flags, timeout=_LONGEST_SEARCH_S)
        except TimeoutError:
            return Score(None, f"the search for the pattern was given up after {_LONGEST_SEARCH_S:g} s")
        if found is None:
            return Score(0.0, "the pattern is not found")
        if not self._compares():
            return Score(1.0, "the pattern is found", found.group())
        took_part = next((group for group in found.groups() if group is not None), "")
        given = folded(took_part, ignore_case=self.ignore_case)
        wanted = {folded(target, ignore_case=self.ignore_case) for target in targets}
        return right_or_wrong(given in wanted, given, "equal to", targets)

    @property
    def reads(self) -> Literal["label"] | None:
        """The group that is compared is a label."""
        return "label" if self._compares() else None

    def right_labels(self, wanted: list[str]) -> list[str]:
        """Return what the group must be, as it compares."""
        return [folded(target, ignore_case=self.ignore_case) for target in wanted]

    def faults(self) -> Iterator[tuple[str, str]]:
        """Return an expression that is not valid."""
        try:
            self._groups()
        except ValueError as error:
            yield "pattern", f"not a valid regular expression: {error} ({BACKSLASH})"

    def _compares(self) -> bool:
        return self.use_group and self._groups() > 0

    def _groups(self) -> int:
        """Return how many groups the expression has.

        Raises:
            ValueError: It is not a regular expression.
        """
        import regex  # takes 10 ms, and few jobs have such a scorer

        try:
            return int(regex.compile(self.pattern).groups)
        except (regex.error, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from error
