"""Jinja as a job's prompts speak it: sandboxed, strict about what a sample does not have, and bounded in time and memory."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, UndefinedError, nodes
from jinja2.filters import FILTERS
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from workbench.errors import Fault, InputError, nearest

MOST_CHARS = 2**24
"""Of a text that a template makes."""
MOST_STEPS = 1_000_000
"""Rounds of its loops, and calls, of one rendering."""
_MOST_BITS, _MOST_ENTRIES = 2**14, 2**20
_GROWING_FILTERS = ("center", "format", "indent", "join", "pprint", "replace", "string", "tojson", "wordwrap")
_WIDTH = re.compile(r"\d{7,}|\*")  # in a format: more than a million, or one from the values


class _TooMuchError(Exception):
    """A template does more than a prompt needs."""


class _NullError(ValueError):
    """A value that a prompt names is null."""


class _BoundedJinja(ImmutableSandboxedEnvironment):
    """Counts rounds and calls, and looks at sizes before they are made; one template's own."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, finalize=_as_text)
        self.steps = 0
        del self.filters["random"], self.globals["lipsum"]  # other prompts at every run: no answer would be reused
        self.filters |= {
            "rounds": self.rounds,
            "text": _as_text,
            **{name: _bounded(name) for name in _GROWING_FILTERS},
        }

    def rounds(self, values: Iterable[Any]) -> Iterator[Any]:
        """The values of a loop, each counted."""
        for value in values:
            self._step()
            yield value

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Carry out an operator that can make something large of something small."""
        self._step()
        if operator == "**":
            size = left.bit_length() * right if isinstance(left, int) and isinstance(right, int) else 0
            _check(size, _MOST_BITS, "bits in a number")
        elif operator == "%" and isinstance(left, str):
            _check_format(left)
            _short(right)
        elif operator in "*+":
            _check(_size_of(operator, left, right), MOST_CHARS, "characters")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Carry out a call, of a text's method for one."""
        self._step()
        method = getattr(obj, "__wrapped__", obj)  # the sandbox has its own `format`
        if isinstance(text := getattr(method, "__self__", None), str):
            _check_text_call(text, method.__name__, [*args, *kwargs.values()])
        return super().call(context, obj, *args, **kwargs)

    def _step(self) -> None:
        self.steps += 1
        _check(self.steps, MOST_STEPS, "rounds and calls")


class Template:
    """One template, compiled.

    Args:
        where: File and field, for messages.
        source: Its text.

    Raises:
        InputError: It is not valid Jinja.
    """

    def __init__(self, where: str, source: str) -> None:
        self._where = where
        self._jinja = _BoundedJinja()
        try:
            tree = self._jinja.parse(source)
            self.names = frozenset(find_undeclared_variables(tree))
            """The variables that it names."""
            self.needed = self.names - self._jinja.globals.keys() - _guarded(tree)
            """Those of them that must be there: the template does not ask whether they are defined."""
            self._compiled = self._jinja.from_string(_counted(tree))
        except TemplateSyntaxError as error:
            raise InputError(Fault(where, f"line {error.lineno} is not valid Jinja: {error.message}")) from error
        except RecursionError as error:
            raise InputError(Fault(where, "not a usable Jinja template: nested too deeply")) from error
        except (SyntaxError, ValueError, _TooMuchError) as error:  # of the Python that Jinja makes of it
            raise InputError(Fault(where, f"not a usable Jinja template: {error}")) from error

    def rendered(self, variables: dict[str, Any], whose: str) -> str:
        """The text that the template makes of some values.

        Args:
            variables: By name.
            whose: They are, for messages.

        Raises:
            InputError: It names a variable that is not there, fails on the values, or makes too much of them.
        """
        self._jinja.steps, parts, size = 0, list[str](), 0
        try:
            for part in self._compiled.generate(variables):
                parts.append(part)
                size += len(part)
                _check(size, MOST_CHARS, "characters")
        except UndefinedError as error:
            missing = re.match(r"'(\w+)' is undefined", error.message or "")
            near = nearest(missing[1], variables) if missing else ""
            known = f"the sample has: {', '.join(sorted(variables))}"
            raise InputError(Fault(self._where, f"{whose}: {error.message}", near or known)) from error
        except _NullError as error:
            empty = [name for name, value in variables.items() if value is None and name in self.names]
            problem = f"{whose}: {' or '.join(map(repr, empty)) or 'a value'} is null"
            hint = f"{{{{ {empty[0] if empty else 'name'} or '' }}}} leaves it out"
            raise InputError(Fault(self._where, problem, hint)) from error
        except RecursionError as error:
            raise InputError(Fault(self._where, f"{whose}: a macro calls itself without an end")) from error
        except Exception as error:  # a template is a program, and may fail in any way
            raise InputError(Fault(self._where, f"{whose}: {_in_words(error)}")) from error
        return "".join(parts)


def _counted(tree: nodes.Template) -> nodes.Template:
    """The same program with every loop counted, and every joined text looked at."""
    for loop in list(tree.find_all(nodes.For)):
        loop.iter = _filtered(loop.iter, "rounds")
    for joined in list(tree.find_all(nodes.Concat)):
        # the first part is the whole of what was joined before: what doubles is seen before it is far too long
        joined.nodes = [_filtered(part, "text") for part in joined.nodes]
    return tree


def _guarded(tree: nodes.Template) -> set[str]:
    """The variables that a template tests for, or has another value for."""
    asked = (*tree.find_all(nodes.Test), *tree.find_all(nodes.Filter))
    return {
        each.node.name
        for each in asked
        if each.name in ("defined", "undefined", "default", "d") and isinstance(each.node, nodes.Name)
    }


def _filtered(value: Any, name: str) -> nodes.Filter:
    return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)


def _short(value: Any) -> Any:
    """The same value, unless its text would be too long."""
    if isinstance(value, str):
        _check(len(value), MOST_CHARS, "characters")
    elif isinstance(value, list | tuple | dict):
        entries, chars, waiting = 0, 0, [value]
        while waiting:  # an entry that is in there many times is written many times
            inner = waiting.pop()
            entries += len(inner)
            _check(entries, _MOST_ENTRIES, "entries")
            parts = [*inner, *inner.values()] if isinstance(inner, dict) else inner
            chars += sum(len(part) for part in parts if isinstance(part, str))
            _check(chars, MOST_CHARS, "characters")
            waiting += [part for part in parts if isinstance(part, list | tuple | dict)]
            _check(entries + len(waiting), _MOST_ENTRIES, "entries")
    return value


def as_text(value: Any) -> str:
    """A value as a prompt shows it: text as it is, everything else as JSON.

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
    return value if isinstance(value, Undefined) else as_text(_short(value))


def _as_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON for a model: Jinja's own filter escapes it for HTML. Keys are sorted, as Jinja does."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=indent)


def _bounded(name: str) -> Any:
    """A filter of Jinja's that looks at the size of what it would make."""
    original: Callable[..., Any] = _as_json if name == "tojson" else FILTERS[name]
    passed = getattr(original, "jinja_pass_arg", None)

    def filtered(*given: Any, **named: Any) -> Any:
        value, *rest = given[1:] if passed else given
        if name == "join":
            value = _short(list(value))
            between = next((part for part in (*rest, named.get("d")) if isinstance(part, str)), "")
            _check(sum(len(str(part)) for part in value) + len(between) * len(value), MOST_CHARS, "characters")
            return original(*given[: 1 if passed else 0], value, *rest, **named)
        _check_text_call(str(_short(value)), name, [*rest, *named.values()])
        return original(*given, **named)

    if passed:
        filtered.jinja_pass_arg = passed  # type: ignore[attr-defined]
    return filtered


def _check_text_call(text: str, method: str, given: list[Any]) -> None:
    """Refuse what a method makes of a text where that is far larger."""
    if method in ("format", "format_map"):
        _check_format(text)
    if method == "replace" and len(given) >= 2:
        found = text.count(str(given[0])) if given[0] else len(text) + 1
        _check(len(text) + found * len(str(given[1])), MOST_CHARS, "characters")
    for number in given:
        _short(number)
        if isinstance(number, int):
            _check(number * (text.count("\n") + 1 if method == "indent" else 1), MOST_CHARS, "characters")


def _check_format(text: str) -> None:
    if "%" in text or "{" in text:
        _check(MOST_CHARS + 1 if _WIDTH.search(text) else 0, MOST_CHARS, "characters")


def _size_of(operator: str, left: Any, right: Any) -> int:
    """How large what an operator makes of texts or lists is, in entries; 0 for numbers of ordinary size."""
    if isinstance(left, int) and isinstance(right, int):
        return 0 if left.bit_length() + right.bit_length() <= _MOST_BITS else MOST_CHARS + 1
    if operator == "*":
        text, times = (right, left) if isinstance(left, int) else (left, right)
        return len(text) * times if isinstance(text, str | list | tuple) and isinstance(times, int) else 0
    return len(left) + len(right) if isinstance(left, str | list) and isinstance(right, str | list) else 0


def _check(size: int, most: int, what: str) -> None:
    if size > most:
        raise _TooMuchError(f"it makes more than {most:,} {what}")


def _in_words(error: Exception) -> str:
    match error:
        case OverflowError() if "Range too big" in str(error):
            return "range() goes up to 100,000"
        case TypeError() if "no loader" in str(error):
            return "include, import and extends are not available"
        case _:
            return str(error)
