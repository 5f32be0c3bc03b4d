"""The scorers of a job, looked at before anything is sent: the scales of targets, and the models and columns of judges."""

from collections.abc import Iterator

from workbench.errors import Fault, InputError, nearest
from workbench.job.file import AGREEMENT_GATES, scorer_and_field
from workbench.job.job import Job
from workbench.records.calls import Sample
from workbench.scoring.choice import Choice
from workbench.scoring.choices import Choices
from workbench.scoring.json_fields import JsonFields
from workbench.scoring.judge import VARIABLES, Judge
from workbench.scoring.scorer import Scorer
from workbench.scoring.targets import as_text


class TargetScales:
    """Holds every target to its scale, and every field that a scale or a gate names to the targets."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._by_field = {
            number: (scorer, set[str]()) for number, scorer in enumerate(job.scorers) if isinstance(scorer, JsonFields)
        }
        """By place among the scorers: those that judge field by field, and the fields that targets have."""

    def take(self, number: int, scorer: Scorer, sample: Sample) -> None:
        """Look at one more sample that the scorer can judge.

        Raises:
            InputError: Its target is outside the scale.
        """
        if problem := scorer.off_scale(sample):
            option = "target_scales" if scorer.reads == "fields" else "target_scale"
            text = f"{problem}: sample {sample.id!r}"
            raise InputError(Fault(self._job.where("scorers", number, option), text, "correct the scale or the target"))
        if number in self._by_field:
            declared, known = self._by_field[number]
            known.update(declared.target_of(sample))

    def check(self) -> None:
        """Refuse scales of a field that no target has, and gates on one; a part of the dataset may lack what the rest has.

        Raises:
            InputError: There is one.
        """
        dataset = self._job.dataset
        if self._job.narrowed or dataset.limit is not None or dataset.sample_ids:
            return
        for number, (scorer, known) in self._by_field.items():
            for place, field in (
                *((("scorers", number, "target_scales"), field) for field in scorer.target_scales or {}),
                *self._gated(scorer),
            ):
                if known and field not in known:
                    hint = nearest(field, known) or f"the targets have: {', '.join(sorted(known))}"
                    raise InputError(Fault(self._job.where(*place), f"no target has a field {field!r}", hint))

    def _gated(self, scorer: JsonFields) -> Iterator[tuple[tuple[str, ...], str]]:
        """Return the fields of a scorer that gates name, each with its place."""
        scorers = [one.named for one in self._job.scorers]
        for table in AGREEMENT_GATES:
            for name in getattr(self._job.gates, table, ()):
                of, field = scorer_and_field(name, scorers)
                if of == scorer.named and field is not None:
                    yield ("gates", table, name), field


class OptionNumbers:
    """The numbers that name options, which are counted from 0: those of people begin with 1."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._places = [n for n, scorer in enumerate(job.scorers) if isinstance(scorer, Choice | Choices)]
        self._has_first = False
        self._beyond: Sample | None = None

    def take(self, sample: Sample) -> None:
        """Look at one more sample."""
        if not self._places or not sample.choices:
            return
        given = sample.target if isinstance(sample.target, list | tuple) else [sample.target]
        texts = {as_text(one) for one in given}.difference(sample.choices)
        self._has_first |= "0" in texts
        if self._beyond is None and str(len(sample.choices)) in texts:
            self._beyond = sample

    def check(self) -> None:
        """Refuse numbers from 1: every answer would be held to the option after the right one.

        Raises:
            InputError: No target is 0, and one is the number of its options.
        """
        if self._beyond is None or self._has_first or self._job.narrowed:
            return
        most = f"sample {self._beyond.id!r} has {len(self._beyond.choices)}"
        problem = f"the targets are numbers from 1, and options are counted from 0: {most}, and none has 0"
        hint = "give letters, the options' texts, or numbers from 0"
        raise InputError(Fault(self._job.where("scorers", self._places[0]), problem, hint))


def judges_of(job: Job) -> Iterator[tuple[int, Judge]]:
    """Return the judges, with their places among the scorers."""
    return ((number, scorer) for number, scorer in enumerate(job.scorers) if isinstance(scorer, Judge))


class JudgeColumns:
    """The columns that the templates of judges name, looked for in the samples."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._missing = {number: judge.needed() for number, judge in judges_of(job)}
        self._known = set(VARIABLES)
        self._first: Sample | None = None

    def take(self, sample: Sample) -> None:
        """Look at one more sample."""
        if self._missing:
            self._known |= sample.metadata.keys()
            self._first = self._first or sample

    def check(self) -> None:
        """Refuse a name that no sample has, and a template that the first cannot fill; where only others cannot, the judge's
        own run names them.

        Raises:
            InputError: There is such a template.
        """
        for number, names in self._missing.items():
            for name in sorted(names - self._known):
                hint = nearest(name, self._known) or f"a sample has: {', '.join(sorted(self._known))}"
                raise InputError(Fault(self._job.where("scorers", number, "template"), f"{name!r} is undefined", hint))
        for number, judge in judges_of(self._job):
            if self._first is not None:
                judge.try_on(self._job.where("scorers", number, "template"), self._first)
