"""How answers and failures are formatted: in the document's shapes, and in those chosen where it is silent."""

from typing import Any

import msgspec
from aiohttp import web

from workbench.local_platform.backend import CLASSES, Failure, usage_of
from workbench.local_platform.calls import Call
from workbench.local_platform.config import Preset, Route
from workbench.local_platform.silent import Silent

SIMULATED, FORWARDED = "simulated", "workbench"
_CREATED_AT = 1_760_000_000  # `created` of the catalogue's entries: a constant, so that lists compare equal
_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 408: "invalid_request_error", 429: "throttling_error"
}  # fmt: skip
_PAGE = (
    "<!doctype html><html><head><title>Chat</title></head><body>The chat UI is not a part of this server.</body></html>"
)


def json_reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """A value as JSON."""
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json", headers=headers
    )


def refusal(status: int, detail: Any) -> web.Response:
    """The platform's own `detail`."""
    return json_reply({"detail": detail}, status)


def entry(model: Route | Preset, base: Route) -> dict[str, Any]:
    """One entry of the model list (Resources, Model).

    Args:
        model: Route or preset.
        base: The route behind it.
    """
    owner = SIMULATED if base.skill is not None else FORWARDED
    plain = {"id": model.id, "object": "model", "created": _CREATED_AT, "owned_by": owner, "name": model.id}
    return plain if isinstance(model, Route) else plain | {"preset": True, "info": {"base_model_id": model.base}}


def completion(answer: dict[str, Any], name: str, silent: Silent) -> web.Response:
    """A whole answer under the name of who served it."""
    given = {key: value for key, value in answer.items() if key != "usage"} | {"model": name}
    usage = usage_shown(answer, silent)
    return json_reply(given if usage is None else given | {"usage": usage})


def usage_shown(answer: dict[str, Any], silent: Silent) -> dict[str, Any] | None:
    """The usage that a caller sees."""
    if silent.usage == "absent":
        return None
    found = usage_of(answer)
    if found is None and silent.missing_usage == "absent" and silent.usage == "reported":
        return None
    prompt, generated, total = found if found is not None and silent.usage == "reported" else (0, 0, 0)
    if silent.usage_keys == "input_output":
        return {"input_tokens": prompt, "output_tokens": generated}
    details = {} if found is None or silent.usage == "zero" else answer["usage"]
    kept = {key: value for key, value in details.items() if key.endswith("_details")}
    return {"prompt_tokens": prompt, "completion_tokens": generated, "total_tokens": total} | kept


def failed(failure: Failure, status: int, call: Call, silent: Silent) -> web.Response:
    """A route's failure in the chosen style.

    Args:
        failure: What happened.
        status: What it comes to.
        call: What was asked.
        silent: The choice.
    """
    text = f"litellm.{CLASSES.get(status, 'APIError')}: {failure.text} (route {call.route.id!r})"
    kind = "all_deployments_in_cooldown" if failure.retry_after_s is not None else _TYPES.get(status)
    return styled(text, status, kind or "internal_server_error", failure.retry_after_s, silent)


def styled(text: str, status: int, kind: str, retry_after_s: float | None, silent: Silent) -> web.Response:
    """An error of the gateway in the chosen style.

    Args:
        text: What it says.
        status: Its own.
        kind: Its `type`.
        retry_after_s: When to ask again, if that is said.
        silent: The choice.
    """
    if silent.errors == "null_200":
        return json_reply(None)
    headers = {} if retry_after_s is None else {"Retry-After": f"{retry_after_s:g}"}
    if silent.errors == "detail_400":
        return refusal(400, text)
    if silent.errors == "detail":
        return json_reply({"detail": text}, status, headers)
    return json_reply({"error": error_object(text, status, kind)}, status, headers)


def error_object(text: str, status: int, kind: str | None = None) -> dict[str, Any]:
    """The gateway's `error`, as it was seen: its `code` is a text, its `type` none where it tells of a broken stream."""
    return {"message": text, "type": kind, "param": None, "code": str(status)}


def full(silent: Silent) -> web.Response:
    """The reply to a request that finds no slot."""
    if silent.past_limit == "503":
        return web.Response(text="Service Unavailable", status=503)
    return styled("Max parallel request limit reached", 429, _TYPES[429], silent.past_limit_retry_after_s, silent)


def unknown_path(silent: Silent, method: str) -> web.Response:
    """The reply for a path outside the API."""
    if silent.unknown_path == "page" and method == "GET":
        return web.Response(text=_PAGE, content_type="text/html")
    return refusal(404, "Not Found")
