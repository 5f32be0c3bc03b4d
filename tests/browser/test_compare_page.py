"""The page of a comparison."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Reader
from tests.compared_runs import Values, record
from tests.conftest import Workbench
from workbench.records.outcomes import Outcome

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = "<script>alert(1)</script>{0}\x1b[31m\u202e<img src=x onerror=alert(2)> {1}"


@pytest.mark.parametrize(
    "reader",
    [
        {"viewport": {"width": 1440, "height": 900}},
        pytest.param({"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"}, marks=pytest.mark.slow),
        pytest.param(
            {"viewport": {"width": 1440, "height": 900}, "java_script_enabled": False}, marks=pytest.mark.slow
        ),
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
    if reader.scripted:
        expect(page.locator("label", has_text="worse 12")).to_be_visible()
        shown = page.locator(".exchange").first
        expect(shown.locator("mark").first).to_be_visible()
    else:
        shown = page.locator("#first-apart details").first
        shown.locator("summary").press("Enter")
    expect(shown.locator("pre").nth(1)).to_contain_text("<script>alert(1)</script>")
    assert page.locator("main script:not([type])").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not reader.faults


def test_it_opens_at_its_top_where_the_first_pair_is_the_same(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    record(bench, "r1", {"large": [1.0] * 40, "mini": [1.0] * 40, "other": [0.0] * 20 + [1.0] * 20}, said=HOSTILE)
    report = bench.json("compare", "--baseline", "large")["report"]
    page = reader.open(report)
    expect(page.locator("label", has_text="same 40")).to_be_visible()
    assert page.evaluate("[scrollY, location.hash]") == [0, ""]
    page.get_by_label("beside the baseline").select_option("other")
    page.get_by_label("same 20").check()
    linked = reader.open(report, page.evaluate("location.hash"))
    expect(linked.get_by_label("same 20")).to_be_checked()
    expect(linked.locator("#apart")).to_be_in_viewport()  # an address that names samples leads to them
    assert not reader.faults


@pytest.mark.parametrize("reader", [{"viewport": {"width": 1280, "height": 800}}], indirect=True)
def test_ten_columns_fit_a_usual_screen(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    values: dict[str, Values] = {
        "Heron [thinking]": [1.0] * 50 + [0.0] * 10,
        "Quill 32B, the larger": [None, None, *[1.0] * 40, *[0.0] * 18],
    }
    ends = {("Quill 32B, the larger", 0): Outcome.TRUNCATED, ("Quill 32B, the larger", 1): Outcome.REFUSED}
    record(bench, "r1", values, outcomes=ends)
    page = reader.open(bench.json("compare")["report"])
    table = page.locator("#sides")
    assert table.locator("thead th").count() == 10
    assert table.evaluate("table => table.offsetWidth <= table.parentElement.clientWidth")
    assert not reader.faults


@pytest.mark.parametrize("reader", [{"viewport": {"width": 390, "height": 800}}], indirect=True)
def test_a_legend_has_every_model_and_no_two_marks_alike(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    models = {f"m{n}": [float((n + sample) % 3 > 0) for sample in range(12)] for n in range(38)}
    record(bench, "r1", models)
    page = reader.open(bench.json("compare")["report"])
    figure = page.locator("figure", has_text="What does a better answer cost?")
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".drawing.live")).to_be_visible()
    expect(figure.locator(".role-legend-label text")).to_have_text([*models])
    marks = figure.locator(".role-legend-symbol path").evaluate_all(
        "marks => marks.map((mark) => `${mark.getAttribute('d')} ${mark.getAttribute('fill')}`)"
    )
    assert len(set(marks)) == len(models)
    assert not reader.faults


def test_another_baseline_is_a_choice_that_the_address_keeps(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    topics = [{"level": sample % 3, "topic": "algebra" if sample % 2 else "logic"} for sample in range(20)]
    values: dict[str, Values] = {"large": [1.0] * 20, "mini": [0.0] * 12 + [1.0] * 8, "other": [1.0] * 19 + [None]}
    record(bench, "r1", values, metadata=topics)
    found = bench.json("compare", "--by", "topic")
    page = reader.open(found["report"])
    expect(page.locator("label", has_text="worse 12")).to_be_visible()
    page.locator("#baseline").select_option("mini")
    against = bench.json("compare", "--baseline", "mini", "--by", "topic", "--no-report")
    told = [row["says"] for row in sorted(against["differences"], key=lambda row: -abs(row["found"]["difference"]))]
    expect(page.locator("p.verdict:visible")).to_have_text(told)
    expect(page.locator("#sides tbody tr", has_text="mini")).to_contain_text("baseline")
    expect(page.locator("label", has_text="better 12")).to_be_visible()
    page.locator("select[name=side]").select_option("other")
    expect(page.locator("[role=status]")).to_have_text("1 to 10 of 12")
    page.locator("label", has_text="not comparable 1").click()
    expect(page.locator(".exchange")).to_have_count(1)
    expect(page.locator(".exchange h3").first).to_have_text("sample 19")
    assert set(page.url.split("#")[1].split("&")) == {"baseline=mini", "side=other", "show=not+comparable"}
    again = reader.open(found["report"], "#" + page.url.split("#")[1])
    expect(again.locator(".exchange h3").first).to_have_text("sample 19")
    expect(again.locator("#sides tbody tr").first.locator("td").nth(2)).to_contain_text("+60.0")
    slices = again.locator("#slices + details tbody tr")
    assert [cell.split()[0] for cell in slices.locator("th").all_inner_texts()] == ["algebra", "logic"]
    parts = {(row["value"], row["model"]): row["difference"] for row in against["slices"]}
    expect(slices.first.locator("td").nth(1)).to_contain_text(f"+{100 * parts['algebra', 'large']:.1f}")
    assert not reader.faults


def test_a_comparison_of_many_answers_is_small_and_opens(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    values = {f"m{n}": [float((sample * (n + 3)) % 7 > n) for sample in range(2_000)] for n in range(5)}
    record(bench, "r1", values)
    found = bench.json("compare")
    assert Path(found["report"]).stat().st_size < 3 * 2**20
    assert [side["scored"] for side in found["sides"]] == [2_000] * 5
    expect(reader.open(found["report"]).locator("#sides")).to_be_visible()


@pytest.mark.parametrize("reader", [{"viewport": {"width": 390, "height": 800}}], indirect=True)
def test_the_main_effects_follow_the_baseline(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    right: dict[str, Values] = {
        "a · plain": [0.0] * 16 + [1.0] * 4, "a · rubric": [1.0] * 18 + [0.0] * 2,
        "b · plain": [0.0] * 14 + [1.0] * 6, "b · rubric": [1.0] * 19 + [0.0],
    }  # fmt: skip
    record(bench, "r1", right, variants=["plain", "rubric"], scorers=["exact"])
    there, against = (bench.json("compare", *options) for options in ((), ("--baseline", "b · rubric", "--no-report")))
    page = reader.open(there["report"])
    expect(page.locator("p.verdict").first).to_have_text(there["factors"]["says"])
    expect(page.locator("#grid tbody tr").nth(1)).to_contain_text("best")
    page.locator("#baseline").select_option("b · rubric")
    expect(page.locator("p.verdict").first).to_have_text(against["factors"]["says"])
    expect(page.locator("#effects tbody tr").first).to_contain_text("plain − rubric")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not reader.faults
