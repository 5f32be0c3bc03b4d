"""A caller's request, understood: which route is meant, and the body that goes to its model."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from workbench.local_platform.config import OWN_FIELDS, PlatformConfig, Preset, Route
from workbench.local_platform.request_check import first_fault, model_fault

BYTES_A_TOKEN = 4
MOST_ANSWER_TOKENS = 2**17
"""No model generates more at once, whatever cap a request names."""
_SHOWN_BYTES = 200
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_MOST_LEVELS = 256
"""How deep a body may be nested: below what every encoder on its way can follow."""


class RefusedError(Exception):
    """The platform itself refuses a request, before any route is asked.

    Args:
        detail: What it says.
        code: Of the error, for programs; by default that of the status.
        quotes_body: Whether it quotes the request, so that it is for the caller only.
    """

    def __init__(self, status: int, detail: Any, code: str | None = None, *, quotes_body: bool = False) -> None:
        super().__init__(str(detail))
        self.status, self.detail, self.code, self.quotes_body = status, detail, code, quotes_body


@dataclass
class Course:
    """What became known of a call while it was under way, for the log."""

    attempts: int = 0
    """How often a route was asked, its retries and its fallback included."""
    tokens: int | None = None
    """As the route that answered reported."""
    failure: str | None = None
    """Why another route was asked."""
    first_draw: int | None = None
    """The number of the draw of its first attempt."""


@dataclass(frozen=True)
class Call:
    """One request of one account, ready for a route."""

    account: str
    requested: str
    """The id that was asked for: a route's or a preset's."""
    route: Route
    """The route to ask first."""
    meant: Route
    """The route that the id stands for."""
    repeat: int
    """How many equal requests came before: each draws its own chance."""
    body: dict[str, Any]
    """What the model gets, but for `model`, the route's own defaults and `stream_options`."""
    raw: bytes
    """The body as it came: what chance is drawn from."""
    messages: list[Any]
    """The messages as they came: what an answer key is asked for."""
    streamed: bool
    wants_usage: bool
    """Whether a streamed answer is to end with its usage."""
    is_batch: bool = False
    """Whether its caller said that it is batch work, which takes only what people leave."""
    course: Course = field(default_factory=Course)

    def body_for(self, route: Route) -> dict[str, Any]:
        """Return the body for a route that may not be the first one: with its model's name and its defaults."""
        body = {"model": route.upstream, **self.body}
        if route.template_defaults and not isinstance(body.get("chat_template_kwargs"), dict):
            body["chat_template_kwargs"] = route.template_defaults
        return body

    def on(self, route: Route) -> "Call":
        """Return the same, asked of another route."""
        return replace(self, route=route)

    @property
    def cap(self) -> int | None:
        """The most tokens that may be generated, in all the answers that are asked for, where the request says it."""
        cap, answers = self.body.get("max_tokens"), self.body.get("n")
        if not isinstance(cap, int) or isinstance(cap, bool) or cap <= 0:
            return None
        return min(cap, MOST_ANSWER_TOKENS) * (answers if isinstance(answers, int) and 1 < answers < 2**10 else 1)

    @property
    def prompt_tokens(self) -> int:
        """The length of the prompt, estimated from its bytes."""
        return len(self.raw) // BYTES_A_TOKEN


class Catalogue:
    """What every account sees, and what it means by a model's id."""

    def __init__(self, config: PlatformConfig) -> None:
        self._config = config
        self._routes = {route.id: route for route in config.routes}
        self._presets = {preset.id: preset for preset in config.presets}

    def visible(self, account: str) -> tuple[list[Route], list[Preset]]:
        """Return the routes and presets in an account's list."""
        routes = [route for route in self._config.routes if _sees(route, account)]
        return routes, [preset for preset in self._config.presets if self._usable(preset, account)]

    def route_of(self, model: Route | Preset) -> Route:
        """Return the route behind a model."""
        return model if isinstance(model, Route) else self._routes[model.base]

    def fallback_of(self, route: Route) -> Route | None:
        """Return the route that may answer in a route's place."""
        return self._routes[route.fallback] if route.fallback else None

    def call(self, account: str, content_type: str, raw: bytes, repeat: int, *, is_batch: bool = False) -> Call:
        """Understand the body of a POST.

        Args:
            repeat: How many equal requests came before.
            is_batch: Whether its caller says that it is batch work.

        Raises:
            RefusedError: It is not that of a chat completion, or names no model that the account sees.
        """
        given = _decoded(content_type, raw)
        is_checked = self._config.silent.requests == "checked"
        if is_checked and (fault := model_fault(given)):
            raise RefusedError(400, fault, quotes_body=True)
        requested = given.pop("model", None)
        preset = self._presets.get(requested) if isinstance(requested, str) else None
        route = self._route(requested, preset, account)
        body = {name: value for name, value in given.items() if name not in OWN_FIELDS}
        for name in ("params", "extra_body"):  # as seen: what stands in them is lifted out
            if isinstance(given.get(name), dict):
                body = {key: value for key, value in given[name].items() if key not in OWN_FIELDS} | body
        body.pop("model", None)
        if isinstance(body.get("max_completion_tokens"), int) and body.get("max_tokens") is None:
            body["max_tokens"] = body.pop("max_completion_tokens")
        texts_only = self._config.silent.parts == "text"
        if is_checked and (fault := first_fault(self._with_parameters(preset, body), texts_only=texts_only)):
            raise RefusedError(400, fault, quotes_body=True)
        for name in ("messages", "tools"):
            if not isinstance(body.get(name) or [], list):
                raise RefusedError(400, f"{name} is not a list")
        body["messages"] = body.get("messages") or []
        messages = body["messages"]
        options = body.pop("stream_options", None)
        wants_stream = body.pop("stream", False)
        streamed = bool(wants_stream) and wants_stream not in ("false", "False")
        if preset is not None:
            body = self._with_preset(preset, body)
        asked = isinstance(options, dict) and options.get("include_usage") is True
        wanted = {"asked": asked, "always": True, "never": False}[self._config.silent.stream_usage]
        return Call(account, str(requested), route, route, repeat, body, raw, messages, streamed, wanted, is_batch)

    def _route(self, requested: Any, preset: Preset | None, account: str) -> Route:
        if preset is not None and self._usable(preset, account):
            return self._routes[preset.base]
        route = self._routes.get(requested) if isinstance(requested, str) else None
        if route is None or not _sees(route, account):
            raise RefusedError(self._config.silent.unknown_model_status, "Model not found", "model_not_found")
        return route

    def _usable(self, preset: Preset, account: str) -> bool:
        return _sees(preset, account) and _sees(self._routes[preset.base], account)

    def _with_parameters(self, preset: Preset | None, body: dict[str, Any]) -> dict[str, Any]:
        if preset is None or not self._config.silent.preset_parameters:
            return body
        return preset.parameters | body

    def _with_preset(self, preset: Preset, body: dict[str, Any]) -> dict[str, Any]:
        silent = self._config.silent
        body = self._with_parameters(preset, body)
        if not preset.system or silent.preset_prompt == "off":
            return body
        own = [message for message in body["messages"] if _is_system(message)]
        others = [message for message in body["messages"] if not _is_system(message)]
        contents = [message.get("content") for message in own] if silent.preset_prompt == "before" else []
        return body | {"messages": [{"role": "system", "content": _together([preset.system, *contents])}, *others]}


def _decoded(content_type: str, raw: bytes) -> dict[str, Any]:
    if content_type != "application/json":
        raise _invalid("dict_type", "Input should be a valid dictionary; is Content-Type application/json?", raw)
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        half = _half_a_pair(raw)
        what = error if half is None else f"{half[0].decode()} at byte {half.start()} is half of a surrogate pair"
        raise _invalid("json_invalid", f"JSON decode error: {what}", raw) from error
    if not isinstance(body, dict):
        raise _invalid("dict_type", "Input should be a valid dictionary", raw)
    if raw.count(b"[") + raw.count(b"{") > _MOST_LEVELS and _levels(body) > _MOST_LEVELS:
        raise _invalid("json_invalid", f"JSON decode error: nested more than {_MOST_LEVELS} levels deep", raw)
    return body


def _half_a_pair(raw: bytes) -> re.Match[bytes] | None:
    """Return the first escape that stands for half of a character: a surrogate without the other one."""
    high: re.Match[bytes] | None = None
    for escape in _ESCAPE.finditer(raw):
        code = int(escape[1] or b"0", 16)
        is_low = 0xDC00 <= code < 0xE000
        if high is not None and not (is_low and escape.start() == high.end()):
            return high
        if is_low and high is None:
            return escape
        high = escape if 0xD800 <= code < 0xDC00 else None
    return high


def _levels(value: Any) -> int:
    """Return how deep a value is nested; level by level, because what recurses would fail where it matters."""
    count, level = 0, [value]
    while level := [entry for entry in level if isinstance(entry, list | dict)]:
        count += 1
        level = [inner for entry in level for inner in (entry.values() if isinstance(entry, dict) else entry)]
    return count


def _invalid(kind: str, message: str, raw: bytes) -> RefusedError:
    shown = raw[:_SHOWN_BYTES].decode("utf-8", "replace")
    return RefusedError(422, [{"type": kind, "loc": ["body"], "msg": message, "input": shown}], quotes_body=True)


def _sees(entry: Route | Preset, account: str) -> bool:
    return entry.visible_to is None or account in entry.visible_to


def _together(contents: list[Any]) -> str | list[Any]:
    """Return the contents of several messages as that of one: a text, or a list of parts where one of them is a list."""
    if not any(isinstance(content, list) for content in contents):
        return "\n".join(content for content in contents if isinstance(content, str))
    parts: list[Any] = []
    for content in contents:
        parts += (
            content if isinstance(content, list) else [{"type": "text", "text": content}] * isinstance(content, str)
        )
    return parts


def _is_system(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "system"
