"""`served_model`: the model that answered is one of those expected."""

import fnmatch
from typing import ClassVar

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import Scorer
from workbench.scoring.targets import right_or_wrong


class ServedModel(Scorer, frozen=True, tag="served_model"):
    """The platform names an expected model as the one that answered; where it names none, the answer is unscored."""

    names: tuple[str, ...] = ()
    """Names or globs, such as "lab/*"; by default the model that was asked."""

    needs_text: ClassVar[bool] = False
    by_target: ClassVar[bool] = False

    def target_of(self, sample: Sample) -> None:
        """Nothing: the names are the scorer's."""

    def score(self, answer: Given, wanted: None) -> Score:
        """1 where it is one of them."""
        if answer.served_model is None:
            return Score(None, "the platform did not say which model answered")
        names = list(self.names) or [answer.requested_model or ""]
        # the name itself first: ids may hold brackets, which a glob takes for a set of characters
        right = answer.served_model in names or any(fnmatch.fnmatchcase(answer.served_model, name) for name in names)
        return right_or_wrong(right, answer.served_model, "served by", names)
