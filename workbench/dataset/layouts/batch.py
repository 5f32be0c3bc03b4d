"""Requests for OpenAI's Batch API, and the same of vLLM."""

from workbench.dataset.layouts.layout import Layout, Row, always, refused, without

_CHAT = "/chat/completions"


def _recognises(row: Row) -> bool:
    return isinstance(row.get("body"), dict) and ("custom_id" in row or "url" in row)


def _read(place: str, row: Row) -> Row:
    url, body = str(row.get("url") or _CHAT), row.get("body")
    if not url.rstrip("/").endswith(_CHAT):
        raise refused(f"{place}: url", f"a batch request to {url}: only chat completions can be asked")
    if str(row.get("method") or "POST").upper() != "POST":
        raise refused(f"{place}: method", f"expected POST, found {row['method']!r}")
    messages = body.get("messages") if isinstance(body, dict) else None
    if body is None or not isinstance(messages, list) or not messages:
        raise refused(f"{place}: body", "expected a request with a list of messages")
    parameters = without(body, "messages", "tools")
    tools = {"tools": body["tools"]} if body.get("tools") else {}
    others = without(row, "custom_id", "method", "url", "body")
    return others | {"id": row.get("custom_id"), "input": messages, "body": parameters} | tools


LAYOUT = Layout(
    "batch", "OpenAI Batch requests", _recognises, always(_read),
    "`body`, a request with a list of `messages`",
    "the model and the parameters in the file are not used: a job says which models are asked, and how",
)  # fmt: skip
