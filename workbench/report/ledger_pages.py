"""The pages over a whole ledger, and a run's, written together so that no link between them is dead."""

from collections.abc import Callable, Sequence
from pathlib import Path

from workbench.ledger.queries import reading
from workbench.ledger.rows import RunId
from workbench.ledger.store import Ledger
from workbench.report.allowance_page import allowance_page
from workbench.report.build import Asked, Page, colours_of, ledger_frame, render, result, write_page
from workbench.report.index_page import index_page
from workbench.report.job_page import write_job_page
from workbench.report.routes_page import routes_page
from workbench.report.run_page import write_run_page

PAGES = (
    Page("index", "Runs", index_page),
    Page("allowance", "Allowance", allowance_page),
    Page("routes", "Routes", routes_page),
)


def write_pages(
    ledger: Ledger, run_ids: Sequence[str], folder: Path, *, each: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Render the pages of some runs, and those over the whole ledger.

    Args:
        ledger: Where the runs are.
        run_ids: Whose pages are wanted.
        folder: For pages; created if missing.
        each: Called with every run once its page is there.

    Returns:
        The absolute paths: the runs' in their order, then those of `PAGES`. The pages of their jobs are rendered as well.

    Raises:
        InputError: A run is not there.
    """
    paths = []
    jobs: dict[str, None] = {}
    for run_id in run_ids:
        path, job = write_run_page(ledger, run_id, folder, PAGES)
        paths.append(path)
        jobs[job] = None
        each(run_id)
    for job in jobs:
        write_job_page(ledger, job, folder, PAGES)
    return paths + [write_ledger_page(ledger, page, folder) for page in PAGES]


def write_ledger_page(ledger: Ledger, page: Page, folder: Path) -> Path:
    """Render one page over a whole ledger; returns its absolute path."""
    with reading(ledger) as reader:
        period = result(reader, "ledger_period")
        content = page.build(
            Asked(reader, ledger.name, folder, period, colours_of(reader), ledger.zone, ledger.allowance)
        )
    frame = ledger_frame(page.name, page.title, period.rows[0])
    return write_page(folder, f"{page.name}.html", render(frame, PAGES, content()))


def every_run(ledger: Ledger) -> list[str]:
    """The ids of all runs, newest first."""
    with reading(ledger) as reader:
        return [run.run_id for run in reader.all(RunId)]
