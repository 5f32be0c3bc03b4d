"""Every figure on every page is the result of a named query; what a model says is inert; odd states have pages."""

import base64
import gzip
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.compared_runs import one_journal, record
from tests.conftest import Workbench, job, one_route, sums
from tests.pages import Page, as_shown
from workbench.evaluation.ongoing import reading_with_ongoing
from workbench.evaluation.run_figures import run_figures
from workbench.ledger.queries import Reader
from workbench.local_platform.config import PlatformConfig
from workbench.local_platform.server import ThreadedServer
from workbench.records.outcomes import Outcome
from workbench.report.ledger_pages import ended_run_pages, write_pages
from workbench.scoring.exact import Exact
from workbench.scoring.judge import PENDING

MODELS = (
    "Abacus Large [careful]",
    "Abacus Mini [fast]",
    "Ponder [thinking only]",
    "Abacus Classic",
    "sim/flaky",
    "sim/locked",
)
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)> \u202egnp.exe \x1b[31mred {{ 7*7 }} </pre></details>"
    "\x00\x07\u2066\ufffe </script><!-- & \" ' `"
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, catalogue: PlatformConfig) -> Iterator[Workbench]:
    with ThreadedServer(catalogue) as server:
        yield Workbench(tmp_path_factory.mktemp("desk"), server)


@pytest.fixture(scope="module")
def run(desk: Workbench) -> dict[str, Any]:
    desk.write("sums.jsonl", sums(20))
    desk.write("job.toml", job(*MODELS))
    result: dict[str, Any] = desk.json("run", "job.toml", code=3)
    return result


def test_every_figure_of_a_run_equals_its_query(desk: Workbench, run: dict[str, Any]) -> None:
    page = Page(run["report"])
    assert not page.loads
    assert page.queries - {"run_latency_course", "run_pace"} == {  # which a run that is over at once does not have
        "run_summary", "run_provenance", "run_scores", "run_items_by_model", "run_outcomes", "run_served", "run_tokens",
        "run_latency", "run_item_outcomes", "side_figures",
    }  # fmt: skip
    assert len(page.figures) > 100
    page.check(desk.ledger)


def test_a_run_s_three_pages_ask_twenty_queries(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its second run, which has one before it."""
    bench.write("sums.jsonl", sums(4))
    bench.write("job.toml", job("sim/instant", "Abacus Mini [fast]"))
    ids = [bench.json("run", "job.toml", "--fresh", "--no-report")["run_id"] for _ in range(2)]
    asked: list[str] = []
    with reading_with_ongoing(bench.ledger) as read:
        figures = run_figures(read[0].at_once(), ids[1])
        monkeypatch.setattr(Reader, "_execute", noting(Reader._execute, asked))
        ended_run_pages(bench.ledger, bench.folder / "reports", read, figures)
    assert "job_changes" in asked
    assert len(asked) <= 20, asked


def noting(execute: Callable[..., Any], asked: list[str]) -> Callable[..., Any]:
    def noted(reader: Reader, query: str, *more: Any) -> Any:
        asked.append(query)
        return execute(reader, query, *more)

    return noted


@pytest.mark.slow
def test_every_figure_over_the_ledger_equals_its_query(desk: Workbench, run: dict[str, Any]) -> None:
    desk.write("other.toml", job("Toolsmith (forced ok)", "Abacus Mini [fast]", name="other"))
    desk.json("run", "other.toml")
    desk("report")
    expected = {
        "index": {"runs", "jobs", "newest_run_scores"},
        "allowance": {"spend", "usage_by", "unknown_draw", "costliest_runs", "costliest_samples"},
        "routes": {"routes", "route_outcomes", "route_matrix"},
    }
    for name, queries in expected.items():
        page = Page(Path(run["report"]).with_name(f"{name}.html"))
        assert not page.loads
        assert queries <= page.queries | {"newest_run_scores", "unknown_draw"}, (name, page.queries)
        page.check(desk.ledger)


def test_the_object_and_the_page_agree(desk: Workbench, run: dict[str, Any]) -> None:
    page = Page(run["report"])
    shown = {figure["column"]: figure["value"] for figure in page.figures if figure["query"] == "run_summary"}
    for name in ("planned", "failed"):
        assert shown[name] == str(run[name])
    assert shown["answered"] == str(run["reused"] + run["completed"])
    again = desk.json("show", run["run_id"])
    assert again["outcomes"] == run["outcomes"]
    assert again["usage"] == run["usage"]


def test_what_a_model_says_is_inert(bench: Workbench) -> None:
    row = {"id": HOSTILE, "input": f"{HOSTILE} What is 1 + 1?", "target": HOSTILE}
    bench.write("sums.jsonl", json.dumps(row) + "\n" + sums(1))
    bench.write("job.toml", job("sim/prose", name="j").replace('name = "j"', "name = '<b>&\"job\"'"))
    result = bench.json("run", "job.toml")
    for path in Path(result["report"]).parent.glob("*.html"):
        page = Page(path)
        assert not page.loads
        assert "<script>alert" not in page.text
        assert "<b>&" not in page.text
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e\u2066\ufffe]", page.text)
    assert "&lt;script&gt;" in Path(result["report"]).read_text("utf-8")


def test_links_between_pages_are_alive(run: dict[str, Any]) -> None:
    folder = Path(run["report"]).parent
    for path in folder.glob("*.html"):
        for target in re.findall(r'href="(?!data:)([^"#]+)', path.read_text("utf-8")):
            assert (folder / target).exists(), (path.name, target)


@pytest.mark.slow
def test_the_pages_of_every_run(desk: Workbench, run: dict[str, Any]) -> None:
    desk.json("run", "job.toml", code=None)
    told = desk.json("report", "--all", "--reports", "all")
    names = {Path(path).name for path in told["pages"]}
    assert names == {f"{row['run_id']}.html" for row in desk.json("runs")} | {
        "index.html",
        "allowance.html",
        "routes.html",
    }
    assert Path(told["report"]).name == "index.html"


@pytest.mark.file_ledger
@pytest.mark.slow
@pytest.mark.file_ledger
def test_a_run_that_ends_meanwhile_is_ingested_before_every_page_is_written(tmp_path: Path) -> None:
    """One reading followed another so closely that whoever wanted to write waited until the last page."""
    bench, written, found = Workbench(tmp_path, None), list[str](), list[int]()
    runs = [f"r{number}" for number in range(1, 19)]
    with one_journal(bench) as journal:
        for run_id in runs:
            record(bench, run_id, {"m": [1.0] * 3}, journal=journal)

    def write() -> None:
        with bench.ledger.locked(exclusive=True, patience_s=60):
            found.append(len(written))

    writer = threading.Thread(target=write)

    def each(run_id: str) -> None:
        written.append(run_id)
        if len(written) == 1:
            writer.start()

    write_pages(bench.ledger, runs, tmp_path / "reports", each=each)
    writer.join()
    assert found[0] < len(runs)


@pytest.mark.slow
def test_pages_are_the_same_with_a_damaged_cache_and_without_any(bench: Workbench, tmp_path: Path) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("sim/instant"))
    bench("run", "job.toml")
    caches = tmp_path / "caches"

    def written(cache: Path) -> str:
        bench.environment["XDG_CACHE_HOME"] = str(cache)
        page = Path(bench.process("report", "last").stdout.splitlines()[0])
        return re.sub(r'nonce[-=]"?[\w-]+|<time[^>]*>[^<]*|\d+:\d+:\d+', "", page.read_text())

    first = written(caches)
    kept = list((caches / "workbench" / "templates").iterdir())
    assert len(kept) > 3
    assert written(caches) == first
    for path in kept:
        path.write_bytes(path.read_bytes()[:99])
    assert written(caches) == first
    (tmp_path / "file").touch()  # where the folder would be
    assert written(tmp_path / "file") == first


@pytest.mark.file_ledger  # a team's is there before any run, and has an index
def test_a_report_before_any_run_is_refused_with_the_next_step(bench: Workbench) -> None:
    assert "workbench" in bench("report", code=2).stderr


@pytest.mark.slow
def test_a_run_that_sent_nothing_has_a_page(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    bench("run", "job.toml")
    result = bench.json("run", "job.toml")
    page = Page(result["report"])
    assert "of them reused" in page.text
    page.check(bench.ledger)
    assert set(result["usage"].values()) == {0}
    assert bench.json("show", result["run_id"])["usage"] == result["usage"]
    assert "<span>nothing was sent</span>" in page.text
    assert "without usage" not in page.text
    assert bench.json("runs")[0]["total_tokens"] == 0


@pytest.mark.slow
def test_a_run_in_which_everything_failed_has_a_page(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("sim/locked"))
    result = bench.json("run", "job.toml", code=3)
    page = Page(result["report"])
    assert "sim/locked left all 3 unanswered" in page.text
    page.check(bench.ledger)
    bench("report")
    routes = Path(result["report"]).with_name("routes.html").read_text("utf-8")
    assert "3 of its newest 3 calls failed" in routes
    index = Path(result["report"]).with_name("index.html").read_text("utf-8")
    assert "Needs attention" in index
    assert "1 job: 1 needs action." in index
    allowance = Path(result["report"]).with_name("allowance.html").read_text("utf-8")
    assert "Most expensive" not in allowance


@pytest.mark.slow
def test_a_route_that_was_given_up_did_not_fail_on_what_it_was_never_asked(tmp_path: Path) -> None:
    with ThreadedServer(one_route(unavailable=True)) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(12))
        bench.write("job.toml", job("m", limit=1))
        result = bench.json("run", "job.toml", code=3)
    assert result["failed"] > result["pending"] > 0
    text = Page(result["report"]).text
    failed = (
        f"{result['failed']} failed (route down: the route), {result['pending']} not sent, in flight or interrupted"
    )
    assert f"12 of 12 requests have no answer: {failed}." in text
    assert "left all" not in text


@pytest.mark.slow
def test_a_run_whose_requests_were_all_refused_is_not_fine(tmp_path: Path) -> None:
    with ThreadedServer(one_route(faults=[{"share": 1, "status": 400}])) as server:
        bench = Workbench(tmp_path, server)
        bench.write("sums.jsonl", sums(3))
        bench.write("job.toml", job("m"))
        result = bench.json("run", "job.toml", code=None)
    assert (result["status"], result["failed"]) == ("complete", 3)
    assert '<span class="failed">complete</span>' in Page(result["report"]).text
    index = Path(result["report"]).with_name("index.html").read_text("utf-8")
    assert "1 job: 1 needs action." in index
    assert '<span class="failed">complete</span>, 3 of 3 requests unanswered (3 failed, 0 pending).' in index
    assert 'class="ok">complete' not in index


@pytest.mark.slow
def test_one_model_alone_is_not_the_best(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("sim/instant"))
    page = Page(bench.json("run", "job.toml")["report"])
    assert "<td>best</td>" not in page.text


@pytest.mark.slow
def test_commands_of_a_page_do_what_they_say_from_anywhere(bench: Workbench) -> None:
    """Nothing is compared where nothing is scored, and corrected targets are looked up in the ledger of the page."""
    names = ["m", "n", "o"]
    lost = {(name, sample): Outcome.ROUTE_DOWN for name in names for sample in range(4)}
    record(bench, "r1", {name: [None] * 4 for name in names}, scorers=["exact"], outcomes=lost, status="incomplete")
    record(bench, "r2", {name: [0.0] * 4 for name in names}, scorers=["exact"], said="9", targets=["8"] * 4,
           extracted=lambda _model, _sample: "9")  # fmt: skip
    assert "nothing is scored" in bench("compare", "r1", code=2).stderr
    unscored, scored = (Page(bench.json("report", run)["report"]).text for run in ("r1", "r2"))
    named = f"--ledger {as_shown(bench.ledger)}"
    assert "workbench compare" not in unscored
    assert f"<code>workbench compare r2 {named}</code>" in scored
    assert re.search(rf"<code>workbench targets diff \S+ {re.escape(named)}</code>", scored)


@pytest.mark.slow
def test_one_call_is_no_calls(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(1))
    bench.write("job.toml", job("sim/instant"))
    text = re.sub("<[^>]+>", "", Page(bench.json("run", "job.toml")["report"]).text)
    assert "tokens in 1 call\n" in text
    assert ": 1 sample (hash" in text


@pytest.mark.slow
def test_answers_that_were_cut_off_are_answers_of_no_use_everywhere(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job("sim/instant").replace("max_tokens = 64", "max_tokens = 3"))
    page = Page(bench.json("run", "job.toml", code=None)["report"])
    assert re.search(r"<b>\s*<data[^>]*>3</data></b> of <data[^>]*>3</data> answered", page.text)
    assert '<span class="wasted">3 of them cut off</span>' in page.text
    assert '<td class="n">0 of 3</td>\n<td class="n"><span class="wasted">3</span> of 3</td>' in page.text


@pytest.mark.slow
def test_an_empty_answer_is_the_doing_of_the_model_everywhere(bench: Workbench) -> None:
    """The verdict, the table of models and the chart beside it say the same of whose fault it is."""
    ended = {("m", 3): Outcome.EMPTY, ("n", 3): Outcome.ROUTE_DOWN}
    record(bench, "r1", {name: [1.0, 1.0, 1.0, None] for name in "mn"}, outcomes=ended, scorers=["exact"])
    text = Page(bench.json("report", "r1")["report"]).text
    assert "m left 1 of 4 unanswered (empty: the model)." in text
    assert [text.count(f'<small class="soft">1 {fault}</small>') for fault in ("model", "route")] == [1, 1]
    assert '"group":"model"' in text.replace(" ", "")


@pytest.mark.slow
def test_scores_are_printed_before_the_page_is_made(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    lines = bench("run", "job.toml").stdout.splitlines()
    assert lines[-1].startswith("page: ")
    folder = Path(lines[-1].removeprefix("page: ")).parent
    (folder / "index.html").unlink()
    (folder / "index.html").mkdir()  # no page can be put there
    done = bench("run", "job.toml", "--fresh", code=3)
    assert any(line.startswith("sim/instant") for line in done.stdout.splitlines()), "the scores are there all the same"
    assert "page: " not in done.stdout
    assert "note: scores or page are missing" in done.stderr
    assert "error: " in done.stderr


@pytest.mark.slow
def test_a_run_writes_its_own_pages_and_says_how_old_the_others_are(bench: Workbench) -> None:
    bench.write("sums.jsonl", sums(3))
    bench.write("job.toml", job())
    run = Path(bench.json("run", "job.toml")["report"])
    written = {path.name.split("-")[0] for path in run.parent.glob("*.html")}
    assert written == {run.name.split("-")[0], "index.html", "job"}
    index = run.with_name("index.html").read_text("utf-8")
    assert "Allowance: not written yet; Routes: not written yet." in re.sub(r"<[^>]*>", "", index)
    assert "workbench report --ledger" in index
    linked = {
        name for page in run.parent.glob("*.html") for name in re.findall(r'href="([\w.-]+\.html)"', page.read_text())
    }
    assert all(run.with_name(name).exists() for name in linked), "no link is dead"
    bench("report")
    assert "written yet" not in run.with_name("index.html").read_text("utf-8")
    assert 'href="allowance.html"' in run.read_text("utf-8")
    bench("run", "job.toml", "--fresh")
    assert re.search(r"Allowance: as of \d{4}-", re.sub(r"<[^>]*>", "", run.with_name("index.html").read_text("utf-8")))


def unpacked(path: Path) -> str:
    """A page's text, what its script unpacks included."""
    text = path.read_text("utf-8")
    packed = re.findall(r'<script type="text/plain"[^>]*>([A-Za-z0-9+/=]+)</script>', text)
    assert packed
    return text + "".join(gzip.decompress(base64.b64decode(part)).decode() for part in packed)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_file_to_send_says_what_it_is_asked_to_and_no_more(
    desk: Workbench, run: dict[str, Any], command: str
) -> None:
    asked = re.compile(r"What is \d")  # how each prompt of the sums begins
    sent = ("--single-file", "--note", "For the <board>: is Mini good enough?", "--reports", "sent")
    whole = unpacked(desk.folder / desk.json(command, run["run_id"], *sent)["report"])
    assert "For the &lt;board&gt;: is Mini good enough?" in whole
    assert asked.search(whole)
    bare = unpacked(desk.folder / desk.json(command, run["run_id"], *sent, "--without-texts")["report"])
    assert not asked.search(bare)
    assert "left out of this file" in bare
    for text in (whole, bare):
        assert str(desk.folder) not in text
        assert f"{socket.gethostname()}, process" not in text
        assert "127.0.0.1" not in text, "where the platform is"
        assert "<span>key " not in text
        assert "<code>workbench" not in text, "whoever is sent it has no ledger"
    assert asked.search(unpacked(desk.folder / desk.json(command, run["run_id"])["report"]))


def test_a_comparison_to_send_without_texts_names_no_text_as_a_part_of_the_dataset(bench: Workbench) -> None:
    asked = "Why does ice float on water, and what follows?"
    columns = [{"topic": f"t{sample % 2}", "question": f"{asked} {sample % 2}"} for sample in range(8)]
    record(bench, "r1", {"large": [1.0] * 8, "mini": [0.0] * 8}, scorers=["exact"], metadata=columns)
    sent = ("compare", "r1", "--single-file")
    for options, has_texts in (((), True), (("--without-texts",), False)):
        text = unpacked(bench.folder / bench.json(*sent, *options)["report"])
        assert "topic: 2 parts" in text
        assert (asked in text) is has_texts


@pytest.mark.slow
def test_a_file_to_send_without_texts_names_no_target_that_is_a_text(bench: Workbench) -> None:
    names = [f"Aisha Bello, aisha.bello{n}@example.org" for n in range(2)]
    targets = [names[n % 2] for n in range(20)]
    said = {(model, n): target for model in ("large", "mini") for n, target in enumerate(targets)}
    record(
        bench, "r1", {"large": [1.0] * 20, "mini": [1.0] * 20}, targets=targets, said=said,
        extracted=lambda model, n: said[model, n], scorers=["exact"], config=Exact().settings,
    )  # fmt: skip
    for options, has_texts in (((), True), (("--without-texts",), False)):
        text = unpacked(bench.folder / bench.json("report", "r1", "--single-file", *options)["report"])
        assert ("Aisha" in text) is has_texts
        assert ("37 characters" in text) is ("37 characters (2)" in text) is not has_texts


@pytest.mark.slow
def test_a_file_to_send_without_texts_names_no_constant_that_is_a_text(bench: Workbench) -> None:
    target = "Aisha Bello, aisha.bello@example.org"
    rows = [{"input": f"Who is {number}?", "target": target} for number in range(8)]
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    gates = "[gates]\nmin_over_constant = {exact = 0.1}\n"
    bench.write("job.toml", job("Abacus Mini [fast]", "Abacus Large [careful]").replace('"numeric"', '"exact"') + gates)
    bench("run", "job.toml", "--no-report", code=None)
    for command in ("report", "compare"):
        for options, has_texts in (((), True), (("--without-texts",), False)):
            text = unpacked(bench.folder / bench.json(command, "last", "--single-file", *options)["report"])
            assert ("Aisha" in text) is has_texts
            assert has_texts or "36 characters" in text


def test_what_a_judge_is_still_to_say_is_not_what_it_could_not(bench: Workbench) -> None:
    waiting = {("m", sample): PENDING for sample in range(30)}
    record(bench, "r1", {"m": [None] * 30 + [1.0] * 30}, reasons=waiting, scorers=["exact"])
    told = bench("show", "r1")
    page = Path(bench.json("report", "r1")["report"]).read_text("utf-8")
    for text in (told.stdout + told.stderr, page.split("<main", 1)[1].split("<script", 1)[0]):
        assert "30 answers without a judgement" in text
        assert "could not judge 30" not in text


def test_a_note_without_a_file_to_send_is_an_error(desk: Workbench, run: dict[str, Any]) -> None:
    for command in ("report", "compare"):
        done = desk(command, run["run_id"], "--note", "x", code=2)
        assert "add --single-file" in done.stderr
