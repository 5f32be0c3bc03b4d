"""How an answer is judged by a scorer: 1 is right, 0 is wrong, and what cannot be judged is unscored, never 0."""

from typing import Any

import msgspec

from workbench.records.calls import Sample, Score
from workbench.scoring.by_sample import BySample
from workbench.scoring.given import Given
from workbench.scoring.kinds import Kind
from workbench.scoring.scorer import FAILED, NO_TEXT, CannotJudgeError, Scorer

AnyScorer = Kind | BySample
NOTHING_TO_JUDGE_BY = "nothing to judge by: "
"""With what the reason of a score begins where the sample does not say what is right; no model's answer to it can be judged."""


def score(scorer: Scorer, answer: Given, sample: Sample) -> Score:
    """Judge one answer; a scorer that breaks leaves it unscored and says how, as does a value outside its scale.

    Args:
        answer: Without text (a tool call alone, for one) it is unscored by what needs text.
        sample: Brings the target; where its column `refusal` says "right", a refusal is.
    """
    wants_refusal, ends = is_refusal_right(sample), scorer.ends
    if answer.refused and wants_refusal and ends is not None:
        return Score(ends[1], "refused, which is right here", answer.text)
    try:
        wanted = scorer.target_of(sample)
    except CannotJudgeError as error:
        if wants_refusal and ends is not None:
            return Score(ends[0], "a refusal is right here")
        return Score(None, _storable(f"{NOTHING_TO_JUDGE_BY}{error}"))
    except Exception as error:
        return Score(None, _storable(f"{FAILED}{type(error).__name__}: {error}"))
    if answer.refused and scorer.refusals is not True:
        return Score(None, "the answer is refused")
    return judged(scorer, answer, wanted)


def without_use(scorer: Scorer, sample: Sample, what: str) -> Score:
    """Return the score of an answer that is of no use to any scorer: it has none, and where its sample does not say what is right
    either, that is why.

    Args:
        what: What the answer is, such as `truncated`.
    """
    if not is_refusal_right(sample):
        try:
            scorer.target_of(sample)
        except CannotJudgeError as error:
            return Score(None, _storable(f"{NOTHING_TO_JUDGE_BY}{error}"))
        except Exception:  # said of the answers that it would judge
            pass
    return Score(None, f"the answer is {what}")


def judged(scorer: Scorer, answer: Given, wanted: Any) -> Score:
    """Judge one answer that is not a refusal, as `score` does.

    Args:
        wanted: What the scorer's `target_of` says of the sample.
    """
    ends = scorer.ends
    if scorer.needs_text and not answer.text.strip():
        return Score(None, NO_TEXT)
    found = _score(scorer, answer, wanted)
    if found.value is not None and ends is not None and not ends[0] <= found.value <= ends[1]:
        found = Score(None, f"{FAILED}{found.value:g} is outside its scale from {ends[0]:g} to {ends[1]:g}")
    return Score(found.value, _storable(found.reason), None if found.extracted is None else _storable(found.extracted))


def _storable(text: str) -> str:
    r"""Return a text that UTF-8 can hold: JSON within an answer may spell half a pair of surrogates (`\ud800`), which it
    cannot.
    """
    return text.encode(errors="replace").decode()


def _score(scorer: Scorer, answer: Given, wanted: Any) -> Score:
    try:
        return scorer.score(answer, wanted)
    except CannotJudgeError as error:
        return Score(None, str(error))
    except Exception as error:  # a crash in a scorer must not lose the answers it was given
        return Score(None, f"{FAILED}{type(error).__name__}: {error}")


def is_refusal_right(sample: Sample) -> bool:
    """Return whether a sample says that a refusal is right: any other answer to it then has the least of the scale."""
    return bool(sample.metadata.get("refusal") == "right")


def can_judge(scorer: Scorer, sample: Sample) -> bool:
    """Return whether an answer to a sample can be judged: by its target, or as a refusal."""
    return judges(scorer, sample) or (is_refusal_right(sample) and scorer.ends is not None)


def judges(scorer: Scorer, sample: Sample) -> bool:
    """Return whether a sample has the kind of target that a scorer needs."""
    try:
        scorer.target_of(sample)
    except Exception:  # whatever is wrong with a target, its answers will be unscored, and are counted as such
        return False
    return True


def recorded_scorer(config: str) -> Scorer | None:
    """Return a scorer with the settings that were recorded; None of a kind that is not known any more, or has no settings."""
    try:
        scorer: Scorer = msgspec.json.decode(config, type=Kind)
    except msgspec.DecodeError:
        return None
    return scorer
