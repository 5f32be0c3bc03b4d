"""What a reader can say after ten seconds: the sentence of each page in each state, within the first 600 pixels."""

import contextlib
import functools
import random
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Reader
from tests.compared_runs import Values, one_journal, record
from tests.conftest import Workbench
from tests.unit.ledger.ledger_rows import STARTED_AT, intent, started
from workbench.ledger.entries import RunEnded
from workbench.ledger.journal import JournalWriter
from workbench.records.outcomes import Outcome
from workbench.report.ledger_pages import PAGES, every_run, write_pages

pytestmark = pytest.mark.browser

RIGHT, HALF = [1.0] * 60, [1.0, 0.0] * 30
SEEN = """() => [...document.querySelectorAll("main :is(h1, p, li, th, td, dd, dt, b)")].filter((one) => {
  const place = one.getBoundingClientRect();
  return place.height > 0 && place.top >= 0 && place.bottom <= 600;
}).map((one) => one.innerText).join("\\n")"""
"""The texts that stand wholly within the first 600 pixels."""
CUT = """() => [...document.querySelectorAll(".score-line b, #models td:nth-child(-n + 3) > *")].filter(
  (one) => one.getBoundingClientRect().right > innerWidth
).map((one) => one.innerText)"""
"""Newest scores, and how models stand, that are partly outside the window: half of `0.500 to 1.000` is another score."""


def nights(bench: Workbench, *, drop: int | None) -> None:
    """Thirty nights of two models, of which one falls from some night on."""
    with one_journal(bench) as journal:
        for night in range(1, 31):
            chance = random.Random(night)
            share = {"quill": 0.5 if drop is not None and night >= drop else 0.9, "other": 0.9}
            values: dict[str, Values] = {
                model: [float(chance.random() < right) for _ in range(60)] for model, right in share.items()
            }
            record(
                bench, f"r{night}", values, journal=journal, occasion=f"2026-10-{night:02}T02:00Z", generation=f"j@{night}",
                scorers=["exact"], job_toml='[gates]\nsteady = ["exact"]\n',
            )  # fmt: skip


def clean(bench: Workbench) -> None:
    record(bench, "r1", {"large": RIGHT, "mini": HALF}, scorers=["exact"])


def before_and_after(bench: Workbench) -> None:
    record(bench, "r1", {"large": RIGHT, "mini": RIGHT}, scorers=["exact"])
    record(bench, "r2", {"large": RIGHT, "mini": HALF}, scorers=["exact"])


def failing(bench: Workbench) -> None:
    lost = {("mini", sample): Outcome.ROUTE_DOWN for sample in range(40)}
    values: dict[str, Values] = {"large": RIGHT, "mini": [None] * 40 + [1.0] * 20}
    record(bench, "r1", values, outcomes=lost, scorers=["exact"], status="incomplete")


def stopped(bench: Workbench) -> None:
    record(bench, "r1", {"large": RIGHT[:20]}, scorers=["exact"], status="stopped")


def one_model(bench: Workbench) -> None:
    record(bench, "r1", {"large": HALF}, scorers=["exact"])


def many_models(bench: Workbench) -> None:
    values = {f"m{n:02}": [float((n * 7 + sample) % 40 > n) for sample in range(60)] for n in range(38)}
    record(bench, "r1", values, scorers=["exact"])


def fallback(bench: Workbench) -> None:
    record(bench, "r1", {"large": RIGHT, "mini": RIGHT}, served={"mini": "large"}, scorers=["exact"])


def judging(bench: Workbench) -> None:
    config = '{"name": "judge", "verdicts": {"CORRECT": 1, "INCORRECT": 0}}'
    waiting = {("large", sample): "pending: `workbench score RUN --yes` asks the judge" for sample in range(30, 60)}
    record(bench, "r1", {"large": [1.0] * 30 + [None] * 30}, config=config, reasons=waiting, scorers=["exact"])


def outage(bench: Workbench) -> None:
    nights(bench, drop=None)
    values: dict[str, Values] = {"quill": [None] * 60, "other": RIGHT}
    lost = {("quill", sample): Outcome.ROUTE_DOWN for sample in range(60)}
    record(
        bench, "r31", values, outcomes=lost, status="incomplete", occasion="2026-10-31T02:00Z", generation="j@31", scorers=["exact"],
        job_toml='[gates]\nsteady = ["exact"]\n',
    )  # fmt: skip


def running(bench: Workbench) -> AbstractContextManager[None]:
    killed(bench)
    return bench.ledger.running("j")


def killed(bench: Workbench) -> None:
    writer = JournalWriter(bench.ledger.journal_folder)
    writer.append(started("r1", 8, recorded_at=STARTED_AT))
    writer.append(intent("r1", 1))
    writer.close()


def empty(bench: Workbench) -> None:
    writer = JournalWriter(bench.ledger.journal_folder)
    writer.append(started("r1", 0, recorded_at=STARTED_AT))
    writer.append(RunEnded("r1", STARTED_AT, "complete", 0, 0.1))
    writer.close()


def dropped(bench: Workbench) -> None:
    nights(bench, drop=20)


def accepted(bench: Workbench) -> None:
    nights(bench, drop=20)
    bench("accept", "j", "--reason", "a cheaper version")


def steady(bench: Workbench) -> None:
    nights(bench, drop=None)


DROP = r"quill is \d+\.\d points below its level before 20 Oct"
State = Callable[[Workbench], AbstractContextManager[None] | None]
"""Records what the pages are about; what it returns is held while they are written."""
SHEET: list[tuple[State, str, str]] = [
    (clean, "index", r"1 job: 1 fine\.(?s:.*)0\.500"),
    (clean, "run", r"large is better than mini by “exact”, by 50\.0 points"),
    (clean, "allowance", r"we used 1.200 tokens; others: unknown; left: unknown"),
    (clean, "routes", r"2 routes"),
    (before_and_after, "job", r"mini scores 50\.0 points less"),
    (before_and_after, "index", r"1 job: 1 regressed\."),
    (failing, "run", r"incomplete(?s:.*)40 failed"),
    (failing, "index", r"1 job: 1 needs action\."),
    (failing, "job", r"incomplete \(mini: 40 of 60 requests unanswered\)"),
    (failing, "routes", r"1 to look at and 1 fine\. Needs attention: mini\.(?s:.*)30 of its newest 50 calls failed"),
    (failing, "allowance", r"The usage of 40 of them is not known: between 0 and 400 tokens"),
    (stopped, "run", r"stopped(?s:.*)20 of 20 answered(?s:.*)large scores 1\.000"),
    (stopped, "index", r"1 job: 1 needs action\.(?s:.*)stopped"),
    (stopped, "job", r"One run so far, which is stopped"),
    (one_model, "run", r"large scores 0\.500"),
    (one_model, "index", r"1 job: 1 fine\."),
    (one_model, "job", r"One run so far: there is nothing to compare it with\."),
    (many_models, "run", r"m00 and m01 tie for best by “exact”(?s:.*)27 of the 36 others are shown to be worse"),
    (many_models, "index", r"1 job: 1 fine\."),
    (many_models, "routes", r"38 routes asked in the 7 days to 20 Nov: 38 fine\."),
    (many_models, "allowance", r"tokens in 2.280 calls on \d+ days?\. Every call"),
    (fallback, "run", r"by a fallback"),
    (fallback, "index", r"1 job: 1 fine\.(?s:.*)1\.000\s+large\s+0\.000 to 1\.000\s+mini"),
    (fallback, "routes", r"1 substituted and 1 fine(?s:.*)60 of its 60 answers are of large"),
    (fallback, "allowance", r"we used 1.200 tokens"),
    (judging, "run", r"30 answers without a judgement"),
    (judging, "index", r"1 job: 1 needs action\.(?s:.*)30 answers without a judgement(?s:.*)0\.500 to 1\.000"),
    (killed, "run", r"no end recorded"),
    (killed, "index", r"1 job: 1 needs action\.(?s:.*)not ended, 8 of 8 requests unanswered"),
    (killed, "job", r"One run so far, which is not ended \(8 of 8 requests unanswered\)"),
    (empty, "run", r"0 of 0 answered"),
    (empty, "index", r"1 job: 1 fine\."),
    (empty, "routes", r"No calls yet\."),
    (empty, "allowance", r"No calls are recorded yet\."),
    (outage, "index", r"1 job: 1 needs action\.(?s:.*)60 of 120 requests unanswered"),
    (outage, "routes", r"1 dead and 1 fine\. Needs attention: quill"),
    (
        outage,
        "job",
        r"the newest is incomplete \(quill: 60 of 60 requests unanswered\)\. No model is shown to be below its level",
    ),
    (running, "run", r"running(?s:.*)8 of 8 requests have no answer yet"),
    (running, "index", r"1 job: 1 running\."),
    (running, "job", r"One run so far, which is running"),
    (running, "allowance", r"No tokens were reported in 1 call(?s:.*)The usage of 1 of them is not known\."),
    (outage, "run", r"quill left all 60 unanswered \(route down: the route\)"),
    (outage, "allowance", r"The usage of 60 of them is not known: between 0 and 600 tokens"),
    (clean, "compare", r"mini − large = −50\.0 points(?s:.*)The other model is shown to be worse than large"),
    (failing, "compare", r"40 of 60 unknown(?s:.*)Too little is known to choose"),
    (fallback, "compare", r"share no sample of which both(?s:.*)Too little is known to choose"),
    (
        many_models,
        "compare",
        r"34 more differences(?s:.*)Of m00 and the 10 models not shown to be worse, m00 takes the fewest",
    ),
    (dropped, "index", DROP),
    (dropped, "job", DROP),
    (accepted, "index", r"1 job: 1 fine\."),
    (accepted, "job", DROP + r" by “exact”; accepted: a cheaper version"),
    (dropped, "run", r"other is better than quill by “exact”"),
    (steady, "job", r"No model is shown to be below its level"),
]


OFTEN = {(clean, "run"), (judging, "run"), (before_and_after, "job"), (failing, "index")}
"""What is opened at every change; the others take longer, or are of the same kind."""


def _case(state: State, page: str, says: str) -> Any:
    marks = () if (state, page) in OFTEN else pytest.mark.slow
    return pytest.param(state, page, says, id=f"{page}-{state.__name__}", marks=marks)


@pytest.fixture(scope="module")
def pages_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[State], Path]:
    """The folder with the pages of a state, which are written once."""

    @functools.cache
    def made(state: State) -> Path:
        bench = Workbench(tmp_path_factory.mktemp(state.__name__), None)
        folder = bench.folder / "reports"
        with state(bench) or contextlib.nullcontext():
            newest = every_run(bench.ledger)[0]
            write_pages(bench.ledger, [newest], folder, over_all=PAGES)[0].rename(folder / "run.html")
        if any(page == "compare" and of is state for of, page, _ in SHEET):
            Path(bench.json("compare", newest)["report"]).rename(folder / "compare.html")
        return folder

    return made


@pytest.mark.parametrize(
    "reader",
    [
        {"viewport": {"width": 1440, "height": 900}},
        pytest.param({"viewport": {"width": 390, "height": 900}}, marks=pytest.mark.slow),
    ],
    indirect=True,
    ids=["wide", "narrow"],
)
@pytest.mark.parametrize(("state", "page", "says"), [_case(*one) for one in SHEET])
def test_the_first_screen_says_it(
    reader: Reader, pages_of: Callable[[State], Path], state: State, page: str, says: str
) -> None:
    (path,) = pages_of(state).glob("job-*.html" if page == "job" else f"{page}.html")
    shown = reader.open(path)
    seen = shown.evaluate(SEEN)
    assert re.search(says, seen), seen
    assert not shown.evaluate(CUT)
    assert not reader.faults
