"""Agreement with the targets in figures as people read them."""

from workbench.display.columns import column, columns
from workbench.evaluation.agreements import SideAgreement
from workbench.stats.agreement import Estimate

AGREEMENT = columns(
    column("side", "model"), column("kappa", kind="text"), column("bias", kind="text"),
    column("absolute_error", "mean error", "text"), column("pearson", kind="text"), column("spearman", kind="text"),
    column("numbers", "answers with a number", "text"),
)  # fmt: skip
"""The columns of its tables; kappa is Cohen's with quadratic weights."""


def agreement_row(one: SideAgreement) -> dict[str, str]:
    """Return the figures of one model, or of a second annotator, each with its interval."""
    found = one.found
    return {
        "side": f"second annotator ({one.name})" if one.is_people else one.name,
        "kappa": estimate_text(found.weighted_kappa),
        "bias": estimate_text(found.bias, is_signed=True),
        "absolute_error": estimate_text(found.absolute_error),
        "pearson": estimate_text(found.pearson),
        "spearman": estimate_text(found.spearman),
        "numbers": f"{found.n} of {one.asked}{'' if one.is_ranked else ', not ranked'}",
    }


def estimate_text(found: Estimate | None, *, is_signed: bool = False) -> str:
    """Return a figure with its interval: `0.30 [0.12, 0.46]`; a dash where it is not defined."""
    if found is None:
        return "–"
    value = f"{found.value:+.2f}" if is_signed else f"{found.value:.2f}"
    if found.low is None or found.high is None:
        return value.replace("-", "−")
    return f"{value} [{found.low:.2f}, {found.high:.2f}]".replace("-", "−")
