"""Values as JSON replies."""

from typing import Any

import msgspec
from aiohttp import web


def json_reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """A value as JSON."""
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json", headers=headers
    )
