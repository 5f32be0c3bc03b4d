"""What calls draw, in the allowance's units."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import msgspec

from workbench.settings import AllowanceSettings, WeightSettings

_PER = 1000  # tokens


class ReportedTokens(msgspec.Struct, frozen=True):
    """What some calls of one model reported."""

    prompt: int
    completion: int
    reasoning: int
    """Of the completion tokens."""
    total: int


class Weights(msgspec.Struct, frozen=True):
    """How many units a model's tokens draw, by the day of the call; without any weights a unit is a token."""

    entries: tuple[WeightSettings, ...]
    unit: str
    zone: str

    def changes(self) -> list[datetime]:
        """The moments from which other weights hold, in UTC-aware order."""
        days = sorted({entry.since for entry in self.entries})
        return [datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(self.zone)) for day in days]

    def units(self, model: str, at: datetime, tokens: ReportedTokens) -> float | None:
        """What calls of a model draw that were sent at about one moment.

        Returns:
            None where the model has no weight then: unweighted is not free.
        """
        if not self.entries:
            return float(tokens.total)
        weight = self._of(model, at.astimezone(ZoneInfo(self.zone)).date())
        if weight is None:
            return None
        thinking = weight.completion if weight.reasoning is None else weight.reasoning
        drawn = weight.prompt * tokens.prompt + weight.completion * (tokens.completion - tokens.reasoning)
        return (drawn + thinking * tokens.reasoning) / _PER

    def _of(self, model: str, day: date) -> WeightSettings | None:
        for name in (model, "*"):
            known = [entry for entry in self.entries if entry.model == name and entry.since <= day]
            if known:
                return max(known, key=lambda entry: entry.since)
        return None


def weights_of(allowance: AllowanceSettings, zone: str) -> Weights:
    """As `workbench.toml` gives them."""
    unit = allowance.unit or ("units" if allowance.weights else "tokens")
    return Weights(tuple(allowance.weights), unit, zone)
