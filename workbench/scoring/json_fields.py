"""`json`: the share of the target object's fields that the answer's JSON object has right."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Literal

import msgspec

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.numeric import Scale, ends_of_scale, is_within, scale_faults, scale_text
from workbench.scoring.scorer import CannotJudgeError
from workbench.scoring.structure import ValueRules, as_object, number_of, object_in, wrong_fields

_SHOWN = 3


class JsonFields(ValueRules, frozen=True, tag="json"):
    """The share of the target object's fields that the answer's JSON object has right."""

    whole: bool = False
    """Score 1 only when every field is right, else 0."""
    target_scales: dict[str, Scale | Literal["unbounded"]] | msgspec.UnsetType = msgspec.UNSET
    """Field -> the least and the most that its targets may be, such as [0, 5] of grades: see `target_scale` of `numeric`."""

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

    def off_scale(self, sample: Sample) -> str | None:
        """Return which field of the target is outside its declared scale; None where none is."""
        wanted = self.target_of(sample)
        for field, declared in (self.target_scales or {}).items():
            value, scale = wanted.get(field), ends_of_scale(declared)
            number = self.number_in(value)
            if value is not None and (number is None or not is_within(number, scale)):
                problem = "is not a number" if number is None else f"is outside {scale_text(scale)}"
                return f"the target {json.dumps(value, ensure_ascii=False)} of the field {field!r} {problem}"
        return None

    def number_in(self, value: Any) -> Decimal | None:
        """Return the number that a field holds, as a text where these are taken for numbers; None where it holds none."""
        if isinstance(value, bool) or (isinstance(value, str) and self.types == "exact"):
            return None
        return number_of(value)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Return what is wrong with tolerances, as for every comparison of JSON, and scales without a length."""
        yield from super().faults()
        for field, scale in (self.target_scales or {}).items():
            yield from scale_faults(f"target_scales.{field}", scale)

    @property
    def reads(self) -> Literal["fields"]:
        """The object that the answer holds."""
        return "fields"
