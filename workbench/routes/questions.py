"""What a probe asks every route: a plain question, one that forces a tool call, and one with a small cap on its tokens."""

from typing import Any

JOB = TAG = "probe"
"""A run of this job with this tag is a probe, as the view `probe_runs` has it; its value is the version of the questions."""
VERSION = "1"
PLAIN, TOOL, CAP = "plain", "tool", "cap"
CAP_TOKENS = 8
"""Fewer than any answer to its question needs."""
ROOM_TOKENS = 1024
"""Of the other two: enough for a model that thinks first."""
_FUNCTION = {
    "name": "report_weather",
    "description": "Report the weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city's name."}},
        "required": ["city"],
    },
}
QUESTIONS: dict[str, dict[str, Any]] = {
    PLAIN: {"prompt": {"template": "What is 17 + 25? Answer with the number only."}, "max_tokens": ROOM_TOKENS},
    TOOL: {
        "prompt": {"template": "How is the weather in Lisbon?"},
        "max_tokens": ROOM_TOKENS,
        "tools": [{"type": "function", "function": _FUNCTION}],
        "tool_choice": {"type": "function", "function": {"name": _FUNCTION["name"]}},
    },
    CAP: {
        "prompt": {"template": "Write the numbers from 1 to 40 in words, one on each line."},
        "max_tokens": CAP_TOKENS,
    },
}
"""By variant of the job: its prompt and body fields."""
