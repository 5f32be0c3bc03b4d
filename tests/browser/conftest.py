"""Pages in headless Chromium, opened from their files as a reader opens them."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Error, Page, expect, sync_playwright

from workbench.report.bundle import BUNDLE, page_script

expect.set_options(timeout=20_000)  # ms; a machine that is busy otherwise needs more than the usual five seconds
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The first shows pages only, which takes four fifths of a whole browser's time of the processors."""
_ARGUMENTS = ["--no-sandbox", "--renderer-process-limit=1"]  # a process a page takes a twelfth more


def installed_chromium() -> str | None:
    """The machine's own; None means the one that Playwright installed, if it did."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@pytest.fixture(scope="package")  # Playwright keeps an event loop running in this thread for as long as it is there
def chromium(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The machine's Chromium, or the one that Playwright installed; without one the test is skipped, or fails if required."""
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=installed_chromium(), args=_ARGUMENTS)
        except Error as error:
            if request.config.getoption("--require-browser"):
                raise
            pytest.skip(f"there is no Chromium here: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


class Reader:
    """Somebody who opens pages; notes everything that a page should not do."""

    def __init__(self, context: BrowserContext, *, scripted: bool) -> None:
        self._context = context
        self.scripted = scripted
        self.faults: list[str] = []

    def open(self, path: str | Path, fragment: str = "") -> Page:
        page = self._context.new_page()
        own = Path(path).absolute()
        there = {own.with_name(name).as_uri() for name in (own.name, BUNDLE, page_script().name)}
        page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda asked: None if asked.url.split("#")[0] in there else self.faults.append(asked.url))
        page.goto(own.as_uri() + fragment)
        return page

    def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="package")
def context_of(chromium: Browser) -> Iterator[Callable[[dict[str, Any]], BrowserContext]]:
    """Browser contexts by their options, each made once: with a process of its own it costs more than three pages.

    Nothing is carried from one test to the next, as our pages keep what a reader chose in their addresses alone.
    """
    made: dict[str, BrowserContext] = {}

    def context_of(options: dict[str, Any]) -> BrowserContext:
        if (key := repr(options)) not in made:
            made[key] = chromium.new_context(timezone_id="Asia/Kolkata", **options)
            made[key].new_page()  # stays open, and the process with it
        return made[key]

    yield context_of
    for context in made.values():
        context.close()


@pytest.fixture
def reader(context_of: Callable[[dict[str, Any]], BrowserContext], request: pytest.FixtureRequest) -> Iterator[Reader]:
    """A reader; parametrize indirectly with Playwright's options of a context."""
    options: dict[str, Any] = getattr(request, "param", {"viewport": {"width": 1440, "height": 900}})
    context = context_of(options)
    yield Reader(context, scripted=options.get("java_script_enabled", True))
    for page in context.pages[1:]:
        page.close()
