"""What routes can do, found out by asking them; who answered instead, and what changed."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import workbench as wb
import workbench.settings.clock as clock
from tests.compared_runs import record
from tests.conftest import Workbench
from tests.contract.asking import platform_of
from tests.pages import Page
from tests.unit.ledger.ledger_rows import STARTED_AT
from workbench.local_platform.config import Limits, PlatformConfig, Preset, Route
from workbench.local_platform.server import ThreadedServer
from workbench.local_platform.silent import Silent
from workbench.routes.facts import RouteFacts, differences, merge_facts

PLANTED: list[dict[str, Any]] = [
    {"id": "able", "simulated": "answers", "upstream": "able", "calls_tools": True},
    {"id": "prose", "simulated": "prose", "upstream": "prose"},
    {"id": "thinker", "simulated": "answers", "thinks": True, "upstream": "thinker"},
    {"id": "replaced", "simulated": "answers", "upstream": "replaced", "unavailable": True, "fallback": "able"},
    {"id": "dead", "simulated": "answers", "upstream": "dead", "unavailable": True},
    {"id": "silent", "simulated": "answers", "upstream": "silent", "reports_usage": False},
    {"id": "endless", "simulated": "prose", "upstream": "endless", "keeps_max_tokens": False},
]


def planted(**changed: dict[str, Any]) -> PlatformConfig:
    routes = tuple(msgspec.convert(route | changed.get(route["id"], {}), Route) for route in PLANTED)
    return PlatformConfig(routes, presets=(Preset("able [fast]", "able"),), limits=Limits(retry_pause_s=0))


def probed(folder: Path, config: PlatformConfig, code: int, *more: str) -> dict[str, Any]:
    with ThreadedServer(config) as server:
        found: dict[str, Any] = Workbench(folder, server).json("probe", *more, code=code)
    return found


def test_a_probe_finds_every_planted_fact_and_then_exactly_what_changed(tmp_path: Path) -> None:
    first = probed(tmp_path, planted(), 0, "--no-report")
    routes = first["routes"]
    facts = {
        name: [route[name] for route in routes.values()]
        for name in ("answers", "tools", "thinks", "reports_usage", "keeps_cap")
    }
    assert list(routes) == ["able", "able [fast]", "dead", "endless", "prose", "replaced", "silent", "thinker"]
    assert facts == {
        "answers": ["itself", "itself", "no", "itself", "itself", "fallback", "itself", "itself"],
        "tools": ["called", "called", None, "prose", "prose", None, "prose", "prose"],
        "thinks": [False, False, None, False, False, None, False, True],
        "reports_usage": [True, True, None, True, True, None, False, True],
        "keeps_cap": [True, True, None, False, True, None, True, True],
    }  # fmt: skip
    assert (routes["able [fast]"]["names"], routes["replaced"]["substitutes"]) == (["able"], ["able"])
    assert routes["dead"]["failure"] == "route_down"
    assert not first["changes"]
    changed = planted(
        able={"calls_tools": False}, replaced={"unavailable": False}, silent={"reports_usage": True},
        endless={"keeps_max_tokens": True}, prose={"unavailable": True, "fallback": "thinker"},
    )  # fmt: skip
    second = probed(tmp_path, changed, 100)
    assert {(one["model"], one["what"], one["before"], one["after"]) for one in second["changes"]} == {
        ("able", "forced tool call", "called", "prose"),
        ("able [fast]", "forced tool call", "called", "prose"),
        ("endless", "max_tokens", "ignored", "kept"),
        ("prose", "who answers", "itself", "thinker in its place"),
        ("replaced", "who answers", "able in its place", "itself"),
        ("silent", "usage", "missing", "in every answer"),
    }
    probed(tmp_path, changed, 0, "--no-report", "--repeat", "2")
    page = Page(tmp_path / "reports" / "routes.html")
    assert "able in its place" in page.text
    assert "What changed" in page.text
    shown = Workbench(tmp_path, None)("routes")
    assert "1 dead, 2 substituted" in shown.stdout
    assert "fallback: prose: 9 of its 12 answers are of thinker (" in shown.stderr
    assert "no tool call" not in shown.stderr, "a probe forces calls where no job wants any"


@pytest.mark.slow
def test_one_time_out_settles_a_route_while_the_others_are_told(tmp_path: Path) -> None:
    hung = {"simulated": "answers", "faults": [{"share": 1, "kind": "hang"}]}
    late = {"id": "late", **hung, "upstream": "late", "limit_s": 1}
    good = [{"id": name, "simulated": "answers", "upstream": name} for name in ("g1", "g2", "g3")]
    config = platform_of({"id": "hung 1", **hung}, {"id": "hung 2", **hung}, late, *good, limits={"retries": 0})
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        told: list[str] = []
        with bench.start("probe", "--json", "--no-report", "--deadline", "5") as process:
            assert process.stderr is not None
            assert process.stdout is not None
            for line in process.stderr:
                told.append(line)
                if "hung 1 has failed" in line:
                    assert all(f"{name}: 3 answers" in "".join(told) for name in ("g1", "g2", "g3"))
            found = json.loads(process.stdout.read())
        assert process.returncode == 0
        requests = server.platform.statistics.requests.copy()
    failed = {name: found["routes"][name]["failure"] for name in ("hung 1", "hung 2", "late")}
    assert failed == {"hung 1": "client_timeout", "hung 2": "client_timeout", "late": "gateway_timeout"}
    assert [found["routes"][name]["answers"] for name in ("g1", "g2", "g3")] == ["itself"] * 3
    assert requests.total() == 3 * 3 + 3
    assert "late has failed" in "".join(told)


def test_routes_are_asked_by_a_glob_too(tmp_path: Path) -> None:
    found = probed(tmp_path, planted(), 0, "--no-report", "able*", "s?lent")
    assert set(found["routes"]) == {"able", "able [fast]", "silent"}


def test_lint_knows_what_a_probe_found(tmp_path: Path) -> None:
    config = planted()
    probed(tmp_path, config, 0, "--no-report", "prose", "endless", "silent")
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        bench.write("d.jsonl", '{"input": "Weather in Rome?"}\n')
        tools = 'tools = [{ type = "function", function = { name = "f" } }]'
        models = '["prose", "endless", "silent", "able"]'
        bench.write(
            "job.toml",
            f'name = "j"\nmodels = {models}\n[dataset]\npath = "d.jsonl"\n[request]\nmax_tokens = 9\n{tools}\n[budget]\ntotal_tokens = 99999\n',
        )
        told = bench("lint", "job.toml").stdout
    assert "models 'prose': never called a tool in 1 answers that had to" in told
    assert "models 'endless': ignored max_tokens when it was probed: it may overrun a budget in tokens" in told
    assert "models 'silent': reported no usage when it was probed: a budget in tokens counts its bound instead" in told
    assert "models 'able': ignored" not in told


def test_real_routes_are_asked_with_yes_alone(tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "m", "simulated": "answers"})) as behind:
        real = {"id": "real", "upstream": "m", "base_url": f"{behind.base_url}/api", "secret_env": "BEHIND"}
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("BEHIND", behind.key)
            with ThreadedServer(platform_of(real)) as server:
                bench = Workbench(tmp_path, server)
                told = bench("probe", code=3).stderr
                assert "3 calls to 1 route, at most" in told
                assert "nothing was sent" in told
                assert not server.platform.statistics.requests
                assert not list(tmp_path.glob("ledger*"))
                assert bench.json("probe", "--yes", "--no-report")["routes"]["real"]["answers"] == "itself"
                assert server.platform.statistics.requests.total() == 3


@pytest.mark.slow
def test_two_months_of_aliases_outages_and_a_new_name(bench: Workbench) -> None:
    """A preset, an alias that is confirmed, one that is not and moves, and three outages answered by another model."""
    out = {10, 11, 12, 30, 50, 51}
    for day in range(60):
        served = {"tutor": "base", "maker": "maker-7b", "moved": "moved-1" if day < 40 else "moved-2"}
        down = {"gone": "base"} if day in out else {}
        values = {model: [1.0] * 4 for model in ("base", "tutor", "maker", "moved", "gone")}
        record(bench, f"r{24 * day}", values, served=served | down, listed={"tutor": "base"})
    bench("routes", "confirm", "maker", "maker-7b")
    found = bench.json("routes", "status")
    assert [
        (one["model"], one["served_model"], one["answers"], one["first_at"][:10], one["last_at"][:10])
        for one in found["episodes"]
    ] == [
        ("gone", "base", 4 * len(days), day_of(days[0]), day_of(days[-1])) for days in ((50, 51), (30,), (10, 11, 12))
    ]
    assert [(one["model"], one["before"], one["served_model"], one["at"][:10]) for one in found["names"]] == [
        ("moved", "moved-1", "moved-2", day_of(40))
    ]
    alarmed = {(one["model"], one["kind"]) for one in found["attention"]}
    assert alarmed == {("moved", "new name")}, "of the last 7 days"
    assert [(one["model"], one["answers"]) for one in found["earlier"]] == [("gone", 8), ("gone", 4), ("gone", 12)]
    assert [row["served_model"] for row in found["unconfirmed"]] == ["moved-1", "moved-2"]


def day_of(number: int) -> str:
    return f"{STARTED_AT + timedelta(days=number):%Y-%m-%d}"


@pytest.mark.file_ledger
def test_a_name_is_confirmed_in_the_settings_as_they_are(bench: Workbench) -> None:
    record(bench, "r1", {"odd [fast]": [1.0] * 3}, served={"odd [fast]": "odd-70b"})
    before = '# ours\n[account]\ntime_zone = "Europe/Berlin"  # as in the chat UI\n\n[routes."odd [fast]"]\nserved_as = "odd-7b"\n'
    bench.write("workbench.toml", before)
    told = bench("routes", "confirm", "odd [fast]", "odd-70b").stderr
    assert "odd [fast] answers as odd-70b: written to" in told
    kept = f'["odd-7b",\n    "odd-70b", # confirmed {clock.now():%Y-%m-%d}, run r1\n]'
    assert (bench.folder / "workbench.toml").read_text() == before.replace('"odd-7b"', kept)
    assert "it was confirmed before" in bench("routes", "confirm", "odd [fast]", "odd-70b").stderr
    assert bench.json("routes", "status")["routes"][0]["usual_identity"] == "known_alias"


def test_late_answers_are_a_share_with_its_evidence(bench: Workbench) -> None:
    """Of 50 answers 4 take longer than the 120 s that one try may last."""
    limits = {"m": "8 in flight, 375 s a call"}
    record(
        bench, "r1", {"m": [1.0] * 50}, limits=limits, latency_ms=lambda _, sample: 121_500.0 if sample < 4 else 900.0
    )
    told = bench("routes").stderr
    assert (
        "perhaps retried unseen: m: 8 % of its answers (4 of 50) came later than one try may last (2 m 00 s, as its runs assume"
        in told
    )


@pytest.mark.slow
def test_frames_hold_the_routes_their_substitutes_and_probes(tmp_path: Path) -> None:
    assert probed(tmp_path, planted(), 0, "--no-report")["simulated"]
    frames = wb.open(folder=tmp_path)
    routes = frames.routes().set_index("requested_model")
    assert routes.loc["replaced", ["substituted", "substituted_share"]].tolist() == [3, 1.0]
    assert routes.loc["endless", "max_tokens"] == "ignored"
    assert "newest 3 calls failed" in routes.loc["dead", "attention"]
    assert frames.substitutions()[["requested_model", "served_model", "answers"]].values.tolist() == [
        ["replaced", "able", 3]
    ]
    assert frames.probes().set_index("requested_model")["tools"].to_dict()["able"] == "called"
    (tmp_path / "empty").mkdir()
    bench = Workbench(tmp_path / "empty", None)
    record(bench, "r1", {"m": []})
    empty = wb.open(folder=bench.folder)
    assert [len(frame) for frame in (empty.routes(), empty.substitutions(), empty.probes())] == [0, 0, 0]
    assert list(empty.routes()) == list(frames.routes())
    assert empty.probes().dtypes.to_dict() == frames.probes().dtypes.to_dict()
    assert str(empty.probes()["thinks"].dtype) == "boolean"


@pytest.mark.file_ledger
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'[routes.odd]\r\nserved_as = ["a", # the maker\r\n]\r\n', b'[routes.odd]\r\nserved_as = ["a", # the maker\r\n"odd-70b", # confirmed\r\n]\r\n'),
        (b"\xef\xbb\xbf# ours\n", b'\xef\xbb\xbf# ours\n\n[routes.odd]\nserved_as = [\n"odd-70b", # confirmed\n]\n'),
        (b"routes = {}\n", b'routes = {odd = {served_as = [\n"odd-70b", # confirmed\n]}}\n'),
        (b'[routes]\nodd.served_as = "a"\n', b'[routes]\nodd.served_as = ["a",\n"odd-70b", # confirmed\n]\n'),
    ],
    ids=["CRLF and a comment", "byte order mark", "inline tables", "dotted keys"],
)  # fmt: skip
def test_the_settings_stay_as_they_were_written(bench: Workbench, before: bytes, after: bytes) -> None:
    record(bench, "r1", {"odd": [1.0] * 3}, served={"odd": "odd-70b"})
    kept = bench.folder / "kept.toml"
    kept.write_bytes(before)
    kept.chmod(0o600)
    (bench.folder / "workbench.toml").symlink_to(kept)
    bench("routes", "confirm", "odd", "odd-70b")
    assert (bench.folder / "workbench.toml").is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o600
    said = f"#confirmed{clock.now():%Y-%m-%d},runr1".encode()
    assert kept.read_bytes().replace(b" ", b"").replace(said, b"#confirmed") == after.replace(b" ", b"")
    assert bench.json("routes", "status")["routes"][0]["usual_identity"] == "known_alias"


@pytest.mark.slow
def test_a_probe_that_a_cap_ends_says_so(tmp_path: Path) -> None:
    with ThreadedServer(planted()) as server:
        bench = Workbench(tmp_path, server)
        bench.write("workbench.toml", '[[caps]]\nper = "day"\nrequests = 2\n')
        told = [bench("probe", "able", "--no-report", code=7).stderr for _ in range(2)]
    for one in told:
        assert "probe stopped: the cap of 2 requests a day has no room" in one


def test_a_name_that_came_and_went_is_told(bench: Workbench) -> None:
    names = {("m", sample): "m-v2" if sample in (20, 21) else "b" if sample == 0 else "m" for sample in range(60)}
    record(bench, "r1", {"m": [1.0] * 60, "b": [1.0]}, served_by=names)
    found = bench.json("routes", "status")
    assert [(one["before"], one["served_model"]) for one in found["names"]] == [("m", "m-v2")]
    kinds = {item["kind"]: item["detail"] for item in found["attention"]}
    assert kinds == {"fallback": "b", "suspected": "m-v2"}, "and may have been another model's"
    assert found["names"][0]["at"].endswith("Z")


def test_the_worst_of_two_days_is_found(bench: Workbench) -> None:
    for day, latency_ms in ((0, 100.0), (5, 9_000.0)):
        record(bench, f"r{24 * day}", {"m": [1.0] * 20}, latency_ms=lambda _, __, slow=latency_ms: slow)
    (worst,) = bench.json("routes", "status")["worst"]
    assert (worst["what"], worst["part"], worst["usual"]) == ("slow answers", 9_000.0, 100.0)


def test_servers_that_share_the_work_are_no_change() -> None:
    both = RouteFacts(answers="itself", names=("a", "b"))
    one, other = RouteFacts(answers="itself", names=("a",)), RouteFacts(answers="itself", names=("c",))
    assert not list(differences(both, one))
    assert merge_facts(both, one).names == ("a", "b")
    assert [what for what, _, _ in differences(both, other)] == ["answers as"]


@pytest.mark.slow
def test_a_probe_confirms_no_foreign_name_in_bulk(tmp_path: Path) -> None:
    """The platform answers under its model servers' names, which its list does not have."""
    renamed = planted(able={"upstream": "lab/able-7b"}, replaced={"upstream": "lab/replaced"})
    config = msgspec.structs.replace(renamed, silent=Silent(served_name="upstream"))
    with ThreadedServer(config) as server:
        bench = Workbench(tmp_path, server)
        told = bench("probe", "able", "prose", "replaced", "--no-report")
        assert (
            "note: able answers as lab/able-7b, which is not confirmed: `workbench routes confirm able lab/able-7b`"
            in told.stderr
        )
        assert "not told by its name" in told.stdout
        told = bench("probe", "able", "prose", "--no-report", "--confirm")
        assert "not confirmed: able answers as lab/able-7b, which may be another model" in told.stderr
        assert "able" not in (tmp_path / "workbench.toml").read_text("utf-8")
        bench("routes", "confirm", "able", "lab/able-7b")
        found = bench.json("probe", "replaced", "--no-report")
    assert found["routes"]["replaced"]["substitutes"] == ["lab/able-7b"], "its name is the other route's by now"
    assert not found["changes"], "and was, in the probe before"
    assert (tmp_path / "workbench.toml").read_text().count("served_as") == 2


@pytest.mark.slow
def test_every_route_has_its_health_over_time(tmp_path: Path) -> None:
    """Drawn for the first of them, in numbers for all, hours without an answer included."""
    bench = Workbench(tmp_path, None)
    for run_id in ("r1", "r5"):
        record(bench, run_id, {f"m{number:02}": [1.0, 1.0] for number in range(14)})
    bench("report", "--all")
    page = Page(tmp_path / "reports" / "routes.html")
    assert [page.cells(f"course{number}", 1) for number in range(14)] == [["2", "2"]] * 14
    assert "The numbers by hour" in page.text, "of those that are not drawn"
    page.check(bench.ledger)
