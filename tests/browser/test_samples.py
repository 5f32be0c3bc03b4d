"""The samples of a run's page: stepping through them, and how many there are of each kind."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Reader
from tests.compared_runs import AskedEpoch, record_epochs
from tests.compared_runs import record as record_scores
from tests.conftest import Workbench
from tests.unit.ledger.ledger_rows import STARTED_AT, answer, intent, started
from workbench.ledger.entries import RunEnded, SampleSeen
from workbench.ledger.journal import JournalWriter
from workbench.ledger.store import Ledger
from workbench.records.outcomes import Outcome
from workbench.report.ledger_pages import write_pages

pytestmark = pytest.mark.browser
FOUND = re.compile(r"needle(\d+)\.")


def record(folder: Path, asked: dict[str, list[int]], **fields: Any) -> Path:
    """A run's page over models that were asked these samples."""
    ledger = Ledger(folder / "ledger.duckdb")
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", sum(map(len, asked.values()))))
    for place, (model, samples) in enumerate(asked.items()):
        for sample in samples:
            number, key = 1 + 1000 * place + sample, f"sample{sample}"
            writer.append(SampleSeen(key, '{"input": "q"}'))
            writer.append(
                msgspec.structs.replace(intent("r1", number), model=model, sample_id=f"s{sample}", sample_key=key)
            )
            given = {"model": model, "sample_key": key, "answer": f"needle{sample}."} | fields
            writer.append(answer("r1", number, **given))
    writer.append(RunEnded("r1", STARTED_AT, "complete", 0, 60.0))
    writer.close()
    return write_pages(ledger, ["r1"], folder / "reports")[0]


def opened(page: Page) -> int:
    """The sample that is open, once it is."""
    expect(page.locator(".exchange pre", has_text=FOUND)).to_have_count(1)
    found = FOUND.search(page.locator(".exchange").inner_text())
    assert found
    return int(found[1])


@pytest.mark.slow
def test_stepping_passes_over_what_was_not_sent_and_turns_the_page(reader: Reader, tmp_path: Path) -> None:
    page = reader.open(record(tmp_path, {"even": [*range(0, 60, 2)], "odd": [*range(1, 60, 2)]}))
    expect(page.locator(".matrix td", has_text="not sent")).to_have_count(25)
    page.locator("[data-numbers]", has_text="needle1.").click()
    seen = [opened(page)]
    for _ in range(12):
        page.keyboard.press("j")
        expect(page.locator(".exchange pre", has_text=f"needle{seen[-1]}.")).to_have_count(0)
        seen.append(opened(page))
    assert seen == [*range(1, 26, 2)]
    expect(page.locator("#browser [role=status]")).to_have_text("26 to 50 of 60")
    expect(page.locator("button.cell[aria-expanded=true]")).to_be_focused()
    assert {"page=2"} < set(page.url.split("#")[1].split("&"))
    page.reload()
    assert opened(page) == 25
    page.get_by_role("button", name="Previous sample").click()
    expect(page.locator("#browser [role=status]")).to_have_text("1 to 25 of 60")
    assert opened(page) == 23
    assert "page=" not in page.url
    page.get_by_role("button", name="Next sample").click()
    expect(page.locator("#browser [role=status]")).to_have_text("26 to 50 of 60")
    assert opened(page) == 25
    assert not reader.faults


@pytest.mark.slow
def test_stepping_works_after_a_filter_was_clicked(reader: Reader, tmp_path: Path) -> None:
    page = reader.open(record(tmp_path, {"m": [0, 1], "n": [1]}))
    page.get_by_text("unanswered, cut off or refused 1", exact=True).click()
    page.keyboard.press("j")
    assert opened(page) == 0
    page.get_by_role("searchbox").fill("j")
    expect(page.locator(".exchange")).to_have_count(0)


@pytest.mark.slow
def test_the_counts_are_those_of_the_shown_columns(reader: Reader, tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    record_scores(bench, "r1", {"m": [1.0] * 10, "n": [1.0] * 7 + [0.0] * 3})
    page = reader.open(write_pages(bench.ledger, ["r1"], tmp_path / "reports")[0])
    pills = page.locator(".kinds label:visible")
    expect(pills).to_have_text(["all 10", "models differ 3", "wrong 3"])
    page.locator("[name=model]").select_option("n")
    expect(pills).to_have_text(["all 10", "wrong 3"])
    page.get_by_text("wrong 3", exact=True).click()
    page.locator("[name=model]").select_option("m")
    expect(pills).to_have_text(["all 10", "wrong 0"])
    expect(page.locator("#browser [role=status]")).to_have_text("No samples match.")
    assert "show=wrong" in page.url
    page.get_by_role("button", name="Clear").click()
    expect(pills).to_have_text(["all 10", "models differ 3", "wrong 3"])
    assert not reader.faults


@pytest.mark.slow
def test_repeats_are_folded_into_their_sample_and_walked_through(reader: Reader, tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    right: dict[tuple[str, int], list[float | None]] = {
        ("m", 1): [1.0, 0.0, 1.0],
        ("n", 1): [0.0, 1.0, 1.0],
        ("m", 2): [1.0] * 3,
        ("n", 2): [0.0, 0.0, None],
    }
    asked = [
        AskedEpoch(model, sample, epoch, value, Outcome.ROUTE_DOWN if value is None else Outcome.OK)
        for (model, sample), values in right.items()
        for epoch, value in enumerate(values, 1)
    ]
    record_epochs(bench, "r1", asked)
    page = reader.open(write_pages(bench.ledger, ["r1"], tmp_path / "reports")[0])
    expect(page.locator(".matrix tbody tr")).to_have_text(
        [re.compile("2 differs.*3 of 3 right.*0 of 3 right, 1 failed"), re.compile("1.*2 of 3 right.*2 of 3 right")]
    )
    expect(page.locator(".kinds label:visible")).to_have_text(
        ["all 2", "models differ 1", "wrong 2", "unanswered, cut off or refused 1"]
    )
    first = page.locator(".cell", has_text="2 of 3 right").first
    first.press("Enter")
    detail, heard = page.locator(".exchange"), page.locator("#browser [aria-live=polite]")
    expect(detail).to_contain_text("repeat 1 of 3")
    expect(heard).to_have_text("Opened: sample 1, m, repeat 1 of 3, right")
    page.keyboard.press("j")
    expect(heard).to_have_text("Opened: sample 1, m, repeat 2 of 3, wrong")
    expect(first).to_be_focused()
    page.reload()
    expect(detail).to_contain_text("repeat 2 of 3")
    page.get_by_role("button", name="3 ✓").click()
    expect(detail).to_contain_text("repeat 3 of 3")
    expect(page.get_by_role("button", name="Next sample")).to_be_disabled()
    page.locator(".cell", has_text="3 of 3 right").click()
    expect(heard).to_have_text("Opened: sample 2, m, repeat 1 of 3, right")
    for _ in range(2):
        page.get_by_role("button", name="Next repeat").click()
    page.get_by_role("button", name="Next sample").click()
    expect(heard).to_have_text("Opened: sample 1, m, repeat 1 of 3, right")
    page.keyboard.press("k")
    expect(heard).to_have_text("Opened: sample 2, m, repeat 3 of 3, right")
    page.keyboard.press("Escape")
    expect(detail).to_have_count(0)
    expect(heard).to_have_text("Closed.")
    expect(page.locator(".cell", has_text="3 of 3 right")).to_be_focused()
    assert "open=" not in page.url
    assert not reader.faults


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (1800.0, "1.80 s"),
        pytest.param(430.04, "430 ms", marks=pytest.mark.slow),
        pytest.param(1_234_000.0, "20 m 34 s", marks=pytest.mark.slow),
        pytest.param(11_520_000.0, "3 h 12 m", marks=pytest.mark.slow),
    ],
)
def test_times_are_said_as_on_the_rest_of_the_page(ms: float, said: str, reader: Reader, tmp_path: Path) -> None:
    page = reader.open(record(tmp_path, {"m": [0]}, latency_ms=ms))
    page.locator(".cell").click()
    expect(page.locator(".exchange .facts-line bdi", has_text=re.compile(f"^{said}$"))).to_have_count(1)
