"""`numeric`: the answer's last number is near enough to the target's."""

from workbench.job_file import Numeric
from workbench.records import Sample, Score
from workbench.scoring.extract import as_number, last_number
from workbench.scoring.given import Given
from workbench.scoring.targets import CannotJudgeError, short, text_targets, verdict


def target_of(scorer: Numeric, sample: Sample) -> list[float]:
    """The accepted numbers: each target itself, or what a worked solution ends on."""
    targets = text_targets(sample)
    numbers = [number for target in targets if (number := _number(target)) is not None]
    if not numbers:
        raise CannotJudgeError(f"the target is not a number: {short(targets[0])}")
    return numbers


def score(scorer: Numeric, answer: Given, wanted: list[float]) -> Score:
    """1 where the number is within the tolerance of one of the targets."""
    given = last_number(answer.text)
    if given is None:
        return Score(0.0, "the answer holds no number")
    near = any(
        abs(given - number) <= max(scorer.tolerance, scorer.relative_tolerance * abs(number), _float_error(number))
        for number in wanted
    )
    return verdict(near, f"{given:.15g}", "near", [f"{number:.15g}" for number in wanted])


def _number(target: str) -> float | None:
    number = as_number(target)
    return number if number is not None else last_number(target)


def _float_error(number: float) -> float:
    """What two ways of writing a number may differ by; whole numbers do not."""
    return 0.0 if number == int(number) else 1e-9 * abs(number)
