"""The course of a window as a chart: what is seen, what is not, readings, and what lies ahead."""

from datetime import datetime

import altair as alt

from workbench.allowance.account import AccountState
from workbench.report.chart_parts import WIDTH, amounts, hatching, over, tip
from workbench.report.drawing import AnyChart
from workbench.wording.allowance import span, units


def window_chart(found: AccountState) -> AnyChart | None:
    """Return the units used since the window began; None where it has no course.

    Args:
        found: How the account stands.
    """
    if found.window is None or len(found.course) < 2:
        return None
    domain = [_iso(found.window.start_at), _iso(found.window.end_at)]
    across = alt.X(
        "at:T", title="UTC", scale=alt.Scale(type="utc", domain=domain), axis=alt.Axis(labelOverlap=True, tickCount=8)
    )
    up = amounts()
    title = f"{found.unit} used"
    seen = [
        {"at": _iso(one.at), "seen": one.seen, "when": _when(one.at), "used": units(one.seen)} for one in found.course
    ]
    whole = [
        {"at": _iso(one.at), "low": one.low, "high": one.high, "when": _when(one.at), "used": span(one.low, one.high)}
        for one in found.course
        if one.low is not None and one.high is not None
    ]
    layers: list[alt.Chart] = []
    tips = [tip("when", "N", title="UTC"), tip("used", "N", title="used in all")]
    if found.ahead:
        coming = [
            {
                "at": _iso(one.at),
                "low": one.low,
                "high": one.high,
                "when": _when(one.at),
                "used": span(one.low, one.high),
            }
            for one in found.ahead
        ]
        forecast = over(coming).mark_area(color="var(--m8)", opacity=0.25, clip=True)
        tooltip = [tip("when", "N", title="UTC"), tip("used", "N", title="used by then")]
        layers.append(forecast.encode(x=across, y=alt.Y("low:Q", title=title, axis=up), y2="high:Q", tooltip=tooltip))
    if whole:
        ours_at = {point["at"]: point["seen"] for point in seen}
        others = [row | {"seen": ours_at[row["at"]]} for row in whole]
        hatched = over(others).mark_area(color=hatching("var(--m1)"), stroke="var(--m1)", strokeWidth=1)
        layers.append(hatched.encode(x=across, y=alt.Y("seen:Q", title=title, axis=up), y2="high:Q", tooltip=tips))
        least = over(others).mark_line(color="var(--m1)", strokeWidth=1.5)
        layers.append(least.encode(x=across, y=alt.Y("low:Q", title=title, axis=up)))
    ours = over(seen).mark_area(color="var(--m0)", opacity=0.35, line={"color": "var(--m0)", "strokeWidth": 2})
    tooltip = [tip("when", "N", title="UTC"), tip("used", "N", title="seen")]
    layers.append(ours.encode(x=across, y=alt.Y("seen:Q", title=title, axis=up), tooltip=tooltip))
    layers += _readings(found, across)
    if found.total is not None:
        limit = over([{"total": found.total}]).mark_rule(strokeDash=[6, 4], color="var(--failed)", strokeWidth=1.5)
        layers.append(limit.encode(y="total:Q"))
    chart: AnyChart = alt.layer(*layers).properties(width=WIDTH, height=260)
    return chart


def _readings(found: AccountState, across: alt.X) -> list[alt.Chart]:
    """Return a point, with its rounding, at each reading that says something in units."""
    total = None if found.total is None else (found.total, found.total)
    rows = [
        {"at": _iso(one.read_at), "low": used[0], "high": used[1], "middle": sum(used) / 2, "when": _when(one.read_at),
         "read": f"{one.of_what} {one.said}"}
        for one in found.readings
        if (used := one.used(total)) is not None
    ]  # fmt: skip
    if not rows:
        return []
    tips = [tip("when", "N", title="UTC"), tip("read", "N", title="read")]
    rule = over(rows).mark_rule(strokeWidth=2, color="var(--ink)").encode(x=across, y="low:Q", y2="high:Q")
    dot = over(rows).mark_point(filled=True, size=60, color="var(--ink)", opacity=1)
    return [rule, dot.encode(x=across, y="middle:Q", tooltip=tips)]


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"
