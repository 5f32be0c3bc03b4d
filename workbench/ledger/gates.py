"""What a gate found, as the ledger keeps it: its numbers. `wording.gates` turns them into a sentence."""

from typing import Literal

import msgspec

from workbench.records.endings import GateVerdict

AgreementFigure = Literal["kappa", "weighted kappa", "macro F1", "mean error", "bias", "pearson", "spearman"]


class _Evidence(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="of"):
    """Of one kind of finding; stored as JSON."""


class MeanFound(_Evidence, frozen=True, tag="mean"):
    """A model's mean over all asked, beside the least that is wanted."""

    wanted: float
    samples: int = 0
    mean: float | None = None
    """Over what is known, what is not right counted as such; None: nothing is known of any sample."""
    at_worst: float | None = None
    """If what is not known were the least it can be; None: no scale says that."""
    at_best: float | None = None
    low: float | None = None
    """Of the 95 % interval of the mean at the worst and at the best; None: too few samples for one."""
    high: float | None = None


class ShareFound(_Evidence, frozen=True, tag="share"):
    """How many requests or answers of a run are of some kind, beside the share that is allowed."""

    part: int
    whole: int
    most: float
    suspected: int = 0
    """Further ones that may be of that kind."""


class OwnNames(_Evidence, frozen=True, tag="own names"):
    """Every answer has a name that is its model's, as far as names say."""


class OtherNames(_Evidence, frozen=True, tag="other names"):
    """Answers of a model that another gave, or that came under a name that is not its own."""

    part: int
    whole: int
    identity: Literal["fallback", "suspected"]


class DifferenceFound(_Evidence, frozen=True, tag="difference"):
    """How a model's scores differ from those in an earlier run, beside how much less is allowed."""

    baseline: str
    most: float
    are_shares: bool
    asked: int
    unknown: int
    difference: float | None = None
    """None: the runs share no sample of which both scores are known."""
    low: float | None = None
    """Of its interval, whatever is unknown; None: there is none."""
    high: float | None = None


class OverConstant(_Evidence, frozen=True, tag="over constant"):
    """How far a model scores above the best constant answer, beside how far it must."""

    constant: str
    wanted: float
    are_shares: bool
    asked: int
    unknown: int
    difference: float | None = None
    """None: nothing is known of the model."""
    low: float | None = None
    """Of its interval, whatever is unknown; None: there is none."""
    high: float | None = None


class AgreementFound(_Evidence, frozen=True, tag="agreement"):
    """How far a model agrees with the targets, beside the least that is wanted, or of a mean error or a bias the most."""

    figure: AgreementFigure
    wanted: float
    asked: int
    unknown: int
    value: float | None = None
    """Over the answers that are known; None: nothing is known, or it is not defined."""
    at_lowest: float | None = None
    """If the unknown answers made it least; None: none is unknown, or nothing bounds what they do."""
    at_highest: float | None = None
    low: float | None = None
    """Of its 95 % interval, whatever is unknown; None: there is none."""
    high: float | None = None
    left_out: int = 0
    """Answers without a number, which a correlation leaves out."""


class NoDrop(_Evidence, frozen=True, tag="no drop"):
    """No model has become worse by a scorer."""

    occasions: int
    false_alarm_rate: float


class DropFound(_Evidence, frozen=True, tag="drop"):
    """A model shows less than it did, or takes longer, since some occasion."""

    kind: Literal["worse", "unusable", "slower"]
    """`unusable`: the drop is not shown over the scored answers alone."""
    state: Literal["open", "recovered", "accepted"]
    began: str
    """The first occasion that shows it."""
    difference: float
    """Of the mean of those since; of `slower` how many times as long answers take."""
    occasions: int
    """How many show it, so far."""
    samples: int
    before: int
    """How many occasions the level is made of."""
    assumed: float
    """By how much nights were assumed to differ, in the units of the scores."""
    are_shares: bool
    are_nights: bool
    """Whether no two occasions are of one day, by the account's clock."""
    began_here: str = ""
    """When it began by that clock; empty in an earlier version, which says it in UTC."""


class Undecided(_Evidence, frozen=True, tag="undecided"):
    """Why a gate cannot tell."""

    because: Literal[
        "nothing answered", "nothing scored", "no constant", "no agreement", "no field", "no earlier run", "not in the baseline",
        "other settings", "not the newest", "too few known", "too few shared", "less at the worst",
    ]  # fmt: skip
    named: str = ""
    """The job without an earlier run; the baseline that did not ask the model; the fields that there are."""
    known: int = 0
    """How many samples have a result."""
    wanted: int = 0


Evidence = (
    MeanFound
    | OverConstant
    | AgreementFound
    | ShareFound
    | OwnNames
    | OtherNames
    | DifferenceFound
    | NoDrop
    | DropFound
    | Undecided
)


class GateFinding(msgspec.Struct, frozen=True):
    """What one gate finds of one model, or of the whole run."""

    gate: str
    """Its key in `[gates]`, or `on_fallback`."""
    result: GateVerdict
    evidence: Evidence
    scorer: str | None = None
    model: str | None = None

    @property
    def is_first(self) -> bool:
        """Whether there is nothing to compare with as yet, which says nothing of the answers."""
        return isinstance(self.evidence, Undecided) and self.evidence.because in (
            "no earlier run",
            "not in the baseline",
        )


def encoded(evidence: Evidence) -> str:
    """Return it as the ledger keeps it."""
    return msgspec.json.encode(evidence).decode()


def decoded(stored: str) -> Evidence:
    """Return what `encoded` was given."""
    evidence: Evidence = msgspec.json.decode(stored, type=Evidence)
    return evidence
