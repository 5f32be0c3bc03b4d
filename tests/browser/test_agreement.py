"""The part of a run's page that says how far answers agree with the targets."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import expect

from tests.browser.conftest import Reader
from tests.conftest import Workbench
from tests.end_to_end.test_agreements import judged

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    "reader",
    [
        pytest.param(look, marks=pytest.mark.slow)
        for look in (
            {"viewport": {"width": 390, "height": 800}},
            {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
        )
    ],
    indirect=True,
)
def test_classes_are_read_and_reached_at_any_width(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    labels = ["<b>bold</b>", *(f"a label that is rather long, number {n}" for n in range(7))]
    targets = [labels[n % 8] for n in range(48)]
    judged(bench, {"m": targets, "<i>n</i>": [*targets[:40], *["else"] * 8]}, targets)
    page = reader.open(bench("report", "r1").stdout.strip())
    for card in page.locator("details", has_text="Class by class").all():
        card.locator("summary").press("Enter")
    expect(page.get_by_role("rowheader", name="<b>bold</b>").first).to_be_visible()
    table = page.get_by_role("region", name="Targets and answers of <i>n</i>")
    expect(table.locator("tbody tr")).to_have_count(8)
    expect(table.locator("tbody tr").first.locator("td")).to_have_text(["5", *["0"] * 7, "1", "0"])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    table.focus()
    if table.evaluate("box => box.scrollWidth > box.clientWidth"):
        page.keyboard.press("ArrowRight")
        page.wait_for_function("box => box.scrollLeft > 0", arg=table.element_handle())
    found = Axe().run(
        page, context={"include": [["#agreement"], ["details"]]}, options={"runOnly": ["wcag2a", "wcag2aa"]}
    )
    assert found.violations_count == 0, found.generate_report()
    assert not reader.faults
