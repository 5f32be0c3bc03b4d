"""The platform killed at any moment, between draws, in a reload, while keys are made: its state is whole."""

import contextlib
import random
import re
import signal
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.conftest import Workbench
from tests.contract.asking import ASKED, NO_TLS, serve
from workbench.local_platform.pane import INVITATION_S
from workbench.local_platform.state import State, hashed

CONFIG = '[[accounts]]\nname = "lab"\n[[routes]]\nid = "m"\nupstream = "m"\nsimulated = "echo"\n'
ROUNDS = [pytest.param(2, id="twice"), pytest.param(12, id="often", marks=pytest.mark.slow)]


class Owner(threading.Thread):
    """Somebody who makes a key, regenerates it, calls with it, and begins again, for as long as the platform lives."""

    def __init__(self, base_url: str, path: Path) -> None:
        super().__init__(daemon=True)
        self.http = httpx.Client(base_url=base_url, timeout=20, verify=NO_TLS)
        self.link = State(path).make_link("lab", "invitation", INVITATION_S)
        self.shown: list[str] = []
        """Keys that the page has shown and that were not replaced by another that was shown."""
        self.answered = 0

    def run(self) -> None:
        with contextlib.suppress(httpx.HTTPError), self.http:
            self.http.post("/sign-in", data={"link": self.link})
            while True:
                self.shown.append(self._changed(action="create", name="k"))
                replaced, key_id = self.shown[-1], hashed(self.shown[-1]).hex()[:8]
                self.shown.remove(replaced)  # from when it is sent on, the old one may be dead
                self.shown.append(self._changed(action="regenerate", key=key_id))
                headers = {"Authorization": f"Bearer {self.shown[-1]}"}
                body = {"model": "m", "messages": ASKED}
                self.answered += self.http.post("/api/chat/completions", json=body, headers=headers).status_code == 200

    def _changed(self, **given: str) -> str:
        fields = dict(re.findall(r'name="(csrf|form)" value="([^"]*)"', self.http.get("/account").text))
        return str(re.findall(r"sk-[0-9a-f]{32}", self.http.post("/account", data=fields | given).text)[0])


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_platform_killed_at_any_moment_has_a_whole_state(tmp_path: Path, rounds: int) -> None:
    bench, draw = Workbench(tmp_path, None), random.Random(3)
    bench.write("platform.toml", CONFIG)
    bench("platform", "keys", "create", "lab")
    path, answered, shown = tmp_path / "platform.sqlite", 0, []
    for _ in range(rounds):
        server, said = serve(tmp_path)
        owners = [Owner(said["base_url"], path) for _ in range(3)]
        for owner in owners:
            owner.start()
        ends_at = time.monotonic() + draw.uniform(0.3, 1.2)
        while time.monotonic() < ends_at:
            server.send_signal(signal.SIGHUP)
            time.sleep(draw.uniform(0, 0.05))
        _kill(server)
        for owner in owners:
            owner.join(30)
            assert not owner.is_alive()
        answered += sum(owner.answered for owner in owners)
        shown += [key for owner in owners for key in owner.shown]
        with contextlib.closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        living = State(path).living_keys()
        assert all(living.get(hashed(key)) == "lab" for key in shown), "whatever was shown works"
        assert len([one for one in State(path).draws() if one.settled or one.estimated_tokens]) >= answered
    assert answered, "the kills left something to lose"
    assert shown


def _kill(server: subprocess.Popen[str]) -> None:
    server.kill()
    server.communicate()
