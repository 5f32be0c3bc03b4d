"""`json_schema`: the answer holds JSON that a schema accepts."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from workbench.errors import nearest_file
from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError, OptionError, Scorer
from workbench.scoring.structure import JSON, as_object, object_in

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_SHOWN_CHARS = 200
_HALF_PAIR = re.compile(
    r"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""A pair of surrogates, or half of one, which JSON can spell and no text can hold."""
_MOST_CHARS, _MOST_FENCES = 200_000, 20


class JsonSchema(Scorer, frozen=True, tag="json_schema"):
    """The answer's JSON is what a schema accepts: the table `schema`, a file, or else the sample's target.

    The draft is the one that its `$schema` names, from draft-06 on, and by default 2020-12.
    """

    schema: dict[str, Any] | None = None
    """The schema; references to other documents are refused, as nothing is fetched."""
    schema_path: str | None = None
    """A JSON file that holds it."""
    alone: bool = False
    """Whether the answer must be nothing but JSON; else an object among words counts."""

    by_target: ClassVar[bool] = False

    def target_of(self, sample: Sample) -> dict[str, Any]:
        """Return the schema that counts for a sample."""
        schema = as_object(sample.target) if self.schema is None else self.schema
        if schema is None:
            raise CannotJudgeError("the scorer has no schema, and the target is not one")
        if self.schema is None and (problem := problem_of(schema)):
            raise CannotJudgeError(f"the target is not a JSON Schema: {problem}")
        return schema

    def score(self, answer: Given, schema: dict[str, Any]) -> Score:
        """1 where the whole answer, or the object in it, fits."""
        text = _HALF_PAIR.sub(_without_half, answer.text)
        given = _value_in(text, schema, alone=self.alone)
        if given is None:
            return Score(0.0, "the answer does not contain JSON")
        faults, shown = list(_validator(schema).iter_errors(given[0])), json.dumps(given[0])
        if not faults:
            return Score(1.0, "the schema accepts it", shown)
        import jsonschema_rs

        if any(isinstance(fault.kind, jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded) for fault in faults):
            raise CannotJudgeError("a pattern of the schema takes too long")
        fault = min(faults, key=lambda fault: len(fault.instance_path))
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.instance_path)
        said = f"{place.lstrip('.')}: {fault.message}" if place else fault.message
        return Score(0.0, said[:_SHOWN_CHARS], shown)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Return a schema that is not valid, or two of them."""
        if self.schema is not None and self.schema_path is not None:
            yield "schema_path", "give either schema or schema_path"
        if self.schema is not None and (problem := problem_of(self.schema)):
            yield "schema", f"not a JSON Schema: {problem}"

    def in_folder(self, folder: Path) -> Self:
        """Return the same with the schema of its file."""
        if self.schema_path is None or self.schema is not None:
            return self
        try:
            schema = msgspec.json.decode((folder / self.schema_path).read_bytes())
        except FileNotFoundError as error:
            hint = nearest_file(folder / self.schema_path) or "the path is relative to the job's folder"
            raise OptionError("schema_path", f"there is no file {self.schema_path}; {hint}") from error
        except OSError as error:
            raise OptionError("schema_path", f"{self.schema_path} cannot be read: {error.strerror}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise OptionError("schema_path", f"{self.schema_path} is not valid JSON: {error}") from error
        problem = problem_of(schema) if isinstance(schema, dict) else "it is not an object"
        if problem:
            raise OptionError("schema_path", f"{self.schema_path} is not a JSON Schema: {problem}")
        return msgspec.structs.replace(self, schema=schema, schema_path=None)


def problem_of(schema: dict[str, Any]) -> str | None:
    """Return why a schema cannot be used."""
    import jsonschema_rs

    try:
        _validator(schema)
    except jsonschema_rs.ValidationError as error:
        if (named := str(schema.get("$schema"))) in error.message:
            return f"$schema: unknown draft {named!r}; those from draft-04 to 2020-12 are known"
        place = "".join(f"/{part}" for part in error.instance_path)
        return f"{place}: {error.message}" if place else str(error.message)
    except (ValueError, RecursionError) as error:  # nested too deeply
        return str(error)
    return None


def _without_half(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) == len(r"\ud83d\ude00") else r"\ufffd"


def _validator(schema: dict[str, Any]) -> "Validator":
    """Return what checks a value, by the draft that the schema names; nothing is fetched, and no pattern takes for ever."""
    import jsonschema_rs

    return jsonschema_rs.validator_for(schema, offline=True)


def _value_in(text: str, schema: dict[str, Any], *, alone: bool) -> tuple[Any] | None:
    """Return the whole text as JSON, that of a fence, or the object in it."""
    whole = _decoded(text)
    if whole is not None or alone:
        return whole
    parts = text.split("```")[1::2][: -_MOST_FENCES - 1 : -1]
    fenced = [found for part in parts if (found := _decoded(part.removeprefix("json"))) is not None]
    named = schema.get("type", [])
    kinds = [named] if isinstance(named, str) else named
    # the last fence need not hold the answer: what a program prints may follow it
    checks = [_validator({"type": kind}) for kind in (*kinds, "object")] if fenced else []
    best = next((found for check in checks for found in fenced if check.is_valid(found[0])), None)
    if best is None and (not fenced or "object" in kinds):
        among_words = object_in(text[:_MOST_CHARS], schema.get("properties"))
        best = None if among_words is None else (among_words,)
    return best or next(iter(fenced), None)


def _decoded(text: str) -> tuple[Any] | None:
    try:
        return (JSON.decode(text),)
    except (ValueError, RecursionError):
        return None
