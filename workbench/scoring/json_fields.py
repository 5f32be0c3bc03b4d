"""`json`: the share of the target object's fields that the answer's JSON object has right."""

import json
from typing import Any, Literal

from workbench.records import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError
from workbench.scoring.structure import ValueRules, as_object, object_in, wrong_fields

_SHOWN = 3


class JsonFields(ValueRules, frozen=True, tag="json"):
    """The share of the target object's fields that the answer's JSON object has right."""

    whole: bool = False
    """Score 1 only when every field is right, else 0."""

    def target_of(self, sample: Sample) -> dict[str, Any]:
        """Return the wanted fields."""
        wanted = as_object(sample.target)
        if not wanted:
            raise CannotJudgeError("the target is not a JSON object")
        return wanted

    def score(self, answer: Given, wanted: dict[str, Any]) -> Score:
        """Return how many of the wanted fields are right; a field too many counts as a wrong one where it is refused."""
        given = object_in(answer.text, wanted)
        if given is None:
            return Score(0.0, "the answer does not contain a JSON object")
        wrong = wrong_fields(given, wanted, self)
        right = sum(name not in wrong for name in wanted)
        fields = right + len(wrong)
        value = float(not wrong) if self.whole else right / fields
        shown = f", wrong: {', '.join(wrong[:_SHOWN])}" if wrong else ""
        # ASCII: an answer may hold half a character
        return Score(value, f"{right} of {fields} fields are right{shown}", json.dumps(given))

    @property
    def reads(self) -> Literal["fields"]:
        """The object that the answer holds."""
        return "fields"
