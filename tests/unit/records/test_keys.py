"""Identities: their recipes never change, every part counts, and what is not part of them does not."""

from workbench.records.calls import Sample
from workbench.records.keys import canonical, request_key, sample_key


def test_golden_keys() -> None:
    """Changing one of these pays for everything again: a decision, not an accident."""
    body = {
        "model": "Qwen3 Coder [fast]",
        "messages": [{"role": "user", "content": "Zwölf × 12?"}],
        "stream": False,
        "temperature": 0,
        "max_tokens": 256,
        "chat_template_kwargs": {"reasoning_effort": "low"},
    }
    shuffled = dict(reversed(body.items()))
    assert canonical(body) == canonical(shuffled)
    assert request_key("https://chat.example.org", canonical(body), 1, 0) == GOLDEN_REQUEST
    assert request_key("local", canonical(body), 2, 1) == GOLDEN_LOCAL
    assert sample_key(Sample("any", "Q", target=["a", 1], choices=("x",), metadata={"n": 1})) == GOLDEN_SAMPLE


GOLDEN_REQUEST = "2375bfbc85ca16af932493d7fa1729658248df61e6711fd73dde4a69c3d21b12"
GOLDEN_LOCAL = "401cc1815023e6e2330d16433899b7225fd5ba713d5f1f17a7b55719c9ffbf6f"
GOLDEN_SAMPLE = "7e93b0c27bcfdf962483c546101b4c20c777b6fd3849f24a54c9e1fb4f5e2220"


def test_every_part_of_the_identity_counts() -> None:
    keys = {
        request_key(identity, body, epoch, occurrence)
        for identity in ("a", "b")
        for body in (b"{}", b"[]")
        for epoch in (1, 2)
        for occurrence in (0, 1)
    }
    assert len(keys) == 16
    assert request_key("a", b"{}", 1, 11) != request_key("a", b"{}", 11, 1)


def test_rows_that_ask_one_question_of_different_texts_are_different_samples() -> None:
    one, other = (Sample(name, "Positive?", metadata={"text": name, "note": name}) for name in "ab")
    assert sample_key(one) == sample_key(other)
    assert sample_key(one, {"text", "input"}) != sample_key(other, {"text", "input"})
    assert sample_key(one, {"metadata"}) != sample_key(other, {"metadata"})
    own = Sample("a", "Positive?", metadata={"question": "Positive?"})
    assert sample_key(own, {"question"}) == sample_key(own), "a column that says the same adds nothing"
    assert sample_key(Sample("1", "x", tools=({"type": "function"},))) != sample_key(Sample("1", "x"))


def test_a_sample_key_ignores_id_and_metadata() -> None:
    assert sample_key(Sample("1", "x", metadata={"a": 1})) == sample_key(Sample("2", "x"))
    assert sample_key(Sample("1", "x", target="t")) != sample_key(Sample("1", "x"))
