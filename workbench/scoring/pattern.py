"""`pattern`: a regular expression finds the answer."""

from workbench.job_file import Pattern
from workbench.records import Sample, Score
from workbench.scoring.extract import folded
from workbench.scoring.given import Given
from workbench.scoring.targets import CannotJudgeError, targets_of, verdict

_LONGEST_SEARCH_S = 1.0


def target_of(scorer: Pattern, sample: Sample) -> list[str]:
    """What the first group must be; empty where the expression has none, and finding it is enough."""
    targets = targets_of(sample)
    if scorer.groups() and not targets:
        raise CannotJudgeError("the sample has no target")
    return targets


def score(scorer: Pattern, answer: Given, targets: list[str]) -> Score:
    """1 where the expression is found, and its first group, if it has one, is a target."""
    import regex  # takes 10 ms, and few jobs have such a scorer

    flags = (regex.IGNORECASE if scorer.ignore_case else 0) | regex.MULTILINE
    try:  # unlike `re`, it can be told to give up: some patterns take years on some answers
        found = regex.search(scorer.pattern, answer.text, flags, timeout=_LONGEST_SEARCH_S)
    except TimeoutError:
        return Score(None, f"the search for the pattern was given up after {_LONGEST_SEARCH_S:g} s")
    if found is None:
        return Score(0.0, "the pattern is not found")
    if not found.re.groups:
        return Score(1.0, "the pattern is found", found.group())
    given = folded(found.group(1) or "", ignore_case=scorer.ignore_case)
    wanted = {folded(target, ignore_case=scorer.ignore_case) for target in targets}
    return verdict(given in wanted, given, "equal to", targets)
