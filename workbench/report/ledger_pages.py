"""The pages over a whole ledger, and a run's, written together so that no link between them is dead."""

from collections.abc import Callable, Sequence
from pathlib import Path

from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.report.allowance_page import allowance_page
from workbench.report.build import write_page
from workbench.report.index_page import index_page
from workbench.report.routes_page import routes_page
from workbench.report.run_page import write_run_page

_EVERY_RUN = 2**62


def write_pages(
    ledger: Ledger, run_ids: Sequence[str], folder: Path, *, each: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Render the pages of some runs, and those over the whole ledger.

    Args:
        ledger: Where the runs are.
        run_ids: Whose pages are wanted.
        folder: For pages; made if it is not there.
        each: Told of every run once its page is there.

    Returns:
        The absolute paths: the runs' in their order, then index, allowance and routes.

    Raises:
        InputError: A run is not there.
    """
    paths = []
    for run_id in run_ids:
        paths.append(write_run_page(ledger, run_id, folder))
        each(run_id)
    for name, page in (("index", index_page), ("allowance", allowance_page), ("routes", routes_page)):
        with reading(ledger) as reader:
            content = page(reader, folder)
        paths.append(write_page(folder, f"{name}.html", content()))
    return paths


def every_run(ledger: Ledger) -> list[str]:
    """The ids of all runs, newest first."""
    with reading(ledger) as reader:
        return [str(row["run_id"]) for row in reader.rows("runs", most=_EVERY_RUN, run_ids=None)]
