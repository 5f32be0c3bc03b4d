"""Whether everything on a page can be reached and is named, by readers without a mouse or a wide screen."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

from tests.browser.conftest import Reader
from tests.compared_runs import record
from tests.conftest import Workbench

pytestmark = pytest.mark.browser
_OUT_OF_REACH = """
() => [...document.querySelectorAll(".wide")].filter(
    (box) => box.clientWidth && box.scrollWidth > box.clientWidth && !(box.tabIndex === 0 && box.ariaLabel && box.role === "region")
).length
"""

_SMALL = """
() => [...document.querySelectorAll("a, button, summary, select, input, label:has(input)")].filter((one) => {
  if (one.matches("label input") || (one.matches("p a, li a") && !one.closest("#further"))) return false;
  const { width, height } = one.getBoundingClientRect();
  return width && height && (width < 24 || height < 24);
}).map((one) => one.outerHTML.slice(0, 120))
"""
"""What is touched and is less than 24 px wide or high (WCAG 2.2, 2.5.8); links in sentences and labelled inputs need not be."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A page of each kind, written once."""
    bench = Workbench(tmp_path_factory.mktemp("reached"), None)
    models = {f"vendor/model-{n}": [float((n + sample) % 3 > 0) for sample in range(12)] for n in range(5)}
    topics = [{"topic": f"topic {sample % 2}"} for sample in range(12)]
    for run_id in ("r0", "r1", "r2"):
        record(bench, run_id, models, metadata=topics, served={"vendor/model-0": "vendor/another"})
    report = Path(bench.json("report", "last")["report"])
    bench("compare", "r2", "--by", "topic")
    names = ("r2.html", "index.html", "routes.html", "allowance.html", "r2.compare.html")
    return [*(report.with_name(name) for name in names), next(report.parent.glob("job-*.html"))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "reader",
    [
        {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
        {"viewport": {"width": 390, "height": 800}},
        {"viewport": {"width": 1440, "height": 900}},
    ],
    indirect=True,
)
def test_axe_finds_nothing_on_any_page(pages: list[Path], reader: Reader) -> None:
    scrolled = 0
    for path in pages:
        page = reader.open(path)
        page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        page.wait_for_function(f"({_OUT_OF_REACH})() === 0")
        scrolled += page.locator(".wide[tabindex='0']").count()
        found = Axe().run(page)
        assert found.violations_count == 0, f"{path.name}: {found.generate_report()}"
        if page.evaluate("innerWidth") == 390:
            assert page.evaluate(_SMALL) == [], path.name
    if page.evaluate("innerWidth") == 390:
        assert scrolled > 3, "there is something to reach"
    assert not reader.faults
