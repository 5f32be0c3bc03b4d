"""What an operator watches: metrics in Prometheus' own format, and whether the platform is ready."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.contract.asking import Caller, platform_of
from tests.waiting import until
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.state import State, StateError

ACCOUNTS = [{"name": "operator"}, {"name": "ben", "allowance_units": 5000}]


def sampled(text: str) -> dict[tuple[str, ...], float]:
    """(name, label values) -> value."""
    return {
        (sample.name.removeprefix("workbench_platform_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_everything_is_counted_by_account_model_and_route() -> None:
    config = platform_of(
        {"id": "m"}, {"id": "mute", "reports_usage": False}, {"id": "away", "unavailable": True, "fallback": "m"},
        {"id": "down", "unavailable": True}, accounts=ACCOUNTS, statistics_for=["operator"], limits={"retries": 1},
    )  # fmt: skip
    state = State()
    with ThreadedServer(config, state) as server, Caller(server) as operator:
        with Caller(server, state.create_key("ben")) as ben:
            used = sum(ben.ask("m").json()["usage"]["total_tokens"] for _ in range(3))
            used_away = ben.ask("away").json()["usage"]["total_tokens"]
            ben.events("mute")
            assert ben.ask("down").status_code == 502
            assert ben.ask("nothing").status_code == 404
            assert ben.http.get("/metrics").status_code == 403
            left = ben.http.get("/api/usage").json()["window"]["left_units"]
        reply = operator.http.get("/metrics")
        assert reply.headers["content-type"].startswith("text/plain; version=")
        found = sampled(reply.text)
    expected = {
        ("slots",): 64, ("in_flight", "ben"): 0, ("waiting", "operator"): 0,
        ("requests_total", "m", "200"): 3, ("requests_total", "away", "200"): 1, ("requests_total", "mute", "200"): 1,
        ("requests_total", "down", "502"): 1, ("duration_seconds_count", "m"): 3,
        ("attempts_total", "m"): 4, ("attempts_total", "away"): 2, ("failures_total", "down", "502"): 2,
        ("tokens_total", "m"): used + used_away, ("fallbacks_total", "away", "m"): 1,
        ("draws_total", "m", "settled"): 4, ("draws_total", "mute", "estimated"): 1, ("draws_total", "down", "released"): 2,
        ("allowance_left_units", "ben"): left, ("allowance_used_units", "operator"): 0,
    }  # fmt: skip
    assert {name: found.get(name) for name in expected} == expected
    assert ("allowance_left_units", "operator") not in found, "no limit is set for it"
    assert not any("nothing" in name for name in found)
    buckets = [value for name, value in found.items() if name[0] == "duration_seconds_bucket" and name[-1] == "m"]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 3


def test_metrics_are_off_unless_somebody_may_read_them() -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server, Caller(server) as caller:
        assert caller.http.get("/metrics").status_code == 404
    config = platform_of({"id": "m"}, statistics_for=["lab"])
    with ThreadedServer(config) as server, Caller(server, "sk-wrong") as caller:
        assert caller.http.get("/metrics").status_code == 401


@pytest.mark.parametrize("name", ['a "quoted" \\ name', "two words [x]", "<b>&amp;"])
def test_hostile_names_are_inert(name: str) -> None:
    config = platform_of({"id": name}, accounts=[{"name": name}], statistics_for=[name])
    with ThreadedServer(config) as server, Caller(server) as caller:
        assert caller.ask(name).status_code == 200
        assert sampled(caller.http.get("/metrics").text)["requests_total", name, "200"] == 1


class Failing(State):
    """A state whose disk is full, while it is told so."""

    is_full = False

    def open_draw(
        self, account: str, requested: str, route: str, weight: float, estimated_tokens: int, first: int | None = None
    ) -> int:
        if self.is_full:
            raise StateError("disk full")
        return super().open_draw(account, requested, route, weight, estimated_tokens, first)

    def try_to_write(self) -> None:
        if self.is_full:
            raise StateError("disk full")
        super().try_to_write()


def test_health_says_why_it_is_not_ready() -> None:
    state = Failing()
    with ThreadedServer(platform_of({"id": "m"}), state) as server, Caller(server) as caller:
        assert caller.http.get("/health").json() == {"status": "ok"}
        state.is_full = True
        assert caller.ask("m").status_code == 503
        assert [caller.http.get("/health").status_code for _ in range(4)] == [503] * 4
        reply = caller.http.get("/health")
        assert (reply.status_code, reply.json()) == (
            503, {"status": "not ready", "because": ["usage cannot be recorded"]}
        )  # fmt: skip
        state.is_full = False
        until(lambda: caller.http.get("/health").status_code == 200)
        assert caller.ask("m").status_code == 200
