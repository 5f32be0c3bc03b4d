"""TOML text into frozen values, strictly, with every fault named at once and by line.

The type is the schema: msgspec converts where all is well; where it is not, the JSON Schema that msgspec derives from
the same type lists the faults.
"""

import ast
import copy
import math
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time
from typing import Any, NamedTuple, TypeVar

import msgspec

from workbench.errors import Fault, InputError, nearest

T = TypeVar("T")
PathTo = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_AT = re.compile(r"(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)", re.DOTALL)
_TWICE = re.compile(r"Cannot (?:declare|mutate immutable namespace|redefine namespace) (\(.*\))(?: twice)?")
"""What the parser says of a name that stands there before, which it shows as Python's tuple."""
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_TYPES = {
    "object": "a table",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "null": "nothing",
}


def read_toml(text: str, source: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        InputError: It is not valid; the message names line and column.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(_not_toml(str(error), text, source)) from error
    except RecursionError as error:
        raise InputError(Fault(source, "nested too deeply", "expected lists and tables of a few levels")) from error


def _not_toml(message: str, text: str, source: str) -> Fault:
    """Return why a text is not TOML: its line, and what it was perhaps meant to be."""
    found = _AT.fullmatch(message)
    if found is None:  # at its end
        return Fault(source, f"not valid TOML: {message}", _toml_hint(message, text, ""))
    line = text.splitlines()[int(found["line"]) - 1]
    if twice := _given_twice(found["what"], line):
        return Fault(f"{source}:{found['line']}", f"not valid TOML: {twice[0]!r} is given twice", twice[1])
    problem = f"not valid TOML: {found['what']} in column {found['column']}"
    return Fault(f"{source}:{found['line']}", problem, _toml_hint(found["what"], text, line))


def _given_twice(what: str, line: str) -> tuple[str, str] | None:
    """Return which key or table stands there before, and what to do about it; None where the parser means something else."""
    name = None
    if named := _TWICE.fullmatch(what):
        name = ".".join(ast.literal_eval(named[1]))
    elif what == "Cannot overwrite a value" and (header := _HEADER.match(line)):
        name = header[2]
    if name is not None:
        return name, f"give it once, as {name} = … or as one table [{name}]; a list of tables is [[{name}]]"
    key = (
        _KEY.match(line)
        if what == "Cannot overwrite a value"
        else re.fullmatch(r"Duplicate inline table key '(.*)'", what)
    )
    return (key[1], "keep one of them") if key else None


def _toml_hint(what: str, text: str, line: str) -> str:
    if text.lstrip().startswith("{"):
        return 'this is JSON; TOML has one key a line, key = "text", and [table] above the keys of a table'
    is_key = what.startswith(("Expected '='", "Invalid statement"))
    if is_key and re.match(r"---(\s|$)|\s*(- )?[\w.-]+:(\s|$)", line):
        return 'this looks like YAML; TOML has key = "text", and [table] above the keys of a table'
    if what == "Invalid value" and (found := re.match(r"\s*([\w.-]+)\s*=\s*(True|False|None)\b", line)):
        return {"None": f"leave {found[1]} out"}.get(found[2], f"{found[1]} = {found[2].lower()}")
    if what == "Invalid value" and re.match(r"\s*[\w.-]+\s*=\s*(\[\s*)?[A-Za-z]", line):
        return 'a text needs quotes: key = "text", or key = ["text", "text"]'
    if what == "Invalid value" and re.search("[“”„‘’]", line):
        return "these are typographic quotes; TOML has \" and '"
    if "\\" in line and what.startswith(("Invalid hex value", "Unescaped '\\'", "Illegal character")):
        return "in \"…\" a backslash begins an escape: write the text in '…', and a path with /"
    if what.startswith("Expected newline or end of document") and line.rstrip().endswith((",", ";")):
        return f"no sign stands after a value: {line.strip().rstrip(',;')}"
    return f"{line.strip()}]" if "']' at the end of a table declaration" in what else ""


class Problem(NamedTuple):
    """One fault, still without its line."""

    path: PathTo
    text: str
    hint: str = ""


def convert(data: dict[str, Any], to: type[T]) -> tuple[T | None, list[Problem]]:
    """Convert parsed TOML into a value of a msgspec struct, or list every reason why it is not one."""
    try:
        return msgspec.convert(data, to), []
    except msgspec.ValidationError as error:
        return None, list(dict.fromkeys(_problems(data, to))) or [_as_problem(str(error))]


def without(data: dict[str, Any], places: Iterable[PathTo]) -> dict[str, Any]:
    """Return parsed TOML without the keys at some places; an entry of a list stays, so that the others keep their numbers."""
    kept = copy.deepcopy(data)
    for place in places:
        around: Any = kept
        for part in place[:-1]:
            around = _inside(around, part)
        if place and isinstance(around, dict):
            around.pop(place[-1], None)
    return kept


def _inside(value: Any, part: str | int) -> Any:
    """Return what a table or a list has there; None where it has nothing."""
    if isinstance(part, int):
        return value[part] if isinstance(value, list) else None
    return value.get(part) if isinstance(value, dict) else None


def _as_problem(message: str) -> Problem:
    """Return a message of msgspec, which names its place at its end, for what a JSON Schema cannot see (that 3.0 is a float)."""
    text, _, place = message.partition(" - at `$")
    path = tuple(
        name or int(number) for name, number in re.findall(r"\.([^.\[\]`]+)|\[(\d+)\]", place.replace("[...]", ""))
    )
    kinds = re.fullmatch(r"Expected `([^`]*)`, got `([^`]*)`", text)
    if text.startswith("Invalid RFC3339"):
        return Problem(path, "expected a date", "such as 2026-11-01, with or without quotes")
    if kinds is None:
        return Problem(path, text.replace("`", ""))
    wanted, given = (
        " or ".join(_KINDS.get(name, f"a {name}") for name in kind.split(" | ")) for kind in kinds.groups()
    )
    if kinds.groups() == ("int", "float"):
        return Problem(path, f"expected {wanted}, without a point")
    return Problem(path, f"expected {wanted}, found {given}", "put it in quotes" if kinds[1] == "str" else "")


def faults(problems: Iterable[Problem], text: str, source: str) -> list[Fault]:
    """Problems of one TOML file as faults that name their lines, in the order of the lines."""
    ordered = sorted(problems, key=lambda problem: line_of(problem.path, text) or 0)
    return [Fault(located(problem.path, text, source), problem.text, problem.hint) for problem in ordered]


def located(path: PathTo, text: str, source: str) -> str:
    """Name a place in a TOML file: `file:line: dotted.path`, the line where it can be found."""
    dotted = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    if not path:
        return source
    line = line_of(path, text)
    return f"{source}:{line}: {dotted}" if line else f"{source}: {dotted}"


def line_of(path: PathTo, text: str) -> int | None:
    """Return the line of a key, or of the nearest table or key around it."""
    best, best_length = None, 0
    for number, place in _places(text):
        length = next(
            (n for n, (a, b) in enumerate(zip(place, path, strict=False)) if a != b),
            min(len(place), len(path)),
        )
        if length == len(place) and length > best_length:
            best, best_length = number, length
    return best


def _places(text: str) -> Iterator[tuple[int, PathTo]]:
    table: PathTo = ()
    counts: dict[PathTo, int] = {}
    for number, line in _lines(text):
        if header := _HEADER.match(line):
            *outer, name = _parts(header[2]) or [""]
            table = ()
            for part in outer:  # each within the newest entry, where it is a list
                table = (*table, part)
                table = (*table, counts[table]) if table in counts else table
            table = (*table, name)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                yield number, table  # of the list; its first entry counts, as it is the first place of that length
                table = (*table, counts[table])
            yield number, table
        elif key := _KEY.match(line):
            yield number, (*table, *_parts(key[1]))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines of a TOML file with their numbers, but for those that begin within a text of several lines."""
    quotes = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quotes:
            quotes = "" if quotes in line else quotes
            continue
        yield number, line
        quotes = next((each for each in ('"""', "'''") if line.count(each) % 2), "")


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in re.findall(r"""[\w-]+|"[^"]*"|'[^']*'""", dotted)]


def _problems(data: Any, to: Any) -> Iterator[Problem]:
    import jsonschema_rs  # loaded for a faulty file only

    schema = msgspec.json.schema(to)
    found = jsonschema_rs.Draft202012Validator(schema).iter_errors(_as_json(data))
    for error in sorted(found, key=lambda error: [str(part) for part in error.instance_path]):
        yield from _explain(error, _Places(data, schema))


class _Places(NamedTuple):
    """What was given, and the schema that it does not fit."""

    data: Any
    root: dict[str, Any]

    def given(self, error: Any) -> Any:
        """Return the value at fault, as it was given: the library's copy has neither times nor infinity."""
        return _at(self.data, error.instance_path)

    def keyword(self, error: Any) -> Any:
        """Return what the keyword says that the value does not fit."""
        return _at(self.root, error.schema_path)

    def schema(self, error: Any) -> dict[str, Any]:
        """Return the schema that has this keyword."""
        found = _at(self.root, error.schema_path[:-1])
        return found if isinstance(found, dict) else {}


def _at(value: Any, path: Iterable[str | int]) -> Any:
    for part in path:
        value = value[part]
    return value


def _as_json(value: Any) -> Any:
    """Return the same with what TOML has and JSON has not: times become texts, and infinity the largest number."""
    match value:
        case dict():
            return {key: _as_json(inner) for key, inner in value.items()}
        case list():
            return [_as_json(inner) for inner in value]
        case date() | time():
            return value.isoformat()
        case float() if math.isinf(value):
            return math.copysign(sys.float_info.max, value)
        case _:
            return value


_EXAMPLES = {"string": '"…"', "integer": "1", "number": "1.0", "boolean": "true", "array": "[…]", "object": "{ … }"}


def _to_write(missing: list[str], properties: dict[str, Any]) -> str:
    """Return how missing keys are written, each with a value of its type."""
    types = [(name, properties.get(name, {}).get("type")) for name in missing]
    return "write " + ", ".join(f"{name} = {_EXAMPLES.get(str(kind), '…')}" for name, kind in types)


def _explain(error: Any, places: _Places) -> Iterator[Problem]:
    path: PathTo = tuple(error.instance_path)
    given, says, schema = places.given(error), places.keyword(error), places.schema(error)
    hint = str(schema.get("description", ""))
    match error.kind.name:
        case "anyOf":
            yield from _explain_choice(error, places, path)
        case "additionalProperties":
            known = schema.get("properties", {})
            for name in sorted(set(given) - set(known)):
                inside = _inside_of(name, known, places.root) if path else ""  # of the file, it is a table's header
                near = inside or _meant(name, known) or nearest(name, known)
                hint = near or _belongs(name, path, places.root) or f"known keys: {', '.join(known)}"
                yield Problem((*path, name), "unknown key", hint)
        case "required":
            missing = [name for name in says if name not in given]
            yield Problem(path, f"{', '.join(missing)} missing", _to_write(missing, schema.get("properties", {})))
        case "type":
            quotes = "put it in quotes" if says == "string" and not isinstance(given, dict | list) else ""
            hint = _as_list(path, says, given) or _as_table(path, schema, says, given) or quotes or hint
            yield Problem(path, f"expected {_named(says)}, found {shown(given)}", hint)
        case "enum":
            known = [str(value) for value in says]
            yield Problem(path, f"expected one of {', '.join(known)}, found {shown(given)}", nearest(str(given), known))
        case "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" as keyword:
            bound = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than"}
            yield Problem(path, f"expected {bound.get(keyword, 'other than')} {says}, found {shown(given)}", hint)
        case "pattern":
            yield _explain_pattern(error, given, schema, path)
        case _:
            yield Problem(path, error.message, hint)


def _explain_pattern(error: Any, given: Any, schema: dict[str, Any], path: PathTo) -> Problem:
    """Return what a text does not fit, in words: a pattern says little to those who have to fit it."""
    hint = str(schema.get("description", ""))
    if schema.get("writeOnly"):  # a key put where its variable is to be named must not be shown
        return Problem(path, "expected the name of an environment variable, not the key itself", hint)
    if given != given.strip():
        return Problem(path, f"expected no blank at its beginning or end, found {shown(given)}", f'"{given.strip()}"')
    if known := [str(value) for value in schema.get("examples", ())]:
        return Problem(path, f"expected one like {', '.join(known)}, found {shown(given)}", nearest(given, known))
    return Problem(path, error.message, hint)


def _explain_choice(error: Any, places: _Places, path: PathTo) -> Iterator[Problem]:
    """Return a value that fits none of several types: explain the one it was meant to be."""
    given, tried = places.given(error), error.kind.context
    branches = [_resolved(branch, places.root) for branch in places.keyword(error)]
    if isinstance(given, dict):
        tags = [branch.get("properties", {}).get("name", {}).get("enum") for branch in branches]
        named = given.get("name")
        if all(tags):
            if [named] not in tags:
                known = [str(tag[0]) for tag in tags]
                if named is None:
                    said = next((value for value in given.values() if value in known), None) or next(
                        (key for key in given if key in known), None
                    )
                    yield Problem(path, "name missing", f'write name = "{said or "…"}", one of {", ".join(known)}')
                    return
                near = nearest(str(named), known)
                yield Problem((*path, "name"), f"expected one of {', '.join(known)}, found {shown(named)}", near)
                return
            wanted = {tags.index([named])}
        else:
            wanted = {number for number, branch in enumerate(branches) if branch.get("type") == "object"}
        for number in wanted:
            for inner in tried[number]:
                yield from _explain(inner, places)
        if wanted:
            return
    meant = [
        inner
        for inners in tried
        for inner in inners
        if inner.kind.name not in ("type", "enum") or len(inner.instance_path) > len(path)
    ]
    for inner in meant:
        yield from _explain(inner, places)
    if not meant:
        kinds = [_kind_of(branch) for branch in branches]
        known = list(dict.fromkeys(kind for kind in kinds if kind != "nothing"))
        words = [str(word) for branch in branches for word in branch.get("enum", ())]
        is_every = isinstance(given, str) and given.casefold() in ("all", "*", "any", "every") and "visible" in words
        near = (f'{path[-1]} = "visible"' if is_every else nearest(given, words)) if isinstance(given, str) else ""
        listed = _as_list(path, "array" if any("a list" in kind for kind in known) else "", given)
        listed = listed or _as_table(
            path, next((b for b in branches if b.get("type") == "object"), {}), "object", given
        )
        yield Problem(path, f"expected {' or '.join(known)}, found {shown(given)}", near or listed)


def _as_list(path: PathTo, wanted: Any, given: Any) -> str:
    """Return how one entry of a list is written, where it was given alone."""
    is_list = wanted == "array" or (isinstance(wanted, list) and "array" in wanted)
    if not is_list or not path or not isinstance(path[-1], str):
        return ""
    if isinstance(given, dict):
        header = ".".join(part for part in path if isinstance(part, str))
        return f"each entry of the list begins with [[{header}]], in double brackets"
    return f'{path[-1]} = ["{given}"]' if isinstance(given, str) else ""


def _as_table(path: PathTo, schema: dict[str, Any], wanted: Any, given: Any) -> str:
    """Return how a table is written in a line, where one of its values was given alone."""
    if wanted != "object" or not path or isinstance(given, dict | list):
        return ""
    value = f'"{given}"' if isinstance(given, str) else shown(given)
    keys = sorted(schema.get("properties", {}), key=lambda key: key != "template")
    return f"{path[-1]} = {{ {keys[0] if keys else 'NAME'} = {value} }}"


_MEANT = {"name": "id", "model": "id", "type": "name", "scorer": "name"}
"""What is often written for a key of ours that the table has in its place."""


def _meant(name: str, known: Iterable[str]) -> str:
    meant = _MEANT.get(name)
    return f"{meant} is its name here" if meant in set(known) else ""


def _inside_of(name: str, known: dict[str, Any], root: dict[str, Any]) -> str:
    """Return in which table of the keys that are known here another key belongs: `prompt = { template = … }`."""
    for key, described in known.items():
        for branch in (described, *described.get("anyOf", ())):
            if "$ref" in branch and name in _resolved(branch, root).get("properties", {}):
                return f"it is a key of {key}: {key} = {{ {name} = … }}"
    return ""


def _belongs(name: str, path: PathTo, root: dict[str, Any]) -> str:
    """Return where else a key is known: it belongs to the table above it, so that one may have slipped into another."""
    whole = _resolved(root, root)
    if path and name in whole.get("properties", {}):
        return f"{name} is a key of the file itself: put it above the first [table]"
    for table, described in whole.get("properties", {}).items():
        for branch in (described, *described.get("anyOf", ()), described.get("items", {})):
            if "$ref" in branch and name in _resolved(branch, root).get("properties", {}):
                return f"{name} is a key of [{table}]"
    return ""


def _kind_of(branch: dict[str, Any]) -> str:
    return (
        " or ".join(repr(value) for value in branch["enum"]) if "enum" in branch else _named(branch.get("type", "any"))
    )


def _resolved(branch: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    reference = branch.get("$ref")
    found: dict[str, Any] = root["$defs"][reference.rsplit("/", 1)[1]] if reference else branch
    return found


def _named(kind: str | Sequence[str]) -> str:
    kinds = [kind] if isinstance(kind, str) else list(kind)
    return " or ".join(_TYPES.get(name, f"a {name}") for name in kinds)


def kind_of(value: Any) -> str:
    """Return what a value of JSON or TOML is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {shown(value)}"
        case str():
            return f"the text {shown(value)}"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def shown(value: Any) -> str:
    """Return a value as messages quote it, cut where it is long."""
    match value:
        case bool():
            text = str(value).lower()
        case date() | time():
            text = value.isoformat()
        case dict() | list():
            text = repr(_as_json(value))
        case _:
            text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
