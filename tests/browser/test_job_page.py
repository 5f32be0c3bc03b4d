"""The course of a job as its page draws it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Reader
from tests.browser.test_ten_seconds import nights
from tests.compared_runs import record
from tests.conftest import Workbench

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_axes_have_the_accounts_clock_and_every_small_chart_its_marks(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    bench.write("workbench.toml", '[account]\ntime_zone = "America/New_York"\n')
    models = [f"m{number}" for number in range(9)]
    for hour in (14, 16, 18, 20):  # after 2:00 UTC
        right = {model: [1.0, 0.0] * 10 for model in models}
        served = {"m1": "m2"} if hour > 16 else None
        record(bench, f"r{hour}", right, scorers=["exact"], listed={model: model for model in models}, served=served)
    report = Path(bench.json("report", "last")["report"])
    page = reader.open(next(report.parent.glob("job-*.html")))
    chart = page.locator("figure", has_text="Does it score as before?").locator(".drawing")
    expect(chart.locator("svg")).to_be_visible()
    labels = chart.locator(".role-axis-label text").all_text_contents()
    assert {label for label in labels if ":" in label} <= {f"{hour}:00" for hour in range(11, 18)}, "16:00 is 11:00"
    assert any(label.startswith(("13:", "15:")) for label in labels)
    expect(chart.locator(".role-axis-title text", has_text="America/New_York").first).to_be_visible()
    expect(chart.locator(".mark-rule.role-mark line[stroke-dasharray]")).to_have_count(len(models))
    assert not reader.faults


@pytest.mark.slow
def test_what_is_accepted_weeks_later_leaves_the_runs_the_whole_chart(tmp_path: Path, reader: Reader) -> None:
    bench = Workbench(tmp_path, None)
    nights(bench, drop=20)
    bench.environment["WORKBENCH_NOW"] = "2026-12-09T00:00Z"
    bench("accept", "j", "--reason", "a cheaper version")
    report = Path(bench.json("report", "last")["report"])
    page = reader.open(next(report.parent.glob("job-*.html")))
    chart = page.locator("figure", has_text="Does it score as before?").locator(".drawing")
    expect(chart.locator(".mark-rule.role-mark line[stroke-dasharray]")).to_have_count(1)
    labels = chart.locator(".role-axis-label text").all_text_contents()
    assert {"06:00", "18:00"} <= set(labels), labels
