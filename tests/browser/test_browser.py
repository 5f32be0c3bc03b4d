"""What a reader sees and does: every page at two widths and two themes, filters, tables, texts on demand, hostile content."""

import base64
import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Reader
from tests.cases import first_of
from tests.compared_runs import record as record_scores
from tests.conftest import Workbench, answering, job, sums
from tests.end_to_end.test_pages import HOSTILE, MODELS
from tests.pages import Page as Shown
from tests.unit.ledger.ledger_rows import STARTED_AT, answer, intent, key, started
from workbench.job.job import load_job
from workbench.ledger.entries import CallEntry, RunEnded, SampleSeen
from workbench.ledger.journal import JournalWriter
from workbench.ledger.store import Ledger
from workbench.local_platform.config import PlatformConfig, RouteFault
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.shared import Surroundings
from workbench.planning.answer_key import write_answers
from workbench.report.bundle import BUNDLE, page_script
from workbench.report.ledger_pages import single_page, write_pages

pytestmark = pytest.mark.browser
LOOKS = [
    pytest.param(
        {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}, id=f"{width}-{scheme}", marks=marks
    )
    for width, scheme, marks in (
        (1440, "light", ()),
        (390, "dark", ()),
        (1440, "dark", pytest.mark.slow),
        (390, "light", pytest.mark.slow),
    )
]
SHARES = {"Abacus Large [careful]": 1.0, "Abacus Mini [fast]": 0.0, "Ponder [thinking only]": 1.0, "sim/flaky": 1.0}
PAGES = ("run", "index", "allowance", "routes")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, catalogue: PlatformConfig) -> Iterator[dict[str, Path]]:
    """The pages of a ledger in which much goes wrong."""
    refusing = {"secret_missing": False, "faults": (RouteFault(status=400),)}  # which no breaker ends before its time
    routes = tuple(
        msgspec.structs.replace(route, **refusing) if route.id == "sim/locked" else route for route in catalogue.routes
    )
    config = answering(msgspec.structs.replace(catalogue, routes=routes), SHARES)
    folder = tmp_path_factory.mktemp("pages")
    with ThreadedServer(config, around=Surroundings(answers=folder / "answers.sqlite")) as server:
        bench = Workbench(folder, server)
        apart = json.dumps({"id": "s19", "input": "How many days has a fortnight?", "target": 14})
        bench.write("apart.jsonl", apart)
        write_answers(folder / "answers.sqlite", load_job(bench.write("apart.toml", job(dataset="apart.jsonl"))))
        bench.write("sums.jsonl", sums(19) + apart)
        bench.write("job.toml", job(*MODELS))
        bench.process("run", "job.toml", code=3)
        report = Path(bench.json("run", "job.toml", "--fresh", code=3)["report"])
        bench("report")
        yield {"run": report} | {name: report.with_name(f"{name}.html") for name in PAGES[1:]}


def scrolled(page: Page) -> Page:
    """The page, read to its end, with its cards open."""
    page.evaluate("document.querySelectorAll('details.card').forEach(card => card.open = true)")
    for _ in range(200):
        page.mouse.wheel(0, 600)
        page.wait_for_timeout(15)
        if page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2"):
            break
    return page


@pytest.mark.parametrize("reader", LOOKS, indirect=True)
@pytest.mark.parametrize("name", first_of(*PAGES, default=2))
def test_a_page_is_quiet_fits_and_draws(reader: Reader, pages: dict[str, Path], name: str) -> None:
    page = scrolled(reader.open(pages[name]))
    drawings = page.locator(".drawing").count()
    expect(page.locator(".drawing.live svg")).to_have_count(drawings)
    widths = page.locator(".drawing.live svg").evaluate_all(
        "drawn => drawn.map(one => one.getBoundingClientRect().width)"
    )
    assert all(width > 100 for width in widths), "whatever class the program gives them"
    assert drawings >= {"run": 4, "index": 1, "allowance": 0, "routes": 0}[name]
    assert page.evaluate(
        "[...document.querySelectorAll('.live svg')].every(svg => svg.querySelectorAll('path,line').length > 3)"
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".ribbon").is_visible()
    assert not reader.faults


@pytest.mark.parametrize("reader", LOOKS, indirect=True)
def test_text_has_enough_contrast(reader: Reader, pages: dict[str, Path]) -> None:
    page = reader.open(pages["run"])
    for selector in (
        ".verdict",
        ".strip",
        ".soft",
        "header a",
        "th",
        ".ribbon",
        "details summary",
        ".mark.ok",
        ".mark.failed",
    ):
        assert contrast(page, selector) >= 4.5, selector


@pytest.mark.parametrize("reader", [{"java_script_enabled": False}], indirect=True)
def test_a_page_reads_without_scripts(reader: Reader, pages: dict[str, Path]) -> None:
    page = reader.open(pages["run"])
    _tables_stand_for_charts(page)
    assert not page.locator("#browser").is_visible()
    page.locator("#first-samples summary").first.click()
    expect(page.locator("#first-samples pre").first).to_contain_text(
        re.compile("What is|How many")
    )  # in the order sent


def _tables_stand_for_charts(page: Page) -> None:
    """Every chart has its table in its place, open, and says why."""
    figures = page.locator("figure:has(.drawing)")
    assert figures.count() == figures.filter(visible=True).count() >= 4
    for figure in figures.all():
        assert not figure.locator(".drawing").is_visible()
        expect(figure.locator(".not-drawn")).to_be_visible()
        assert figure.locator("table:visible, .not-drawn:has-text('tables')").count() == 1


@pytest.mark.parametrize("beside", [(), (page_script().name,)], ids=["alone", "without the charts' program"])
def test_a_page_without_its_scripts_beside_it_has_its_tables_and_first_samples(
    reader: Reader, pages: dict[str, Path], tmp_path: Path, beside: tuple[str, ...]
) -> None:
    for name in beside:
        shutil.copy(pages["run"].with_name(name), tmp_path)
    page = reader.open(shutil.copy(pages["run"], tmp_path))
    _tables_stand_for_charts(page)
    assert page.locator("#first-samples").is_visible() == (not beside)
    missing = {BUNDLE, page_script().name} - {*beside}
    assert [one for one in reader.faults if not any(name in one for name in {*missing, "ERR_FILE_NOT_FOUND"})] == []


def test_every_chart_opens_with_altair(pages: dict[str, Path]) -> None:
    import altair  # a second, for which every other test would wait

    specs = [spec for path in pages.values() for spec in Shown(path).charts]
    assert len(specs) >= 6
    for spec in specs:
        altair.Chart.from_dict(spec)  # held against the schema of Vega-Lite


def test_a_single_file_needs_nothing_beside_it(reader: Reader, pages: dict[str, Path], tmp_path: Path) -> None:
    there = set(pages["run"].parent.iterdir())
    ledger = next(pages["run"].parents[1].glob("**/*.duckdb"))
    written = single_page(Ledger(ledger), pages["run"].stem, tmp_path)
    assert list(tmp_path.iterdir()) == [written], "nothing else"
    assert set(pages["run"].parent.iterdir()) == there
    page = scrolled(reader.open(written))
    expect(page.locator(".drawing.live svg")).to_have_count(page.locator(".drawing").count())
    assert (
        page.evaluate(
            "[...document.querySelectorAll('a[href]:not([download])')].filter(link => link.origin !== 'null' || !link.hash).length"
        )
        == 0
    )
    page.locator(".cell").first.click()
    expect(page.locator(".exchange")).to_contain_text("fortnight")
    assert not reader.faults


def test_paper_has_every_chart(reader: Reader, pages: dict[str, Path]) -> None:
    page = reader.open(Path(__file__).parents[2] / "reports" / "sample" / "routes.html")
    in_closed_cards = page.locator("details.card:not([open]) .drawing").count()
    assert in_closed_cards > 0, "which paper opens"
    expect(page.locator("details.card .drawing.live svg")).to_have_count(in_closed_cards)
    page = reader.open(pages["run"])
    expect(page.locator(".drawing.live svg")).to_have_count(page.locator(".drawing").count())
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    wide = page.evaluate(
        "[...document.querySelectorAll('.drawing svg')].map(svg => svg.getBoundingClientRect().width / svg.parentElement.parentElement.clientWidth)"
    )
    assert max(wide) <= 1.05


LEFTMOST = """
[...document.querySelectorAll(".drawing")].flatMap(drawing => [...drawing.querySelectorAll("text")].map(
    text => text.getBoundingClientRect().left - drawing.getBoundingClientRect().left
))
"""


def test_no_label_of_a_drawing_is_cut_at_its_left(reader: Reader, pages: dict[str, Path]) -> None:
    for name in ("run", "index"):
        page = reader.open(pages[name])
        expect(page.locator(".drawing.live svg")).to_have_count(page.locator(".drawing").count())
        drawn = page.evaluate(LEFTMOST)
        assert drawn
        assert min(drawn) >= 0


def test_filters_work_and_survive_a_reload(reader: Reader, pages: dict[str, Path]) -> None:
    page = reader.open(pages["run"])
    status, rows = page.locator("#browser [role=status]"), page.locator(".matrix tbody > tr:not(.opened)")
    expect(status).to_contain_text("1 to 20 of 20")
    expect(rows.first).to_contain_text("s19")  # on which the models differ
    expect(rows.first.locator(".cell")).to_have_count(len(MODELS))
    page.get_by_text("models differ 1", exact=True).click()
    expect(status).to_contain_text("1 to 1 of 1 (20 in all)")
    page.get_by_text("all 20", exact=True).click()
    page.locator("[name=model]").select_option("Abacus Mini [fast]")
    expect(rows.first.locator(".cell")).to_have_count(1)
    page.locator("[name=q]").fill("what is 13 +")
    expect(rows).to_have_count(1)
    page.locator(".cell").click()
    expect(page.locator(".exchange")).to_contain_text("What is 13 + 6?")
    page.reload()
    expect(rows).to_have_count(1)
    expect(page.locator(".exchange")).to_contain_text("What is 13 + 6?")
    page.get_by_text("Raw request and response").click()
    expect(page.locator(".exchange")).to_contain_text('"prompt_tokens"')
    page.get_by_text("Messages as sent").click()
    expect(page.locator(".exchange h3", has_text="user")).to_have_count(1)
    page.get_by_role("button", name="Clear").click()
    expect(rows.first.locator(".cell")).to_have_count(len(MODELS))
    page.get_by_text("unanswered, cut off or refused 20", exact=True).click()  # a route of them refuses every request
    expect(page).to_have_url(re.compile("show=failed"))
    expect(status).to_contain_text("1 to 20 of 20")
    page.reload()
    expect(page.locator("[name=show]:checked")).to_have_value("failed")
    assert not reader.faults


@pytest.mark.slow
def test_a_request_that_was_sent_again_shows_every_attempt(reader: Reader, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 1))
    writer.append(intent("r1", 1))
    failed = {"outcome": "route_down", "accepted": False, "rerun": True, "scorable": False, "http_status": 502}
    writer.append(answer("r1", 1, **failed, error_text="<b>no route</b>", answer=None, raw=None))
    writer.append(msgspec.structs.replace(intent("r1", 1), call_no=2, attempt=2))
    writer.append(msgspec.structs.replace(answer("r1", 2), request_key=key(1)))
    writer.close()
    page = reader.open(write_pages(ledger, ["r1"], tmp_path / "reports")[0])
    page.locator(".cell").click()
    expect(page.locator(".exchange ol > li")).to_have_count(2)
    expect(page.locator(".exchange ol > li").first).to_contain_text("route down · HTTP 502")
    expect(page.locator(".exchange ol > li").first).to_contain_text("<b>no route</b>")
    assert not reader.faults


def test_the_keyboard_is_enough(reader: Reader, pages: dict[str, Path]) -> None:
    page = reader.open(pages["run"])
    cell = page.locator(".cell").first
    cell.focus()
    page.keyboard.press("Enter")
    expect(cell).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".exchange")).to_contain_text("s19")
    page.keyboard.press("j")
    expect(cell).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".cell[aria-expanded=true]")).to_be_focused()
    page.keyboard.press("k")
    expect(cell).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Enter")
    expect(cell).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".exchange")).to_have_count(0)


def test_tables_sort_and_remember(reader: Reader, pages: dict[str, Path]) -> None:
    page = reader.open(pages["index"])
    table = page.locator("#runs")
    table.get_by_role("button", name="answered").click()
    place = table.locator('th[data-column="answered"]').evaluate("(head) => head.cellIndex + 1")
    cells = f"#runs td:nth-child({place}) data"
    values = "all => all.map((one) => Number(one.value))"
    first = page.locator(cells).evaluate_all(values)
    assert first == sorted(first, reverse=True)
    assert first[0] > first[-1], "there is something to sort"
    table.get_by_role("button", name="answered").click()
    page.reload()
    assert page.locator(cells).evaluate_all(values) == first[::-1]
    assert not reader.faults


@pytest.mark.slow
def test_runs_are_chosen_by_their_status(reader: Reader, tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None)
    for run_id, status in (("r1", "complete"), ("r2", "interrupted"), ("r3", "complete")):
        record_scores(bench, run_id, {"m": [1.0]}, scorers=["exact"], status=status)
    write_pages(bench.ledger, ["r3"], tmp_path / "reports")
    page = reader.open(tmp_path / "reports" / "index.html")
    rows, chosen = page.locator("#runs tbody tr"), page.get_by_role("button", name="interrupted", exact=True)
    expect(rows).to_have_count(3)
    chosen.click()
    expect(rows).to_have_count(1)
    page.reload()
    expect(rows).to_have_count(1)
    expect(chosen).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="all", exact=True).click()
    expect(rows).to_have_count(3)
    assert not reader.faults


def test_a_column_of_drawings_does_not_sort(reader: Reader, pages: dict[str, Path]) -> None:
    page = reader.open(pages["index"], "#t.runs.sort=scores:asc")
    assert "scores" in page.locator("#runs th").all_inner_texts()
    expect(page.locator("#runs th button")).to_have_count(page.locator("#runs th").count() - 1)
    expect(page.locator("#runs th button", has_text="scores")).to_have_count(0)
    expect(page.locator("#runs th[aria-sort]")).to_have_count(0)


def test_a_filter_finds_figures_as_they_are_shown_and_exactly(reader: Reader, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    writer = JournalWriter(ledger.journal_folder)
    for number in range(14):
        writer.append(
            started(f"r{number:02}", 4438 if number == 3 else number, job="night sums" if number else "other")
        )
    for run_id, tokens in (("r05", 98_765), ("r06", 98_799)):
        writer.append(intent(run_id, 1))
        writer.append(answer(run_id, 1, total_tokens=tokens))
    writer.close()
    write_pages(ledger, [], tmp_path)
    page = reader.open(tmp_path / "index.html")
    rows, filtered = page.locator("#runs tbody tr"), page.get_by_role("searchbox").first
    assert "4\u202f438" in page.locator("#runs").inner_text()
    for text, found in (("4438", 1), ("4 438", 1), ("98765", 1), ("98.8 k", 2), ("Night Sums", 13), ("4439", 0)):
        filtered.fill(text)
        expect(rows).to_have_count(found)
    assert not reader.faults


@pytest.mark.slow
def test_times_are_in_the_accounts_zone_wherever_the_reader_is(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("workbench.toml", '[account]\ntime_zone = "America/New_York"\n')
    record_scores(bench, "r14", {"m": [1.0] * 3})
    page = reader.open(Path(bench.json("report", "last")["report"]))
    assert page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone").startswith("Asia/")
    expect(page.locator("#zone")).to_have_text("times in America/New_York, UTC on hover")
    began = page.locator("header time").first
    expect(began).to_have_text("2026-11-20 11:00")
    expect(began).to_have_attribute("title", "2026-11-20 16:00:00 UTC")


def record(folder: Path, answers: list[dict[str, Any]], **fields: object) -> Path:
    """A run's page over answers given as fields of the journal, as the run's own are."""
    ledger = Ledger(folder / "ledger.duckdb")
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", len(answers), **fields))
    for number, given in enumerate(answers, 1):
        sample = {"input": given.pop("input", "q"), "target": given.pop("target", None)}
        writer.append(SampleSeen(f"sample{number}", json.dumps(sample)))
        writer.append(intent("r1", number))
        writer.append(answer("r1", number, **given))
    writer.append(RunEnded("r1", STARTED_AT, "complete", 0, 60.0))
    writer.close()
    return write_pages(ledger, ["r1"], folder / "reports")[0]


def test_hostile_content_is_inert_and_legible(reader: Reader, tmp_path: Path) -> None:
    rtl = "مرحبا بالعالم، الجواب هو ٤٢"
    fields = {"served_model": HOSTILE, "model": HOSTILE, "reasoning": HOSTILE, "raw": HOSTILE, "finish_reason": HOSTILE}
    path = record(
        tmp_path,
        [
            {"answer": HOSTILE, "input": HOSTILE, "target": HOSTILE, **fields},
            {"answer": rtl, "model": "x" * 120, "served_model": "x" * 120},
            {"answer": "y" * 300_000, "model": "x" * 120},
        ],
    )
    for name in ("r1", "index", "allowance", "routes"):
        page = scrolled(reader.open(path.with_name(f"{name}.html")))
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page = reader.open(path)
    lines = page.locator(".cell")
    lines.nth(0).click()
    page.get_by_text("Raw request and response").click()
    page.get_by_text("Reasoning", exact=True).click()
    opened = page.locator(".exchange")
    expect(opened).to_contain_text("<script>alert(1)</script>")
    expect(opened).to_contain_text("␛[31mred {{ 7*7 }}")
    expect(opened).to_contain_text("⟨U+202E⟩gnp.exe")
    lines.nth(1).click()
    said = page.locator(".exchange pre", has_text=rtl)
    assert said.evaluate("pre => getComputedStyle(pre).direction") == "rtl"
    lines.nth(2).click()
    long = page.locator(".exchange pre.clamped")
    before = long.bounding_box()
    assert before is not None
    assert before["height"] < 300
    page.get_by_role("button", name="Show all 300").click()
    after = page.locator(".exchange pre", has_text="yyy").bounding_box()
    assert after is not None
    assert after["height"] > 10 * before["height"]
    assert not reader.faults


@pytest.mark.slow
def test_texts_too_large_for_the_page_lie_beside_it(reader: Reader, tmp_path: Path) -> None:
    noise = random.Random(7)
    texts = [base64.b64encode(noise.randbytes(120_000)).decode() for _ in range(30)]
    path = record(tmp_path, [{"answer": f"needle{number} {text}"} for number, text in enumerate(texts)])
    assert path.stat().st_size < 2_000_000
    assert len(list((path.parent / "r1.samples").iterdir())) > 5
    page = reader.open(path)
    page.locator(".cell").nth(20).click()
    expect(page.locator(".exchange")).to_contain_text("needle20 ")
    page.locator("[name=q]").fill("needle7 ")
    expect(page.locator(".cell")).to_have_count(1)
    assert all("r1.samples/" in fault for fault in reader.faults), reader.faults
    (path.parent / "r1.samples").rename(path.parent / "gone")
    page = reader.open(path)
    page.locator(".cell").first.click()
    expect(page.locator(".exchange")).to_contain_text("not found; was this page rendered again?")


@pytest.mark.slow
def test_forty_models_and_one_sample(reader: Reader, tmp_path: Path) -> None:
    many = [
        {
            "model": f"Vendor/Model number {n} [a rather long id, as they come]",
            "latency_ms": 10.0**n if n < 5 else 900.0,
        }
        for n in range(40)
    ]
    path = record(tmp_path, many)
    for name in ("r1", "index", "allowance", "routes"):
        page = scrolled(reader.open(path.with_name(f"{name}.html")))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    (tmp_path / "one").mkdir()
    page = reader.open(record(tmp_path / "one", [{}]))
    expect(page.locator(".cell")).to_have_count(1)
    assert not reader.faults


@pytest.mark.parametrize("reader", LOOKS[::2], indirect=True)
def test_where_the_numbers_come_from_fits_whatever_its_names(reader: Reader, tmp_path: Path) -> None:
    names = {"job_path": f"jobs/{'j' * 120}.toml", "host": "h" * 120, "limits": {"x" * 123: 8}}
    page = reader.open(record(tmp_path, [{}], **names))
    facts = page.locator(".facts")
    page.get_by_text("ledger, job, dataset, machine and packages").click()
    assert facts.evaluate("table => table.parentElement.scrollWidth <= table.parentElement.clientWidth")
    assert facts.locator("th", has_text="packages").evaluate("head => head.clientHeight < 50")


@pytest.mark.slow
def test_a_run_without_any_call_has_pages(reader: Reader, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    writer = JournalWriter(ledger.journal_folder)
    writer.append(started("r1", 5))
    writer.close()
    path = write_pages(ledger, ["r1"], tmp_path / "reports")[0]
    expect(reader.open(path).locator(".verdict")).to_contain_text(
        "5 of 5 requests have no answer yet: not sent, in flight or interrupted."
    )
    for name, said in (
        ("index", "1 job: 1 needs action."),
        ("allowance", "No calls are recorded yet."),
        ("routes", "No calls yet."),
    ):
        expect(reader.open(path.with_name(f"{name}.html")).locator(".verdict")).to_have_text(said)
    assert not reader.faults


def contrast(page: Page, selector: str) -> float:
    """The contrast ratio of an element's text with the page's ground (WCAG 2.2, 1.4.3)."""
    ratio: float = page.locator(selector).first.evaluate(
        """element => {
          const light = text => {
            const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(value => {
              const part = value / 255;
              return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          let ground = element;
          while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
          const [a, b] = [light(getComputedStyle(element).color), light(getComputedStyle(ground).backgroundColor)];
          return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        }"""
    )
    return ratio


TRICKY = [
    "constructor", "toString", "__proto__", "hasOwnProperty", "a\u2028b", "a" * 31 + "🚀" + "a" * 29, "a" * 31 + "🚀" + "b" * 29,
    "vendor/an-extraordinarily-long-model-name-without-any-space-in-it-" + "x" * 60, "\ud7ff\ue000", "", "m#&%=?", "<b>",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("reader", [{"viewport": {"width": 390, "height": 800}}], indirect=True)
def test_names_that_break_programs_break_no_page(reader: Reader, tmp_path: Path) -> None:
    calls = [
        {
            "model": name,
            "served_model": other,
            "sample_key": f"sample{n % 3}",
            "tool_calls": [CallEntry("t" * 90, "{}")],
        }
        for n, (name, other) in enumerate([*zip(TRICKY, reversed(TRICKY), strict=True)] * 12)
    ]
    path = record(tmp_path, calls)
    for name in ("r1", "index", "allowance", "routes"):
        page = scrolled(reader.open(path.with_name(f"{name}.html")))
        expect(page.locator(".drawing.live svg")).to_have_count(page.locator(".drawing").count())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    page = reader.open(path)
    # Opened and closed again before its texts have been unpacked. Two clicks of the mouse may land on
    # two lines on a busy machine, where the first line's texts arrive between them.
    page.locator(".cell").first.evaluate("cell => { cell.click(); cell.click(); }")
    page.locator(".cell").nth(1).click()
    expect(page.locator(".exchange")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not reader.faults


@pytest.mark.slow
def test_an_address_is_followed_and_nonsense_in_it_ignored(reader: Reader, pages: dict[str, Path]) -> None:
    page = reader.open(pages["run"], "#page=x&model=gone&show=gone&t.run_latency.sort=gone:asc&sample=s7")
    status = page.locator("#browser [role=status]")
    expect(status).to_contain_text("1 to 1 of 1 (20 in all)")
    page.get_by_role("button", name="Remove filter: sample s7").click()
    expect(status).to_contain_text("1 to 20 of 20")
    page.evaluate("location.hash = 'model=sim/flaky'")
    expect(page.locator(".matrix thead")).not_to_contain_text("Abacus")
    assert page.locator("[name=model]").input_value() == "sim/flaky"
    page.goto(pages["index"].as_uri() + "#t.runs.page=x&t.runs.sort=answered:asc")
    expect(page.locator("#runs th[aria-sort]")).to_have_text("answered")
    assert not [fault for fault in reader.faults if "index.html" not in fault]


@pytest.mark.slow
def test_an_address_that_names_samples_leads_to_them(reader: Reader, pages: dict[str, Path]) -> None:
    page = reader.open(pages["allowance"])
    page.get_by_text("Samples, over all runs and models").click()
    page.locator("#costliest_samples a").first.click()
    heading = page.locator("#samples")
    expect(heading).to_be_in_viewport()
    expect(page.locator("#browser [role=status]")).to_contain_text("Remove filter: sample")
    page.evaluate("scrollTo(0, 0)")
    page.reload()
    expect(page.locator(".cell")).to_have_count(len(MODELS))
    assert page.evaluate("scrollY") == 0
    page.evaluate("location.hash = 'sample=s7'")
    expect(heading).to_be_in_viewport()
    for fragment in ("", "#t.run_latency.sort=median:asc", "#model=gone&page=x"):
        page = reader.open(pages["run"], fragment)
        expect(page.locator("#browser [role=status]")).to_contain_text("of 20")
        page.wait_for_timeout(100)
        assert page.evaluate("scrollY") == 0, fragment


@pytest.mark.slow
def test_turning_pages_keeps_the_focus(reader: Reader, tmp_path: Path) -> None:
    page = reader.open(record(tmp_path, [{} for _ in range(120)]))
    page.locator(".pager button", has_text="Next").focus()
    for _ in range(2):
        page.keyboard.press("Enter")
        page.wait_for_timeout(50)
    expect(page.locator("#browser [role=status]")).to_contain_text("51 to 75 of 120")


@pytest.mark.slow
def test_a_page_left_open_says_that_its_texts_are_gone(reader: Reader, tmp_path: Path) -> None:
    noise = random.Random(7)
    texts = [base64.b64encode(noise.randbytes(120_000)).decode() for _ in range(31)]
    (tmp_path / "first").mkdir()
    path = record(tmp_path / "first", [{"answer": f"first{text}"} for text in texts[:30]])
    page = reader.open(path)
    expect(page.locator(".cell")).to_have_count(25)
    (tmp_path / "second").mkdir()
    again = record(tmp_path / "second", [{"answer": f"second{text}"} for text in texts])
    shutil.copytree(again.parent, path.parent, dirs_exist_ok=True)
    write_pages(Ledger(tmp_path / "second" / "ledger.duckdb"), ["r1"], path.parent)
    page.locator(".cell").nth(3).click()
    expect(page.locator(".exchange")).to_contain_text("was this page rendered again? Reload it")
    assert len(list((path.parent / "r1.samples").iterdir())) == len(list((again.parent / "r1.samples").iterdir()))


@pytest.mark.slow
def test_print_has_every_row(reader: Reader, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    writer = JournalWriter(ledger.journal_folder)
    for number in range(60):
        writer.append(started(f"r{number:02}", 1, job=f"j{number}"))
    writer.close()
    write_pages(ledger, ["r00"], tmp_path)
    page = reader.open(tmp_path / "index.html")
    assert page.locator("#jobs tbody tr").count() == 25
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#jobs tbody tr").count() == 60


@pytest.mark.slow
@pytest.mark.parametrize("reader", [LOOKS[0]], indirect=True)
def test_samples_that_no_model_was_asked_have_a_row(reader: Reader, tmp_path: Path, catalogue: PlatformConfig) -> None:
    with ThreadedServer(catalogue) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(10))
        models = job("Abacus Large [careful]", "Abacus Mini [fast]", limit=1)
        bench.write("job.toml", models.replace("[run]", "[budget]\nrequests = 7\n[run]"))
        report = Path(bench.json("run", "job.toml", code=7)["report"])
    page = reader.open(report)
    expect(page.locator("#browser tbody tr")).to_have_count(10)
    assert page.locator("#browser tbody td", has_text="not sent").count() == 2 * 10 - 7
    assert "13 planned requests were not sent; the command that continues the run sends them." in page.inner_text(
        "main"
    )
    assert "never sent" not in page.inner_text("main")
    assert "it has no row" not in page.locator("main").inner_text()
    assert not reader.faults
