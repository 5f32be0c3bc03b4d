"""A run's samples for the page's browser: a short line each, and their texts apart, in parts that the page opens on demand."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

import workbench.display.text as people
from workbench.evaluation.attention import ANOTHER
from workbench.evaluation.run_samples import mark
from workbench.ledger.answer_rows import UnsentSample, WholeSample
from workbench.report.build import packed_json, write_page

MOST_SAMPLES = 20_000
FIRST_SAMPLES = 20
EMBEDDED_MOST_BYTES = 3_000_000
"""Above this the texts go into files next to the page."""
_PART_CHARS = 400_000
_SNIPPET_CHARS = 100


class SampleBrowser(msgspec.Struct, frozen=True):
    """What the page holds of a run's samples."""

    index: str
    """Packed: the samples, a row each, and columns of all requests, with which part holds each one's texts."""
    parts: dict[str, str]
    """Packed texts by part, where they fit into the page."""
    digests: str
    """Otherwise, in order, the digests that tell each part's file from one of an earlier page, as JSON by kind."""
    folder: str
    """Otherwise the folder beside the page in which each part is a file `PART-DIGEST.js`."""
    shown: int
    total: int
    first: list[dict[str, Any]]
    """The first ones whole, for readers without scripts."""


class _Index:
    """Every request as a short line, and every sample as a row that they belong to, with all of its repeats."""

    def __init__(self, models: Sequence[str], scorer: str | None) -> None:
        self._models = {model: number for number, model in enumerate(models)}
        self._scorer = scorer
        self._places: dict[tuple[str, str], int] = {}
        self._epochs: list[set[int]] = []
        self._values: list[dict[int, list[float]]] = []  # of each row: model -> values of its repeats
        self.rows: list[list[Any]] = []
        self.lines: list[list[Any]] = []

    def add(self, row: WholeSample, texts: dict[str, Any], part: int, place: int) -> None:
        """Take a request, whose texts are at a place of a part."""
        number = self._row(row, texts["target"])
        self.rows[number][_DISAGREE] = self.rows[number][_DISAGREE] or row.disagree
        model = self._models.setdefault(row.side, len(self._models))
        judged = next((score for score in row.scores or [] if score["scorer"] == self._scorer), None)
        if judged is not None and judged["value"] is not None:
            self._values[number].setdefault(model, []).append(judged["value"])
        text = row.answer or row.error_text or ""
        self.lines.append(
            [
                number,
                model,
                row.epoch,
                mark(row, judged),
                None if judged is None else judged["value"],
                _short(None if judged is None else judged["extracted"]),
                (row.outcome or "no answer yet").replace("_", " "),
                row.identity in ANOTHER,
                _shown(row.served_model),
                row.reused,
                None if row.latency_ms is None else round(row.latency_ms),
                row.total_tokens,
                _short(text[: 2 * _SNIPPET_CHARS]) or "",
                len(row.tool_calls or []),
                part,
                place,
            ]
        )

    def add_unsent(self, one: UnsentSample) -> None:
        """Take a sample, or a repeat of one, that no model was asked."""
        target = msgspec.json.decode(one.sample).get("target") if one.sample else None
        right = target if isinstance(target, str | None) else msgspec.json.encode(target).decode()
        self._row(one, right)

    def _row(self, one: WholeSample | UnsentSample, target: str | None) -> int:
        """Return the place of a sample among the rows."""
        number = self._places.setdefault((one.sample_key, one.sample_id), len(self._places))
        if number == len(self.rows):
            self.rows.append([_shown(one.sample_id), _short(target), False])
            self._epochs.append(set())
            self._values.append({})
        self._epochs[number].add(one.epoch)
        return number

    def _whole_rows(self) -> list[list[Any]]:
        """Return the rows with how many repeats each has; models differ on repeats where the means of their scores do."""
        rows = []
        for row, epochs, values in zip(self.rows, self._epochs, self._values, strict=True):
            means = {round(fmean(of_model), _DIGITS) for of_model in values.values()}
            differs = len(means) > 1 if len(epochs) > 1 and values else row[_DISAGREE]
            rows.append([*row[:_DISAGREE], differs, len(epochs)])
        return rows

    def packed(self) -> str:
        """Everything as columns."""

        def columns(names: tuple[str, ...], lines: list[list[Any]]) -> dict[str, list[Any]]:
            return dict(zip(names, map(list, zip(*lines, strict=True)), strict=True)) if lines else {}

        models = [people.visible(model) for model in self._models]
        return packed_json(
            {
                "models": models,
                "scorer": self._scorer,
                "rows": columns(_ROW, self._whole_rows()),
                "lines": columns(_LINE, self.lines),
            }
        )


_ROW = ("sample", "target", "disagree", "repeats")
_DISAGREE = 2
_DIGITS = 9
"""Means of the same values in another order are equal to so many digits."""
_LINE = (
    "row", "model", "epoch", "mark", "value", "extracted", "outcome", "fallback", "served", "reused", "latency_ms",
    "total_tokens", "snippet", "tools", "part", "place",
)  # fmt: skip


def sample_browser(
    rows: Iterable[WholeSample],
    total: int,
    beside: Path | None,
    *,
    models: Sequence[str],
    scorer: str | None,
    unsent: Sequence[UnsentSample] = (),
) -> SampleBrowser:
    """Pack a run's samples.

    Args:
        rows: Whole, as `run_samples` gives them.
        beside: The folder for parts that do not fit into the page; None: all of them go into it.
        models: In the order of their columns.
        scorer: The run's first.
    """
    index = _Index(models, scorer)
    first: list[dict[str, Any]] = []
    parts: dict[str, str] = {}
    digests: dict[str, list[str]] = {"t": [], "x": []}
    outside: Path | None = None
    size = 0
    for number, group in enumerate(_groups(rows, index, first)):
        for kind, content in (("t", [texts for texts, _ in group]), ("x", [exchange for _, exchange in group])):
            parts[f"{kind}{number}"] = packed = packed_json(content)
            digests[kind].append(hashlib.sha256(packed.encode()).hexdigest()[:12])
        size += len(parts[f"t{number}"]) + len(parts[f"x{number}"])
        if size > EMBEDDED_MOST_BYTES:
            outside = beside
        if outside is not None:
            _put_beside(outside, parts, digests)
            parts.clear()
    for sample in unsent:
        index.add_unsent(sample)
    encoded, folder = ("{}", "") if outside is None else (msgspec.json.encode(digests).decode(), outside.name)
    return SampleBrowser(index.packed(), parts, encoded, folder, len(index.lines), total, first)


def _groups(
    rows: Iterable[WholeSample], index: _Index, first: list[dict[str, Any]]
) -> Iterator[list[tuple[dict[str, Any], dict[str, Any]]]]:
    """Return the texts of samples that follow each other, as many as make a part; tells `index` and `first` of each."""
    group: list[tuple[dict[str, Any], dict[str, Any]]] = []
    part = chars = 0
    for row in rows:
        texts = _texts(row)
        exchange = {"request": _shown(row.body), "response": _shown(row.raw)}
        index.add(row, texts, part, len(group))
        if len(first) < FIRST_SAMPLES:
            first.append(msgspec.structs.asdict(row) | texts)
        group.append((texts, exchange))
        chars += sum(len(text) for text in (*texts.values(), *exchange.values()) if isinstance(text, str))
        if chars > _PART_CHARS:
            yield group
            group, chars, part = [], 0, part + 1
    if group:
        yield group


def _short(text: str | None) -> str | None:
    """Return a text as one line that fits into a cell."""
    return None if text is None else people.visible(" ".join(text.split())[:_SNIPPET_CHARS])


def _texts(row: WholeSample) -> dict[str, Any]:
    content = msgspec.json.decode(row.sample) if row.sample else {}
    given = content.get("input", "")
    target = content.get("target")
    return {
        "input": _shown(given if isinstance(given, str) else msgspec.json.format(msgspec.json.encode(given)).decode()),
        "target": _shown(target if isinstance(target, str | None) else msgspec.json.encode(target).decode()),
        "choices": [_shown(str(choice)) for choice in content.get("choices") or []],
        "answer": _shown(row.answer),
        "reasoning": _shown(row.reasoning),
        "tool_calls": [{name: _shown(text) for name, text in call.items()} for call in row.tool_calls or []],
        "scores": [
            {"scorer": score["scorer"], "value": score["value"], "reason": _shown(score["reason"]),
             "extracted": _shown(score["extracted"])}
            for score in row.scores or []
        ],
        "error_text": _shown(row.error_text),
        "evidence": _shown(row.evidence),
        "identity": _shown(row.identity_evidence),
        "attempts": [
            [(one.outcome or "").replace("_", " "), one.http_status, round(one.latency_ms),
             None if one.scorable else _shown(one.error_text or one.evidence)]
            for one in row.attempted
        ],
        "usage": [row.prompt_tokens, row.completion_tokens, row.reasoning_tokens],
        "finish_reason": _shown(row.finish_reason),
        "http_status": row.http_status,
    }  # fmt: skip


def _shown(text: str | None) -> str | None:
    return None if text is None else people.visible(text)


def _put_beside(folder: Path, parts: dict[str, str], digests: dict[str, list[str]]) -> None:
    """Write a script per part: a page opened from a file may load scripts that lie beside it, and nothing else."""
    for part, packed in parts.items():
        name = f"{part}-{digests[part[0]][int(part[1:])]}"
        write_page(folder, f"{name}.js", f'workbenchPart("{name}","{packed}");\n')


def remove_earlier_parts(folder: Path, browser: SampleBrowser) -> None:
    """Remove the files of parts that the page just written does not name."""
    digests: dict[str, list[str]] = msgspec.json.decode(browser.digests)
    named = {f"{kind}{number}-{digest}.js" for kind, found in digests.items() for number, digest in enumerate(found)}
    for path in folder.glob("*.js"):
        if path.name not in named:
            path.unlink(missing_ok=True)
