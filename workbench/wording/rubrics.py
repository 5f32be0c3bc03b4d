"""What two judges, or two rubrics, say of the same answers, in words."""

from workbench.display.text import plural, significant, words
from workbench.evaluation.rubrics import JudgedTwice, OtherVerdict, Rubric

_SHOWN = 5


def judged_twice_text(found: JudgedTwice) -> str:
    """Return how many answers have another verdict by the other rubric, which way, and whether one is shown to be stricter."""
    beside = "when it was asked first" if found.other is None else f"by {rubric_name(found.other)}"
    number = len(found.otherwise)
    are = "is" if number == 1 else "are"
    text = f"By {rubric_name(found.rubric)} {number} of {plural(found.answers, 'answer')} {are} judged otherwise than {beside}"
    if number:
        better, worse = ("right", "wrong") if found.are_right_or_wrong else ("higher", "lower")
        text += f": {found.lower} {better} there and {worse} here, {found.higher} the other way"
    if found.other is None:
        return f"{text}."
    if number:
        method = "" if found.found is None else found.found.method.replace("clusters", found.units)
        test = f" ({method}, p = {significant(found.adjusted_p)})" if method else ""
        shown = (
            "neither is shown to be stricter"
            if found.stricter is None
            else f"{rubric_name(found.stricter)} is stricter"
        )
        text += f"; {shown}{test}"
    return f"{text}.{_not_by_both(found)}"


def _not_by_both(found: JudgedTwice) -> str:
    """Return the answers that only one of them judged."""
    assert found.other is not None
    sides = ((found.only, found.rubric), (found.only_other, found.other))
    each = [f"{number} only by {rubric_name(rubric)}" for number, rubric in sides if number]
    return f" Not judged by both, and no difference: {words(each)}." if each else ""


def rubric_name(rubric: Rubric) -> str:
    """Return a rubric as people tell it from others of the same judge."""
    if rubric.is_current:
        return f"“{rubric.scorer}”"
    return f"“{rubric.scorer}” as it was on {rubric.judged_at:%Y-%m-%d %H:%M} UTC"


def first_samples_text(found: JudgedTwice) -> str:
    """Return the first samples that are judged otherwise."""
    ids = list(dict.fromkeys(one.sample_id for one in found.otherwise))
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return f"{'sample' if len(ids) == 1 else 'samples'} {', '.join(ids[:_SHOWN])}{more}"


def verdict_row(one: OtherVerdict) -> dict[str, object]:
    """Return an answer with both verdicts, as a table has it."""
    return {
        "sample_id": one.sample_id,
        "model": one.model,
        "epoch": one.epoch,
        "verdict_here": _verdict(one.value, one.said),
        "verdict_there": _verdict(one.other_value, one.other_said),
    }


def _verdict(value: float, said: str | None) -> str:
    return f"{said} ({value:g})" if said else f"{value:g}"
