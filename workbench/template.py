"""Jinja as a job's prompts speak it: sandboxed, and strict about what a sample does not have."""

from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from workbench.errors import Fault, InputError

_JINJA = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)


class Template:
    """One template, compiled.

    Args:
        where: File and field, for messages.
        source: Its text.

    Raises:
        InputError: It is no Jinja.
    """

    def __init__(self, where: str, source: str) -> None:
        self._where = where
        try:
            self._compiled = _JINJA.from_string(source)
        except TemplateSyntaxError as error:
            raise InputError(Fault(where, f"line {error.lineno} is not valid Jinja: {error.message}")) from error
        except (SyntaxError, RecursionError, ValueError) as error:  # of the Python that Jinja makes of it
            raise InputError(Fault(where, f"no usable Jinja: {error}")) from error

    def rendered(self, variables: dict[str, Any], whose: str) -> str:
        """The text that the template makes of some values.

        Args:
            variables: By name.
            whose: They are, for messages.

        Raises:
            InputError: It names a variable that is not there, or fails on the values.
        """
        try:
            return self._compiled.render(variables)
        except UndefinedError as error:
            known = f"the sample has: {', '.join(sorted(variables))}"
            raise InputError(Fault(self._where, f"{whose}: {error.message}", known)) from error
        except Exception as error:  # a template is a program, and may fail in any way
            raise InputError(Fault(self._where, f"{whose}: {error}")) from error
