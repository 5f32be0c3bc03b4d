"""The samples behind a comparison's differences, for its page."""

from collections.abc import Iterator, Sequence
from typing import Any, get_args

import msgspec

import workbench.display.text as people
from workbench.evaluation.comparison import Comparison, ComparisonInput
from workbench.evaluation.side_by_side import SampleAnswer, SampleGroup, Texts, samples_by_kind, texts_of
from workbench.evaluation.sides import Difference
from workbench.ledger.queries import Reader
from workbench.scoring.scorer import grade
from workbench.wording.comparisons import side_name

MOST_APART = 50
"""Samples of each kind and difference that the page holds."""
FIRST_SAMPLES = 10
"""Of those, what a reader without scripts sees of the first kinds."""

_FIRST: tuple[SampleGroup, ...] = ("worse", "better")
_Keys = dict[SampleGroup, list[str]]


class ComparedSamples(msgspec.Struct, frozen=True):
    """What the page holds of samples."""

    index: dict[str, Any]
    """For the page's script: `sides`, `samples`, the `answers` of each side by sample, and the `pairs` of each baseline."""
    every: list[list[tuple[Difference, _Keys]]]
    """By baseline."""
    names: dict[tuple[str, str], str]
    texts: Texts

    def first(self, baseline: int) -> Iterator[dict[str, Any]]:
        """Return the first samples of each difference from a baseline, as the template shows them without scripts."""
        for one, keys in self.every[baseline]:
            sides = [(side.run_id, side.model) for side in (one.baseline, one.side)]
            listed = [(kind, key) for kind in _FIRST for key in keys[kind][:FIRST_SAMPLES] if key in self.texts.samples]
            yield {
                "names": [self.names[side] for side in reversed(sides)],
                "counts": {kind: len(found) for kind, found in keys.items()},
                "samples": [
                    (kind, self.texts.samples[key], [(self.names[side], self._answers(side, key)) for side in sides])
                    for kind, key in listed
                ],
            }

    def _answers(self, side: tuple[str, str], key: str) -> list[SampleAnswer]:
        return self.texts.answers.get((*side, key), [])


def compared_samples(
    reader: Reader, material: ComparisonInput, every: Sequence[Comparison], *, has_texts: bool = True
) -> ComparedSamples:
    """Read the samples of every difference.

    Args:
        every: The comparison with each baseline.
        has_texts: Whether their prompts and answers are wanted: without them there is nothing to list.
    """
    pairs = [[(one, samples_by_kind(one, material.samples)) for one in found.differences] for found in every]
    most = MOST_APART if has_texts else 0
    wanted = dict.fromkeys(
        key for found in pairs for _, kinds in found for keys in kinds.values() for key in keys[:most]
    )
    texts = texts_of(reader, material, wanted)
    place = {key: number for number, key in enumerate(texts.samples)}
    sides = {(side.run_id, side.model): number for number, side in enumerate(material.sides)}
    index = {
        "kinds": get_args(SampleGroup),
        "sides": [people.visible(side_name(side, every[0])) for side in material.sides],
        "samples": [[people.visible(text) for text in msgspec.structs.astuple(one)] for one in texts.samples.values()],
        "answers": _answers(texts, place, sides),
        "pairs": [
            [
                {
                    "side": sides[one.side.run_id, one.side.model],
                    "baseline": sides[one.baseline.run_id, one.baseline.model],
                    "counts": [len(keys) for keys in kinds.values()],
                    "listed": [[place[key] for key in keys[:most] if key in place] for keys in kinds.values()],
                }
                for one, kinds in found
            ]
            for found in pairs
        ],
    }
    names = {(side.run_id, side.model): side_name(side, every[0]) for side in material.sides}
    return ComparedSamples(index, pairs, names, texts)


def _answers(
    texts: Texts, place: dict[str, int], sides: dict[tuple[str, str], int]
) -> list[dict[int, list[tuple[int, str, str, str, str]]]]:
    """Of each side: sample -> epoch, text, kind of score, score and reason of each answer."""
    answers: list[dict[int, list[tuple[int, str, str, str, str]]]] = [{} for _ in sides]
    for (run_id, model, key), found in texts.answers.items():
        if key in place and (run_id, model) in sides:
            answers[sides[run_id, model]][place[key]] = [
                (one.epoch, people.visible(one.text), score_kind(one), score_text(one), people.visible(one.reason))
                for one in found
            ]
    return answers


_KINDS = {"right": "ok", "wrong": "failed", "partly": "wasted"}


def score_kind(one: SampleAnswer) -> str:
    """Return how the page marks a score."""
    if one.value is None:
        return "unknown"
    return _KINDS[grade(one.value, one.scale)]


def score_text(one: SampleAnswer) -> str:
    """Return a score in words."""
    return "unscored" if one.value is None else people.significant(one.value)
