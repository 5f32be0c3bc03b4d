"""Chat messages within rows: what they are, and what the assistant says in one."""

from typing import Any

from workbench.dataset.layouts.layout import refused


def are_messages(value: Any) -> bool:
    """Whether a value is a list of messages, each with a role."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(entry, dict) and isinstance(entry.get("role"), str) for entry in value)
    )


def answer_in(place: str, message: dict[str, Any]) -> Any:
    """What an assistant's message says, as a target: its text, its call, or its calls.

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
