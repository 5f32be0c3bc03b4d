"""How answers, refusals and failures are told: in the document's shapes, and in those chosen where it is silent.

A failure is told in `detail`, as the platform does, and all of them in `error` too, as OpenAI's clients read it.
"""

import math
from typing import Any

import msgspec
from aiohttp import web

from workbench.local_platform.backend import CoolingDown, Failure, usage_of
from workbench.local_platform.calls import Call
from workbench.local_platform.config import Preset, Route
from workbench.local_platform.silent import Silent


def json_reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """Return a value as JSON."""
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json", headers=headers
    )


QUOTA = "insufficient_quota"
"""OpenAI's `type` and `code` of an exhausted allowance."""
RESERVED = "reserved_for_people"
"""`code` where there is some left, but not for batch work."""
_CODES = {
    400: "invalid_request", 401: "invalid_api_key", 403: "not_permitted", 404: "not_found", 405: "method_not_allowed",
    408: "request_timeout", 413: "request_too_large", 415: "unsupported_encoding", 417: "expectation_failed",
    422: "invalid_request", 500: "platform_failed", 503: "platform_unavailable",
}  # fmt: skip
_ROUTE_CODES = {
    400: "invalid_request", 401: "route_unauthorised", 403: "route_unauthorised", 404: "route_not_found",
    408: "route_timeout", 413: "request_too_large", 422: "invalid_request", 429: "route_rate_limited", 504: "route_timeout",
}  # fmt: skip
_TYPES = {
    401: "authentication_error", 403: "permission_error", 408: "timeout_error", 429: "rate_limit_error", 504: "timeout_error",
}  # fmt: skip
_GATEWAY_CLASSES = {
    400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError",
    408: "Timeout", 429: "RateLimitError", 500: "InternalServerError", 502: "BadGatewayError",
    503: "ServiceUnavailableError",
}  # fmt: skip
_GATEWAY_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 408: "invalid_request_error", 429: "throttling_error",
}  # fmt: skip
_COOLING = "No deployments available for selected model, Try again in {:.0f} seconds. All are in cooldown."


def refusal(status: int, detail: Any, code: str | None = None) -> web.Response:
    """Return the platform's own refusal.

    Args:
        detail: A text, or a list of what is wrong with the body.
        code: Of the error; by default that of the status.
    """
    text = detail if isinstance(detail, str) else "; ".join(str(fault["msg"]) for fault in detail)
    is_used_up = code in (QUOTA, RESERVED)
    kind = QUOTA if is_used_up else _type(status)
    error = error_object(text, kind, code or _CODES.get(status, "refused"))
    # OpenAI's clients ask again after 429, unless they are told that it is of no use
    headers = {"x-should-retry": "false"} if is_used_up else {}
    return json_reply({"detail": detail, "error": error}, status, headers)


def failed(failure: Failure, status: int, call: Call, silent: Silent) -> web.Response:
    """Return a route's failure in the chosen style."""
    place = f" (route {call.route.id!r})"
    if silent.errors == "error":
        return _limited(_plain(failure, status, place), status, failure.retry_after_s)
    is_cold = isinstance(failure, CoolingDown)
    text = _gateway_text(failure, status) + place
    kind = "all_deployments_in_cooldown" if is_cold else _GATEWAY_TYPES.get(status, "internal_server_error")
    wait_s = failure.retry_after_s if is_cold else None  # a model server's own was seen to be lost
    return _as_seen(text, status, kind, wait_s, silent)


def full(own_limit: int | None, silent: Silent) -> web.Response:
    """Return the reply to a request that finds no slot.

    Args:
        own_limit: The account's, where that is used up, and not the platform's.
    """
    wait_s = silent.past_limit_retry_after_s
    if own_limit is not None:
        text = f"requests in flight of your account are limited to {own_limit}: ask again when one of them has ended"
        return _limited(error_object(text, _TYPES[429], "account_full"), 429, wait_s)
    if silent.past_limit == "503":
        return web.Response(text="Service Unavailable", status=503)
    if silent.errors != "error":
        return _as_seen("Max parallel request limit reached", 429, _GATEWAY_TYPES[429], wait_s, silent)
    text = "every slot of the platform is taken: ask again later, or for less at a time"
    return _limited(error_object(text, _TYPES[429], "platform_full"), 429, wait_s)


def broken_stream(failure: Failure, status: int, silent: Silent) -> dict[str, Any]:
    """Return the event that ends a stream whose model server broke off."""
    if silent.errors == "error":
        return {"error": _plain(failure, status, "")}
    return {"error": error_object(_gateway_text(failure, status), None, str(status))}


def error_object(text: str, kind: str | None, code: str) -> dict[str, Any]:
    """Return an error as OpenAI's clients read it."""
    return {"message": text, "type": kind, "param": None, "code": code}


def _plain(failure: Failure, status: int, place: str) -> dict[str, Any]:
    """Return a failure in our words; the model server's only where the request is at fault."""
    said = f": {failure.said}" if failure.said and failure.is_the_callers else ""
    code = "route_cooling_down" if isinstance(failure, CoolingDown) else _ROUTE_CODES.get(status, "route_down")
    return error_object(f"{failure.text}{said}{place}", _type(status), code)


def _type(status: int) -> str:
    return _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")


def _gateway_text(failure: Failure, status: int) -> str:
    """Return a failure as a gateway of the kind was seen to report it."""
    text = failure.said or failure.text
    if isinstance(failure, CoolingDown):
        text = _COOLING.format(failure.retry_after_s)
    return f"litellm.{_GATEWAY_CLASSES.get(status, 'APIError')}: {text}"


def _limited(error: dict[str, Any], status: int, wait_s: float | None) -> web.Response:
    return json_reply({"error": error}, status, _retry_after(wait_s))


def _retry_after(wait_s: float | None) -> dict[str, str]:
    """Return the header, in whole seconds (RFC 9110, 10.2.3); below one second as it is, for trials that are not to wait long."""
    if wait_s is None:
        return {}
    return {"Retry-After": str(math.ceil(wait_s)) if wait_s >= 1 else f"{wait_s:g}"}


def _as_seen(text: str, status: int, kind: str, wait_s: float | None, silent: Silent) -> web.Response:
    """Return an error in a style that was seen on a real stack."""
    if silent.errors == "null_200":
        return json_reply(None)
    if silent.errors == "detail_400":
        return json_reply({"detail": text}, 400)
    if silent.errors == "detail":
        return json_reply({"detail": text}, status, _retry_after(wait_s))
    return _limited(error_object(text, kind, str(status)), status, wait_s)


SIMULATED, FORWARDED = "simulated", "workbench"
_CREATED_AT = 1_760_000_000  # `created` of the catalogue's entries: a constant, so that lists compare equal
_PAGE = (
    "<!doctype html><html><head><title>Chat</title></head><body>The chat UI is not a part of this server.</body></html>"
)


def entry(model: Route | Preset, base: Route) -> dict[str, Any]:
    """Return one entry of the model list (Resources, Model).

    Args:
        base: The route behind it.
    """
    owner = SIMULATED if base.simulated is not None else FORWARDED
    plain = {"id": model.id, "object": "model", "created": _CREATED_AT, "owned_by": owner, "name": model.id}
    return plain if isinstance(model, Route) else plain | {"preset": True, "info": {"base_model_id": model.base}}


def completion(answer: dict[str, Any], name: str, silent: Silent) -> web.Response:
    """Return a whole answer under the name of who served it."""
    given = {key: value for key, value in answer.items() if key != "usage"} | {"model": name}
    usage = usage_shown(answer, silent)
    return json_reply(given if usage is None else given | {"usage": usage})


def usage_shown(answer: dict[str, Any], silent: Silent) -> dict[str, Any] | None:
    """Return the usage that a caller sees."""
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


def unknown_path(silent: Silent, method: str) -> web.Response:
    """Return the reply for a path outside the API."""
    if silent.unknown_path == "page" and method == "GET":
        return web.Response(text=_PAGE, content_type="text/html")
    return refusal(404, "Not Found")
