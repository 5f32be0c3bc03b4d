"""How answers are formatted: in the document's shapes, and in those chosen where it is silent."""

from typing import Any

from aiohttp import web

from workbench.local_platform.backend import usage_of
from workbench.local_platform.config import Preset, Route
from workbench.local_platform.encoding import json_reply
from workbench.local_platform.errors import refusal
from workbench.local_platform.silent import Silent

SIMULATED, FORWARDED = "simulated", "workbench"
_CREATED_AT = 1_760_000_000  # `created` of the catalogue's entries: a constant, so that lists compare equal
_PAGE = (
    "<!doctype html><html><head><title>Chat</title></head><body>The chat UI is not a part of this server.</body></html>"
)


def entry(model: Route | Preset, base: Route) -> dict[str, Any]:
    """One entry of the model list (Resources, Model).

    Args:
        model: Route or preset.
        base: The route behind it.
    """
    owner = SIMULATED if base.simulated is not None else FORWARDED
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


def unknown_path(silent: Silent, method: str) -> web.Response:
    """The reply for a path outside the API."""
    if silent.unknown_path == "page" and method == "GET":
        return web.Response(text=_PAGE, content_type="text/html")
    return refusal(404, "Not Found")
