"""The account's page in Chromium: the whole life of a key, without and with scripts, and for everybody."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.contract.asking import Caller, platform_of
from workbench.local_platform.pane import INVITATION_S
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.state import State

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NAME = "ada <b> of a lab with a name that is long"
Served = tuple[ThreadedServer, State]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    state = State(tmp_path / "platform.sqlite")
    config = platform_of(
        {"id": "m"}, {"id": "Llama 3.2 [local]", "fallback": "m", "limit_s": 300}, accounts=[{"name": NAME}],
        allowance={"units": 1_000_000, "reserve_for_chat": 0.1},
    )  # fmt: skip
    with ThreadedServer(config, state) as server:
        for days in range(4):
            state.add_draw(NAME, 1000 * 7**days, "chat UI", state.now_s() - 3600 * days)
        yield server, State(tmp_path / "platform.sqlite")


def signed_in(context: BrowserContext, served: Served) -> Page:
    server, state = served
    page = context.new_page()
    page.goto(f"{server.base_url}/sign-in?link={state.make_link(NAME, 'invitation', INVITATION_S)}")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Sign in as {NAME}")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)
    return page


@pytest.mark.parametrize("scripted", [True, False], ids=["with scripts", "without scripts"])
def test_a_key_lives_through_the_page(chromium: Browser, served: Served, scripted: bool) -> None:
    faults: list[str] = []
    permissions = ["clipboard-read", "clipboard-write"]
    with chromium.new_context(java_script_enabled=scripted, permissions=permissions) as context:
        page = signed_in(context, served)
        page.on("console", lambda message: faults.append(message.text))
        page.get_by_label("Name of a new key").fill("night runs")
        page.keyboard.press("Enter")
        key = page.locator("#new-key").text_content()
        assert key is not None
        with Caller(served[0], key) as caller:
            assert caller.ask("m").status_code == 200
        copy = page.get_by_role("button", name="Copy")
        if scripted:
            copy.click()
            expect(page.get_by_role("status")).to_have_text("Copied.")
            assert page.evaluate("navigator.clipboard.readText()") == key
        else:
            expect(copy).to_be_hidden()
        page.goto(f"{served[0].base_url}/")
        expect(page.locator("#new-key")).to_have_count(0)
        expect(page.get_by_role("row", name="night runs")).not_to_contain_text("never")
        page.get_by_role("button", name="Regenerate night runs").click()
        new = page.locator("#new-key").text_content()
        assert new is not None
        with Caller(served[0], key) as old, Caller(served[0], new) as caller:
            assert (old.ask("m").status_code, caller.ask("m").status_code) == (401, 200)
        page.get_by_role("button", name="Delete night runs").click()
        expect(page.get_by_text("You have no key yet.")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("You are not signed in.")
    assert not [text for text in faults if "401" not in text], "nothing is blocked by its own policy"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_cut(chromium: Browser, served: Served, scheme: str, width: int) -> None:
    viewport = {"width": width, "height": 800}
    with chromium.new_context(viewport=viewport, color_scheme=scheme, bypass_csp=True) as context:  # type: ignore[arg-type]
        page = signed_in(context, served)
        page.get_by_label("Name of a new key").fill("laptop")
        page.keyboard.press("Enter")
        expect(page.locator("#new-key")).to_be_visible()
        for path in (None, "/sign-in?link=x"):
            if path is not None:
                page.goto(served[0].base_url + path)
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_is_reached_with_the_keyboard(chromium: Browser, served: Served) -> None:
    with chromium.new_context() as context:
        page = signed_in(context, served)
        page.get_by_label("Name of a new key").fill("laptop")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Copy")).to_be_visible()
        reached = []
        for _ in range(30):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "(document.activeElement.ariaLabel || document.activeElement.textContent || document.activeElement.id).trim()"
                )
            )
        wanted = [
            "Copy",
            "Regenerate laptop",
            "Delete laptop",
            "name",
            "Create new secret key",
            "By day and model",
            "Sign out",
        ]
        places = [reached.index(one) for one in wanted]
        assert places == sorted(places)
