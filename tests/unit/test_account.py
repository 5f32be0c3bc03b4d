"""How an account stands: what others drew, what is left, and when it is used up, against histories whose truth is known."""

import statistics
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.account_histories import NOW, WINDOW_START, History, history, recorded
from workbench.allowance.account import AccountState, account_state
from workbench.allowance.draws import Drawn
from workbench.allowance.readings import amount, readings_of, take_reading, withdraw
from workbench.allowance.unseen import Weekdays
from workbench.allowance.words import headline, missing, runs_out
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.settings import AllowanceSettings, WeightSettings


class Known(NamedTuple):
    """A history, and what was worked out of its ledger."""

    truth: History
    found: AccountState


def worked_out(folder: Path, seed: int, *, known_total: bool = True, read: bool = True) -> Known:
    truth = history(seed)
    ledger = recorded(folder, truth, known_total=known_total)
    for at in truth.read_at if read else ():
        take_reading(ledger, "used", truth.said(at), at, None)
    return Known(truth, stood(ledger))


def stood(ledger: Ledger) -> AccountState:
    with reading(ledger) as reader:
        return account_state(reader, ledger.allowance, ledger.zone, NOW)


@pytest.mark.parametrize("histories", [12, pytest.param(200, marks=pytest.mark.long)])
def test_what_others_drew_and_when_it_is_used_up_lie_in_their_ranges(tmp_path: Path, histories: int) -> None:
    within = dated = stretches_held = stretches = 0
    widths, stretch_widths, forecast_widths = [], [], []
    for seed in range(histories):
        (folder := tmp_path / str(seed)).mkdir()
        truth, found = worked_out(folder, seed)
        assert found.unseen is not None
        assert found.forecast is not None
        within += found.unseen[0] <= truth.others_between(WINDOW_START, NOW) <= found.unseen[1]
        widths.append((found.unseen[1] - found.unseen[0]) / truth.total)
        rounding = 0.01 * truth.total
        for one, other in zip(found.unseen_at, found.unseen_at[1:], strict=False):
            drawn = truth.others_between(one.at, other.at)
            low, high = max(other.low - one.high, 0), other.high - one.low
            stretches_held += low - 1 <= drawn <= high + 1
            stretches += 1
            left_open = rounding if one.at == WINDOW_START else 2 * rounding
            stretch_widths.append((high - low) / left_open)
        earliest, latest = found.forecast.earliest_at, found.forecast.latest_at
        assert earliest is not None
        assert latest is not None
        dated += earliest <= truth.used_up_at <= latest
        forecast_widths.append((latest - earliest) / (truth.used_up_at - NOW))
    print(f"unseen now {within}/{histories}, width {statistics.median(widths):.1%} of the total; "
          f"between readings {stretches_held}/{stretches}, width {statistics.median(stretch_widths):.2f} of their rounding; "
          f"used up {dated}/{histories}, width {statistics.median(forecast_widths):.2f} of the time left")  # fmt: skip
    assert within >= 0.9 * histories
    assert stretches_held == stretches
    assert statistics.median(stretch_widths) <= 1.1
    assert dated >= 0.85 * histories
    assert statistics.median(forecast_widths) <= 1 / 3


@pytest.mark.parametrize("histories", [6, pytest.param(100, marks=pytest.mark.long)])
def test_bounds_on_an_unknown_total_always_hold(tmp_path: Path, histories: int) -> None:
    bounds = []
    for seed in range(histories):
        (folder := tmp_path / str(seed)).mkdir()
        truth, found = worked_out(folder, seed, known_total=False)
        assert [found.total, found.left, found.forecast, found.unseen] == [None] * 4
        assert found.left_share_most is not None
        assert 1 - truth.used(NOW) / truth.total <= found.left_share_most
        assert found.least_total is not None
        assert found.least_total <= truth.total
        bounds.append(found.least_total / truth.total)
    assert statistics.median(bounds) > 0.4


def test_without_readings_what_others_drew_is_unknown(tmp_path: Path) -> None:
    truth, found = worked_out(tmp_path, 1, read=False)
    assert (found.unseen, found.left, found.forecast) == (None, None, None)
    assert found.seen.units == sum(tokens for at, tokens in truth.own if WINDOW_START <= at < NOW)
    assert "what others drew is unknown" in missing(found)[0]
    assert "left unknown" in headline(found, "UTC")
    assert runs_out(found, "UTC").startswith("When it runs out is unknown")


def test_a_reading_in_units_needs_no_total_and_one_that_says_it_needs_no_setting(tmp_path: Path) -> None:
    truth, _ = worked_out(tmp_path, 2, known_total=False, read=False)
    ledger = Ledger(tmp_path / "ledger.duckdb", "UTC", {}, AllowanceSettings(window="month"))
    at = truth.read_at[-1]
    take_reading(ledger, "used", str(truth.used(at)), at, None)
    found = stood(ledger)
    assert [found.total, found.left] == [None, None]
    low, high = found.unseen_at[-1].low, found.unseen_at[-1].high
    assert low <= truth.others_between(WINDOW_START, at) <= high
    assert high - low <= 1 + 1e-6, "to the unit"
    take_reading(ledger, "left", f"{(truth.total - truth.used(at)) / 1000:.0f}k", at, truth.total)
    again = stood(ledger)
    assert again.total is not None
    assert again.left is not None
    assert list(again.total) == [truth.total] * 2
    assert again.left[0] <= truth.total - truth.used(NOW) <= again.left[1]


def test_a_reading_that_says_less_than_we_drew_is_told(tmp_path: Path) -> None:
    truth, _ = worked_out(tmp_path, 3, read=False)
    ledger = Ledger(tmp_path / "ledger.duckdb", "UTC", {}, AllowanceSettings(window="month", total_units=truth.total))
    reading_id, _ = take_reading(ledger, "used", "1%", truth.read_at[-1], None)
    found = stood(ledger)
    assert found.unseen_at[-1].high == 0
    assert "the total, a weight or the reading is wrong" in found.notes[0]
    with reading(ledger) as reader:
        (one,) = readings_of(reader)
    assert one.reading_id == reading_id
    withdraw(ledger, one)
    assert stood(ledger).readings == []


def test_weights_hold_from_their_day_on_and_a_model_without_one_is_not_free(tmp_path: Path) -> None:
    truth = history(4)
    recorded(tmp_path, truth)
    changed = date(2026, 10, 10)
    weights = [WeightSettings("m", date(2026, 10, 1), 2.0, 4.0), WeightSettings("m", changed, 1.0, 1.0)]

    def seen(*given: WeightSettings) -> Drawn:
        return stood(
            Ledger(tmp_path / "ledger.duckdb", "UTC", {}, AllowanceSettings(window="month", weights=[*given]))
        ).seen

    own = [(at, tokens) for at, tokens in truth.own if WINDOW_START <= at < NOW]
    expected = sum(
        (2 * (tokens // 2) + 4 * (tokens - tokens // 2)) / 1000 if at.date() < changed else tokens / 1000
        for at, tokens in own
    )
    assert seen(*weights).units == pytest.approx(expected)
    assert seen(*weights).unweighted_tokens == 0
    late = seen(weights[1])
    assert late.unweighted_tokens == sum(tokens for at, tokens in own if at.date() < changed), "never applied backwards"
    assert late.units == pytest.approx(sum(tokens for at, tokens in own if at.date() >= changed) / 1000)
    assert late.most is None, "nothing bounds what a call without a weight drew"
    assert seen(WeightSettings("*", date(2026, 9, 1), 1.0, 1.0)).units == pytest.approx(sum(t for _, t in own) / 1000)
    assert seen(WeightSettings("other", date(2026, 9, 1), 1.0, 1.0)).units == 0


@pytest.mark.parametrize(
    ("text", "low", "high", "is_share"),
    [
        ("37%", 0.365, 0.375, True), ("37.2 %", 0.3715, 0.3725, True), ("0%", 0.0, 0.005, True), ("100%", 0.995, 1.0, True),
        ("1200000", 1_199_999.5, 1_200_000.5, False), ("1.2M", 1_150_000, 1_250_000, False), ("12k", 11_500, 12_500, False),
        ("1 200 000", 1_199_999.5, 1_200_000.5, False),
    ],
)  # fmt: skip
def test_a_number_stands_for_all_that_rounds_to_it(text: str, low: float, high: float, is_share: bool) -> None:
    found = amount(text)
    assert [found.low, found.high] == pytest.approx([low, high])
    assert found.is_share is is_share


@pytest.mark.parametrize("text", ["", "abc", "-3%", "101%", "1,2M", "3 7%", "1e6", "%"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is neither a share|is more than everything"):
        amount(text)


def test_weekdays_make_days_of_any_time() -> None:
    weekdays = Weekdays((2.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5), "Europe/Berlin")
    monday = datetime(2026, 10, 18, 22, tzinfo=UTC)  # midnight in Berlin
    assert weekdays.days(monday, monday + timedelta(days=7)) == pytest.approx(7)
    assert weekdays.days(monday, monday + timedelta(hours=12)) == pytest.approx(1.0)
    assert weekdays.days(monday, monday + timedelta(hours=36)) == pytest.approx(2.5)
    clocks = datetime(2026, 10, 24, 22, tzinfo=UTC)  # a Sunday of 25 hours
    assert weekdays.days(clocks, clocks + timedelta(hours=25)) == pytest.approx(0.5 * 25 / 24)
