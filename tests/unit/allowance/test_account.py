"""How an account stands: what others drew, what is left, and when it is used up, against histories whose truth is known."""

import math
import statistics
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from tests.account_histories import NOW, WINDOW_START, History, charged, history, recorded
from tests.cases import first_of
from tests.unit.ledger.ledger_rows import answer, intent, started
from workbench.allowance.account import AccountState, account_state
from workbench.allowance.draws import Drawn
from workbench.allowance.readings import amount, readings_of, take_reading, withdraw
from workbench.allowance.unseen import Point, Weekdays, stretches
from workbench.allowance.weights import Weights
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.settings.file import AllowanceSettings, WeightSettings
from workbench.wording.allowance import headline, missing, runs_out, units, used_text


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


def of_others(one: Point) -> tuple[float, float]:
    """What others had drawn by a reading; from 0 where nothing bounds our own part."""
    low = 0.0 if one.seen[1] is None else max(one.low - one.seen[1], 0.0)
    return low, max(one.high - one.seen[0], low)


@pytest.mark.slow
@pytest.mark.parametrize("growth", [0.0, pytest.param(0.01, marks=pytest.mark.long), 0.03])
@pytest.mark.parametrize("histories", [12, pytest.param(200, marks=pytest.mark.long)])
def test_what_others_drew_and_when_it_is_used_up_lie_in_their_ranges(
    tmp_path: Path, histories: int, growth: float
) -> None:
    within = dated = held = counted = 0
    widths, stretch_widths, forecast_widths, wider = [], [], [], []
    for seed in range(histories):
        (folder := tmp_path / str(seed)).mkdir()
        truth = history(seed, growth)
        ledger, platform = recorded(folder, truth), charged(truth)
        for read_at, said in zip(truth.read_at, platform.said, strict=True):
            take_reading(ledger, "used", said, read_at, None)
        found = stood(ledger)
        assert found.unseen is not None
        assert found.forecast is not None
        within += found.unseen[0] <= truth.others_between(WINDOW_START, NOW) <= found.unseen[1]
        widths.append((found.unseen[1] - found.unseen[0]) / truth.total)
        rounding = 0.01 * truth.total
        for one in stretches(found.points):
            drawn = truth.others_between(one.start_at, one.end_at)
            held += one.low - 1 <= drawn <= one.high + 1
            counted += 1
            left_open = rounding if one.start_at == WINDOW_START else 2 * rounding
            stretch_widths.append((one.high - one.low) / left_open)
        earliest, latest = found.forecast.earliest_at, found.forecast.latest_at
        assert earliest is not None
        assert latest is not None
        dated += earliest <= platform.used_up_at <= latest
        unchanged = found.forecast.unchanged
        assert unchanged.earliest_at is not None
        assert unchanged.latest_at is not None
        forecast_widths.append((unchanged.latest_at - unchanged.earliest_at) / (platform.used_up_at - NOW))
        wider.append((latest - earliest) / (unchanged.latest_at - unchanged.earliest_at))
    print(f"unseen now {within}/{histories}, width {statistics.median(widths):.1%} of the total; "
          f"between readings {held}/{counted}, width {statistics.median(stretch_widths):.2f} of their rounding; "
          f"used up {dated}/{histories}, width {statistics.median(forecast_widths):.2f} of the time left at an unchanged pace, "
          f"and {statistics.median(wider):.2f} times that with a trend")  # fmt: skip
    assert within >= 0.9 * histories
    assert held == counted
    assert statistics.median(stretch_widths) <= 1.1
    assert dated >= 0.85 * histories
    if not growth:
        assert statistics.median(forecast_widths) <= (1 / 3 if histories > 100 else 0.4)
        assert statistics.median(wider) <= 2.5


@pytest.mark.parametrize("histories", [3, pytest.param(100, marks=pytest.mark.long)])
def test_bounds_on_an_unknown_total_always_hold(tmp_path: Path, histories: int) -> None:
    bounds = []
    for seed in range(histories):
        (folder := tmp_path / str(seed)).mkdir()
        truth, found = worked_out(folder, seed, known_total=False)
        assert [found.total, found.left, found.forecast, found.unseen] == [None] * 4
        assert found.used_share is not None
        assert found.used_share[0] <= truth.used(NOW) / truth.total
        assert found.least_total is not None
        assert found.least_total <= truth.total
        bounds.append(found.least_total / truth.total)
    assert statistics.median(bounds) > 0.4


def test_without_readings_what_others_drew_is_unknown(tmp_path: Path) -> None:
    truth, found = worked_out(tmp_path, 1, read=False)
    assert [found.unseen, found.forecast] == [None, None]
    assert found.left is not None
    assert found.left[0] == 0 < truth.total - truth.used(NOW) <= found.left[1], "our own part is used at least"
    assert found.seen.units == sum(tokens for at, tokens in truth.own if WINDOW_START <= at < NOW)
    assert "what others used is unknown" in missing(found)[0]
    assert "left: at most" in headline(found, "UTC")
    assert runs_out(found, "UTC").startswith("When it runs out is unknown")


def test_a_reading_in_units_needs_no_total_and_one_that_says_it_needs_no_setting(tmp_path: Path) -> None:
    truth, _ = worked_out(tmp_path, 2, known_total=False, read=False)
    ledger = Ledger(tmp_path / "ledger.duckdb", "UTC", {}, AllowanceSettings(window="month"))
    at = truth.read_at[-1]
    take_reading(ledger, "used", str(truth.used(at)), at, None)
    found = stood(ledger)
    assert [found.total, found.left] == [None, None]
    low, high = of_others(found.points[-1])
    assert low <= truth.others_between(WINDOW_START, at) <= high
    assert high - low <= 1 + 1e-6, "to the unit"
    take_reading(ledger, "left", f"{(truth.total - truth.used(at)) / 1000:.0f}k", at, truth.total)
    again = stood(ledger)
    assert again.left is not None
    assert again.total is not None
    assert round(again.total) == truth.total
    assert again.left[0] <= truth.total - truth.used(NOW) <= again.left[1]


def test_a_reading_that_says_less_than_we_drew_is_told(tmp_path: Path) -> None:
    truth, _ = worked_out(tmp_path, 3, read=False)
    ledger = Ledger(tmp_path / "ledger.duckdb", "UTC", {}, AllowanceSettings(window="month", total_units=truth.total))
    reading_id, _ = take_reading(ledger, "used", "1%", truth.read_at[-1], None)
    found = stood(ledger)
    assert list(of_others(found.points[-1])) == [0, 0]
    assert "less was used than our own calls had drawn" in found.notes[0]
    with reading(ledger) as reader:
        (one,) = readings_of(reader)
    assert one.reading_id == reading_id
    withdraw(ledger, one)
    assert stood(ledger).readings == []


def test_weights_hold_from_their_day_on_and_a_model_without_one_is_not_free(tmp_path: Path) -> None:
    truth = history(4)
    recorded(tmp_path, truth)
    changed = date(2026, 10, 10)
    weights = [WeightSettings("m", 2.0, 4.0, since=date(2026, 10, 1)), WeightSettings("m", 1.0, 1.0, since=changed)]

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
    assert seen(WeightSettings("*", 1.0, 1.0, since=date(2026, 9, 1))).units == pytest.approx(
        sum(t for _, t in own) / 1000
    )
    assert seen(WeightSettings("other", 1.0, 1.0, since=date(2026, 9, 1))).units == 0


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


DAY = timedelta(days=1)


def told(folder: Path, *calls: tuple[datetime, datetime, dict[str, object]], **allowance: object) -> Ledger:
    """A ledger with calls that were sent and ended then, read as `[allowance]` says."""
    given = {"window": "month", "total_units": 1_000_000.0} | allowance
    ledger = Ledger(folder / "ledger.duckdb", "UTC", {}, AllowanceSettings(**given))  # type: ignore[arg-type]
    journal = JournalWriter(ledger.journal_folder)
    journal.append(started("r1", len(calls), recorded_at=WINDOW_START))
    for number, (sent_at, ended_at, fields) in enumerate(calls, 1):
        journal.append(
            msgspec.structs.replace(intent("r1", number), sent_at=sent_at, model=str(fields.get("model", "m")))
        )
        journal.append(answer("r1", number, sent_at=sent_at, ended_at=ended_at, **fields))
    journal.close()
    return ledger


def at(day: int, **used: object) -> tuple[datetime, datetime, dict[str, object]]:
    moment = WINDOW_START + day * DAY
    return moment, moment + timedelta(seconds=2), used


def test_a_reading_pins_what_is_used_whatever_is_unknown_before_it(tmp_path: Path) -> None:
    silent = {"total_tokens": None, "prompt_tokens": None, "completion_tokens": None}
    ledger = told(tmp_path, at(1, total_tokens=24_000), at(2, **silent))
    take_reading(ledger, "used", "37%", NOW - timedelta(minutes=1), None)
    found = stood(ledger)
    assert found.used == pytest.approx((365_000, 375_000), abs=1_500)
    assert found.left == pytest.approx((625_000, 635_000), abs=1_500)
    assert found.unseen == pytest.approx((0, 351_000), abs=1_500), "nothing bounds what the silent call drew"


def test_others_drew_no_less_than_an_earlier_reading_says(tmp_path: Path) -> None:
    silent = {"total_tokens": None, "prompt_tokens": None, "completion_tokens": None}
    ledger = told(tmp_path, at(1, total_tokens=24_000), at(2, **silent))
    take_reading(ledger, "used", "37%", WINDOW_START + 1.5 * DAY, None)
    found = stood(ledger)
    assert found.unseen is not None
    assert found.unseen[0] == pytest.approx(341_000, abs=1_500), "nothing bounds the silent call, which came later"


def test_a_call_over_the_begin_of_a_window_widens_the_range(tmp_path: Path) -> None:
    ledger = told(
        tmp_path, (WINDOW_START - timedelta(seconds=30), WINDOW_START + timedelta(seconds=90), {"total_tokens": 1000})
    )
    take_reading(ledger, "used", "1000", WINDOW_START + DAY, None)
    found = stood(ledger)
    assert of_others(found.points[-1]) == pytest.approx((0, 1000.5), abs=1), "it may count to either window"


@pytest.mark.parametrize(
    ("used", "share", "said"),
    [
        ((996, 999), (0.996, 0.999), "Used: 99 % to over 99 % of 1 000 tokens."),
        ((1000, 1000), (1.0, 1.0), "Used: all of 1 000 tokens."),
        ((100, math.inf), (0.1, 1.0), "Used: at least 10 % of 1 000 tokens; how much more others used is unknown."),
        (None, (0.101, 1.0), "Used: at least 10 % of 1 000 tokens; how much more others used is unknown."),
        ((1, 2), (0.001, 0.002), "Used: under 1 % to 1 % of 1 000 tokens."),
    ],
)
def test_what_is_used_is_said_by_bounds_that_hold(
    tmp_path: Path, used: tuple[float, float] | None, share: tuple[float, float], said: str
) -> None:
    state = stood(told(tmp_path, total_units=1000))
    assert used_text(msgspec.structs.replace(state, used=used, total=1000), share) == said.replace("1 000", units(1000))


def test_a_refusal_says_that_all_is_used_until_something_is_answered_again(tmp_path: Path) -> None:
    """Else a limit that was raised since would stand as used up until its window ends, and no command takes that back."""
    refused = {
        "outcome": "allowance_suspected", "accepted": False, "scorable": False, "rerun": True, "drew": "no",
        "total_tokens": None, "prompt_tokens": None, "completion_tokens": None,
    }  # fmt: skip
    for folder in ("used up", "raised"):
        (tmp_path / folder).mkdir()
    used_up = told(tmp_path / "used up", at(1, total_tokens=10_000), at(2, **refused))
    assert stood(used_up).left == (0, 0)
    raised = told(tmp_path / "raised", at(1, total_tokens=10_000), at(2, **refused), at(3, total_tokens=10_000))
    assert not stood(raised).readings


@pytest.mark.slow
def test_readings_that_are_repeated_say_nothing_new(tmp_path: Path) -> None:
    ledger = told(tmp_path, at(1, total_tokens=10_000))
    take_reading(ledger, "used", "37%", NOW - 40 * timedelta(minutes=1), None)
    once = stood(ledger).unseen
    for minutes in range(39, 0, -1):
        take_reading(ledger, "used", "37%", NOW - minutes * timedelta(minutes=1), None)
    often = stood(ledger).unseen
    assert once is not None
    assert often is not None
    assert often[1] - often[0] <= 1.2 * (once[1] - once[0])


def test_readings_that_contradict_each_other_leave_what_lies_between_them(tmp_path: Path) -> None:
    ledger = told(tmp_path, at(1, total_tokens=10_000))
    take_reading(ledger, "used", "50%", WINDOW_START + 9 * DAY, None)
    take_reading(ledger, "used", "10%", NOW - timedelta(minutes=1), 2_000_000)
    found = stood(ledger)
    assert any("more was used than the later one" in note for note in found.notes)
    assert any("says that the total is 2000000" in note for note in found.notes)
    assert found.used is not None
    assert found.used[0] < 260_000
    assert found.used[1] > 490_000


def test_a_forecast_rests_on_as_few_readings_as_there_are(tmp_path: Path) -> None:
    ledger = told(tmp_path, *(at(day, total_tokens=5_000) for day in range(16)))
    take_reading(ledger, "used", "20%", NOW - timedelta(minutes=1), None)
    found = stood(ledger)
    assert found.pace is not None
    assert found.pace.unseen is not None
    assert found.pace.unseen.stretches == 1
    assert found.pace.a_day_range[1] >= found.pace.a_day + found.pace.unseen.reach_of_mean
    assert found.pace.unseen.reach_of_mean > found.pace.unseen.a_day, "one stretch says next to nothing of the spread"


def test_what_comes_is_priced_by_the_weights_of_now(tmp_path: Path) -> None:
    weights = [
        WeightSettings("m", 1.0, 1.0, since=date(2026, 10, 1)),
        WeightSettings("m", 10.0, 10.0, since=date(2026, 10, 16)),
        WeightSettings("m", 70.0, 70.0, since=date(2026, 12, 1)),
    ]
    ledger = told(
        tmp_path,
        *(at(day, total_tokens=1000, prompt_tokens=500, completion_tokens=500) for day in range(16)),
        weights=weights,
    )
    found = stood(ledger)
    assert found.seen.units == pytest.approx(15 + 10)
    assert found.pace is not None
    assert found.pace.seen_a_day == pytest.approx(10, rel=0.05)


def test_usage_in_odd_parts_is_never_free_or_negative(tmp_path: Path) -> None:
    weights = [WeightSettings("m", 1.0, 4.0, 5.0, since=date(2026, 10, 1))]
    beside = {"prompt_tokens": 10, "completion_tokens": 5, "reasoning_tokens": 500, "total_tokens": 515}
    within = {"prompt_tokens": 10, "completion_tokens": 505, "reasoning_tokens": 500, "total_tokens": 515}
    whole = {"prompt_tokens": None, "completion_tokens": None, "total_tokens": 500}
    ledger = told(tmp_path, at(1, **beside), at(2, **within), at(3, **whole), weights=weights)
    seen = stood(ledger).seen
    assert seen.units == pytest.approx(2 * (10 * 1 + 5 * 4 + 500 * 5) / 1000), "inside or beside is one thing"
    assert seen.unknown_calls == 1, "parts that are not known cannot be weighed"


def test_bounds_take_the_dearer_of_reasoning_and_answer(tmp_path: Path) -> None:
    found = Weights((WeightSettings("m", 0.0, 1.0, 5.0, since=date(2026, 1, 1)),), "units", "UTC")
    assert found.most_units("m", NOW, 0, 1000) == 5.0


def test_what_nothing_bounds_since_the_last_reading_is_no_infinity(tmp_path: Path) -> None:
    silent = {"total_tokens": None, "prompt_tokens": None, "completion_tokens": None}
    ledger = told(tmp_path, at(1, total_tokens=24_000), at(15, **silent))
    take_reading(ledger, "used", "37%", WINDOW_START + 10 * DAY, None)
    found = stood(ledger)
    assert found.used is not None
    assert found.used[1] == math.inf
    assert found.left is not None
    assert found.left[0] == 0
    assert found.forecast is None
    assert all(moment.high is None or math.isfinite(moment.high) for moment in found.course)
    assert "left: at most" in headline(found, "UTC")
    assert runs_out(found, "UTC") == "When it runs out is unknown: calls of ours since the last reading have no bound."


@pytest.mark.parametrize("seed", first_of(*range(4)))
def test_the_course_between_readings_holds_the_truth_at_every_moment(tmp_path: Path, seed: int) -> None:
    truth, found = worked_out(tmp_path, seed)
    before = [moment for moment in found.course if moment.at <= truth.read_at[-1]]
    assert len(before) > len(truth.read_at)
    for moment in before:
        assert moment.low is not None
        assert moment.high is not None
        assert moment.low - 2 <= truth.used(moment.at) <= moment.high + 2
        assert moment.high - moment.low <= 0.35 * truth.total
