"""The API key kept out of everything recorded, whoever echoes it and however it is spelled."""

import re
from collections.abc import Iterable

REDACTED = "sk-[redacted]"
_LEAST_KEY_CHARS = 12
_WINDOW_CHARS = 2**16  # one search of a whole long text would block the event loop


class Redactor:
    """Replaces one key in texts.

    Args:
        key: One of fewer than 12 characters is not redacted: it would match by chance in answers that have nothing to do
            with it.
    """

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= _LEAST_KEY_CHARS else None
        self._spelled = re.compile(r"\x00*".join(map(_spellings, key)))
        self._longest = 12 * len(key)

    def __call__(self, text: str) -> str:
        """Return the text without the key: plain, in the escapes of JSON, or between the zero bytes of UTF-16 and UTF-32."""
        if self._key is None:
            return text
        if "\x00" not in text and "\\u00" not in text and not ("/" in self._key and "\\/" in text):
            return text.replace(self._key, REDACTED) if self._key in text else text
        parts, end = [], 0
        for found in self._found(text):
            parts += [text[end : found.start()], REDACTED]
            end = found.end()
        return "".join([*parts, text[end:]])

    def finds(self, texts: Iterable[str | None]) -> bool:
        """Return whether the key is in one of these texts as it is."""
        key = self._key
        if key is not None:
            for text in texts:
                if text and key in text:
                    return True
        return False

    def optional(self, text: str | None) -> str | None:
        """Return the same, where there may be no text."""
        return None if text is None else self(text)

    def _found(self, text: str) -> "list[re.Match[str]]":
        found, start = [], 0
        while start < len(text):
            end = start + _WINDOW_CHARS
            here = self._spelled.search(text, start, end + self._longest)
            if here is not None and here.start() < end:
                found.append(here)
                start = here.end()
            else:
                start = end
        return found


def _spellings(character: str) -> str:
    slash = r"\\?" if character == "/" else ""
    return rf"(?:{slash}{re.escape(character)}|\\u(?i:{ord(character):04x}))"
