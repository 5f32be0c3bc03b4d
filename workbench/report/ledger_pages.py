"""The pages over a whole ledger, and a run's, written together so that no link between them is dead."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from workbench.evaluation.alarms import JobWatches
from workbench.evaluation.ongoing import Ongoing
from workbench.evaluation.run_figures import RunFigures
from workbench.ledger.queries import Reader, reading
from workbench.ledger.rows import RunId
from workbench.ledger.store import POLL_S, Ledger
from workbench.report.allowance_page import allowance_page
from workbench.report.build import (
    Draft,
    Page,
    PageContext,
    SingleFile,
    asked_of,
    ledger_page,
    page_context,
    take_rights_of,
)
from workbench.report.index_page import index_page
from workbench.report.job_page import job_page
from workbench.report.routes_page import routes_page
from workbench.report.run_page import run_page

INDEX = Page("index", "Runs", index_page)
ROUTES = Page("routes", "Routes", routes_page)
PAGES = (
    INDEX,
    Page("allowance", "Allowance", allowance_page),
    ROUTES,
)
_RUNS_A_READING = 8
"""What they share is asked once; a run that has ended waits for as many to be ingested."""
_READINGS_AT_ONCE = 2
"""Of 199 runs on two cores: 39 s, not 57; two thirds of the time are DuckDB's, which works beside Python."""


def write_pages(
    ledger: Ledger,
    run_ids: Sequence[str],
    folder: Path,
    *,
    over_all: Sequence[Page] = PAGES,
    each: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Render the pages of some runs, and those over the whole ledger.

    Args:
        ledger: Where the runs are.
        run_ids: Whose pages are wanted.
        folder: For pages; created if missing.
        over_all: Which of the latter; the others stay as they are.
        each: Called with every run once its page is there, by several threads where there are many.

    Returns:
        The absolute paths: the runs' in their order, then those of `over_all`. The pages of their jobs are rendered as well.

    Raises:
        InputError: A run is not there.
    """
    written, jobs, watches = dict[str, Path](), dict[str, None](), JobWatches()

    def write_from(start: int) -> None:
        with asked_of(ledger, folder, watches, over_all) as asked:
            for run_id in run_ids[start : start + _RUNS_A_READING]:
                job, write = run_page(asked, run_id, PAGES)
                written[run_id], jobs[job] = write(), None  # at once: the texts of several need not fit into memory
                each(run_id)

    starts = range(1, len(run_ids), _RUNS_A_READING)
    with ThreadPoolExecutor(_READINGS_AT_ONCE) as pool:
        for place in range(0, len(starts), _READINGS_AT_ONCE):
            list(pool.map(write_from, starts[place : place + _READINGS_AT_ONCE]))  # the first error ends it
            time.sleep(4 * POLL_S)  # else a run that has ended never finds the ledger without a reader
    first = run_ids[:1]
    with asked_of(ledger, folder, watches, over_all) as asked:
        write = _together(asked, [run_page(asked, run_id, PAGES) for run_id in first], jobs, over_all)
    paths = write()
    for run_id, path in zip(first, paths, strict=False):
        written[run_id] = path
        each(run_id)
    return [written[run_id] for run_id in run_ids] + paths[len(first) :]


def _together(
    asked: PageContext, runs: Sequence[tuple[str, Draft]], jobs: Iterable[str], over_all: Sequence[Page]
) -> Callable[[], list[Path]]:
    """Ask what pages show beside those of some runs; returns what writes all of them, and their paths but for those of jobs.

    Args:
        runs: Pages of runs, each with the name of its job.
        jobs: Further ones whose pages are wanted.
    """
    of_jobs = [job_page(asked, job, PAGES) for job in dict.fromkeys([*jobs, *(job for job, _ in runs)])]
    whole = [ledger_page(asked, page, PAGES) for page in over_all]

    def write() -> list[Path]:
        paths = [draft() for _, draft in runs]
        for draft in of_jobs:
            draft()
        paths += [draft() for draft in whole]
        take_rights_of(asked.folder)
        return paths

    return write


def ended_run_pages(
    ledger: Ledger, folder: Path, read: tuple[Reader, list[Ongoing]], figures: RunFigures
) -> Callable[[], list[Path]]:
    """Ask what the pages of a run that has just ended, of its job and of all runs show, where its figures are known already.

    Args:
        read: As `reading_with_ongoing` yields it.

    Returns:
        What writes them, once the ledger is let go, and returns the absolute paths: the run's first.
    """
    asked = page_context(ledger, folder, read, over_all=(INDEX,))
    return _together(asked, [run_page(asked, figures.provenance.run_id, PAGES, figures)], (), (INDEX,))


def single_page(ledger: Ledger, run_id: str, folder: Path, single: SingleFile = SingleFile()) -> Path:  # noqa: B008 - frozen
    """Render the page of a run as one file to send, which needs nothing beside it.

    Args:
        single: What it says and leaves out.

    Returns:
        Its absolute path.

    Raises:
        InputError: The run is not there.
    """
    with asked_of(ledger, folder, single=single) as asked:
        _, write = run_page(asked, run_id, ())
    return write()


def every_run(ledger: Ledger) -> list[str]:
    """Return the ids of all runs, newest first."""
    with reading(ledger) as reader:
        return [run.run_id for run in reader.all(RunId)]


def newest_run(ledger: Ledger) -> list[str]:
    """Return the id of the newest run that is not a judge's, where there is one."""
    with reading(ledger) as reader:
        return [run.run_id for run in reader.all(RunId) if not run.judges][:1]
