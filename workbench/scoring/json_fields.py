"""`json`: the share of the target object's fields that the answer's JSON object has right."""

import json
from typing import Any

from workbench.job_file import JsonFields
from workbench.records import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.structure import as_object, object_in, same
from workbench.scoring.targets import CannotJudgeError

_SHOWN = 3


def target_of(scorer: JsonFields, sample: Sample) -> dict[str, Any]:
    """The wanted fields."""
    wanted = as_object(sample.target)
    if not wanted:
        raise CannotJudgeError("the target is not a JSON object")
    return wanted


def score(scorer: JsonFields, answer: Given, wanted: dict[str, Any]) -> Score:
    """How many of the wanted fields are right."""
    given = object_in(answer.text, wanted)
    if given is None:
        return Score(0.0, "the answer does not contain a JSON object")
    wrong = [name for name, value in wanted.items() if name not in given or not same(given[name], value)]
    right = len(wanted) - len(wrong)
    value = float(not wrong) if scorer.whole else right / len(wanted)
    said = f"{right} of {len(wanted)} fields are right" + (f", wrong: {', '.join(wrong[:_SHOWN])}" if wrong else "")
    return Score(value, said, json.dumps(given))  # ASCII: an answer may hold half a character
