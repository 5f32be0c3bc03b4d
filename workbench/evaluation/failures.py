"""How the requests ended that a run planned, by model and by whose fault it most likely is."""

from collections.abc import Mapping

from workbench.evaluation.run_figures import RunFigures
from workbench.ledger.rows import Provenance
from workbench.records.outcomes import EFFECTS, Outcome

GROUPS = {
    "the model": "model",
    "the route": "route",
    "the platform": "platform or network",
    "the network": "platform or network",
    "the job": "our request",
    "the account": "account",
    "cancelled": "pending",
    "unknown": "unknown",
}
"""The fault of an outcome -> the group in which it is counted."""
CUT_OFF, REFUSED = "cut off by its limit", "refused or filtered"
PENDING = GROUPS["cancelled"]
"""Never sent, or sent and no end is known."""


def sides_asked(run: Provenance) -> list[str]:
    """Return what a run asks and compares: its models, each with every variant of the job."""
    return [" · ".join(filter(None, (model, variant))) for model in run.limits for variant in run.variants or [""]]


def planned_by_side(run: Provenance, items: Mapping[str, int]) -> dict[str, int]:
    """Everything that a run was to ask and compare -> how many requests; each is asked the same.

    Args:
        items: Of how many requests of each anything is recorded.
    """
    sides = list(dict.fromkeys([*sides_asked(run), *items]))
    each, rest = divmod(run.planned, len(sides)) if sides else (0, 0)
    if rest or any(count > each for count in items.values()):
        return dict(items)  # two models of the plan became one, or it is not known what was planned
    return dict.fromkeys(sides, each)


def planned_by_model(figures: RunFigures) -> dict[str, int]:
    """Return the same of the run of a page."""
    items = {row.model: row.items for row in figures.items}
    return planned_by_side(figures.provenance, items)


def failures_by_model(figures: RunFigures) -> dict[str, dict[str, int]]:
    """Model -> group -> requests without an answer that scorers can judge, out of all that were planned for it."""
    found: dict[str, dict[str, int]] = {model: {} for model in planned_by_model(figures)}
    seen = dict.fromkeys(found, 0)
    for row in figures.item_outcomes:
        model, requests = row.model, row.items
        seen[model] += requests
        group = _group(row.outcome)
        if group:
            found[model][group] = found[model].get(group, 0) + requests
    for model, planned in planned_by_model(figures).items():
        if planned > seen[model]:
            found[model][PENDING] = found[model].get(PENDING, 0) + planned - seen[model]
    return found


def _group(outcome: str | None) -> str:
    if outcome is None:
        return PENDING
    follows = EFFECTS[Outcome(outcome)]
    if follows.accepted:
        return {"": "", "cut_off": CUT_OFF}.get(follows.ends, REFUSED)
    return GROUPS[follows.fault]
