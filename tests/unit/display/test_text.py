import pytest

import workbench.display.text as display


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "not available"), (0.43, "430 ms"), (1.8, "1.80 s"), (125, "2 m 05 s"), (11520, "3 h 12 m"), (0, "0 ms")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert display.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.123456, "0.123"), (12.3456, "12.3"), (1234.5, "1\u202f234"), (None, "not available")]
)
def test_three_significant_figures(value: float | None, text: str) -> None:
    assert display.significant(value) == text


def test_counts() -> None:
    assert display.count(1234567) == "1\u202f234\u202f567"
    assert display.count(None) == "not available"


def test_control_characters_are_seen_and_do_not_act() -> None:
    assert display.visible("a\x1b[31mb\x00\u202ec\n") == "a␛[31mb␀⟨U+202E⟩c\n"
    assert display.in_a_line("a\x1b[31mb\tc\n") == "a␛[31mb␉c⏎"


def test_long_texts_say_what_was_cut() -> None:
    assert display.clipped("x" * 30, 10) == "x" * 10 + "… (20 more characters are in the ledger)"


@pytest.mark.parametrize(
    ("value", "text"), [(None, "not available"), (9748, "9\u202f748"), (28_812, "28.8\u202fk"), (999_820, "1.00\u202fM"), (287_829_300, "288\u202fM"), (3_000_000_000, "3.00\u202fG")]
)  # fmt: skip
def test_amounts_have_three_significant_figures(value: int | None, text: str) -> None:
    assert display.amount(value) == text


@pytest.mark.parametrize(
    ("items", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists_in_words(items: list[str], text: str) -> None:
    assert display.words(items) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "not available"), (0.0, "0 %"), (0.004, "under 1 %"), (0.79, "79 %"), (0.99, "99 %"), (0.996, "over 99 %"), (1.0, "100 %"), (1.2, "120 %"), (-0.001, "0 %"), (-0.3, "-30 %")]
)  # fmt: skip
def test_percentages_say_when_they_are_nearly_nothing_or_all(value: float | None, text: str) -> None:
    assert display.percent(value) == text


def test_a_share_that_was_chosen_has_all_its_figures() -> None:
    assert [display.exact_percent(value) for value in (0.005, 0.07, 0.995)] == ["0.5 %", "7 %", "99.5 %"]
