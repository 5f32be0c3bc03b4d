"""The scales that scorers declare of their targets, looked at before anything is sent."""

from workbench.errors import Fault, InputError, nearest
from workbench.job.job import Job
from workbench.records import Sample
from workbench.scoring.json_fields import JsonFields
from workbench.scoring.scorer import Scorer


class TargetScales:
    """Holds every target to its scale, and every field that has a scale to the targets."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._by_field = {
            number: (scorer, set[str]())
            for number, scorer in enumerate(job.scorers)
            if isinstance(scorer, JsonFields) and scorer.target_scales
        }
        """By place among the scorers: those with scales of fields, and the fields that targets have."""

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
        """Refuse the scale of a field that no target has; a part of the dataset may lack a field that the rest has.

        Raises:
            InputError: There is one.
        """
        dataset = self._job.dataset
        if self._job.narrowed or dataset.limit is not None or dataset.sample_ids:
            return
        for number, (scorer, known) in self._by_field.items():
            for field in scorer.target_scales or {}:
                if known and field not in known:
                    hint = nearest(field, known) or f"the targets have: {', '.join(sorted(known))}"
                    where = self._job.where("scorers", number, "target_scales")
                    raise InputError(Fault(where, f"no target has a field {field!r}", hint))
