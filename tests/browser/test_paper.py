"""What pages look like on paper."""

import re
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Reader
from tests.compared_runs import record
from tests.conftest import Workbench

_PAPER = {"auto": 673, "across": 1032}
"""px: A4 upright and across, within the margins of the pages."""
_BROKEN_WORDS = """() => {
  const found = [];
  for (const table of document.querySelectorAll("table")) {
    const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (text.parentElement.closest("bdi, pre, .facts")) continue;
      for (const word of text.data.matchAll(/[\\p{L}\\p{N}.,:_%+−]+/gu)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map((line) => line.top)).size > 1) found.push(word[0]);
      }
    }
  }
  return found;
}"""


@pytest.mark.slow
def test_wide_tables_print_within_the_paper_without_a_broken_word(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    names = [*(f"vendor/model-{n}-of-a-long-name" for n in range(30)), "x" * 150]
    models = {name: [float((n + s) % 3 > 0) for s in range(12)] for n, name in enumerate(names)}
    others = {name: "vendor/another-model" for name in names[:3]}
    topics = [{"topic": f"topic {s % 4}"} for s in range(12)]
    record(
        bench, "r0", {names[-1]: [1.0] * 900, names[0]: [1.0] * 12}, job="another"
    )  # the most used has the longest name
    for run_id in ("r1", "r2"):
        record(bench, run_id, models, metadata=topics, served=others)
    report = Path(bench.json("report", "last")["report"])
    bench("compare")
    pages = (report.name, "index.html", "routes.html", "allowance.html", "r2.compare.html")
    for name in (*pages, next(report.parent.glob("job-j-*.html")).name):
        page = reader.open(report.with_name(name))
        page.emulate_media(media="print")
        paper = _PAPER[page.evaluate("getComputedStyle(document.body).page")]
        page.set_viewport_size({"width": paper, "height": 960})
        page.wait_for_function("document.fonts.ready.then(() => true)")
        page.evaluate(
            "dispatchEvent(new Event('beforeprint')); document.querySelectorAll('details').forEach((one) => one.open = true)"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= paper, name
        assert page.evaluate(_BROKEN_WORDS) == [], name
    assert not reader.faults


@pytest.mark.slow
def test_paper_has_every_sample_and_every_route_open(reader: Reader, tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    record(bench, "r1", {f"m{n}": [float((n + sample) % 2) for sample in range(60)] for n in range(6)})
    report = Path(bench.json("report", "last")["report"])
    page = reader.open(report)
    samples = page.locator(".matrix tbody tr")
    expect(samples).to_have_count(25)
    page.get_by_role("button", name="Next").click()
    expect(samples.first).to_contain_text("25")
    page.locator(".cell").first.click()
    expect(page.locator(".exchange")).to_be_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(samples).to_have_count(60 + 1)  # and the opened texts
    expect(samples.first.locator("th")).to_contain_text("0")
    expect(page.locator("main")).to_contain_text("All 60 are printed.")
    heads = page.locator("table[data-query] thead th")
    assert heads.count() > 3
    # Chromium repeats no head that holds a button on the next sheet
    expect(page.locator("table[data-query] thead button")).to_have_count(0)
    assert all(heads.all_text_contents())
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(samples).to_have_count(25 + 1)
    expect(page.locator("table[data-query] thead button")).not_to_have_count(0)
    page = reader.open(report.with_name("routes.html"))
    cards = page.locator("details.card[open]")
    expect(cards).to_have_count(0)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(cards).to_have_count(6)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(cards).to_have_count(0)
    assert not reader.faults


@pytest.mark.slow
def test_no_printed_page_is_empty(reader: Reader, tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    for run_id in ("r0", "r1", "r2"):
        record(bench, run_id, {f"m{n}": [float((n + sample) % 2) for sample in range(60)] for n in range(3)})
    report = Path(bench.json("report", "last")["report"])
    bench("compare", "r2")
    for path in sorted(report.parent.glob("*.html")):
        page = reader.open(path)
        expect(page.locator(".drawing.live svg")).to_have_count(page.locator(".drawing").count())
        texts = texts_by_page(page.pdf(prefer_css_page_size=True))
        assert texts, path.name
        assert all(texts), f"{path.name}: {texts}"
    assert not reader.faults


def texts_by_page(pdf: bytes) -> list[int]:
    """How many pieces of text each page of a PDF by Chromium shows."""
    objects = {int(found[1]): found[2] for found in re.finditer(rb"(\d+) 0 obj\n(.*?)\nendobj", pdf, re.DOTALL)}
    found = []
    for page in (content for content in objects.values() if re.search(rb"/Type /Page\b", content)):
        reference = re.search(rb"/Contents (\d+) 0 R", page)
        assert reference
        packed = objects[int(reference[1])].split(b"stream\n", 1)[1].removesuffix(b"\nendstream")
        found.append(len(re.findall(rb"T[jJ]", zlib.decompress(packed))))
    return found
