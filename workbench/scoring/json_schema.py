"""`json_schema`: the answer holds JSON that a schema accepts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from workbench.records import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.schemas import problem_of, validator_of
from workbench.scoring.scorer import CannotJudgeError, OptionError, Scorer
from workbench.scoring.structure import JSON, as_object, object_in

_SHOWN_CHARS = 200
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

    def target_of(self, sample: Sample) -> dict[str, Any]:
        """The schema that counts for a sample."""
        schema = as_object(sample.target) if self.schema is None else self.schema
        if schema is None:
            raise CannotJudgeError("the scorer has no schema, and the target is not one")
        if self.schema is None and (problem := problem_of(schema)):
            raise CannotJudgeError(f"the target is not a JSON Schema: {problem}")
        return schema

    def score(self, answer: Given, schema: dict[str, Any]) -> Score:
        """1 where the whole answer, or the object in it, fits."""
        given = _value_in(answer.text, schema, alone=self.alone)
        if given is None:
            return Score(0.0, "the answer does not contain JSON")
        from jsonschema.exceptions import best_match

        fault = best_match(validator_of(schema).iter_errors(given[0]))
        shown = json.dumps(given[0])
        if fault is None:
            return Score(1.0, "the schema accepts it", shown)
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.absolute_path).lstrip(
            "."
        )
        said = f"{place}: {fault.message}" if place else fault.message
        return Score(0.0, said[:_SHOWN_CHARS], shown)

    def faults(self) -> Iterator[tuple[str, str]]:
        """A schema that is not valid, or two of them."""
        if self.schema is not None and self.schema_path is not None:
            yield "schema_path", "give either schema or schema_path"
        if self.schema is not None and (problem := problem_of(self.schema)):
            yield "schema", f"not a JSON Schema: {problem}"

    def in_folder(self, folder: Path) -> Self:
        """The same with the schema of its file."""
        if self.schema_path is None or self.schema is not None:
            return self
        try:
            schema = msgspec.json.decode((folder / self.schema_path).read_bytes())
        except FileNotFoundError as error:
            raise OptionError("schema_path", f"{self.schema_path} not found") from error
        except OSError as error:
            raise OptionError("schema_path", f"{self.schema_path} cannot be read: {error.strerror}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise OptionError("schema_path", f"{self.schema_path} is not valid JSON: {error}") from error
        problem = problem_of(schema) if isinstance(schema, dict) else "it is not an object"
        if problem:
            raise OptionError("schema_path", f"{self.schema_path} is not a JSON Schema: {problem}")
        return msgspec.structs.replace(self, schema=schema, schema_path=None)


def _value_in(text: str, schema: dict[str, Any], *, alone: bool) -> tuple[Any] | None:
    """The whole text as JSON, that of a fence, or the object in it."""
    whole = _decoded(text)
    if whole is not None or alone:
        return whole
    parts = text.split("```")[1::2][: -_MOST_FENCES - 1 : -1]
    fenced = [found for found in map(_decoded, parts) if found is not None]
    named = schema.get("type", [])
    kinds, validator = [named] if isinstance(named, str) else named, validator_of(schema)
    # the last fence need not hold the answer: what a program prints may follow it
    best = next((found for kind in (*kinds, "object") for found in fenced if validator.is_type(found[0], kind)), None)
    if best is None and (not fenced or "object" in kinds):
        among_words = object_in(text[:_MOST_CHARS], schema.get("properties"))
        best = None if among_words is None else (among_words,)
    return best or next(iter(fenced), None)


def _decoded(text: str) -> tuple[Any] | None:
    try:
        return (JSON.decode(text.removeprefix("json")),)
    except (ValueError, RecursionError):
        return None
