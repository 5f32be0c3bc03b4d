"""What a gate found is kept as values, and said the same from the ledger as when the run ended."""

from datetime import UTC, datetime
from typing import get_args

import pytest

from workbench.ledger.gates import (
    AgreementFound,
    DifferenceFound,
    DropFound,
    Evidence,
    GateFinding,
    MeanFound,
    NoDrop,
    OtherNames,
    OverConstant,
    OwnNames,
    ShareFound,
    Undecided,
    decoded,
    encoded,
)
from workbench.ledger.run_rows import RunGate
from workbench.wording.gates import failed_text, gate_text, recorded_text

FOUND = [
    (
        GateFinding("min_mean", "not met", MeanFound(0.9, 60, 0.8, 0.75, 0.82, 0.7, 0.86), "numeric", "m"),
        "m scores 0.750 to 0.820 [0.700, 0.860] on 60 samples by “numeric”; at least 0.9 is wanted",
    ),
    (
        GateFinding("min_mean", "cannot tell", MeanFound(0.9), "numeric", "m"),
        "m scores nothing by “numeric”; at least 0.9 is wanted",
    ),
    (
        GateFinding("min_mean", "cannot tell", MeanFound(0.9, 1, 1.0, 1.0, 1.0), "numeric", "m"),
        "m scores 1.000 on 1 sample, too few for an interval, by “numeric”; at least 0.9 is wanted",
    ),
    (
        GateFinding("max_fallback_share", "cannot tell", ShareFound(1, 40, 0.05, 3)),
        "1 of 40 answers are of another model (2 %), and 3 under a name that is not the route's; at most 5 % may be",
    ),
    (
        GateFinding("max_failed_share", "met", ShareFound(0, 40, 0.005)),
        "0 of 40 requests are unanswered (0 %); at most 0.5 % may be",
    ),
    (GateFinding("on_fallback", "met", OwnNames()), "every answer is of the model that was asked, as far as names tell"),
    (
        GateFinding("on_fallback", "not met", OtherNames(2, 40, "fallback"), None, "m"),
        "2 of 40 answers of m are of another model",
    ),
    (
        GateFinding("on_fallback", "cannot tell", OtherNames(2, 40, "suspected"), None, "m"),
        "2 of 40 answers of m are under a name that is not the route's",
    ),
    (
        GateFinding("max_drop", "not met", DifferenceFound("r1", 0.02, True, 60, 2, -0.1, -0.15, -0.05), "numeric", "m"),
        "m differs by −10.0 points [−15.0, −5.0] by “numeric” from run r1; 2.0 points less is allowed; 2 of 60 samples are unknown",
    ),
    (
        GateFinding("max_drop", "cannot tell", DifferenceFound("r1", 0.02, True, 0, 0), "numeric", "m"),
        "m shares no sample with run r1 of which both scores are known",
    ),
    (
        GateFinding("max_drop", "cannot tell", DifferenceFound("r1", 0.02, True, 60, 0, 0.0), "numeric", "m"),
        "m differs by 0.0 points, without an interval, by “numeric” from run r1; 2.0 points less is allowed",
    ),
    (
        GateFinding("min_over_constant", "not met", OverConstant("4.5", 0.05, True, 60, 2, -0.1, -0.15, -0.05), "numeric", "m"),
        "m differs from the constant “4.5” by −10.0 points [−15.0, −5.0] by “numeric”; at least 5.0 points above is wanted; "
        "2 of 60 samples are unknown",
    ),
    (
        GateFinding("min_over_constant", "cannot tell", OverConstant("4.5", 0.05, True, 0, 0), "numeric", "m"),
        "nothing is known of m beside the constant “4.5” by “numeric”",
    ),
    (
        GateFinding("min_kappa", "cannot tell", AgreementFound("kappa", 0.6, 60, 4, 0.7, 0.61, 0.74, 0.5, 0.85), "exact", "m"),
        "m has a kappa of 0.610 to 0.740 [0.500, 0.850] by “exact”; at least 0.6 is wanted; 4 of 60 answers are unknown",
    ),
    (
        GateFinding("min_macro_f1", "cannot tell", AgreementFound("macro F1", 0.6, 60, 4, 0.7), "exact", "m"),
        "m has a macro F1 of 0.700, without an interval, by “exact”; at least 0.6 is wanted; 4 of 60 answers are unknown",
    ),
    (
        GateFinding("min_kappa", "cannot tell", AgreementFound("kappa", 0.6, 60, 0), "exact", "m"),
        "m has no kappa by “exact”: it is not defined; at least 0.6 is wanted",
    ),
    (
        GateFinding("min_kappa", "cannot tell", Undecided("no agreement"), "exact"),
        "how far answers agree with the targets is not known by “exact”: these are neither a scale nor few classes (at most 25, "
        "each of two samples on average, of ten samples or more), or no answer is known",
    ),
    (
        GateFinding("steady", "met", NoDrop(12, 0.01), "numeric"),
        "no model has become worse by “numeric” over 12 scheduled runs (false alarms: 1 %)",
    ),
    (
        GateFinding(
            "steady", "not met",
            DropFound("worse", "open", "nightly", -0.2, 3, 60, 20, 0.03, are_shares=True, are_nights=True), "numeric", "m",
        ),
        "m is 20.0 points below its level before nightly by “numeric” (60 samples)",
    ),
    (
        GateFinding(
            "steady", "open",
            DropFound("slower", "open", "nightly", 2.0, 1, 60, 20, 0.0, are_shares=False, are_nights=False), None, "m",
        ),
        "m takes 2.0 times as long as before nightly; 1 run; open",
    ),
    (
        GateFinding("steady", "cannot tell", Undecided("too few known", known=3, wanted=60), "numeric", "m"),
        "of m 3 of 60 samples have a result by “numeric”: too few to tell",
    ),
    (
        GateFinding("max_drop", "cannot tell", Undecided("no earlier run", "nightly"), "numeric"),
        "no earlier run of 'nightly' has met its gates, so there is nothing to compare with",
    ),
]  # fmt: skip


def stored(found: GateFinding, reason: str = "", *, earlier: bool = False) -> RunGate:
    evidence = None if earlier else encoded(found.evidence)
    return RunGate(
        found.gate, found.scorer, found.model, found.result, reason, evidence, datetime(2026, 11, 1, tzinfo=UTC)
    )


@pytest.mark.parametrize(("found", "text"), FOUND, ids=[text for _, text in FOUND])
def test_a_recorded_gate_says_what_it_said(found: GateFinding, text: str) -> None:
    assert gate_text(found) == text
    assert decoded(encoded(found.evidence)) == found.evidence
    assert recorded_text(stored(found)) == text


def test_every_kind_of_evidence_is_said() -> None:
    assert {type(found.evidence) for found, _ in FOUND} == set(get_args(Evidence))
    for because in get_args(Undecided.__annotations__["because"]):
        assert gate_text(GateFinding("steady", "cannot tell", Undecided(because, "r1"), "numeric", "m"))


def test_a_gate_of_an_earlier_version_reads_as_it_is() -> None:
    assert recorded_text(stored(FOUND[0][0], "m scores too little", earlier=True)) == "m scores too little"


def test_the_reason_of_a_run_names_the_first_gate_and_counts_the_others() -> None:
    findings = [found for found, _ in FOUND]
    assert failed_text(findings) == f"{FOUND[0][1]} (and 4 more gates failed)"
    assert failed_text([FOUND[1][0], FOUND[4][0]]) == FOUND[1][1]
