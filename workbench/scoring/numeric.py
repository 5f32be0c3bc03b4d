"""`numeric`: the number that the answer states is near enough to the target's."""

import contextlib
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Literal

import msgspec

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.number import TermError, as_number, near, numbers_in, stated_number, written
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.targets import right_or_wrong, short, text_targets

_WORKED = (
    r"(?i)####|\\boxed\{|(?<![A-Za-z])answer\b|\n|<<|\b(?:so|therefore|thus|hence)\b|=\s*[-+$€£]{0,2}[\d.,]+[^\d=]*\Z"
)
"""What a worked solution has: a mark of its answer, several lines, a conclusion, or a result at its end."""
_POWER_OF_UNIT = r"(?<=\d)(?:\s{1,9}|\s{0,9}\\text\{\s{0,9})[A-Za-z/·°]{1,12}\}?\^\{?-?\d\}?"
_CHANGED = (
    r"(?i)\\sqrt|\\pi|[√π^]|\b(?:dozen|hundred|thousand|million|billion|trillion)s?\b|\d\s?(?:k|bn|mn)\b|\d\s?(?-i:M)\b"
)
Tolerance = Annotated[float, msgspec.Meta(ge=0)]


class Numeric(Scorer, frozen=True, tag="numeric"):
    """The number that the answer states as its result, or else its last, is near enough to the target's."""

    tolerance: Tolerance = 0.0
    """How far a number may be from the target's."""
    relative_tolerance: Tolerance = 0.0
    """The same as a share of the target's number."""
    target_scale: tuple[float, float] | Literal["unbounded"] | msgspec.UnsetType = msgspec.UNSET
    """The least and the most that a target may be, such as [0, 5] of grades, or "unbounded" of measurements that have neither: on
    it agreement with the targets is worked out."""

    def target_of(self, sample: Sample) -> list[Decimal]:
        """Return the accepted numbers: each target itself, what a worked solution ends on,
        or the one number of a text (`18 km`).
        """
        targets = text_targets(sample)
        numbers = [number for target in targets if (number := _number(target)) is not None]
        if not numbers:
            raise CannotJudgeError(f"the target is not a number: {short(targets[0])}")
        return numbers

    def score(self, answer: Given, wanted: list[Decimal]) -> Score:
        """1 where the number is within the tolerance of one of the targets."""
        try:
            given = stated_number(self._without_most(answer.text))
        except TermError as term:
            return Score(None, f"a term is stated, not a number: {term}")
        if given is None:
            return Score(0.0, "the answer holds no number")
        is_near = any(near(given, number, self.tolerance, self.relative_tolerance) for number in wanted)
        return right_or_wrong(is_near, written(given), "near", [written(number) for number in wanted])

    def _without_most(self, text: str) -> str:
        """Return a text with grades as `4` where it has `4/5`, `4 out of 5` or `4 von 5` of the most on the declared scale."""
        if not isinstance(self.target_scale, tuple):
            return text
        most = re.escape(f"{self.target_scale[1]:g}")
        of_most = rf"(?<=\d)\s{{0,3}}(?:/|\b(?:out\s{{1,3}}of|of|von|sur|su|de|из)\b)\s{{0,3}}{most}(?![\d/]|[.,]\d)"
        return re.sub(of_most, "", text, flags=re.IGNORECASE)

    @property
    def reads(self) -> Literal["number"]:
        """The number that the answer states."""
        return "number"

    def off_scale(self, sample: Sample) -> str | None:
        """Return which target is outside the declared scale; None where none is, or none is declared."""
        if self.target_scale is msgspec.UNSET:
            return None
        scale = ends_of_scale(self.target_scale)
        outside = [number for number in self.target_of(sample) if not is_within(number, scale)]
        return f"the target {written(outside[0])} is outside {scale_text(scale)}" if outside else None

    def faults(self) -> Iterator[tuple[str, str]]:
        """Numbers that are not finite, and a scale without a length."""
        yield from finite(tolerance=self.tolerance, relative_tolerance=self.relative_tolerance)
        if self.target_scale is not msgspec.UNSET:
            yield from scale_faults("target_scale", self.target_scale)


Scale = tuple[float, float]
"""The least and the most."""


def ends_of_scale(declared: Scale | Literal["unbounded"]) -> Scale:
    """Return a scale as a job declares it; one without ends has infinite ones."""
    return (-math.inf, math.inf) if declared == "unbounded" else declared


def is_within(number: Decimal | float, scale: Scale) -> bool:
    """Return whether a number is on a scale."""
    return scale[0] <= float(number) <= scale[1]  # as its ends are: a decimal 0.1 is less than a float


def scale_text(scale: Scale) -> str:
    """Return a scale as people read it: `0 to 5`."""
    return f"{scale[0]:g} to {scale[1]:g}"


def scale_faults(option: str, scale: Scale | Literal["unbounded"]) -> Iterator[tuple[str, str]]:
    """Return what is wrong with a declared scale, as `Scorer.faults` gives it."""
    if scale == "unbounded":
        return
    least, most = scale
    if not (math.isfinite(least) and math.isfinite(most) and least < most):
        yield option, "expected two finite numbers, the least and the most, such as [0, 5]"


def finite(**options: float) -> Iterator[tuple[str, str]]:
    """Return the options that are not finite numbers, as `Scorer.faults` gives them."""
    for name, value in options.items():
        if not math.isfinite(value):
            yield name, "expected a finite number"


def _number(target: str) -> Decimal | None:
    number = as_number(target)
    if number is None and (re.search(_WORKED, target) or _is_one(target)):
        with contextlib.suppress(TermError):
            return stated_number(target)
    return number


def _is_one(target: str) -> bool:
    """Return whether a text is about one number and nothing changes its value: a time, a date or a term is not."""
    target = re.sub(_POWER_OF_UNIT, "", target)  # 20 m^2
    try:
        numbers = numbers_in(target)
    except TermError:
        return False
    return len(numbers) == 1 and not re.search(_CHANGED, target)
