"""`json_schema`: the answer holds JSON that a schema accepts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from workbench.records import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.structure import as_object, object_in

_SHOWN_CHARS, _LONGEST_SEARCH_S = 200, 0.5
_MOST_CHARS, _MOST_FENCES = 200_000, 20


class JsonSchema(Scorer, frozen=True, tag="json_schema"):
    """The answer's JSON is what a schema accepts (draft 2020-12): the table `schema`, a file, or else the sample's target."""

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
        if self.schema is None and (problem := _problem(schema)):
            raise CannotJudgeError(f"the target is not a JSON Schema: {problem}")
        return schema

    def score(self, answer: Given, schema: dict[str, Any]) -> Score:
        """1 where the whole answer, or the object in it, fits."""
        given = _value_in(answer.text, schema, alone=self.alone)
        if given is None:
            return Score(0.0, "the answer does not contain JSON")
        from jsonschema.exceptions import best_match

        fault = best_match(_validator(schema).iter_errors(given[0]))
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
        if self.schema is not None and (problem := _problem(self.schema)):
            yield "schema", f"not a JSON Schema: {problem}"

    def in_folder(self, folder: Path) -> Self:
        """The same with the schema of its file."""
        if self.schema_path is None:
            return self
        try:
            schema = msgspec.json.decode((folder / self.schema_path).read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise ValueError(f"{self.schema_path} is not a readable JSON file: {error}") from error
        problem = _problem(schema) if isinstance(schema, dict) else "it is not an object"
        if problem:
            raise ValueError(f"{self.schema_path} is not a JSON Schema: {problem}")
        return msgspec.structs.replace(self, schema=schema, schema_path=None)


def _value_in(text: str, schema: dict[str, Any], *, alone: bool) -> tuple[Any] | None:
    """The whole text as JSON, that of its last fence, or the object in it."""
    fenced = () if alone else text.split("```")[1::2][: -_MOST_FENCES - 1 : -1]
    for part in (text, *fenced):
        try:
            return (json.loads(part.removeprefix("json")),)
        except (ValueError, RecursionError):
            continue
    found = None if alone else object_in(text[:_MOST_CHARS], schema.get("properties"))
    return None if found is None else (found,)


def _validator(schema: dict[str, Any]) -> Any:
    """A validator that fetches nothing, and gives up patterns that take long."""
    import regex
    from jsonschema import Draft202012Validator, ValidationError, validators
    from referencing import Registry

    def pattern(validator: Any, wanted: str, instance: Any, _: Any) -> Iterator[ValidationError]:
        if isinstance(instance, str):
            try:
                found = regex.search(wanted, instance, timeout=_LONGEST_SEARCH_S)
            except TimeoutError:
                found = None
            if not found:
                yield ValidationError(f"{instance!r} does not match {wanted!r}")

    return validators.extend(Draft202012Validator, {"pattern": pattern})(schema, registry=Registry())


def _problem(schema: dict[str, Any]) -> str | None:
    """Why a schema cannot be used."""
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        Draft202012Validator.check_schema(schema)
        resolver = Registry().with_resource("", DRAFT202012.create_resource(schema)).resolver()
        for reference in _references(schema):
            resolver.lookup(reference)
        next(iter(_validator(schema).iter_errors(None)), None)
    except SchemaError as error:
        return str(error.message)
    except Unresolvable as error:
        return f"{error.ref} is not in it"
    except RecursionError:
        return "it refers to itself without an end"
    return None


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)
