"""Routes in words."""

import workbench.display.commands as commands
import workbench.display.text as people
from workbench.evaluation.attention import Attention
from workbench.routes.health import Worst
from workbench.routes.overview import AccountRoutes, LateAnswers, state_of

_NAMED = 3


def routes_verdict(found: AccountRoutes) -> str:
    """Return how the routes are, in a sentence or two."""
    if not found.routes:
        return "No calls yet."
    states = state_of(found.routes)
    asked = f"{people.plural(len(found.routes), 'route')} asked"
    counted = [f"{number} {state}" for state, number in states.items() if number]
    text = f"{asked}: {people.words(counted)}."
    looked = list(dict.fromkeys(item.model for item in found.attention))
    if looked:
        more = f" and {people.plural(len(looked) - _NAMED, 'other')}" if len(looked) > _NAMED else ""
        text += f" Needs attention: {people.words(looked[:_NAMED]) if not more else ', '.join(looked[:_NAMED])}{more}."
    return text


def attention_text(item: Attention) -> str:
    """Return why a route needs attention."""
    part, whole = people.count(round(item.part)), people.count(item.whole)
    match item.kind:
        case "failing":
            return f"{part} of its newest {whole} calls failed, most often {item.detail.replace('_', ' ')}"
        case "fallback":
            return f"{part} of its {whole} answers are of {item.detail}"
        case "suspected":
            return f"{part} of its {whole} answers are under {item.detail}, which is not its name: probably another model's"
        case "new name":
            return f"it now answers as {item.detail}, which is not confirmed"
        case "slower":
            longer = f"{people.significant(item.part)} times as long as those of {item.detail} (medians)"
            return f"its {whole} answers of the 7 days to {item.until} took {longer}"
        case "no tool call":
            return f"answered without a tool call {part} of the {whole} times that one was forced"
        case _:
            return f"{part} of its {whole} answers came without usage"


def unconfirmed_text(model: str, served: str, constancy: str, ledger: str) -> str:
    """Return what to do about a served name in a ledger that may be the model itself."""
    return (
        f"Whether {served}, {constancy} of {model}, is that model: the model list does not have "
        f"it. Where it is, confirm it: {commands.confirm_name(model, served, ledger)}"
    )


def worst_text(one: Worst) -> str:
    """Return how bad a route was at its worst, beside how it usually is."""
    if one.what == "slow answers":
        usual = people.milliseconds(one.usual)
        return f"median {people.milliseconds(one.part)} of {people.plural(one.whole, 'answer')} (usually {usual})"
    of = "calls" if one.what == "failures" else "answers"
    return f"{people.percent(one.part)} of {people.count(one.whole)} {of} ({people.percent(one.usual)} over all)"


def late_text(late: LateAnswers) -> str:
    """Return the shares and what they rest on."""
    row, parts = late.row, []
    if late.beyond_limit:
        parts.append(
            f"{_share(late.beyond_limit, late.answers)} came later than one try may last "
            f"({people.milliseconds(row.limit_ms)}, as its runs assume; the latest after {people.milliseconds(row.longest_ms)})"
        )
    if late.near_failures:
        parts.append(
            f"{_share(late.near_failures, late.answers)} came as late as one or two failed tries and an answer "
            f"(a try of its {people.count(row.failures)} failures lasts {people.milliseconds(row.try_ms)}, an answer "
            f"{people.milliseconds(row.p50_ms)}, by their medians)"
        )
    return "; ".join(parts)


def _share(part: int, whole: int) -> str:
    return f"{people.percent(part / whole)} of its answers ({people.count(part)} of {people.count(whole)})"
