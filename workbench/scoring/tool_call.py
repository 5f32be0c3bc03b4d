"""`tool_call`: a tool call has the target's name and arguments."""

from typing import Any, ClassVar, Literal, NamedTuple

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError
from workbench.scoring.structure import ValueRules, arguments_in, as_object, bare_call, wrong_fields

_SHOWN = 3


class WantedCall(NamedTuple):
    """The call that is right."""

    name: str
    arguments: dict[str, Any]


class CalledTool(ValueRules, frozen=True, tag="tool_call"):
    """A tool call has the target's name and arguments: target `{"name": …, "arguments": {…}}`."""

    name_only: bool = False
    """Accept any arguments."""
    extra: Literal["accept", "refuse"] = "refuse"
    """What to do with arguments that the target does not have."""

    needs_text: ClassVar[bool] = False

    def target_of(self, sample: Sample) -> WantedCall:
        """Return the wanted call."""
        wanted = bare_call(as_object(sample.target) or {})
        arguments = as_object(wanted.get("arguments") or {})
        if not isinstance(wanted.get("name"), str) or arguments is None:
            raise CannotJudgeError('the target is not a tool call {"name": …, "arguments": {…}}')
        return WantedCall(wanted["name"], arguments)

    def score(self, answer: Given, wanted: WantedCall) -> Score:
        """1 where one of the calls made is the wanted one."""
        if not answer.calls:
            return Score(0.0, "no tool was called")
        named = [call for call in answer.calls if call.name == wanted.name]
        if not named:
            return Score(0.0, f"not a call of {wanted.name}", answer.calls[0].name)
        if self.name_only:
            return Score(1.0, f"a call of {wanted.name}", named[0].name)
        faults = [_wrong_arguments(call.arguments, wanted.arguments, self) for call in named]
        best = min(range(len(named)), key=lambda number: len(faults[number]))
        if not faults[best]:
            return Score(1.0, "the arguments are right", named[best].arguments)
        return Score(0.0, f"wrong: {', '.join(faults[best][:_SHOWN])}", named[best].arguments)

    @property
    def reads(self) -> Literal["label"] | None:
        """The tool's name is a label where it alone is compared."""
        return "label" if self.name_only else None

    def right_labels(self, wanted: WantedCall) -> list[str]:
        """Return the name of the wanted tool."""
        return [wanted.name]


def _wrong_arguments(text: str, wanted: dict[str, Any], scorer: CalledTool) -> list[str]:
    """Return the names of the arguments that are missing, wrong or not asked for."""
    try:
        given = arguments_in(text)
    except ValueError:
        return ["arguments that are not valid JSON", *wanted]
    if not isinstance(given, dict):
        return ["arguments that are not an object", *wanted]
    return wrong_fields(given, wanted, scorer)
