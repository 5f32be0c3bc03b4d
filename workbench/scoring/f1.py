"""`f1`: how many words answer and target share."""

import re
import string
from collections import Counter

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import Scorer
from workbench.scoring.targets import right_or_wrong, text_targets

_ARTICLES = r"\b(?:a|an|the)\b"


class F1(Scorer, frozen=True, tag="f1"):
    """The F1 of the words that answer and target share, as SQuAD counts them; the best of several targets."""

    def target_of(self, sample: Sample) -> list[str]:
        """Return the accepted texts."""
        return text_targets(sample)

    def score(self, answer: Given, targets: list[str]) -> Score:
        """From 0 to 1.

        Source: Rajpurkar, P. et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text, and its evaluation
        script: lower case, without punctuation and the articles a, an, the; 2 P R / (P + R) over the words, and where one
        side has no words 1 if neither has any.
        """
        given = _words(answer.text)
        values = [_shared(given, _words(target)) for target in targets]
        best = max(range(len(values)), key=values.__getitem__)
        said = right_or_wrong(values[best] == 1, " ".join(given), "the words of", [targets[best]])
        return Score(values[best], said.reason, said.extracted)


def _words(text: str) -> list[str]:
    lower = text.lower().translate(str.maketrans("", "", string.punctuation))
    return re.sub(_ARTICLES, " ", lower).split()


def _shared(given: list[str], wanted: list[str]) -> float:
    if not given or not wanted:
        return float(given == wanted)
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted))
