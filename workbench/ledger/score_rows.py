"""The results of queries about scores and what is compared by them: one struct per query, with its columns in order."""

from datetime import datetime
from typing import TypedDict

from workbench.ledger.rows import QueryRow


class RunScorer(QueryRow, frozen=True):
    """A scorer of a run, with the settings that count."""

    query = "run_scorers"

    run_id: str
    scorer: str
    scorer_config: str
    scored: int
    """Answers that it could judge."""


class AnswerScore(QueryRow, frozen=True):
    """What a scorer says of a request of a run, and what is known of it where it says nothing."""

    query = "scores"

    run_id: str
    job: str
    endpoint_identity: str
    request_key: str
    sample_id: str
    sample_key: str
    epoch: int
    requested_model: str
    variant: str | None
    served_model: str | None
    identity: str | None
    counts: bool
    scorer: str
    value: float | None
    reason: str | None
    extracted: str | None
    state: str
    most: float | None
    low: float | None
    high: float | None


class NewestScoredRun(QueryRow, frozen=True):
    """The newest run of which anything is scored."""

    query = "newest_scored_run"

    run_id: str


class SideFigures(QueryRow, frozen=True):
    """What a model of a run took for its answers: tokens, time, and who gave them; its scores are in `SideSample`."""

    query = "side_figures"

    run_id: str
    model: str
    """With its variant, where the job has some."""
    requested_model: str
    variant: str | None
    asked: int
    answered: int
    cut_off: int
    refused: int
    completion_tokens: float | None
    """Their mean, over the answers whose usage is known."""
    tokens_deviation: float | None
    tokens_known: int
    p50_ms: float | None
    p90_ms: float | None
    p50_low_ms: float | None
    p50_high_ms: float | None
    fallbacks: int
    unknown: int
    suspected: int
    fallback_name: str | None
    reused: int
    oldest_at: datetime | None
    newest_at: datetime | None
    """Of the reused answers, when they were asked for."""


class SideTokens(QueryRow, frozen=True):
    """What the answers of a model of a run to one sample took, together; of what is not reported, None."""

    query = "side_tokens"

    run_id: str
    model: str
    requested_model: str
    """Without its variant."""
    sample_key: str
    answers: int
    sent_at: datetime
    """Of the first."""
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    without_usage: int
    """Answers that report none."""
    without_parts: int
    """Answers that do not report prompt and completion apart."""


class SideSample(QueryRow, frozen=True):
    """A sample of a model of a run, with the score of one scorer."""

    query = "side_samples"

    run_id: str
    model: str
    sample_key: str
    sample_id: str
    asked: int
    answered: int
    scored: int
    not_right: int
    not_right_ends: list[str]
    unknown: int
    unread: int
    left_out: int
    excluded: str | None
    of_scored: float | None
    """What the job reduces the epochs that are scored to; None where too few are."""
    value: float | None
    """The same of those that are known: what is not right has the least of the scale."""
    low: float | None
    high: float | None
    """Between which `value` would be, were all known; None where no scale says so."""
    least: float | None
    most: float | None
    """Of the scale; None where it has none."""
    cluster: str | None


class AnswerVerdict(QueryRow, frozen=True):
    """What a judge said of an answer by one rubric: with the settings of `scorer_config`."""

    query = "verdicts"

    answer_run_id: str
    answer_call_no: int
    scorer: str
    scorer_config: str
    model: str
    """With its variant, where the job has some."""
    sample_id: str
    sample_key: str
    cluster: str | None
    epoch: int
    judged_at: datetime
    value: float | None
    """The newest; None: the judge gave no verdict."""
    extracted: str | None
    """The verdict's word."""
    reason: str
    first_value: float | None
    """The oldest, where the judge was asked again by the same rubric."""
    first_extracted: str | None


class ReferenceRow(QueryRow, frozen=True):
    """What one reference point scores on the samples of a run; see `scoring.reference`."""

    query = "recorded_references"

    run_id: str
    recorded_at: datetime
    scorer: str
    reference: str
    column_name: str
    constant: str | None
    sample_keys: list[str]
    sample_values: list[float]
    sample_texts: list[str] | None
    """Of a column: what it says."""
    least: float | None
    most: float | None
    """Of the scale of its scorer; None: nothing says so."""


class AgreementTarget(QueryRow, frozen=True):
    """What is right for a sample of a run, as JSON."""

    query = "agreement_targets"

    run_id: str
    sample_key: str
    is_sent: bool
    """Whether its run sent it to any model."""
    target: str | None
    choices: str | None
    cluster: str | None
    epochs: int
    """How often its run was to ask a sample."""


class AgreementAnswer(QueryRow, frozen=True):
    """What a scorer read in an answer of a run."""

    query = "agreement_answers"

    run_id: str
    side: str
    sample_key: str
    epoch: int
    value: float | None
    extracted: str | None
    """None where it read nothing, or there is no answer."""
    state: str
    """scored, not right, unknown or not asked; see the SQL macro `state_of`."""


class UnsentKey(QueryRow, frozen=True):
    """A sample that a run was to ask and sent to no model."""

    query = "unsent_keys"

    run_id: str
    sample_key: str
    sample_id: str
    cluster: str | None


class SideAnswer(QueryRow, frozen=True):
    """What a model of a run answered to a sample in one epoch, with the score of one scorer."""

    query = "side_answers"

    run_id: str
    model: str
    sample_key: str
    sample_id: str
    epoch: int
    outcome: str | None
    scorable: bool | None
    served_model: str | None
    identity: str | None
    answer: str | None
    value: float | None
    reason: str | None
    """None: the scorer said nothing."""
    extracted: str | None
    scale: list[float] | None


class SideCaps(QueryRow, frozen=True):
    """The caps on generated tokens of the answers that a model of a run has; None: some have none."""

    query = "side_caps"

    run_id: str
    model: str
    least: int | None
    most: int | None


class ModelText(QueryRow, frozen=True):
    """What the model list of a run says of a model that changes its answers."""

    query = "model_texts"

    run_id: str
    model: str
    base: str | None
    settings: str | None
    """Of a preset, as JSON."""


class SampleText(QueryRow, frozen=True):
    """The content of a sample, as JSON."""

    query = "sample_texts"

    sample_key: str
    sample: str


class SampleMetadata(QueryRow, frozen=True):
    """The further columns of a sample, as a JSON object."""

    query = "sample_metadata"

    sample_key: str
    metadata: str | None


class SharedAnswers(QueryRow, frozen=True):
    """A run that uses the same answers as an earlier one: one call was paid for, and both count it."""

    query = "shared_answers"

    run_id: str
    of_run_id: str
    shared: int
    answers: int


class RunSampleKey(QueryRow, frozen=True):
    """A sample of a run by its id; whether it is taken out, and when that was last said."""

    query = "run_sample_keys"

    sample_id: str
    sample_key: str
    scored_key: str
    """Of the sample by which its answers are scored."""
    content_key: str
    """Of what the run read of that one."""
    invalid: bool
    said_at: datetime | None


class JudgedAnswer(QueryRow, frozen=True):
    """An answer that a scorer that asks a model has judged, and the sample by which it did."""

    query = "judged_answers"

    request_key: str
    sample_key: str
    run_id: str
    """Of the call that gave the answer."""
    call_no: int


class CorrectedTarget(QueryRow, frozen=True):
    """A sample of a run of whose target somebody has said something, and by which sample it is scored now."""

    query = "run_corrections"

    sample_id: str
    recorded_key: str
    sample_key: str
    is_corrected: bool
    reason: str
    recorded_at: datetime


class JobSample(QueryRow, frozen=True):
    """A sample of a run of a job: as it was recorded, by which sample it is scored, and when that was last said."""

    query = "job_samples"

    run_id: str
    sample_id: str
    recorded_key: str
    sample_key: str
    said_at: datetime | None


class EarlierRun(QueryRow, frozen=True):
    """A run of a run's job, of all of it or of the same part, that ended complete before it began."""

    query = "earlier_runs"

    run_id: str


class OccasionScore(QueryRow, frozen=True):
    """The score of a sample of an occasion of a job, by model."""

    query = "occasion_scores"

    occasion: str
    run_id: str
    started_at: datetime
    settled: bool
    scorers: int
    """How many its job has."""
    unsent: int
    scorer: str | None
    """None: `value` says how long it took."""
    model: str
    sample_key: str
    value: float | None
    """None: nothing is known of it."""
    low: float | None
    high: float | None
    """None: no scale says what it can be."""
    of_scored: float | None
    scale: list[float] | None


class WatchedJob(QueryRow, frozen=True):
    """A job that ran for an occasion, by the newest such run."""

    query = "watched_jobs"

    job: str
    job_toml: str
    scorer: str | None
    """The first of its job; None: it has none, or is of a version that did not record them."""


class Acceptance(QueryRow, frozen=True):
    """That a change of a job was accepted, or that this was taken back."""

    query = "acceptances"

    recorded_at: datetime
    accepted: bool
    reason: str
    model: str


class ClusteredScores(TypedDict):
    """A sample's scores in two runs, with the samples that belong together."""

    newest: float
    before: float
    cluster: str


class CountedDifferences(TypedDict):
    """What a test needs of the differences of some samples."""

    samples: int
    better: int
    worse: int
    difference: float
    deviation: float | None
    is_binary: bool
    span: float | None
    """The length of the scale; None where some sample has none."""
    clustered: list[ClusteredScores] | None
    """Where the samples have clusters."""


class JobPair(QueryRow, frozen=True):
    """The newest run of a job that is settled, and the one before it."""

    query = "job_pairs"

    run_id: str
    before_run_id: str


class BesideBefore(QueryRow, frozen=True):
    """A model of the newest run of a job beside the run before it."""

    query = "job_changes"

    job: str
    run_id: str
    before_run_id: str
    scorer: str
    model: str
    known: CountedDifferences
    """Of the samples of which something is known in both runs."""
    lowest: CountedDifferences | None
    highest: CountedDifferences | None
    """Of all that both were asked; None where no scale says what the unknown scores could be."""
