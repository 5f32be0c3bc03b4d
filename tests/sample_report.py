"""Renders the sample report of `reports/sample/` and its picture: six weeks of one account, on simulated routes.

A nightly job with an outage, a fallback and a drop that is still open; a weekly job with a judge; a comparison of four routes; a run
that failed; readings of the allowance, and caps.

python -m tests.sample_report
"""

import os
import shutil
import subprocess
import tempfile
from datetime import date, timedelta
from pathlib import Path

import duckdb
from playwright.sync_api import sync_playwright

from tests.browser.conftest import installed_chromium
from tests.conftest import COMMAND
from workbench.ledger.queries import reading
from workbench.ledger.rows import RunId
from workbench.ledger.store import Ledger

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "reports" / "sample"
ACCOUNT = Path(__file__).with_name("sample_account")
FIRST, NIGHTS = date(2026, 10, 5), 43
OUTAGE = date(2026, 10, 22)
FALLBACK = (date(2026, 10, 27), date(2026, 10, 30))
READINGS = {date(2026, 10, 12): "39%", date(2026, 10, 26): "68%", date(2026, 11, 9): "21%", date(2026, 11, 14): "39%"}
SHOWN = 14
"""The newest nights have pages; the others are named without a link."""
_SAID_GENERALLY = """
UPDATE runs SET host = 'laptop', pid = 4711, key_fingerprint = 'bd4f3391', git_commit = NULL, git_dirty = NULL,
    job_path = 'jobs/' || regexp_extract(job_path, '[^/]*$'), dataset_paths = regexp_replace(dataset_paths, '.*/datasets/', 'datasets/')
WHERE event = 'started'
"""


def main() -> None:
    """Run the jobs, take this machine's names out of the ledger, render, and draw the picture of the comparison's run."""
    work = Path(tempfile.gettempdir()) / "workbench-sample" / "tests" / "sample_account"
    shutil.rmtree(work.parents[1], ignore_errors=True)
    shutil.copytree(ACCOUNT, work)
    shutil.copytree(ROOT / "datasets", work.parents[1] / "datasets")
    for number in range(NIGHTS):
        _day(work, FIRST + timedelta(days=number))
    with duckdb.connect(str(work / "local.duckdb")) as db:
        db.execute(_SAID_GENERALLY)
    picture = _render(work)
    for page in SAMPLE.glob("*.html"):  # commands on a page name the ledger where it was
        page.write_text(page.read_text("utf-8").replace(f"{work}/", ""), "utf-8")
    draw(picture, SAMPLE / "run.png")
    shutil.rmtree(work.parents[1])
    print(SAMPLE / "index.html")


def _day(work: Path, day: date) -> None:
    """What happens on a day: the nightly run, on Mondays the weekly one, and what somebody looked at."""

    def at(hour: int, *words: str) -> None:
        environment = dict(os.environ) | {"WORKBENCH_NOW": f"{day}T{hour:02}:00Z"}
        done = subprocess.run(
            [str(COMMAND), *words], cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 3, 100):  # what is told has an outage and an open alarm
            raise RuntimeError(f"{day} {words}: {done.returncode}\n{done.stdout}\n{done.stderr}")

    def run(hour: int, job: str, *options: str) -> None:
        at(hour, "run", f"jobs/{job}.toml", "--local", "--no-report", "--no-progress", *options)

    (work / "platform.toml").write_text(_platform_on(day), "utf-8")
    run(2, "nightly", "--occasion", f"{day}T02:00Z")
    (work / "platform.toml").write_text((ACCOUNT / "platform.toml").read_text("utf-8"), "utf-8")
    if day.weekday() == 0:
        run(6, "weekly-grades", "--occasion", f"{day}T06:00Z")
    if day in READINGS:
        at(9, "allowance", "reading", "--local", "--used", READINGS[day])
    if day == date(2026, 11, 12):
        run(10, "try-osprey")
    if day == date(2026, 11, 13):
        run(10, "choose-a-route")


def _platform_on(night: date) -> str:
    """Return the account's routes, as they are on a night."""
    text = (ACCOUNT / "platform.toml").read_text("utf-8")
    if night == OUTAGE:
        return text.replace('id = "Quill 32B"', 'id = "Quill 32B"\nfaults = [{ share = 1.0, status = 503 }]')
    if FALLBACK[0] <= night <= FALLBACK[1]:
        return text.replace('id = "Finch"', 'id = "Finch"\nunavailable = true')
    return text


def _render(work: Path) -> Path:
    """Write the pages of the newest nights and of all that is not nightly; return the page of the comparison's run."""
    shutil.rmtree(SAMPLE, ignore_errors=True)
    end = FIRST + timedelta(days=NIGHTS - 1)
    environment = dict(os.environ) | {"WORKBENCH_NOW": f"{end}T08:30Z"}

    def write(*words: str) -> None:
        command = [str(COMMAND), *words, "--ledger", "local.duckdb", "--reports", str(SAMPLE)]
        subprocess.run(command, cwd=work, env=environment, check=True)

    with reading(Ledger(work / "local.duckdb")) as reader:
        runs = [run.run_id for run in reader.all(RunId) if not run.judges]
    newest = [run_id for run_id in runs if run_id >= f"{end - timedelta(days=SHOWN - 1):%Y%m%d}"]
    compared = next(run_id for run_id in runs if run_id.startswith("20261113T10"))
    for run_id in newest:
        write("report", run_id)
    write("compare", compared)
    write("report", compared)  # once more: now it leads to its comparison
    next(SAMPLE.glob("*.compare.html")).rename(SAMPLE / "compare.html")
    own = SAMPLE / f"{compared}.html"
    own.write_text(own.read_text("utf-8").replace(f"{compared}.compare.html", "compare.html"), "utf-8")
    write("report")
    return SAMPLE / f"{compared}.html"


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
