"""Rows of chat messages: fine-tuning rows, whose last message of the assistant is the target, and batch requests."""

from typing import Any

from workbench.dataset.layouts.layout import Layout, Row, always, refused, without


def answer_in(place: str, message: dict[str, Any]) -> Any:
    """Return what an assistant's message says, as a target: its text, its call, or its calls.

    Args:
        place: Of the column, for messages.
        message: Of the assistant; its content is text or a list of parts.

    Raises:
        InputError: A part is not text.
    """
    calls = [call.get("function", {}) for call in message.get("tool_calls") or () if isinstance(call, dict)]
    wanted = [{"name": call.get("name"), "arguments": call.get("arguments")} for call in calls]
    if wanted:
        return wanted[0] if len(wanted) == 1 else wanted
    content = message.get("content")
    if not isinstance(content, list):
        return content
    texts = [text for part in content if isinstance(text := part.get("text"), str)]
    if len(texts) < len(content):
        raise refused(place, "the assistant's message has parts that are not text: only text can be a target")
    return "".join(texts)


_SPEAKERS = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}


def _recognises(row: Row) -> bool:
    if "target" in row:
        return False
    messages = row.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
        return messages[-1].get("role") == "assistant" or "functions" in row
    turns = row.get("conversations")
    return isinstance(turns, list) and bool(turns) and isinstance(turns[0], dict) and "from" in turns[0]


def _read(place: str, row: Row) -> Row:
    messages = _messages(place, row)
    own = without(row, "messages", "conversations", "functions", "tools", "parallel_tool_calls")
    tools = row.get("tools") or [{"type": "function", "function": one} for one in row.get("functions") or ()]
    target = None
    if messages and messages[-1].get("role") == "assistant":
        target = answer_in(f"{place}: messages", messages.pop())
    if not messages:
        raise refused(f"{place}: messages", "nothing is asked before the assistant's message")
    return own | {"input": messages, "target": target} | ({"tools": tools} if tools else {})


def _messages(place: str, row: Row) -> list[dict[str, Any]]:
    if "messages" in row:
        if not isinstance(row["messages"], list) or not all(isinstance(entry, dict) for entry in row["messages"]):
            raise refused(f"{place}: messages", "expected a list of messages, each with a role")
        return _as_sent_today(row["messages"])
    found = []
    for number, turn in enumerate(row.get("conversations") or ()):
        speaker = turn.get("from") if isinstance(turn, dict) else None
        if speaker not in _SPEAKERS:
            raise refused(
                f"{place}: conversations[{number}]",
                f"expected one of {', '.join(_SPEAKERS)} in from, found {speaker!r}",
            )
        found.append({"role": _SPEAKERS[speaker], "content": turn.get("value")})
    return found


def _as_sent_today(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same without training weights, and with functions as the tools that took their place."""
    found, calls = [], 0
    for message in messages:
        sent = without(message, "weight")
        if call := sent.pop("function_call", None):
            calls += 1
            function = {"id": f"call_{calls}", "type": "function", "function": call}
            sent = {"content": None} | sent | {"tool_calls": [function]}
        elif sent.get("role") == "function":
            sent = {"role": "tool", "tool_call_id": f"call_{calls}", "content": sent.get("content")}
        found.append(sent)
    return found


LAYOUT = Layout(
    "chat", "chat fine-tuning rows", _recognises, always(_read),
    "`messages`, each with a role, or `conversations`, each turn with `from` and `value`",
    "the assistant's last message is the target",
)  # fmt: skip


_CHAT = "/chat/completions"


def _is_batch(row: Row) -> bool:
    return isinstance(row.get("body"), dict) and ("custom_id" in row or "url" in row)


def _read_batch(place: str, row: Row) -> Row:
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


BATCH = Layout(
    "batch", "OpenAI Batch requests", _is_batch, always(_read_batch),
    "`body`, a request with a list of `messages`",
    "the model and the parameters in the file are not used: a job says which models are asked, and how",
)  # fmt: skip
