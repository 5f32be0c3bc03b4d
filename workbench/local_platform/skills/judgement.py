"""The skill of a judge: an answer beside a reference, with a verdict as the last line."""

import re

_PART = r"<{0}>\s*(.*?)\s*</{0}>"


def judged(prompt: str) -> str | None:
    """What a judge says of the answer in a prompt; None where the prompt asks for no verdict.

    The answer is right where it has the reference as a word, however it is put otherwise.
    """
    asked = re.search(r"VERDICT: and one of ([^\n.]+)", prompt)
    answer = re.search(_PART.format("answer"), prompt, re.DOTALL)
    if asked is None or answer is None:
        return None
    words = [word.strip() for word in asked[1].split(",")]
    reference = re.search(_PART.format("reference"), prompt, re.DOTALL)
    wanted = reference[1] if reference else ""
    holds = bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", answer[1], re.IGNORECASE) is not None
    why = f"The answer {'has' if holds else 'does not have'} the reference." if wanted else "There is no reference."
    return f"{why}\nVERDICT: {words[0] if holds else words[-1]}"
