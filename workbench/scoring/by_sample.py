"""`by_sample`: each sample says itself how it is scored."""

import contextlib
from typing import Any, ClassVar, NamedTuple

import msgspec

from workbench.records.calls import Sample, Score
from workbench.scoring.custom import Custom
from workbench.scoring.given import Given
from workbench.scoring.kinds import Kind
from workbench.scoring.scorer import NO_TEXT, CannotJudgeError, Scorer

_SHOWN_CHARS = 200
_EXPECTED = 'expected {"scorer": "includes", "target": …} or a list of such checks'


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a target."""

    scorer: str | dict[str, Any]
    target: Any = None
    negated: bool = msgspec.field(default=False, name="not")


class Judging(NamedTuple):
    """A check, ready to be used."""

    scorer: Kind
    wanted: Any
    negated: bool


class BySample(Scorer, frozen=True, tag="by_sample"):
    """Each sample's target says how it is scored: `{"scorer": "includes", "target": "Paris"}`, or a list of such checks.

    The scorer of a check is a name or a table with options; `"not": true` turns it round.
    """

    whole: bool = False
    """Score 1 only when every check is right, else 0; by default their mean."""

    needs_text: ClassVar[bool] = False
    by_target: ClassVar[bool] = False

    def target_of(self, sample: Sample) -> list[Judging]:
        """Return the sample's checks, each with what is right by it."""
        target = sample.target
        if isinstance(target, str) and target.lstrip()[:1] in ("[", "{"):  # as tables hold it
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                target = msgspec.json.decode(target)
        entries = target if isinstance(target, list) else [target]
        if target is None or not entries:
            raise CannotJudgeError("the sample has no target")
        return [_judging(entry, sample) for entry in entries]

    def score(self, answer: Given, checks: list[Judging]) -> Score:
        """Return the mean of the checks; unscored where one of them cannot judge."""
        values, reasons = [], []
        for check in checks:
            if check.scorer.needs_text and not answer.text.strip():
                return Score(None, NO_TEXT)
            found = check.scorer.score(answer, check.wanted)
            if found.value is None:
                return Score(None, f"{check.scorer.named}: {found.reason}")
            value = 1 - found.value if check.negated else found.value
            values.append(value)
            if value < 1:
                reasons.append(f"{check.scorer.named}: {'' if not check.negated else 'is not to be '}{found.reason}")
        mean = sum(values) / len(values)
        said = "; ".join(reasons) or ("all checks are right" if len(values) > 1 else "the check is right")
        return Score(float(mean == 1) if self.whole else mean, said, answer.text[:_SHOWN_CHARS])


def _judging(entry: Any, sample: Sample) -> Judging:
    try:
        check = msgspec.convert(entry, Check)
        table = {"name": check.scorer} if isinstance(check.scorer, str) else check.scorer
        scorer = msgspec.convert(table, Kind)
    except msgspec.ValidationError as error:
        raise CannotJudgeError(f"the target is not a check: {error}; {_EXPECTED}") from error
    if isinstance(scorer, Custom):
        raise CannotJudgeError("a dataset cannot bring a function of its own; a job's [[scorers]] can")
    if scorer.asks_a_model:
        raise CannotJudgeError(
            f"a dataset cannot bring a {scorer.kind}, as nothing would ask it; a job's [[scorers]] can"
        )
    if getattr(scorer, "schema_path", None) is not None:
        raise CannotJudgeError("a dataset cannot name a file; give the schema itself")
    for option, problem in scorer.faults():
        raise CannotJudgeError(f"the scorer {scorer.kind} of the target: {option}: {problem}")
    own = msgspec.structs.replace(sample, target=check.target)
    if problem := scorer.off_scale(own):
        raise CannotJudgeError(problem)
    return Judging(scorer, scorer.target_of(own), check.negated)
