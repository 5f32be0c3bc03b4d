"""JSON Schemas: what is wrong with one, and what it says of a value; nothing is fetched, and no pattern takes for ever."""

import itertools
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from workbench.scoring.structure import number_of

_LONGEST_SEARCHES_S = 1.0


def validator_of(schema: dict[str, Any]) -> Any:
    """A validator by the draft that a schema names; for one value, as its patterns share one time limit.

    Raises:
        ValueError: The draft is not known.
    """
    from jsonschema import validators
    from referencing import Registry

    # where the library meets $schema, as at a reference to the root, it changes to its own keywords
    plain = {name: value for name, value in schema.items() if name != "$schema"}
    return validators.extend(_draft(schema), _Keywords().by_name())(plain, registry=Registry())


def problem_of(schema: dict[str, Any]) -> str | None:
    """Why a schema cannot be used."""
    from jsonschema import SchemaError

    try:
        draft = _draft(schema)
        draft.check_schema(schema, format_checker=_patterns_of_regex())
        nodes = list(_nodes(schema))
        if problem := _unsupported(nodes, draft) or _reference_problem(schema, nodes, draft):
            return problem
        next(iter(validator_of(schema).iter_errors(None)), None)
    except SchemaError as error:
        return str(error.message)
    except RecursionError:
        return "it refers to itself without an end"
    except ValueError as error:
        return str(error)
    return None


def _draft(schema: dict[str, Any]) -> Any:
    """The validator class of the draft that a schema names, by default of 2020-12."""
    import jsonschema

    named = schema.get("$schema")
    if named is None or _without_scheme(named) == "json-schema.org/schema":  # the newest, whichever that is
        return jsonschema.Draft202012Validator
    drafts = (
        jsonschema.Draft202012Validator,
        jsonschema.Draft201909Validator,
        jsonschema.Draft7Validator,
        jsonschema.Draft6Validator,
        jsonschema.Draft4Validator,
    )
    known = {draft.META_SCHEMA["$schema"].rstrip("#"): draft for draft in drafts}
    for name, draft in known.items():
        if _without_scheme(name) == _without_scheme(named):
            return draft
    raise ValueError(f"$schema: unknown draft {named!r}; expected one of {', '.join(known)}")


def _without_scheme(named: Any) -> str:
    """The name of a draft; http is often written https, and the other way round."""
    return str(named).removeprefix("http://").removeprefix("https://").rstrip("#")


def _patterns_of_regex() -> Any:
    """A check that accepts the patterns of the engine that searches them, which knows more than `re`."""
    import regex
    from jsonschema import FormatChecker

    def is_pattern(value: Any) -> bool:
        return not isinstance(value, str) or regex.compile(value) is not None

    checker = FormatChecker(formats=())
    checker.checks("regex", raises=(regex.error, OverflowError))(is_pattern)
    return checker


def _unsupported(nodes: list[dict[str, Any]], draft: Any) -> str | None:
    """What the library would check by keywords of its own, without a time limit for patterns."""
    names = {name for node in nodes for name in node}
    if "unevaluatedProperties" in draft.VALIDATORS and {"patternProperties", "unevaluatedProperties"} <= names:
        return "unevaluatedProperties is not supported together with patternProperties"
    if any(isinstance(node.get("$schema"), str) for node in nodes[1:]):
        return "$schema is supported at its top only"
    return None


def _reference_problem(schema: dict[str, Any], nodes: list[dict[str, Any]], draft: Any) -> str | None:
    """Which reference does not lead to a valid schema."""
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().with_resource("", resource).resolver()
    references = {node[name] for node in nodes for name in ("$ref", "$dynamicRef") if isinstance(node.get(name), str)}
    for reference in sorted(references):
        try:
            found = resolver.lookup(reference).contents
        except (Unresolvable, ValueError, LookupError, TypeError):  # a pointer may go into any value
            return f"{reference} is not in it"
        if not isinstance(found, dict | bool):
            return f"{reference} is not a schema"
        draft.check_schema(found, format_checker=_patterns_of_regex())
    return None


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a value."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _nodes(inner)


class _Keywords:
    """Keywords that the library checks by `re`, which may take for ever, or by floats, whose remainders are not exact.

    They are for one value: all its searches share a time limit.
    """

    def __init__(self) -> None:
        self._left_s = _LONGEST_SEARCHES_S

    def by_name(self) -> dict[str, Any]:
        return {
            "pattern": self._pattern,
            "patternProperties": self._pattern_properties,
            "additionalProperties": self._additional_properties,
            "multipleOf": self._multiple_of,
        }

    def _pattern(self, validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not self._finds(wanted, instance):
            yield _error(f"{instance!r} does not match {wanted!r}")

    def _pattern_properties(self, validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
        pairs = itertools.product(patterns, instance if isinstance(instance, dict) else ())
        for wanted, name in pairs:
            found = self._finds(wanted, name)
            if found is None:
                yield _error(f"it takes too long to say whether {name!r} matches {wanted!r}")
            elif found:
                yield from validator.descend(instance[name], patterns[wanted], path=name, schema_path=wanted)

    def _additional_properties(self, validator: Any, rest: Any, instance: Any, schema: Any) -> Iterator[Any]:
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for name in instance if isinstance(instance, dict) else ():
            if name in known or any(self._finds(wanted, name) for wanted in patterns):
                continue
            if rest is False:
                yield _error(f"Additional properties are not allowed ({name!r} was unexpected)")
            else:
                yield from validator.descend(instance[name], rest, path=name)

    def _multiple_of(self, validator: Any, step: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not validator.is_type(instance, "number"):
            return
        number, unit = number_of(instance), number_of(step)
        if number is None or unit is None or (Fraction(number) / Fraction(unit)).denominator != 1:
            yield _error(f"{instance!r} is not a multiple of {step!r}")

    def _finds(self, pattern: str, text: str) -> bool | None:
        """Whether a pattern is in a text; None where that takes too long to say."""
        import regex

        if self._left_s <= 0:
            return None
        start = time.monotonic()
        try:
            return regex.search(pattern, text, timeout=self._left_s) is not None
        except TimeoutError:
            return None
        finally:
            self._left_s -= time.monotonic() - start


def _error(text: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(text)
