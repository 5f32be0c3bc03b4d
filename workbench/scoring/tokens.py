"""`tokens`: the answer took no more tokens than allowed."""

from typing import Annotated, ClassVar, Literal

import msgspec

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import Scorer


class Tokens(Scorer, frozen=True, tag="tokens"):
    """The answer took no more tokens than allowed; where the platform did not say how many, it is unscored."""

    at_most: Annotated[int, msgspec.Meta(ge=0)]
    """The most tokens."""
    count: Literal["completion", "total"] = "completion"
    """The answer's own, with its reasoning, or those of the prompt as well."""

    needs_text: ClassVar[bool] = False
    by_target: ClassVar[bool] = False

    def target_of(self, sample: Sample) -> None:
        """Nothing: the bound is the scorer's."""

    def score(self, answer: Given, wanted: None) -> Score:
        """1 where it took no more."""
        used = answer.completion_tokens if self.count == "completion" else answer.total_tokens
        if used is None:
            return Score(None, "its tokens are unknown")
        return Score(
            float(used <= self.at_most), f"{'' if used <= self.at_most else 'not '}at most {self.at_most}", str(used)
        )
