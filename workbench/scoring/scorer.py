"""What every scorer is: a table of a job file that judges one answer by one sample."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import msgspec

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given

FAILED = "the scorer failed: "
"""With what the reason of a score begins where the scorer itself broke."""
NO_TEXT = "no text to score"
"""The reason of a score where the answer is a tool call alone and a text was asked."""
MOST_SCORE = 1e12
"""No score is larger: beyond it sums and squares of scores mean nothing, and not-a-number and infinity would meet every gate."""


def grade(value: float, scale: Sequence[float] | None) -> Literal["right", "partly", "wrong"]:
    """Return whether a score is at the top of its scale or at its bottom.

    Args:
        scale: Its least and its most; None: nothing says so, and 1 alone is right.
    """
    least, most = scale or (0.0, 1.0)
    if value == most or (scale is not None and value > most):
        return "right"
    return "wrong" if value <= least else "partly"


class CannotJudgeError(Exception):
    """A sample has no target that a scorer can judge by; the text says why."""


class OptionError(ValueError):
    """An option of a scorer names a file that cannot be used; the text says why."""

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(problem)
        self.option = option


class Scorer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="name"):
    """One way to score answers; its fields are its options in a job file, and its first sentence describes it there."""

    label: str | None = None
    """The name of its scores; by default the scorer's, and needed where one is used twice."""

    scale: tuple[float, float] | msgspec.UnsetType = msgspec.UNSET
    """The least and the most that a score may be; only `custom` chooses it: a judge has what its verdicts span, others 0 to 1."""

    refusals: bool | msgspec.UnsetType = msgspec.UNSET
    """true: refused answers are judged like others; else they are not right, but for samples with `refusal = "right"`."""

    needs_text: ClassVar[bool] = True
    """Whether an answer without text is left unscored."""
    by_target: ClassVar[bool] = True
    """Whether it compares with targets of one kind, so that what says one of them scores without a model. Not a function of the
    job's own, which may take its time."""
    asks_a_model: ClassVar[bool] = False
    """Whether its scores come from requests of their own, so that scoring again must not replace them."""

    @property
    def settings(self) -> str:
        """What its scores depend on, as the ledger has it beside them."""
        return msgspec.json.encode(self).decode()

    def target_of(self, sample: Sample) -> Any:
        """Read from a sample what is right.

        Raises:
            CannotJudgeError: It does not say, or not in a way that this scorer can judge by.
        """
        raise NotImplementedError

    def off_scale(self, sample: Sample) -> str | None:
        """Return how a target that it can judge by leaves the scale that the job declares; None where it does not."""
        return None

    def score(self, answer: Given, wanted: Any) -> Score:
        """Compare an answer with what is right."""
        raise NotImplementedError

    @property
    def reads(self) -> Literal["label", "number", "fields"] | None:
        """What `extracted` of its scores is, so that it can be set beside the target: one label, one number, or an object's
        fields.
        """
        return None

    def right_labels(self, wanted: Any) -> Sequence[str]:
        """Return the labels that are right, as `extracted` has them: of a scorer that reads one."""
        raise NotImplementedError

    def label_read(self, extracted: str, labels: Collection[str]) -> str | None:
        """Return which of some labels was read; None where it is another."""
        return extracted if extracted in labels else None

    def faults(self) -> Iterator[tuple[str, str]]:
        """Return what a JSON Schema cannot see: options whose values are wrong, as (option, problem)."""
        yield from ()

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the most that its scores may be; None where nothing says so. The SQL macro `scale_of` says the
        same.
        """
        return 0.0, 1.0

    def in_folder(self, folder: Path) -> Self:
        """Return the same with the files that it names found and read.

        Raises:
            OptionError: One cannot be used.
        """
        return self

    @property
    def kind(self) -> str:
        """The name that a job file gives it."""
        return str(self.__struct_config__.tag)

    @property
    def named(self) -> str:
        """The name under which its scores are kept: its label, or else its kind."""
        return self.label or self.kind
