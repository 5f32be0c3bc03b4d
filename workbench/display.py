"""Texts for people, made safe for a terminal and a page, whoever wrote them."""


def visible(text: str) -> str:
    """A text with its control characters as signs, so that none acts: ESC becomes ␛, a direction override its name."""
    return text.translate(_SIGNS)


_SIGNS = (
    {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: "\u2421"}
    | {
        code: f"⟨U+{code:04X}⟩"
        for code in (*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF)
    }
)
