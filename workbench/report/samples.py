"""A run's samples for the page's browser: a short line each, and their texts apart, in parts that the page opens on demand."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

import workbench.display as people
from workbench.ledger.queries import Row
from workbench.report.build import packed_json, write_page
from workbench.report.tables import outcome_kind

MOST_SAMPLES = 20_000
FIRST_SAMPLES = 30
EMBEDDED_MOST_BYTES = 3_000_000
"""Above this the texts go into files next to the page."""
_PART_CHARS = 400_000
_SNIPPET_CHARS = 140


class SampleBrowser(msgspec.Struct, frozen=True):
    """What the page holds of a run's samples."""

    index: str
    """Packed: columns of all samples, and which part holds each one's texts."""
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


def sample_browser(rows: Iterable[Row], total: int, folder: Path, name: str) -> SampleBrowser:
    """Pack a run's samples.

    Args:
        rows: Whole, as `run_samples` gives them.
        total: How many samples the run has.
        folder: For pages.
        name: Of the folder for parts that do not fit into the page.
    """
    lines: list[list[Any]] = []
    first: list[dict[str, Any]] = []
    parts: dict[str, str] = {}
    digests: dict[str, list[str]] = {"t": [], "x": []}
    outside = False
    size = 0
    for number, group in enumerate(_groups(rows, lines, first)):
        for kind, content in (("t", [texts for texts, _ in group]), ("x", [exchange for _, exchange in group])):
            parts[f"{kind}{number}"] = packed = packed_json(content)
            digests[kind].append(hashlib.sha256(packed.encode()).hexdigest()[:12])
        size += len(parts[f"t{number}"]) + len(parts[f"x{number}"])
        if size > EMBEDDED_MOST_BYTES or outside:
            outside = True
            _put_beside(folder / name, parts, digests)
            parts.clear()
    columns = dict(zip(_LINE, map(list, zip(*lines, strict=True)), strict=True)) if lines else {}
    told = msgspec.json.encode(digests).decode() if outside else "{}"
    return SampleBrowser(packed_json(columns), parts, told, name if outside else "", len(lines), total, first)


def _groups(
    rows: Iterable[Row], lines: list[list[Any]], first: list[dict[str, Any]]
) -> Iterator[list[tuple[dict[str, Any], dict[str, Any]]]]:
    """The texts of samples that follow each other, as many as make a part; tells `lines` and `first` of each."""
    group: list[tuple[dict[str, Any], dict[str, Any]]] = []
    part = chars = 0
    for row in rows:
        texts = _texts(row)
        exchange = {"request": _shown(row["body"]), "response": _shown(row["raw"])}
        lines.append(_line(row, part, len(group)))
        if len(first) < FIRST_SAMPLES:
            first.append(row | texts)
        group.append((texts, exchange))
        chars += sum(len(text) for text in (*texts.values(), *exchange.values()) if isinstance(text, str))
        if chars > _PART_CHARS:
            yield group
            group, chars, part = [], 0, part + 1
    if group:
        yield group


_LINE = (
    "sample", "epoch", "model", "served", "outcome", "kind", "reused", "disagree", "latency_ms", "total_tokens", "scores",
    "snippet", "tools", "part", "place",
)  # fmt: skip


def _line(row: Row, part: int, place: int) -> list[Any]:
    name = row["outcome"]
    said = row["answer"] or row["error_text"] or ""
    return [
        _shown(row["sample_id"]),
        row["epoch"],
        _shown(row["requested_model"]),
        _shown(row["served_model"]),
        (name or "no answer yet").replace("_", " "),
        outcome_kind(name, accepted=row["accepted"]),
        row["reused"],
        row["disagree"],
        None if row["latency_ms"] is None else round(row["latency_ms"]),
        row["total_tokens"],
        {score["scorer"]: score["value"] for score in row["scores"] or []},
        people.visible(" ".join(said[: 2 * _SNIPPET_CHARS].split())[:_SNIPPET_CHARS]),
        len(row["tool_calls"] or []),
        part,
        place,
    ]


def _texts(row: Row) -> dict[str, Any]:
    content = msgspec.json.decode(row["sample"]) if row["sample"] else {}
    given = content.get("input")
    target = content.get("target")
    return {
        "input": _shown(given if isinstance(given, str) else msgspec.json.format(msgspec.json.encode(given)).decode()),
        "target": _shown(target if isinstance(target, str | None) else msgspec.json.encode(target).decode()),
        "choices": [_shown(str(choice)) for choice in content.get("choices") or []],
        "answer": _shown(row["answer"]),
        "reasoning": _shown(row["reasoning"]),
        "tool_calls": [{name: _shown(text) for name, text in call.items()} for call in row["tool_calls"] or []],
        "scores": [
            {"scorer": score["scorer"], "value": score["value"], "reason": _shown(score["reason"]),
             "extracted": _shown(score["extracted"])}
            for score in row["scores"] or []
        ],
        "error_text": _shown(row["error_text"]),
        "evidence": _shown(row["evidence"]),
        "usage": [row["prompt_tokens"], row["completion_tokens"], row["reasoning_tokens"]],
        "finish_reason": _shown(row["finish_reason"]),
        "http_status": row["http_status"],
    }  # fmt: skip


def _shown(text: str | None) -> str | None:
    return None if text is None else people.visible(text)


def _put_beside(folder: Path, parts: dict[str, str], digests: dict[str, list[str]]) -> None:
    """A script a part: a page opened from a file may load scripts that lie beside it, and nothing else."""
    for part, packed in parts.items():
        name = f"{part}-{digests[part[0]][int(part[1:])]}"
        write_page(folder, f"{name}.js", f'workbenchPart("{name}","{packed}");\n')


def remove_earlier_parts(folder: Path, browser: SampleBrowser) -> None:
    """Remove the files of parts that the page just written does not name.

    Args:
        folder: Of the parts.
        browser: What the page holds.
    """
    digests: dict[str, list[str]] = msgspec.json.decode(browser.digests)
    named = {f"{kind}{number}-{digest}.js" for kind, found in digests.items() for number, digest in enumerate(found)}
    for path in folder.glob("*.js"):
        if path.name not in named:
            path.unlink(missing_ok=True)
