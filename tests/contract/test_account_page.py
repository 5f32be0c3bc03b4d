"""The account's page over HTTP: what it refuses, and that nothing is lost or leaked."""

import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest

from tests.contract.asking import NO_TLS, Caller, platform_of
from workbench.local_platform.config import Account
from workbench.local_platform.pane import INVITATION_S, SESSION_S, Tries
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.state import MOST_NAME_CHARS, State

HOSTILE = '"><script>alert(1)</script>'


class Desk:
    """A platform, and somebody at a browser without scripts."""

    def __init__(self, server: ThreadedServer, path: Path) -> None:
        self.server, self.path = server, path
        self.http = httpx.Client(base_url=server.base_url, verify=NO_TLS)

    @property
    def state(self) -> State:
        return State(self.path)

    def link(self, account: str = "ada", lasts_s: float = INVITATION_S) -> str:
        return self.state.make_link(account, "invitation", lasts_s)

    def sign_in(self, account: str = "ada") -> "Desk":
        reply = self.http.post("/sign-in", data={"link": self.link(account)})
        assert (reply.status_code, reply.headers["location"]) == (303, "/account")
        return self

    def fields(self) -> dict[str, str]:
        """The hidden fields of the page's forms."""
        return dict(re.findall(r'name="(csrf|form)" value="([^"]*)"', self.http.get("/account").text))

    def change(self, action: str, **given: str) -> httpx.Response:
        return self.http.post("/account", data=self.fields() | {"action": action} | given)

    def create(self, name: str = "laptop") -> str:
        reply = self.change("create", name=name)
        assert reply.status_code == 200, reply.text
        return str(re.findall(r'id="new-key">(sk-[0-9a-f]{32})<', reply.text)[0])

    def key_ids(self, account: str = "ada") -> list[str]:
        return [key.id for key in self.state.keys() if key.account == account and key.revoked_at is None]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    path = tmp_path / "platform.sqlite"
    config = platform_of(
        {"id": "m", "fallback": "of ben"}, {"id": "of ben", "visible_to": ["ben"]}, accounts=[{"name": "ada"}, {"name": "ben"}],
        limits={"request_s": 1},
    )  # fmt: skip
    with ThreadedServer(config, State(path)) as server:
        made = Desk(server, path)
        yield made
        made.http.close()


def test_it_is_off_unless_somebody_was_invited(desk: Desk) -> None:
    for path in ("/", "/account", "/sign-in?link=x", "/account/page.css"):
        assert desk.http.get(path).status_code == 404
    assert desk.http.post("/sign-in", data={"link": "x"}).status_code == 404
    desk.link()
    assert desk.http.get("/").headers["location"] == "/account"
    assert desk.http.get("/account").status_code == 401
    assert "You are not signed in." in desk.http.get("/account").text


def test_a_link_signs_in_once(desk: Desk) -> None:
    link = desk.link()
    for _ in range(3):  # a program that looks where links lead uses nothing up
        assert "Sign in as <bdi>ada</bdi>" in desk.http.get("/sign-in", params={"link": link}).text
    reply = desk.http.post("/sign-in", data={"link": link})
    cookie = reply.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", f"Max-Age={4 * 7 * 86400}", "Path=/"))
    assert "Secure" not in cookie, "over plain HTTP, as on loopback"
    used = desk.http.post("/sign-in", data={"link": link})
    assert used.status_code == 410
    assert "was used already, or has expired" in used.text
    proxied = desk.http.post("/sign-in", data={"link": desk.link()}, headers={"X-Forwarded-Proto": "https"})
    assert "Secure" in proxied.headers["set-cookie"]
    stored = desk.path.read_bytes() + desk.path.with_name("platform.sqlite-wal").read_bytes()
    assert link.encode() not in stored, "hashes are kept alone"
    assert desk.http.cookies["workbench_session"].encode() not in stored


def test_of_two_who_use_a_link_at_once_one_is_signed_in(desk: Desk) -> None:
    link = desk.link()

    def use(_: int) -> int:
        return httpx.post(f"{desk.server.base_url}/sign-in", data={"link": link}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(use, range(4))) == [303, 410, 410, 410]


@pytest.mark.parametrize("kind", ["invitation", "session"])
def test_what_has_expired_is_nothing(desk: Desk, kind: Any) -> None:
    desk.sign_in()
    secret = desk.state.make_link("ada", kind, -1.0)
    if kind == "invitation":
        assert desk.http.get("/sign-in", params={"link": secret}).status_code == 410
        assert desk.http.post("/sign-in", data={"link": secret}).status_code == 410
    else:
        assert httpx.get(f"{desk.server.base_url}/account", cookies={"workbench_session": secret}).status_code == 401
    assert SESSION_S == 2_419_200


def test_a_key_is_made_used_regenerated_and_deleted(desk: Desk) -> None:
    desk.sign_in()
    first = desk.create("laptop")
    with Caller(desk.server, first) as caller:
        assert caller.ask("m").status_code == 200
    page = desk.http.get("/account").text
    assert first not in page, "shown once"
    assert "<bdi>laptop</bdi>" in page
    assert page.count("<td>never</td>") == 0, "it was used"
    second = re.findall("sk-[0-9a-f]{32}", desk.change("regenerate", key=desk.key_ids()[0]).text)[0]
    with Caller(desk.server, first) as old, Caller(desk.server, second) as new:
        assert (old.ask("m").status_code, new.ask("m").status_code) == (401, 200)
    (key,) = [key for key in desk.state.keys() if key.revoked_at is None]
    assert key.name == "laptop", "regenerated under its name"
    assert desk.change("delete", key=key.id).status_code == 303
    with Caller(desk.server, second) as new:
        assert new.ask("m").status_code == 401


def test_a_form_that_is_sent_twice_is_done_once(desk: Desk) -> None:
    desk.sign_in()
    given = desk.fields() | {"action": "create", "name": "twice"}

    def send(_: int) -> int:
        return httpx.post(f"{desk.server.base_url}/account", data=given, cookies=desk.http.cookies).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(send, range(4))) == [200, 409, 409, 409]
    assert len(desk.key_ids()) == 1


def test_two_tabs_that_both_regenerate(desk: Desk) -> None:
    desk.sign_in().create()
    (key,) = desk.key_ids()
    tabs = [desk.fields() | {"action": "regenerate", "key": key} for _ in range(2)]
    first, second = (desk.http.post("/account", data=tab) for tab in tabs)
    assert (first.status_code, second.status_code) == (200, 409)
    assert "You have no such key: it was regenerated or deleted a moment ago." in second.text
    assert len(desk.key_ids()) == 1


def test_another_accounts_key_is_out_of_reach(desk: Desk) -> None:
    key = desk.state.create_key("ben")
    desk.sign_in()
    for action in ("regenerate", "delete"):
        assert desk.change(action, key=desk.key_ids("ben")[0]).status_code == 409
    page = desk.http.get("/account").text
    assert "of ben" not in page, "nor what it sees"
    with Caller(desk.server, key) as caller:
        assert caller.ask("m").status_code == 200


@pytest.mark.parametrize("forged", ["", "x", "x" * 5000, "ü", "' OR 1=1 --"])
def test_a_forged_session_is_none(desk: Desk, forged: str) -> None:
    desk.link()
    headers = {b"Cookie": f"workbench_session={forged}".encode()}
    assert httpx.get(f"{desk.server.base_url}/account", headers=headers).status_code == 401


def test_a_form_of_another_session_or_site_is_refused(desk: Desk) -> None:
    mine, other = desk.sign_in(), Desk(desk.server, desk.path).sign_in("ben")
    given = mine.fields() | {"action": "create", "name": "x"}
    assert other.http.post("/account", data=given).status_code == 403
    assert mine.http.post("/account", data=given | {"csrf": ""}).status_code == 403
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert mine.http.post("/account", data=given, headers=foreign).status_code == 403
    assert mine.http.post("/sign-in", data={"link": desk.link()}, headers=foreign).status_code == 403
    assert not desk.key_ids()
    assert not desk.key_ids("ben")
    assert mine.http.post("/account", data=given).status_code == 200, "none of it used the form up"
    other.http.close()


@pytest.mark.parametrize("name", ["", "  ", "x" * (MOST_NAME_CHARS + 1), "x" * 10_000, "a\nb", "a\x00b", "a\u202eb"])
def test_a_wrong_name_is_refused_with_what_is_right(desk: Desk, name: str) -> None:
    refused = desk.sign_in().change("create", name=name)
    assert refused.status_code == 400
    assert "A name has 1 to 100 characters, without control characters." in refused.text
    assert not desk.key_ids()


def test_hostile_names_are_inert(tmp_path: Path) -> None:
    path = tmp_path / "platform.sqlite"
    with ThreadedServer(platform_of({"id": HOSTILE}, accounts=[{"name": HOSTILE}]), State(path)) as server:
        desk = Desk(server, path).sign_in(HOSTILE)
        with Caller(server, desk.create(HOSTILE)) as caller:
            assert caller.ask(HOSTILE).status_code == 200
        reply = desk.http.get("/account")
        assert "<script>alert" not in reply.text
        assert reply.text.count("&lt;script&gt;alert(1)") >= 4
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["cache-control"] == "no-store"
        desk.http.close()


def test_an_account_that_is_removed_while_its_page_is_open(desk: Desk) -> None:
    desk.sign_in()
    given = desk.fields() | {"action": "create", "name": "late"}
    config = msgspec.structs.replace(desk.server.platform.config, accounts=(Account("ben"),))
    desk.server.platform.change(config, {})
    for reply in (desk.http.get("/account"), desk.http.post("/account", data=given)):
        assert reply.status_code == 403
        assert "This account was removed by the operator." in reply.text
    assert desk.http.get("/sign-in", params={"link": desk.link()}).status_code == 410
    assert not desk.key_ids()


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"x" * 100_000, "application/x-www-form-urlencoded", 413),
        (b"{}", "application/json", 415),
        (b"a=\xff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a=1" for _ in range(1000)), "application/x-www-form-urlencoded", 400),
    ],
)
def test_a_body_that_is_no_form(desk: Desk, content: bytes, kind: str, status: int) -> None:
    desk.sign_in()
    for path in ("/account", "/sign-in", "/sign-out"):
        assert desk.http.post(path, content=content, headers={"Content-Type": kind}).status_code == status


def test_signing_out_ends_the_session(desk: Desk) -> None:
    desk.sign_in()
    cookies = dict(desk.http.cookies)
    assert desk.http.post("/sign-out", data=desk.fields()).status_code == 303
    assert httpx.get(f"{desk.server.base_url}/account", cookies=cookies).status_code == 401


def test_who_tries_many_links_must_wait(desk: Desk) -> None:
    link = desk.link()
    tried = [desk.http.post("/sign-in", data={"link": f"x{number}"}).status_code for number in range(12)]
    assert tried == [410] * 10 + [429] * 2
    assert desk.http.get("/sign-in?link=x").status_code == 429
    assert desk.http.get("/sign-in", params={"link": link}).status_code == 200, "a valid one is no attempt"


def test_tries_are_forgotten_after_a_minute_and_of_many_addresses_the_oldest() -> None:
    now = 0.0
    tries = Tries(lambda: now)
    assert [tries.allows("a") for _ in range(12)] == [True] * 10 + [False] * 2
    assert tries.allows("b")
    now = 61.0
    assert tries.allows("a")
    for number in range(2_000):
        assert tries.allows(str(number))


def test_a_form_that_does_not_come_is_not_waited_for(desk: Desk) -> None:
    desk.link()
    head = b"POST /sign-in HTTP/1.1\r\nHost: here\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(desk.server.base_url).port or 0), timeout=20) as connection:
        connection.sendall(head + b"lin")
        reply = connection.recv(65_536).decode()
    assert reply.startswith("HTTP/1.1 408")
    assert "This form did not come whole" in reply


def test_looking_at_the_page_writes_nothing(desk: Desk) -> None:
    desk.sign_in()
    desk.http.get("/account")
    watching = desk.state
    before = watching.version()
    desk.http.get("/account")
    assert watching.version() == before, "what it shows is asked of the state by everybody"
