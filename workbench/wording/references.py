"""Reference points in words."""

from collections.abc import Iterator, Sequence

from workbench.display.text import clipped, count, plural
from workbench.evaluation.references import ReferencePoint
from workbench.planning.references import MOST_PLANNED, PlannedReference

_SHOWN_CHARS = 40


def reference_name(point: ReferencePoint | PlannedReference) -> str:
    """Return a reference point as a table names it: `constant “4.5”`."""
    match point.reference:
        case "constant":
            return f"constant {_quoted(point)}"
        case "majority":
            return f"most frequent target {_quoted(point)}"
        case "random":
            return "a target at random"
        case "people":
            return f"second annotator ({point.column})"
        case _:
            return point.column


def floor_text(point: ReferencePoint | None) -> str:
    """Return that no model is shown to be better than a reference point; empty where there is none."""
    if point is None or point.mean is None:
        return ""
    who = f"{point.beside[0].side.model} is not" if len(point.beside) == 1 else "No model is"
    name = reference_name(point)
    article = "" if point.reference in ("column", "random") else "the "
    return f"{who} shown to be better than {article}{name}, which scores {point.mean:.3f} by “{point.scorer}”."


def exceeded_text(point: ReferencePoint) -> str:
    """Return how many models are shown to be better: `1 of 2 models is better`; empty where none is beside it."""
    if not point.beside:
        return ""
    better, of = len(point.better), len(point.beside)
    if of == 1:
        return "the model is better" if better else "the model is not shown to be better"
    if better == of:
        return f"{'both' if of == 2 else f'all {count(of)}'} models are better"
    if not better:
        return "no model is shown to be better"
    return f"{count(better)} of {count(of)} models {'is' if better == 1 else 'are'} better"


def planned_text(found: Sequence[PlannedReference]) -> Iterator[str]:
    """Return a line for each scorer: `without a model, by “numeric”: constant “4.5” 0.675, a target at random 0.412`."""
    for scorer in dict.fromkeys(one.scorer for one in found):
        own = [one for one in found if one.scorer == scorer]
        part = f" (on {count(MOST_PLANNED)} of {plural(own[0].of, 'sample')})" if own[0].is_part else ""
        yield f"without a model, by “{scorer}”{part}: {_means(own)}"


def without_model_text(points: Sequence[ReferencePoint], scorer: str | None) -> str:
    """Return what scores without a model by a scorer: `By “numeric”, without a model: constant “4.5” 0.675.`; empty where nothing
    does.
    """
    own = [one for one in points if one.scorer == scorer and one.mean is not None]
    return f"By “{scorer}”, without a model: {_means(own)}." if own else ""


def _means(points: Sequence[ReferencePoint | PlannedReference]) -> str:
    most = max(one.samples for one in points)
    return ", ".join(
        f"{reference_name(one)} {one.mean:.3f}" + (f" on {count(one.samples)} samples" if one.samples < most else "")
        for one in points
    )


def _quoted(point: ReferencePoint | PlannedReference) -> str:
    return f"“{clipped(point.constant or '', _SHOWN_CHARS)}”"
