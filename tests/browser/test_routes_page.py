"""The routes page in Chromium: its strips of days, and who answered for whom."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import expect

from tests.browser.conftest import Reader
from tests.compared_runs import record
from tests.conftest import Workbench
from workbench.records.outcomes import Outcome

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LONG = "vendor/" + "an-id-of-120-characters-" + "x" * 89
RIGHT = [1.0] * 6


@pytest.fixture(scope="module")
def page_of_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """50 days of 38 routes: a fallback, names that are suspected, an outage, and routes that are no longer asked."""
    bench = Workbench(tmp_path_factory.mktemp("many"), None)
    models = [*(f"Route {number:02}" for number in range(37)), LONG]
    down = {("Route 00", sample): Outcome.ROUTE_DOWN for sample in range(6)}
    for day in (0, 20, 30, 49):
        served = {LONG: "Route 01", "Route 02": LONG} if day == 30 else {}
        served |= {model: f"lab-{model}" for model in models[5:14]} if day == 20 else {}
        values: dict[str, list[float | None]] = {model: list(RIGHT) for model in (models if day < 49 else models[:30])}
        if day == 49:
            values["Route 00"] = [None] * 6
        record(
            bench,
            f"r{24 * day}",
            values,
            served=served,
            outcomes=down if day == 49 else {},
            listed={"Route 20": "base"},
        )
    return Path(bench.json("report")["report"]).with_name("routes.html")


@pytest.mark.parametrize(
    "reader",
    [
        {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
        pytest.param({"viewport": {"width": 1440, "height": 900}}, marks=pytest.mark.slow),
        pytest.param({"viewport": {"width": 390, "height": 800}}, marks=pytest.mark.slow),
        pytest.param({"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"}, marks=pytest.mark.slow),
    ],
    indirect=True,
)
def test_axe_finds_nothing_and_every_strip_is_seen_whole(reader: Reader, page_of_many: Path) -> None:
    page = reader.open(page_of_many)
    strips = page.locator(".days svg")
    expect(strips).to_have_count(38)
    expect(strips.first.locator("rect")).to_have_count(50)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    inside = "all => all.every(svg => svg.getBoundingClientRect().right <= innerWidth)"
    assert strips.evaluate_all(inside)
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert found.violations_count == 0, found.generate_report()
    table = page.get_by_role("region", name="Who answered for whom")
    table.focus()
    if table.evaluate("box => box.scrollWidth > box.clientWidth"):
        page.keyboard.press("ArrowRight")
        page.wait_for_function("box => box.scrollLeft > 0", arg=table.element_handle())
    assert not reader.faults


def test_a_strip_says_its_days_in_words_and_marks_differ_without_colour(reader: Reader, page_of_many: Path) -> None:
    page = reader.open(page_of_many)
    strip = page.locator(".days li", has_text="Route 00").get_by_role("img")
    said = strip.get_attribute("aria-label") or ""
    assert "ok on 3 days, failed on 8 Jan" in said
    titles = strip.locator("title").all_text_contents()
    assert titles[-1].endswith(": failed, 6 calls, 6 failed")
    shapes = page.locator(".day-marks pattern").evaluate_all(
        'all => all.map(mark => mark.innerHTML.replace(/(fill|stroke)="var[^"]*"/g, \'\'))'
    )
    assert len(set(shapes)) == 4
    drawn = (
        page.locator(".days li", has_text=LONG)
        .locator("rect")
        .evaluate_all("all => all.map(day => getComputedStyle(day).fill)")
    )
    assert {'url("#day-ok")', 'url("#day-fallback")', 'url("#day-none")'} == set(drawn)


def test_of_many_models_the_matrix_has_what_is_off_the_diagonal(reader: Reader, page_of_many: Path) -> None:
    page = reader.open(page_of_many)
    rows = page.locator("#answered tbody tr")
    expect(rows).to_have_count(11)
    expect(page.locator("#answered .off")).to_have_count(11)
    expect(page.locator("#answered thead th").nth(1)).to_have_text("itself")
    expect(page.get_by_text("27 other routes: no answer is known to be another model’s.")).to_be_visible()
