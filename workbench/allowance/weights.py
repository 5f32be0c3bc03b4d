"""What calls draw, in the allowance's units."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import msgspec

from workbench.evaluation.per_right import Weighing
from workbench.ledger.score_rows import SideTokens
from workbench.records.calls import Usage
from workbench.settings.file import AllowanceSettings, WeightSettings

_PER = 1000  # tokens


class ReportedTokens(msgspec.Struct, frozen=True):
    """What some calls of one model reported."""

    prompt: int
    completion: int
    """Without reasoning."""
    reasoning: int
    total: int


class Weights(msgspec.Struct, frozen=True):
    """How many units a model's tokens draw, by the day of the call; without any weights a unit is a token."""

    entries: tuple[WeightSettings, ...]
    unit: str
    zone: str

    def changes(self) -> list[datetime]:
        """Return the moments from which other weights hold, in UTC-aware order."""
        days = sorted({entry.since for entry in self.entries})
        return [datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(self.zone)) for day in days]

    def units(self, model: str, at: datetime, tokens: ReportedTokens) -> float | None:
        """Return what calls of a model draw that were sent at about one moment.

        Returns:
            None where the model has no weight then: unweighted is not free.
        """
        if not self.entries:
            return float(tokens.total)
        weight = self._of(model, at.astimezone(ZoneInfo(self.zone)).date())
        if weight is None:
            return None
        drawn = weight.prompt * tokens.prompt + weight.completion * tokens.completion
        return (drawn + _thinking(weight) * tokens.reasoning) / _PER

    def of_call(self, model: str, at: datetime, usage: Usage) -> float | None:
        """Return what one call drew by what it reported; None where it did not report a part that has a weight."""
        if usage.total_tokens is None or (
            self.entries and (usage.prompt_tokens is None or usage.completion_tokens is None)
        ):
            return None
        prompt, completion = usage.prompt_tokens or 0, usage.completion_tokens or 0
        thought = usage.reasoning_tokens or 0
        inside = usage.total_tokens < prompt + completion + thought
        answered = completion - min(thought, completion) if inside else completion
        return self.units(model, at, ReportedTokens(prompt, answered, thought, usage.total_tokens))

    def most_units(self, model: str, at: datetime, prompt: int, generated: int) -> float | None:
        """Return the most that so many tokens of a prompt and as many generated ones can draw, reasoning or not."""
        if not self.entries:
            return float(prompt + generated)
        weight = self._of(model, at.astimezone(ZoneInfo(self.zone)).date())
        if weight is None:
            return None
        return (weight.prompt * prompt + max(weight.completion, _thinking(weight)) * generated) / _PER

    def _of(self, model: str, day: date) -> WeightSettings | None:
        for name in (model, "*"):
            known = [entry for entry in self.entries if entry.model == name and entry.since <= day]
            if known:
                return max(known, key=lambda entry: entry.since)
        return None


def _thinking(weight: WeightSettings) -> float:
    return weight.completion if weight.reasoning is None else weight.reasoning


def weights_of(allowance: AllowanceSettings, zone: str) -> Weights:
    """As `workbench.toml` gives them."""
    unit = allowance.unit or ("units" if allowance.weights else "tokens")
    return Weights(tuple(allowance.weights), unit, zone)


def weighing_of(allowance: AllowanceSettings, zone: str) -> Weighing | None:
    """Return how the units of answers follow from their tokens; None where a unit is a token."""
    weights = weights_of(allowance, zone)

    def drawn(row: SideTokens) -> float | None:
        if row.without_usage or row.without_parts:
            return None
        usage = Usage(row.prompt_tokens, row.completion_tokens, row.reasoning_tokens, row.total_tokens)
        return weights.of_call(row.requested_model, row.sent_at, usage)

    return Weighing(weights.unit, drawn) if weights.entries else None
