"""What rendered prompts show of a likely mistake: options that are not asked, answers that are given away, doubles, giants."""

import re
import statistics
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.display.text import count
from workbench.records.calls import Sample

_LEAST_TARGET_CHARS = 3
_GIANT_TIMES, _GIANT_CHARS = 20, 20_000
_SHOWN = 3
_MOST_CHARS = 500_000
_LOOKED_INTO, _LEAST_WORDS = 200, 4
_PART = re.compile(
    r"[A-J]|(?i:passage|article|story|body|paragraph|document|context|table)"
    r"|(?i:(?:opt?|option|choice|answer)[ _]?(?:[a-j]|[0-9]{1,2}))"
)
"""Columns that are part of a question by their name."""
_PASSAGE = re.compile(r"(?i)passage|article|story|body|paragraph|document|context")
"""Those of them that hold a text which the question is about."""
_BESIDE = re.compile(
    r"(?i)answer|target|solution|explanation|rationale|reason|label|output|completion|response|chosen|rejected|support|distractor|"
    r"correct|gold|truth|reference|test|source|url|cite|citation|licen[cs]e|author|date|comment|note|equation|exp$|cot|rubric|criteri|"
    r"title|categor|topic|subject|difficult|skill|canary|metadata"
)
"""Columns that say what is right, or where a sample is from."""


class PromptChecks:
    """Looks at every prompt as it is rendered; keeps counts and a few ids."""

    def __init__(self) -> None:
        self._prompts = 0
        self._with_options = 0
        self._without_options: list[str] = []
        self._given_away: list[str] = []
        self._seen: set[int] = set()
        self._doubles: list[str] = []
        self._lengths = array("l")
        self._ids: list[str] = []
        self._passages: dict[str, bool] = {}
        """By column of a passage of several words: whether no prompt shows it."""
        self._left_out: dict[str, bool] = {}
        """By column that is a part of the question by its name: whether no prompt shows it."""
        self._perhaps_left_out: dict[str, bool] = {}
        """The same of others that hold several words."""

    def take(self, sample: Sample, messages: Sequence[dict[str, Any]]) -> None:
        """Look at one prompt.

        Args:
            messages: As they are sent.
        """
        text = "\n".join(_text(message.get("content")) for message in messages)
        plain = " ".join(text.casefold().split())
        self._prompts += 1
        if self._prompts <= _LOOKED_INTO:
            self._look_for_columns(sample, plain)
        if sample.choices:
            self._with_options += 1
            if not all(" ".join(choice.casefold().split()) in plain for choice in sample.choices):
                self._without_options.append(sample.id)
        if not sample.choices and _is_in_last_line(sample.target, text):
            self._given_away.append(sample.id)
        if (folded := hash(plain)) in self._seen:
            self._doubles.append(sample.id)
        self._seen.add(folded)
        self._lengths.append(len(text))
        self._ids.append(sample.id)

    def _look_for_columns(self, sample: Sample, plain: str) -> None:
        for name, value in sample.metadata.items():
            if not isinstance(value, str) or value in (sample.target, *sample.choices):
                continue
            text = " ".join(value.casefold().split())
            known = _PART.fullmatch(name)
            if text and (known or (text.count(" ") >= _LEAST_WORDS - 1 and not _BESIDE.search(name))):
                found = self._left_out if known else self._perhaps_left_out
                found[name] = found.get(name, True) and text not in plain
                if _PASSAGE.fullmatch(name) and text.count(" ") >= _LEAST_WORDS - 1:
                    self._passages[name] = self._passages.get(name, True) and text not in plain

    @property
    def shows_no_options(self) -> bool:
        """Whether every question has options, and no prompt has all options of its own."""
        return 0 < self._prompts == self._with_options == len(self._without_options)

    @property
    def passages_left_out(self) -> list[str]:
        """The columns that hold a passage by their name, and are in no prompt."""
        return [name for name, is_left_out in self._passages.items() if is_left_out]

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Return where to look, and at what of a question that is in no prompt, or too much of it."""
        if self._without_options:
            text = f"{self._share(self._without_options)} do not show all options of their question"
            yield "prompt", f"{text}: {_ids(self._without_options)}"
        if columns := [name for name, is_left_out in self._left_out.items() if is_left_out]:
            yield "prompt", f"no prompt shows the columns {_ids(columns)}; a template can name them"
        if too_long := [name for name, length in zip(self._ids, self._lengths, strict=True) if length > _MOST_CHARS]:
            length = f"{count(_MOST_CHARS)} characters, more than most models read"
            yield "dataset", f"{self._share(too_long)} are over {length}: {_ids(too_long)}; is each a whole file?"

    def findings(self) -> Iterator[tuple[str, str]]:
        """Return where to look, and at what else."""
        if perhaps := [name for name, is_left_out in self._perhaps_left_out.items() if is_left_out]:
            yield "prompt", f"no prompt shows the columns {_ids(perhaps)}: is one a part of the question?"
        if self._given_away:
            yield (
                "prompt",
                f"{self._share(self._given_away)} hold the target in their last line: {_ids(self._given_away)}",
            )
        if self._doubles:
            text = f"{self._share(self._doubles)} are the same as an earlier one, but for case and spaces"
            yield "dataset", f"{text}: {_ids(self._doubles)}; rows with the same input and target count as one sample"
        if giants := self._giants():
            yield (
                "dataset",
                f"{self._share(giants)} are over {_GIANT_TIMES} times as long as the median: {_ids(giants)}",
            )

    def _giants(self) -> list[str]:
        if not self._lengths:
            return []
        most = max(_GIANT_TIMES * statistics.median(self._lengths), _GIANT_CHARS)
        return [name for name, length in zip(self._ids, self._lengths, strict=True) if length > most]

    def _share(self, found: Sequence[str]) -> str:
        return f"{len(found)} of {self._prompts} prompts"


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _is_in_last_line(target: Any, text: str) -> bool:
    """Return whether a prompt ends with what it asks for, as an example in a template does that was left filled in."""
    if not isinstance(target, str) or len(target.strip()) < _LEAST_TARGET_CHARS:
        return False
    lines = text.rstrip().rsplit("\n", 1)
    last = lines[-1].casefold().rstrip(" .\"'`")
    return len(lines) > 1 and last.endswith(target.strip().casefold())


def _ids(found: Sequence[str]) -> str:
    names = list(dict.fromkeys(found))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more
