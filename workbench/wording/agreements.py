"""Agreement with the targets in figures as people read them."""

from collections.abc import Iterator
from typing import NamedTuple

from workbench.display.columns import Column, column, columns
from workbench.display.text import plural, visible
from workbench.evaluation.agreements import RunAgreement, SideAgreement
from workbench.stats.agreement import Agreement
from workbench.stats.jackknife import Estimate
from workbench.stats.label_agreement import LabelAgreement, ShareAgreement

_MOST_CHARS = 40  # of a label
_EXPLAINS = (
    "What is not right by the model’s own doing counts as a label of its own, or as the number that is "
    "farthest from right; where answers are unknown, figures are between what these could make of them. Kappa: 1 is the same "
    "everywhere, 0 what chance gives; a constant has 0, however well it scores."
)
_OF_MEASUREMENTS = (
    "The numbers have no ends, so that nothing stands for an answer without one: figures are of the numbers that were "
    "given, and where an answer has none they have no interval and show nothing."
)
_KAPPA = "Cohen’s kappa: 1 is the same everywhere, 0 what chance gives"
_SIDE, _ANSWERS = column("side", "model", "text"), column("answers", "answers known", "text", word="known")
_ACCURACY = column("accuracy", kind="text")
_MACRO_F1 = column("macro_f1", "macro F1", "text", "Mean of the classes’ F1, each of the same weight", "macro-F1")
_BIAS = column("bias", kind="text", description="Mean of what was given, less the mean of the targets")
_ERROR = column("absolute_error", "mean error", "text", word="error")
NUMBERS = columns(
    _SIDE, column("kappa", "weighted kappa", "text", f"{_KAPPA}; with quadratic weights", "kappa"), _BIAS, _ERROR,
    column("pearson", kind="text"), column("spearman", kind="text"), _ANSWERS,
)  # fmt: skip
"""The columns of numbers."""
MEASUREMENTS = tuple(one for one in NUMBERS if one.name != "kappa")
"""The same of numbers that have no ends."""
LABELS = columns(_SIDE, _ACCURACY, column("kappa", kind="text", description=_KAPPA), _MACRO_F1, _ANSWERS)
"""The columns of labels."""
FIELDS = columns(
    column("field", kind="text"), _SIDE, _ACCURACY,
    column("kappa", kind="text", description=f"{_KAPPA}; of numbers with quadratic weights"), _MACRO_F1, _BIAS, _ERROR,
    column("pearson", kind="text"), column("spearman", kind="text"), _ANSWERS,
)  # fmt: skip
"""The columns where each field has rows of its own."""
_COLUMNS = {"numbers": NUMBERS, "measurements": MEASUREMENTS, "labels": LABELS, "fields": FIELDS}
CLASSES = columns(
    column("label", kind="text"),
    column("precision", kind="number", description="Of the answers that have it, the share that is right"),
    column("recall", kind="number", description="Of the answers whose target it is, the share that is right"),
    column("f1", "F1", "number", "2 · precision · recall / (precision + recall)"),
    column("support", "targets", "count"), column("given", "answers", "count"),
)  # fmt: skip
"""The columns of the classes of one side."""
NO_CLASSES = "neither a scale nor few classes (at most 25, each of two samples on average, of ten samples or more)"
"""What targets are with which answers cannot agree beyond chance."""
NO_AGREEMENT = f"no scorer of the run reads a number, a label or JSON fields, or its targets are {NO_CLASSES}"
"""Why a run has none."""


class ClassTable(NamedTuple):
    """The classes of one side, and what it gave for each."""

    title: str
    rows: list[dict[str, str | int | float | None]]
    confusion: tuple[Column, ...]
    """The columns of `given`."""
    given: list[dict[str, str | int]]
    """A row for each target, with how many answers gave each label."""


class AgreementTable(NamedTuple):
    """All that is shown of a run's agreement."""

    by: str
    """What was read by which scorer."""
    columns: tuple[Column, ...]
    rows: list[dict[str, str]]
    """Of each model, and of a second annotator; of each field by itself."""
    notes: list[str]
    classes: list[ClassTable]
    explains: str


def agreement_table(found: RunAgreement) -> AgreementTable:
    """Return what is shown of a run's agreement."""
    shown = _COLUMNS[found.kind]
    rows = [
        _row(one) | {"field": "" if part.field is None else _short(part.field)}
        for part in found.parts
        for one in part.sides
    ]
    by = f"the {'numbers' if found.kind == 'measurements' else found.kind} that “{found.scorer}” read"
    explains = _OF_MEASUREMENTS if found.kind == "measurements" else _EXPLAINS
    return AgreementTable(by, shown, rows, list(_notes(found)), _class_tables(found), explains)


def _notes(found: RunAgreement) -> Iterator[str]:
    """Return what a reader has to know of these figures."""
    for part in found.parts:
        where = "" if part.field is None else f" of the field “{_short(part.field)}”"
        if part.kind == "labels" and len(part.labels) == 1:
            yield f"Every target{where} is “{_label(part.labels[0])}”: kappa needs targets with two labels or more."
        elif (undefined := [one.name for one in part.sides if one.kappa is None and one.found is not None]) and (
            part.kind in ("numbers", "labels")
        ):
            names = ", ".join(undefined)
            if part.kind == "labels":
                yield f"Kappa{where} is not defined for {names}: the known answers and their targets are all the same."
            else:
                yield f"Weighted kappa and correlations{where} are not defined for {names}: the known targets are all the same."
        for one in part.sides:
            if one.is_people and one.asked < part.samples:
                yield f"{one.name} has a value for {one.asked} of {plural(part.samples, 'sample')}; models were asked all."
        if part.field is not None and part.samples < found.samples:
            yield f"The field “{_short(part.field)}” is in {part.samples} of {plural(found.samples, 'target')}."
    if found.fields_left_out:
        yield f"{plural(found.fields_left_out, 'field')} of too few targets are left out."


def _class_tables(found: RunAgreement) -> list[ClassTable]:
    """Return the classes of every side that gave labels."""
    return [
        _classes(" · ".join(filter(None, (part.field and _short(part.field), _name(one)))), one.found)
        for part in found.parts
        for one in part.sides
        if isinstance(one.found, LabelAgreement)
    ]


def _classes(title: str, found: LabelAgreement) -> ClassTable:
    labels = [_label(one.label) for one in found.classes]
    rows: list[dict[str, str | int | float | None]] = [
        {
            "label": label, "precision": one.precision, "recall": one.recall, "f1": one.f1, "support": one.support,
            "given": one.given,
        }
        for label, one in zip(labels, found.classes, strict=True)
    ]  # fmt: skip
    names = [f"label{place}" for place in range(len(labels))]
    shown = columns(
        column("target", "target \\ given", "text", word="target"),
        *(column(name, label, "count") for name, label in zip(names, labels, strict=True)),
        column("other", "another label", "count", word="other"), column("nothing", "no label", "count", word="none"),
    )  # fmt: skip
    given: list[dict[str, str | int]] = [
        {"target": label, **dict(zip((*names, "other", "nothing"), counts, strict=True))}
        for label, counts in zip(labels, found.confusion, strict=True)
    ]
    return ClassTable(title, rows, shown, given)


def _label(label: str) -> str:
    return _short(label) or "(empty)"


def _short(text: str) -> str:
    return visible(text if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1]}…")


def _name(one: SideAgreement) -> str:
    return f"second annotator ({one.name})" if one.is_people else one.name


def _row(one: SideAgreement) -> dict[str, str]:
    found, known = one.found, one.asked - one.unknown
    answers = [f"{known} of {one.asked}"]
    answers += [f"{one.not_right} not right"] if one.not_right else []
    answers += [] if one.is_ranked else ["not ranked"]
    row = dict.fromkeys(("accuracy", "macro_f1", "bias", "absolute_error", "pearson", "spearman"), "–")
    row |= {"side": _name(one), "answers": "; ".join(answers), "kappa": estimate_text(one.kappa)}
    if isinstance(found, Agreement):
        row["bias"] = estimate_text(found.bias, is_signed=True)
        row |= {name: estimate_text(getattr(found, name)) for name in ("absolute_error", "pearson", "spearman")}
    if isinstance(found, LabelAgreement | ShareAgreement):
        row["accuracy"] = estimate_text(found.accuracy)
    if isinstance(found, LabelAgreement):
        row["macro_f1"] = estimate_text(found.macro_f1) + (" of the known" if one.unknown else "")
    return row


def estimate_text(found: Estimate | None, *, is_signed: bool = False) -> str:
    """Return a figure with its interval: `0.30 [0.12, 0.46]`, or `0.25 to 0.41 [0.12, 0.50]` where answers are unknown; a dash
    where it is not defined.
    """
    if found is None:
        return "–"
    form = "+.2f" if is_signed else ".2f"
    value = f"{found.value:{form}}"
    if found.at_lowest is not None and found.at_highest is not None:
        value = f"{found.at_lowest:{form}} to {found.at_highest:{form}}"
    if found.low is None or found.high is None:
        return value.replace("-", "−")
    return f"{value} [{found.low:.2f}, {found.high:.2f}]".replace("-", "−")
