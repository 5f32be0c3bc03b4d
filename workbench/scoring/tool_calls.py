"""`tool_calls`: all the wanted tool calls are made, and no other."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from workbench.records.calls import Sample, Score, ToolCall
from workbench.scoring.given import Given
from workbench.scoring.number import near
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.structure import arguments_in, as_object, bare_call, number_of

_SHOWN = 3
_LOOKED_AT_CHARS = 10_000
_CALL_IN_TEXT = (
    r'"(?:arguments|parameters)"\s{0,9}:|<tool_call>|<function|\[TOOL_CALLS\]|\b[\w.]{1,64}\(\w{1,64}\s{0,9}='
)
_OMITTABLE = ""
_LOOSE = str.maketrans("'", '"', " ,./-_*^")
_KINDS = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "text",
    list: "list",
    dict: "object",
    type(None): "null",
}


class AcceptedCall(NamedTuple):
    """One call that is wanted."""

    name: str
    accepted: Mapping[str, list[Any]]
    """By parameter: the values that are right; an empty text among them says that it may be left out."""
    declared: Mapping[str, Mapping[str, Any]]
    """By parameter: its JSON Schema, where the sample's tools say its type."""
    nested_lists_are_alternatives: bool


class CalledTools(Scorer, frozen=True, tag="tool_calls"):
    """All the wanted tool calls are made, in any order, and no other; the target is a list of calls, empty for none.

    Conventions of the Berkeley Function-Calling Leaderboard (Patil, S. et al., 2025): a call is either
    `{"name": {"parameter": [accepted values]}}`, where an empty text among the values says that the parameter may be left out,
    or `{"name": …, "arguments": {…}}`, or as OpenAI's API has it, with a `function` and the arguments as JSON text. Texts compare
    without regard to capitals, spaces and `,./-_*^`; `5` is taken for `5.0` unless the tool says integer, and never for `"5"`;
    a dot in a name is the same as `_`, as the API allows no dots.
    """

    needs_text: ClassVar[bool] = False

    def target_of(self, sample: Sample) -> list[AcceptedCall]:
        """Return the wanted calls."""
        target = sample.target
        if isinstance(target, str) and target.lstrip()[:1] in ("[", "{"):
            try:
                target = msgspec.json.decode(target)
            except (msgspec.DecodeError, RecursionError):
                target = None
        entries = [target] if isinstance(target, dict) else target
        wanted = [_wanted(entry, sample.tools) for entry in entries] if isinstance(entries, list) else [None]
        if None in wanted:
            raise CannotJudgeError(
                'the target is not a list of tool calls [{"name": {"parameter": [accepted values]}}]'
            )
        return [call for call in wanted if call is not None]

    def score(self, answer: Given, wanted: list[AcceptedCall]) -> Score:
        """1 where each wanted call is matched by a call of its own."""
        shown = msgspec.json.encode(
            [{"name": call.name, "arguments": call.arguments} for call in answer.calls]
        ).decode()
        if not answer.calls:
            return Score(1.0, "no call, as wanted") if not wanted else Score(0.0, _why_no_call(answer.text))
        if not wanted:
            return Score(0.0, "a call where none is wanted", shown)
        if len(answer.calls) != len(wanted):
            return Score(0.0, f"wrong number of calls: {len(answer.calls)} where {len(wanted)} are wanted", shown)
        faults = [[_faults(call, one) for call in answer.calls] for one in wanted]
        unmatched = _unmatched([[not found for found in row] for row in faults])
        if unmatched is None:
            return Score(1.0, "the calls are right", shown)
        nearest = min(faults[unmatched], key=len)
        return Score(0.0, "; ".join(nearest[:_SHOWN]), shown)


def _wanted(entry: Any, tools: Sequence[Mapping[str, Any]]) -> AcceptedCall | None:
    if not isinstance(entry, dict) or not entry:
        return None
    entry = bare_call(entry)
    if isinstance(entry.get("name"), str):
        given = entry.get("arguments", {})
        arguments = as_object({} if given == "" else given)
        if arguments is None or entry.keys() - {"name", "arguments"}:
            return None
        accepted = {name: [value] for name, value in arguments.items()}
        return AcceptedCall(
            entry["name"], accepted, _declared(entry["name"], tools), nested_lists_are_alternatives=False
        )
    name, accepted = next(iter(entry.items()))
    if len(entry) > 1 or not isinstance(accepted, dict) or not all(isinstance(v, list) for v in accepted.values()):
        return None
    return AcceptedCall(name, accepted, _declared(name, tools), nested_lists_are_alternatives=True)


def _declared(name: str, tools: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    for tool in tools:
        function = tool.get("function") or {}
        if _plain_name(str(function.get("name"))) == _plain_name(name):
            properties = (function.get("parameters") or {}).get("properties") or {}
            return {
                key: about
                for key, about in properties.items()
                if isinstance(about, dict) and isinstance(about.get("type"), str)
            }
    return {}


def _plain_name(name: str) -> str:
    return name.replace(".", "_")


def _why_no_call(text: str) -> str:
    if not text.strip():
        return "no call"
    written = re.search(_CALL_IN_TEXT, text[:_LOOKED_AT_CHARS])
    return "malformed call: it stands in the text of the answer" if written else "no call, but prose"


def _faults(call: ToolCall, wanted: AcceptedCall) -> list[str]:
    """Return why a call is not the wanted one; nothing where it is."""
    if _plain_name(call.name) != _plain_name(wanted.name):
        return [f"wrong name: {call.name} instead of {wanted.name}", *wanted.accepted]
    try:
        given = arguments_in(call.arguments)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return [f"malformed call: the arguments of {call.name} are not a JSON object", *wanted.accepted]
    faults = [f"unexpected parameter {name}" for name in given if name not in wanted.accepted]
    for name, accepted in wanted.accepted.items():
        if name not in given:
            may_be_missing = wanted.nested_lists_are_alternatives and _OMITTABLE in accepted
            faults += [] if may_be_missing else [f"missing parameter {name}"]
        elif not _is_whole(given[name], wanted.declared.get(name, {})):
            faults.append(f"wrong type of {name}: a number that is not whole")
        elif not any(_same(given[name], value, wanted) for value in _values(name, wanted)):
            faults.append(_wrong_value(name, given[name], accepted))
    return faults


def _is_whole(given: Any, about: Mapping[str, Any]) -> bool:
    """Return whether a value has no fraction where whole numbers are declared, in lists as well: `5.0` is none."""
    if about.get("type") == "integer":
        return not isinstance(given, float)
    items = about.get("items")
    if isinstance(given, list) and isinstance(items, dict):
        return all(_is_whole(one, items) for one in given)
    return True


def _values(name: str, wanted: AcceptedCall) -> list[Any]:
    """Return the values that are right; an empty text is one only of a text, and says otherwise that there may be none."""
    accepted = wanted.accepted[name]
    others = [value for value in accepted if value != _OMITTABLE]
    kind = wanted.declared.get(name, {}).get("type")
    is_text = kind == "string" if kind is not None else any(isinstance(value, str) for value in others)
    return others if wanted.nested_lists_are_alternatives and others and not is_text else accepted


def _wrong_value(name: str, given: Any, accepted: list[Any]) -> str:
    kinds = {_KINDS[type(value)] for value in accepted if value != _OMITTABLE}
    kind = _KINDS[type(given)]
    return f"wrong value of {name}" if kind in kinds or not kinds else f"wrong type of {name}: {kind}"


def _same(given: Any, wanted: Any, call: AcceptedCall) -> bool:
    if isinstance(wanted, bool) or isinstance(given, bool) or wanted is None:
        return given is wanted
    if isinstance(wanted, int | float):
        number, other = number_of(given), number_of(wanted)
        return not isinstance(given, str) and number is not None and other is not None and near(number, other)
    if isinstance(wanted, str):
        return isinstance(given, str) and _loose(given) == _loose(wanted)
    if isinstance(wanted, list):
        return isinstance(given, list) and len(given) == len(wanted) and all(
            _same(*pair, call) for pair in zip(given, wanted, strict=True)
        )  # fmt: skip
    return isinstance(given, dict) and given.keys() <= wanted.keys() and all(
        _same_field(given, name, value, call) for name, value in wanted.items()
    )  # fmt: skip


def _same_field(given: dict[str, Any], name: str, wanted: Any, call: AcceptedCall) -> bool:
    accepted = wanted if call.nested_lists_are_alternatives and isinstance(wanted, list) else [wanted]
    if name not in given:
        return call.nested_lists_are_alternatives and _OMITTABLE in accepted
    return any(_same(given[name], value, call) for value in accepted)


def _loose(text: str) -> str:
    return text.lower().translate(_LOOSE)


def _unmatched(fits: list[list[bool]]) -> int | None:
    """Return a wanted call that is left over however the calls are matched; None where all can be matched at once.

    Source: Kuhn, H. W. (1955), The Hungarian method for the assignment problem, by augmenting paths.
    """
    taken: dict[int, int] = {}

    def match(one: int, seen: set[int]) -> bool:
        for call, fitting in enumerate(fits[one]):
            if fitting and call not in seen:
                seen.add(call)
                if call not in taken or match(taken[call], seen):
                    taken[call] = one
                    return True
        return False

    return next((one for one in range(len(fits)) if not match(one, set())), None)
