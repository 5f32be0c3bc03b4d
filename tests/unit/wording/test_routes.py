import re
from datetime import UTC, date, datetime, timedelta

import pytest

from workbench.ledger.route_rows import RouteServed
from workbench.ledger.schema import sql
from workbench.routes.days import Outage, Strip, StripDay
from workbench.routes.facts import RouteFacts
from workbench.routes.identity import RouteIdentity, identities
from workbench.routes.probes import KnownRoute
from workbench.wording.routes import EVIDENCE, days_text, earlier_text, identity_text, strip_day_text, strip_text

AT = datetime(2020, 11, 26, tzinfo=UTC)


def test_days_are_said_once_with_the_year_where_it_is_another() -> None:
    third = date(2020, 11, 3)
    assert days_text(third, third) == "3 Nov 2020"
    assert days_text(third, date(2020, 11, 4)) == "3–4 Nov 2020"
    assert days_text(date(2020, 10, 28), third) == "28 Oct 2020 – 3 Nov 2020"


def test_this_year_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_NOW", "2020-12-01T00:00Z")
    assert days_text(date(2020, 11, 3), date(2020, 11, 4)) == "3–4 Nov"


def test_a_strip_in_words_names_what_was_not_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_NOW", "2020-12-01T00:00Z")
    counts = [(5, 0, 0), (5, 5, 0), (5, 5, 0), (5, 0, 0), (5, 5, 0), (5, 0, 1), (0, 0, 0)]
    days = [StripDay(date(2020, 11, 1) + timedelta(days=n), *counts[n][:2], 5, counts[n][2]) for n in range(7)]
    assert strip_text(Strip("m", tuple(days))) == (
        "1–7 Nov: ok on 2 days, answered by another model on 6 Nov, failed on 2–3 Nov and 5 Nov and no call on 7 Nov"
    )
    assert [strip_day_text(days[n]) for n in (0, 1, 5, 6)] == [
        "1 Nov: ok, 5 calls", "2 Nov: failed, 5 calls, 5 failed", "6 Nov: fallback, 5 calls, 1 answered by another model",
        "7 Nov: no call",
    ]  # fmt: skip


def test_an_outage_says_since_when_the_route_answers_again() -> None:
    first, last = date(2020, 11, 1), date(2020, 11, 3)
    assert (
        earlier_text(Outage("m", first, last, 9, None)) == "dead on 1–3 Nov 2020, 9 failed calls, and not asked since"
    )
    assert earlier_text(Outage("m", last, last, 9, date(2020, 11, 5))).endswith("; answers again since 5 Nov 2020")


def test_every_evidence_of_the_ledger_has_its_words() -> None:
    view = sql("views", "served_identities")
    found = set(re.findall(r"evidence: '([^']+)'", view)) | set(re.findall(r"THEN '(not its name[^']+)'", view))
    assert len(found) >= 11
    assert found - {"not named"} == set(EVIDENCE), "of an answer without a name nothing is said of one"


def identity(facts: RouteFacts | None, *names: RouteServed) -> str:
    known = {} if facts is None else {"m": KnownRoute(facts, AT)}
    (one,) = identities(
        ["m"], [RouteServed("m", "m", 30, "as_requested", "names itself", False, AT, AT), *names], known
    )
    return identity_text(one, "UTC")


def test_what_an_identity_rests_on_is_a_sentence() -> None:
    other = RouteServed("m", "n", 6, "fallback", "another model of the list", False, AT, AT + timedelta(days=1))
    assert identity(None, other) == (
        "6 of 36 answers (26–27 Nov 2020) came as n, which is another model of the list, so a fallback"
    )
    assert identity(RouteFacts("itself", names=("m",))) == (
        "the probe of 26 Nov 2020 confirms it: it was answered under m"
    )
    assert identity(RouteFacts("fallback", substitutes=("n",)), other).endswith(
        "; the probe of 26 Nov 2020 casts doubt on it: n answered in its place"
    )
    assert "does not settle it: no answer named a model" in identity(RouteFacts("not told", names=()))
    assert identity(RouteFacts("no", failure="route_down")).endswith("got no answer: route down")


def test_of_a_route_under_its_own_id_that_no_probe_asked_there_is_nothing_to_say() -> None:
    rows = [
        RouteServed("m", "m", 30, "as_requested", "names itself", False, AT, AT),
        RouteServed("m", None, 3, "unknown", "not named", False, AT, AT),
    ]
    assert identities(["m"], rows, {"m": KnownRoute(RouteFacts(), AT)}) == list[RouteIdentity]()
