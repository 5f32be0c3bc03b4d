"""The page of a comparison."""

import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Reader
from tests.compared_runs import record
from tests.conftest import Workbench

pytestmark = pytest.mark.browser

HOSTILE = "<script>alert(1)</script>{0}\x1b[31m\u202e<img src=x onerror=alert(2)> {1}"


@pytest.mark.parametrize(
    "reader",
    [
        {"viewport": {"width": 1440, "height": 900}},
        {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
        {"viewport": {"width": 1440, "height": 900}, "java_script_enabled": False},
    ],
    indirect=True,
)
def test_a_comparison_says_what_the_command_says_and_lets_nothing_run(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    name = "<b>large</b>"
    record(bench, "r1", {name: [1.0] * 20, "mini": [0.0] * 12 + [1.0] * 8, "other": [1.0] * 20}, said=HOSTILE)
    found = bench.json("compare", "--baseline", name)
    page = reader.open(found["report"])
    expect(page.locator("p.verdict").first).to_have_text(found["differences"][0]["says"])
    assert page.locator("#sides tbody tr").count() == len(found["sides"])
    page.locator("summary", has_text="Worse: 12 samples").press("Enter")  # a click may miss it while charts come alive
    shown = page.locator(".exchange").first
    expect(shown.locator("pre").nth(1)).to_contain_text("<script>alert(1)</script>")
    expect(shown.locator("mark").first).to_be_visible()
    assert page.locator("main script:not([type])").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not reader.faults


def test_a_comparison_of_many_answers_is_there_in_a_moment(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    values = {f"m{n}": [float((sample * (n + 3)) % 7 > n) for sample in range(2_000)] for n in range(5)}
    record(bench, "r1", values)
    bench("compare", "--no-report")
    began = time.monotonic()
    found = bench.json("compare")
    assert time.monotonic() - began < 20  # s; a quarter of it where nothing else runs
    assert Path(found["report"]).stat().st_size < 3 * 2**20
    assert [side["scored"] for side in found["sides"]] == [2_000] * 5
    began = time.monotonic()
    expect(reader.open(found["report"]).locator("#sides")).to_be_visible()
    assert time.monotonic() - began < 5  # s; with the browser's own start
