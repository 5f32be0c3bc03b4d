"""Whatever is journaled and wherever it is cut: whole frames come back, and nothing else."""

import io
import tempfile
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.asked_rows import rows_of
from tests.unit.ledger.ledger_rows import answer, intent, started
from workbench.ledger.entries import SampleSeen
from workbench.ledger.ingest import ingest
from workbench.ledger.journal import JournalWriter
from workbench.ledger.queries import reading
from workbench.ledger.recovery import unpack
from workbench.ledger.store import Ledger

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
batches = st.lists(st.lists(st.tuples(texts, texts), max_size=5), min_size=1, max_size=8)


def lines(data: bytes, folder: Path) -> list[bytes]:
    path = folder / "cut.jsonl.zst"
    path.write_bytes(data)
    content = io.BytesIO()
    unpack(path, content)
    return content.getvalue().splitlines()


@given(batches, st.data())
@settings(max_examples=60)
def test_a_cut_leaves_a_prefix_of_whole_flushes_and_a_flip_all_but_one(
    written: list[list[tuple[str, str]]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = JournalWriter(folder / "j")
        ends = [0]
        for batch in written:
            for key, text in batch:
                writer.append(SampleSeen(key, text))
            writer.flush()
            ends.append(ends[-1] + len(batch))
        path = writer.rotate()
        writer.close()
        if path is None:
            return
        whole = path.read_bytes()
        expected = [msgspec.json.encode(SampleSeen(key, text)) for batch in written for key, text in batch]
        assert lines(whole, folder) == expected
        cut = data.draw(st.integers(0, len(whole)))
        found = lines(whole[:cut], folder)
        assert found == expected[: len(found)]
        assert len(found) in ends
        flipped = bytearray(whole)
        place = data.draw(st.integers(0, len(whole) - 1))
        flipped[place] ^= data.draw(st.integers(1, 255))
        found = lines(bytes(flipped), folder)
        assert found in (expected, *(expected[:begin] + expected[end:] for begin, end in pairwise(ends)))


endings = st.lists(st.sampled_from(["ok", "truncated", "route_down", "bad_request", "cancelled", None]), max_size=12)


@pytest.mark.slow
@given(endings, st.integers(0, 5), st.booleans())
@settings(max_examples=25)
def test_the_numbers_of_a_run_always_balance(ends: list[str | None], unsent: int, ingested: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        ledger = Ledger(Path(name) / "l.duckdb")
        writer = JournalWriter(ledger.journal_folder)
        writer.append(started("r", len(ends) + unsent))
        for number, end in enumerate(ends, 1):
            writer.append(intent("r", number))
            if end is not None:
                accepted = end in ("ok", "truncated")
                usage = {"total_tokens": None} if end == "truncated" else {}
                drew = "yes" if accepted else "maybe"
                rerun = end in ("route_down", "cancelled")
                writer.append(answer("r", number, outcome=end, accepted=accepted, rerun=rerun, drew=drew, **usage))
        writer.close()
        if ingested:
            ingest(ledger)
        with reading(ledger) as reader:
            found = rows_of(reader, "run_summary", run_id="r")[0]
    assert found["planned"] == found["reused"] + found["completed"] + found["failed"] + found["pending"]
    assert found["completed"] == sum(end in ("ok", "truncated") for end in ends)
    assert found["failed"] == sum(end in ("route_down", "bad_request") for end in ends)
    assert found["retryable"] == ends.count("route_down")
    assert found["open_intents"] == ends.count(None)
    assert found["calls_without_usage"] == ends.count("truncated")
    known = [10 for end in ends if end not in (None, "truncated")]
    assert found["total_tokens"] == (sum(known) if known or not ends else None)
