"""Every figure on the page is the result of a named query."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.conftest import Workbench, job, sums
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger


class Figures(HTMLParser):
    """Collects the page's `<data>` elements, and what it loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "data":
            self.found.append(given)
        if tag in ("script", "link", "img", "iframe", "object") or "src" in given:
            self.loads.append(tag)


@pytest.fixture
def run(bench: Workbench) -> dict[str, str]:
    bench.write("sums.jsonl", sums(20))
    models = (
        "Abacus Large [careful]",
        "Abacus Mini [fast]",
        "Ponder [thinking only]",
        "Abacus Classic",
        "sim/flaky",
        "sim/locked",
    )
    result: dict[str, str] = bench.json("run", "job.toml", code=3) if bench.write("job.toml", job(*models)) else {}
    return result


def test_every_figure_equals_its_query(run: dict[str, str]) -> None:
    page = Figures()
    page.feed(Path(run["report"]).read_text())
    assert not page.loads
    queries = {figure["data-query"] for figure in page.found}
    assert queries == {
        "run_summary", "run_provenance", "run_scores", "run_items_by_model", "run_outcomes", "run_served", "run_tokens",
        "run_latency",
    }  # fmt: skip
    assert len(page.found) > 100
    with reading(Ledger(run["ledger"])) as reader:
        rows = {query: reader.rows(query, run_id=run["run_id"]) for query in queries}
    for figure in page.found:
        keys = json.loads(figure["data-row"])
        (row,) = [row for row in rows[figure["data-query"]] if all(row[key] == value for key, value in keys.items())]
        value = row[figure["data-column"]]
        assert figure["value"] == ("" if value is None else str(value)), figure


def test_the_object_and_the_page_agree(bench: Workbench, run: dict[str, str]) -> None:
    page = Figures()
    page.feed(Path(run["report"]).read_text())
    shown = {figure["data-column"]: figure["value"] for figure in page.found if figure["data-query"] == "run_summary"}
    for name in ("planned", "reused", "completed", "failed", "pending"):
        assert shown[name] == str(run[name])
    again = bench.json("show", run["run_id"])
    assert again["outcomes"] == run["outcomes"]
    assert again["usage"] == run["usage"]


def test_what_a_model_says_is_inert(bench: Workbench) -> None:
    hostile = (
        "<script>alert(1)</script><img src=x onerror=alert(1)> \u202egnp.exe \x1b[31mred {{ 7*7 }} </pre></details>"
    )
    bench.write(
        "sums.jsonl", json.dumps({"id": hostile, "input": f"{hostile} What is 1 + 1?", "target": hostile}) + "\n"
    )
    bench.write("job.toml", job("sim/prose", name='<b>&"job"').replace('name = "<b>&"job""', "name = '<b>&\"job\"'"))
    result = bench.json("run", "job.toml")
    text = Path(result["report"]).read_text()
    page = Figures()
    page.feed(text)
    assert not page.loads
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<b>&" not in text


def test_a_run_that_sent_nothing_has_a_page(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench("run", "job.toml")
    result = bench.json("run", "job.toml")
    assert "every answer was there already" in Path(result["report"]).read_text()


def test_a_run_in_which_everything_failed_has_a_page(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("sim/locked"))
    text = Path(bench.json("run", "job.toml", code=3)["report"]).read_text()
    assert "0 of 1 models answered everything" in text
    assert "whose tokens nobody reported" in text
