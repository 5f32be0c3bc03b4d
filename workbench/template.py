"""Jinja as a job's prompts speak it: sandboxed, strict about what a sample does not have, and no longer than a prompt can be."""

import json
import re
from collections.abc import Iterable
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, UndefinedError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from workbench.errors import Fault, InputError, nearest

_BLANK_IN_NAME = re.compile(r"\{\{ *(?![^}]*\b(?:if|else|is|and|or|in|not)\b)([A-Za-z_]\w*(?: +[A-Za-z_]\w*)+) *[}|]")
_BLANK_IN_BLOCK = re.compile(
    r"\{%[-+]? *(?:if|elif|for +\w+ +in|set +\w+ *=) +(?:not +)?(?!(?:not|is|and|or|in|if|else)\b)"
    r"([A-Za-z_]\w*(?: +(?!(?:is|and|or|in|not|if|else|recursive)\b)[A-Za-z_]\w*)+)"
)

_USUAL = {
    "input": frozenset("question message prompt text query instruction problem".split()),
    "target": frozenset("answer label gold solution expected reference output".split()),
}
"""What the columns are usually called that a job takes for these fields, under whose names its template has them."""
MOST_CHARS = 2**24
"""Of a text that a template makes."""


class _NullError(ValueError):
    """A value that a prompt names is null."""


class _Jinja(ImmutableSandboxedEnvironment):
    """Jinja without what makes another prompt at every run: none of its answers would be reused."""

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, finalize=_as_text)
        del self.filters["random"], self.globals["lipsum"]
        self.filters |= {"tojson": _as_json, "text": _as_text}


class Template:
    """One template, compiled.

    Args:
        where: File and field, for messages.

    Raises:
        InputError: It is not valid Jinja.
    """

    def __init__(self, where: str, source: str) -> None:
        self._where = where
        self._jinja = _Jinja()
        try:
            tree = self._jinja.parse(source)
            self.names = frozenset(find_undeclared_variables(tree))
            """The variables that it names."""
            self.needed = self.names - self._jinja.globals.keys() - _guarded(tree)
            """Those of them that must be there: the template does not ask whether they are defined."""
            self._compiled = self._jinja.from_string(_joined_as_text(tree))
        except TemplateSyntaxError as error:
            hint = _hint_of_a_blank(str(error.message), source)
            raise InputError(Fault(where, f"line {error.lineno} is not valid Jinja: {error.message}", hint)) from error
        except RecursionError as error:
            raise InputError(
                Fault(where, "not a usable Jinja template: nested too deeply", "{% set %} names a part of it")
            ) from error
        except (SyntaxError, ValueError) as error:  # of the Python that Jinja makes of it
            raise InputError(Fault(where, f"not a usable Jinja template: {error}")) from error

    def rendered(self, variables: dict[str, Any], whose: str) -> str:
        """Return the text that the template makes of some values.

        Args:
            variables: By name.
            whose: They are, for messages.

        Raises:
            InputError: It names a variable that is not there, fails on the values, or makes too much of them.
        """
        parts, chars = list[str](), 0
        try:
            for part in self._compiled.generate(variables):
                parts.append(part)
                chars += len(part)
                if chars > MOST_CHARS:
                    raise ValueError(f"it makes more than {MOST_CHARS:,} characters: expected a prompt")
        except UndefinedError as error:
            missing = re.match(r"'(\w+)' is undefined", error.message or "")
            near = _other_name(missing[1], variables) or nearest(missing[1], variables) if missing else ""
            signs = _hint_of_a_sign(missing[1], variables) if missing else ""
            known = f"the sample has: {', '.join(sorted(variables))}"
            raise InputError(Fault(self._where, f"{whose}: {error.message}", signs or near or known)) from error
        except _NullError as error:
            empty = [name for name, value in variables.items() if value is None and name in self.names]
            problem = f"{whose}: {' or '.join(map(repr, empty)) or 'a value'} is null"
            hint = f"{{{{ {empty[0] if empty else 'name'} or '' }}}} leaves it out"
            raise InputError(Fault(self._where, problem, hint)) from error
        except RecursionError as error:
            raise InputError(
                Fault(self._where, f"{whose}: a macro calls itself without an end", "{% for %} repeats a part")
            ) from error
        except Exception as error:  # a template is a program, and may fail in any way
            raise InputError(Fault(self._where, f"{whose}: {_in_words(error)}")) from error
        return "".join(parts)


def _hint_of_a_blank(message: str, source: str) -> str:
    """Return how a name with a blank is written, where that is why a template is not valid; otherwise nothing."""
    if "end of print statement" in message and (named := _BLANK_IN_NAME.search(source)):
        return f'a name with a blank is written {{{{ metadata["{named[1]}"] }}}}'
    if "end of statement block" in message and (named := _BLANK_IN_BLOCK.search(source)):
        return f'a name with a blank is written metadata["{named[1]}"]'
    return ""


def _other_name(missing: str, names: Iterable[str]) -> str:
    """Return under which name a sample's own field is there, where a template has the usual name of its column."""
    ours = next((ours for ours, usual in _USUAL.items() if missing.casefold() in usual), None)
    is_there = ours is not None and ours in names
    return f"the field is called {ours!r} here: {{{{ {ours} }}}}" if is_there else ""


def _hint_of_a_sign(missing: str, names: Iterable[str]) -> str:
    """Return how a name with a sign is written, of which Jinja took a part for a name of its own; otherwise nothing."""
    meant = next((name for name in names if not name.isidentifier() and missing in re.split(r"\W+", name)), None)
    return "" if meant is None else f'{meant!r} is written {{{{ metadata["{meant}"] }}}}'


def _joined_as_text(tree: nodes.Template) -> nodes.Template:
    """Return the same program where `~` joins values as the prompt shows them."""
    for joined in tree.find_all(nodes.Concat):
        joined.nodes = [nodes.Filter(part, "text", [], [], None, None, lineno=part.lineno) for part in joined.nodes]
    return tree


def _guarded(tree: nodes.Template) -> set[str]:
    """Return the variables that a template tests for, or has another value for."""
    asked = (*tree.find_all(nodes.Test), *tree.find_all(nodes.Filter))
    return {
        each.node.name
        for each in asked
        if each.name in ("defined", "undefined", "default", "d") and isinstance(each.node, nodes.Name)
    }


def as_text(value: Any) -> str:
    """Return a value as a prompt shows it: text as it is, everything else as JSON.

    Raises:
        ValueError: It is null, or something that JSON does not have.
    """
    if isinstance(value, str):
        return str(value)
    if value is None:
        raise _NullError("a value is null")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"a value is {type(value).__name__}, which JSON does not have") from error


def _as_text(value: Any) -> Any:
    return value if isinstance(value, Undefined) else as_text(value)


def _as_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON for a model: Jinja's own filter escapes it for HTML. Keys are sorted, as Jinja does."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=indent)


def _in_words(error: Exception) -> str:
    match error:
        case OverflowError() if "Range too big" in str(error):
            return "range() goes up to 100,000"
        case TypeError() if "no loader" in str(error):
            return "include, import and extends are not available (write the whole text into the template)"
        case _:
            return str(error)
