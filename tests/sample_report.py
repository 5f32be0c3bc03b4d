"""Renders the sample report of `reports/sample/` and its picture: the example jobs on the embedded platform.

python -m tests.sample_report
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import duckdb
from playwright.sync_api import sync_playwright

from tests.browser.conftest import installed_chromium
from tests.conftest import COMMAND

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "reports" / "sample"
JOBS = ("quickstart", "grade-answers", "tools", "extract", "compare-prompts", "compare-routes")
_SAID_GENERALLY = """
UPDATE runs SET host = 'laptop', pid = 4711, git_commit = NULL, git_dirty = NULL,
    job_path = 'jobs/' || job || '.toml', dataset_paths = regexp_replace(dataset_paths, '.*/datasets/', 'datasets/')
WHERE event = 'started'
"""


def _at(minute: int) -> dict[str, str]:
    """The environment of a command, some minutes into a morning."""
    return dict(os.environ) | {"WORKBENCH_NOW": f"2026-11-24T08:{minute:02}Z"}


def main() -> None:
    """Run the jobs, take this machine's names out of the ledger, render, and draw the picture of the last run's page."""
    work = Path(tempfile.gettempdir()) / "workbench-sample"
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(SAMPLE, ignore_errors=True)
    work.mkdir()
    for number, name in enumerate(JOBS):
        command = [str(COMMAND), "run", str(ROOT / "jobs" / f"{name}.toml"), "--local", "--no-report", "--no-progress"]
        subprocess.run(command, cwd=work, check=True, env=_at(number))
    with duckdb.connect(str(work / "local.duckdb")) as db:
        db.execute(_SAID_GENERALLY)
    subprocess.run([COMMAND, "report", "--all", "--reports", SAMPLE], cwd=work, check=True, env=_at(len(JOBS)))
    page = max(SAMPLE.glob("2*-*.html"))  # the newest run's: their names begin with their times
    subprocess.run([COMMAND, "compare", "last", "--reports", SAMPLE], cwd=work, check=True, env=_at(len(JOBS)))
    next(SAMPLE.glob("*.compare.html")).rename(SAMPLE / "compare.html")
    draw(page, SAMPLE / "run.png")
    shutil.rmtree(work)
    print(page)


def draw(page: Path, picture: Path) -> None:
    """The upper part of a page as it looks on a screen."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_chromium(), args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1120, "height": 1180}, color_scheme="light")
        shown.goto(page.as_uri())
        shown.wait_for_timeout(1500)
        shown.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
