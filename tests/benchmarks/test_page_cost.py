"""How long pages over a large ledger take to render and to open; prints figures, asserts none.

python -m pytest -m benchmark -s tests/benchmarks/test_page_cost.py
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.big_ledger import LARGE_RUN, LARGE_RUN_CALLS, make_big_ledger
from tests.browser.conftest import installed_chromium
from workbench.report.build import Draft, PageContext, asked_of, ledger_page
from workbench.report.ledger_pages import PAGES
from workbench.report.run_page import run_page

pytestmark = pytest.mark.benchmark
CALLS = 1_000_000


def timed(page: Page, what: str, act: Callable[[Page], object]) -> None:
    """How long until the sample browser says something else."""
    status = "document.querySelector('#browser [role=status]').textContent"
    before = page.evaluate(status)
    began = time.perf_counter()
    act(page)
    page.wait_for_function(f"before => {status} !== before", arg=before)
    print(f"  {what} in {time.perf_counter() - began:.2f} s: {page.evaluate(status)}")


def test_pages_over_a_million_calls(tmp_path: Path) -> None:
    began = time.perf_counter()
    ledger = make_big_ledger(tmp_path / "ledger.duckdb", CALLS)
    print(f"\na ledger of {CALLS:,} calls made in {time.perf_counter() - began:.1f} s")
    folder = tmp_path / "reports"

    pages: dict[str, Callable[[PageContext], Draft]] = {
        f"run of {LARGE_RUN_CALLS:,} calls": lambda asked: run_page(asked, LARGE_RUN, PAGES)[1],
        **{page.name: partial(ledger_page, page=page, pages=PAGES) for page in PAGES},
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_chromium(), args=["--no-sandbox"])
        for name, draft in pages.items():
            began = time.perf_counter()
            with asked_of(ledger, folder) as asked:
                write = draft(asked)
            path = write()
            took_s = time.perf_counter() - began
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            began = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_function("!document.querySelector('#browser') || document.querySelector('.matrix .cell')")
            opened_s = time.perf_counter() - began
            print(f"{name}: rendered in {took_s:.2f} s, {path.stat().st_size / 1e6:.2f} MB, opens in {opened_s:.2f} s")
            if page.locator("#browser").count():
                timed(
                    page,
                    "filters by what is unanswered or cut off",
                    lambda shown: shown.locator("[value=failed]").check(force=True),
                )
                timed(page, "shows all again", lambda shown: shown.locator("[name=show][value='']").check(force=True))
                timed(page, "searches all texts", lambda shown: shown.locator("[name=q]").fill("question 0/77 "))
        browser.close()
    print(f"peak memory of all: {psutil.Process().memory_info().rss / 2**20:.0f} MiB at the end")
