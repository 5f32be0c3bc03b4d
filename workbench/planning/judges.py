"""The judges among a job's scorers, looked at before anything is sent: their models, and the columns of their templates."""

from collections.abc import Iterable, Iterator

from workbench.errors import Fault, InputError, nearest
from workbench.job.job import Job
from workbench.records import Model, Sample
from workbench.scoring.judge import VARIABLES, Judge


def judges_of(job: Job) -> Iterator[tuple[int, Judge]]:
    """Return the judges, with their places among the scorers."""
    return ((number, scorer) for number, scorer in enumerate(job.scorers) if isinstance(scorer, Judge))


def invisible_judges(job: Job, visible: Iterable[Model]) -> Iterator[tuple[str, str]]:
    """Return the judges whose models the account does not see, as (place, text)."""
    ids = [model.id for model in visible]
    for number, judge in judges_of(job):
        if judge.model not in ids:
            near = nearest(judge.model, ids)
            text = f"{judge.model!r} is not visible to this account: the scores will stay pending"
            yield job.where("scorers", number, "model"), f"{text} ({near})" if near else text


class JudgeColumns:
    """The columns that the templates of judges name, looked for in the samples."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._missing = {number: judge.needed() for number, judge in judges_of(job)}
        self._known = set(VARIABLES)

    def take(self, sample: Sample) -> None:
        """Look at one more sample."""
        if self._missing:
            self._known |= sample.metadata.keys()

    def check(self) -> None:
        """Refuse a name that no sample has; where only some lack it, the judge's own run names them.

        Raises:
            InputError: A template names it.
        """
        for number, names in self._missing.items():
            for name in sorted(names - self._known):
                hint = nearest(name, self._known) or f"a sample has: {', '.join(sorted(self._known))}"
                raise InputError(Fault(self._job.where("scorers", number, "template"), f"{name!r} is undefined", hint))
