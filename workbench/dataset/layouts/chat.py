"""Chat fine-tuning rows: the last message of the assistant is the target, and never part of the prompt."""

from typing import Any

from workbench.dataset.layouts.layout import Layout, Row, always, refused, without
from workbench.dataset.layouts.messages import answer_in

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
    """The same without training weights, and with functions as the tools that took their place."""
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
