"""A run's page: where it leads, its table as a file, and a walk through it with the keyboard alone."""

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Reader
from tests.compared_runs import record
from tests.conftest import Workbench
from workbench.ledger.store import Ledger
from workbench.records.outcomes import Outcome
from workbench.report.ledger_pages import single_page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def saved(page: Page, kind: str, folder: Path) -> str:
    """The text of a file that a link of the page saves."""
    with page.expect_download() as waiting:
        page.get_by_role("link", name=kind, exact=True).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path.read_text("utf-8")


def test_it_leads_to_its_job_comparison_routes_and_data(reader: Reader, tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    formula = '=HYPERLINK("http://h")'
    record(bench, "r1", {formula: [1.0] * 20 + [0.0], "m": [1.0, 0.0] * 10 + [None]}, scorers=["exact"])
    report = Path(bench.json("report", "r1")["report"])
    further = reader.open(report).locator("#further")
    expect(further).to_contain_text("workbench compare r1")
    comparison = Path(bench.json("compare", "r1")["report"])
    bench.json("report", "r1")
    page = reader.open(report)
    there = page.locator("#further a:not([download])").evaluate_all("links => links.map((link) => link.pathname)")
    assert [Path(path).name for path in there[1:]] == [comparison.name, "routes.html"]
    assert Path(there[0]).name.startswith("job-")
    assert all(Path(path).is_file() for path in there)

    rows = [json.loads(line) for line in saved(page, "JSONL", tmp_path).splitlines()]
    assert [row["model"] for row in rows] == [formula, "m"]
    assert rows[0]["mean_at_worst"] == 20 / 21, "as it is, not as it is shown"
    assert (rows[1]["mean_at_worst"], rows[1]["mean_at_best"]) == (10 / 21, 11 / 21)
    assert (rows[1]["samples"], rows[1]["scored"], rows[1]["mean_of_scored"]) == (21, 20, 0.5)
    assert (rows[1]["beside"], rows[1]["verdict"]) == (formula, "worse")
    table = list(csv.DictReader(saved(page, "CSV", tmp_path).splitlines()))
    assert table[0]["model"] == f"'{formula}", "no formula to a spreadsheet"
    assert [float(row["mean_at_worst"]) for row in table] == [row["mean_at_worst"] for row in rows]

    alone = reader.open(single_page(Ledger(bench.ledger.path), "r1", tmp_path / "alone"))
    assert saved(alone, "JSONL", tmp_path).splitlines() == [json.dumps(row, ensure_ascii=False) for row in rows]
    expect(alone.locator("#further")).not_to_contain_text("compare")
    assert not reader.faults


def tabbed(page: Page, to: str, at_most: int = 60) -> None:
    """Press Tab until the focus is on what a selector names."""
    for _ in range(at_most):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", to):
            return
    raise AssertionError(f"Tab never came to {to}")


def test_a_run_and_a_comparison_are_read_with_the_keyboard_alone(reader: Reader, tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    record(bench, "r1", {"m": [1.0] * 60, "n": [0.0] * 24 + [1.0] * 36}, scorers=["exact"])
    page = reader.open(bench.json("report", "r1")["report"])
    told, heard = page.locator("#browser [role=status]"), page.locator("#browser [aria-live=polite]")
    expect(told).to_have_text("1 to 25 of 60")
    tabbed(page, "#browser [name=show]")
    page.keyboard.press("ArrowRight")  # models differ
    expect(told).to_have_text("1 to 24 of 24 (60 in all)")
    tabbed(page, "#browser [name=model]")
    tabbed(page, "#browser [name=q]")
    tabbed(page, "#browser [type=reset]")
    tabbed(page, "button.cell")
    cells = page.locator("button.cell")
    expect(cells.first).to_be_focused()
    page.keyboard.press("Enter")
    expect(heard).to_have_text("Opened: sample 0, m, right")
    page.keyboard.press("j")
    expect(heard).to_have_text("Opened: sample 1, m, right")
    expect(cells.nth(2)).to_be_focused()
    page.keyboard.press("k")
    expect(heard).to_have_text("Opened: sample 0, m, right")
    tabbed(page, ".exchange button", at_most=2)  # after the other cell of the row
    tabbed(page, ".exchange summary")
    page.keyboard.press("Escape")
    expect(page.locator(".exchange")).to_have_count(0)
    expect(cells.first).to_be_focused()

    page = reader.open(bench.json("compare", "r1")["report"])
    expect(page.locator("#apart")).to_be_visible()
    tabbed(page, "#baseline")
    tabbed(page, "#apart [name=show]")
    expect(page.locator("#apart [role=status]")).to_have_text("1 to 10 of 24")
    tabbed(page, "#apart-pager button")
    for said in ("11 to 20 of 24", "21 to 24 of 24"):
        page.keyboard.press("Enter")
        expect(page.locator("#apart [role=status]")).to_have_text(said)
    expect(page.get_by_role("button", name="Previous")).to_be_focused()  # as there is no next page
    assert not reader.faults


def test_an_axis_of_requests_has_whole_ones(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    record(bench, "r1", {"m": [1.0] * 9 + [None]}, outcomes={("m", 9): Outcome.ROUTE_DOWN}, scorers=["exact"])
    page = reader.open(Path(bench.json("report", "last")["report"]))
    chart = page.locator("figure", has_text="whose fault is it?").locator(".drawing")
    expect(chart.locator("svg")).to_be_visible()
    labels = chart.locator(".role-axis-label text").all_text_contents()
    assert [label for label in labels if label] == ["0", "1", "m"]


@pytest.mark.parametrize("reader", [{"viewport": {"width": 390, "height": 800}}], indirect=True)
def test_no_label_of_a_score_covers_a_name_or_is_cut(reader: Reader, tmp_path: Path) -> None:
    """Where answers are unknown a label is twice as long, on a screen that is narrow."""
    bench = Workbench(tmp_path, None)
    shares = {f"model number {n}": n for n in range(0, 21, 2)}
    values: dict[str, list[float | None]] = {
        model: [1.0] * right + [0.0] * (18 - right) + [None] * 2 if right <= 18 else [1.0] * 20
        for model, right in shares.items()
    }
    lost = {
        (model, sample): Outcome.ROUTE_DOWN
        for model, own in values.items()
        for sample in (18, 19)
        if own[sample] is None
    }
    record(bench, "r1", values, outcomes=lost, scorers=["exact"])
    page = reader.open(Path(bench.json("report", "r1")["report"]))
    chart = page.locator("#chart-scores0 .drawing.live svg")
    expect(chart).to_have_count(1)
    boxes = "nodes => nodes.map((node) => node.getBoundingClientRect().toJSON())"
    labels = chart.locator(".mark-text text").filter(has_text="(n ").evaluate_all(boxes)
    names = chart.locator(".role-axis-label text").filter(has_text="model").evaluate_all(boxes)
    (whole,) = chart.evaluate_all(boxes)
    assert (len(labels), len(names)) == (len(values), len(values))
    assert min(label["left"] for label in labels) >= max(name["right"] for name in names)
    assert max(label["right"] for label in labels) <= whole["right"]
