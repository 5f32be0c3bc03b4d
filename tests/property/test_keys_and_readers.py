"""Keys tell apart what differs and nothing else; readers give back what was written."""

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.client.completion import completion_from, decode
from workbench.dataset.samples import selected_samples
from workbench.display.text import visible
from workbench.job.job import parse_job
from workbench.records.calls import Sample
from workbench.records.keys import canonical, request_key
from workbench.scoring.number import stated_number

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
bodies = st.dictionaries(texts, json_values, max_size=5)
identities = st.tuples(st.sampled_from(["local", "http://a", "http://ab"]), st.integers(1, 12), st.integers(0, 12))


@given(bodies, st.randoms())
@settings(max_examples=200)
def test_the_order_of_keys_in_a_body_does_not_count(body: dict[str, Any], chance: Any) -> None:
    items = list(body.items())
    chance.shuffle(items)
    assert canonical(dict(items)) == canonical(body)
    assert json.loads(canonical(body)) == json.loads(json.dumps(body))


@given(identities, bodies, identities, bodies)
@settings(max_examples=300)
def test_keys_are_equal_exactly_when_everything_is(
    a: tuple[str, int, int], body_a: dict[str, Any], b: tuple[str, int, int], body_b: dict[str, Any]
) -> None:
    key_a = request_key(a[0], canonical(body_a), a[1], a[2])
    key_b = request_key(b[0], canonical(body_b), b[1], b[2])
    assert (key_a == key_b) == ((a, canonical(body_a)) == (b, canonical(body_b)))


def read(folder: Path, data: bytes, kind: str) -> list[Sample]:
    (folder / "d").write_bytes(data)
    job = parse_job(f'models = ["m"]\n[dataset]\npath = "d"\nformat = "{kind}"\n', folder / "job.toml")
    return list(selected_samples(job))


def written(rows: list[dict[str, str]], kind: str) -> bytes:
    if kind in ("csv", "tsv"):
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(rows[0]), delimiter="," if kind == "csv" else "\t", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()
    if kind == "parquet":
        sink = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
        return bytes(sink.getvalue().to_pybytes())
    if kind == "json":
        return json.dumps(rows, ensure_ascii=False).encode()
    return "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in rows).encode()


rows_of_text = st.lists(
    st.fixed_dictionaries({"input": texts.filter(bool), "target": texts.filter(bool), "note": texts}),
    min_size=1,
    max_size=5,
)


@given(rows_of_text, st.sampled_from(["csv", "tsv", "parquet", "json", "jsonl"]))
@settings(max_examples=150)
def test_readers_give_back_what_was_written(rows: list[dict[str, str]], kind: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        found = read(Path(name), written(rows, kind), kind)
    assert [(s.input, s.target, s.metadata["note"]) for s in found] == [
        (r["input"], r["target"], r["note"]) for r in rows
    ]
    assert [s.id for s in found] == [str(number) for number in range(1, len(rows) + 1)]


@given(st.integers(-(10**9), 10**9), st.sampled_from(["{:d}", "{:,d}", "${:,d}", "{:d}.", "**{:d}**"]))
def test_a_number_said_is_a_number_read(number: int, form: str) -> None:
    assert stated_number(f"First 12 things, so the answer is {form.format(number)}") == number


@given(st.text(max_size=200))
def test_any_text_is_safe_to_show(text: str) -> None:
    shown = visible(text)
    assert not any(ord(character) < 0x20 and character not in "\n\t" for character in shown)
    assert "\u202e" not in shown


@given(st.binary(max_size=300))
def test_any_bytes_from_the_wire_are_json_or_a_value_error(body: bytes) -> None:
    try:
        completion_from(decode(body))
    except ValueError:
        pass
