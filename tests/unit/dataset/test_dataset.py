import bz2
import csv
import datetime
import decimal
import enum
import gzip
import json
import lzma
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from workbench.dataset import files
from workbench.dataset.files import opened
from workbench.dataset.overview import write_converted
from workbench.dataset.python_rows import checked_rows
from workbench.dataset.samples import ContentHash, IdGlobs, rows_of, selected_samples
from workbench.dataset.spool import Spool
from workbench.errors import InputError
from workbench.job.job import parse_job
from workbench.records.calls import Sample
from workbench.zstd import ZstdCompressor

ROWS: list[dict[str, Any]] = [
    {"id": "a", "input": "What is 2 + 2?", "target": "4"},
    {"id": "b", "input": "Zwölf, “quoted”, and\na line break \u2028 within", "target": "12"},
    {"id": "c", "input": 'commas, "quotes" and \ttabs', "target": "日本語"},
]


def samples(folder: Path, path: str, **dataset: Any) -> list[Sample]:
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in dataset.items() if name != "fields")
    fields = dataset.get("fields")
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in (fields or {}).items())
    text = f'models = ["m"]\n[dataset]\npath = {json.dumps(path)}\n{lines}'
    return list(
        selected_samples(parse_job(text + (f"[dataset.fields]\n{table}" if fields else ""), folder / "job.toml"))
    )


def fault(folder: Path, path: str, **dataset: Any) -> str:
    with pytest.raises(InputError) as caught:
        samples(folder, path, **dataset)
    return str(caught.value)


def digest(found: list[Sample]) -> str:
    content = ContentHash()
    for sample in found:
        content.add(sample)
    return content.hexdigest()


def packed(data: bytes) -> bytes:
    return ZstdCompressor().compress(data, mode=ZstdCompressor.FLUSH_FRAME)


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def delimited(rows: list[dict[str, Any]], mark: str) -> bytes:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    return "\n".join(
        mark.join(cell(value) for value in row) for row in [list(rows[0]), *(list(r.values()) for r in rows)]
    ).encode()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue().to_pybytes())


FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "jsonl": jsonl,
    "json": lambda rows: json.dumps(rows, indent=1).encode(),
    "csv": lambda rows: delimited(rows, ","),
    "tsv": lambda rows: delimited(rows, "\t"),
    "parquet": parquet,
}


def deep(levels: int) -> bytes:
    """A row whose metadata is nested."""
    return b'{"input": "x", "more": ' + b"[" * levels + b"]" * levels + b"}"


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": lambda data: packed(data[: len(data) // 2]) + packed(data[len(data) // 2 :]),
}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_and_packing_gives_the_same_samples(tmp_path: Path, kind: str, packing: str) -> None:
    (tmp_path / "plain.jsonl").write_bytes(jsonl(ROWS))
    (tmp_path / f"data{packing}").write_bytes(PACKINGS[packing](FORMATS[kind](ROWS)))  # the content tells the format
    found = samples(tmp_path, f"data{packing}")
    assert [sample.input for sample in found] == [row["input"] for row in ROWS]
    assert digest(found) == digest(samples(tmp_path, "plain.jsonl"))


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ({"data": [{"input": "a"}, {"input": "b"}]}, "data"),
        ({"version": "1", "empty": [], "my rows": [{"question": "a", "answer": "b"}]}, "my rows"),
    ],
)
def test_one_object_around_the_rows_is_not_taken_for_a_row(tmp_path: Path, content: dict[str, Any], name: str) -> None:
    (tmp_path / "d.json").write_text(json.dumps(content))
    found = fault(tmp_path, "d.json")
    assert (
        f"d.json: one object, not rows: {name!r} in it is a list of objects (workbench datasets convert d.json d.rows.jsonl)"
        in found
    )
    assert len(samples(tmp_path, "d.json", format="jsonl")) == 1


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("content", "what"),
    [
        ({"question": ["a", "b"], "answer": [1, 2]}, "a list for each column"),
        ({"question": {"0": "a", "1": "b"}, "answer": {"0": 1, "1": 2}}, "a column by row numbers"),
        ({"columns": ["question", "answer"], "index": [0, 1], "data": [["a", 1], ["b", 2]]}, "`columns` and `data` apart"),
        ({"q1": {"question": "a", "answer": 1}, "q2": {"question": "b", "answer": 2}}, "a row by each id"),
    ],
)  # fmt: skip
def test_rows_in_one_object_are_named_and_converted(
    tmp_path: Path, content: dict[str, Any], what: str, indent: int | None
) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(content, indent=indent))
    assert f"one object, not rows: {what} (workbench datasets convert d.json d.rows.jsonl)" in fault(tmp_path, "d.json")
    assert write_converted(path, None, tmp_path / "d.rows.jsonl") == 2
    found = samples(tmp_path, "d.rows.jsonl")
    assert [(sample.input, sample.target) for sample in found] == [("a", 1), ("b", 2)]
    assert [sample.id for sample in found] == (["q1", "q2"] if "q1" in content else ["1", "2"])


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('"question, with, commas";answer\n2+2?;4\n', ("question, with, commas", "answer")),
        ('"question; a; b",answer\n2+2?,4\n', ("question; a; b", "answer")),
        ("question (a;b;c),answer\n2+2?,4\n", ("question (a;b;c)", "answer")),
        ("question|answer\n2, 2?|4\n", ("question", "answer")),
        ("question\tanswer\na, b, c?\t4\n", ("question", "answer")),
        ('question,answer\n"a;\nb;c",4\nd;e;f,5\n', ("question", "answer")),
        ("question\nWho, then?\n", ("question",)),
        ('id,input,target\n1,"He said "hi" to me",x\n2,foo,y\n', ()),
    ],
)  # fmt: skip
def test_a_delimiter_is_told_by_several_rows(tmp_path: Path, text: str, columns: tuple[str, ...]) -> None:
    path = tmp_path / "d.csv"
    path.write_text(text)
    if not columns:
        assert "not a valid table" in fault(tmp_path, "d.csv"), "a broken quote is no reason for another delimiter"
    elif columns == ("question",):
        assert "2 cells where the header has 1" in fault(tmp_path, "d.csv")
        assert tuple(next(rows_of(path, delimiter="|"))[1]) == columns
    else:
        assert tuple(next(rows_of(path))[1]) == columns


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("d.jsonl", b'# made by x\n{"input": "a"}\n', "d.jsonl:1: a comment, which JSON Lines does not have (remove the line)"),
        ("d.jsonl", b'{"input": "a"}\n// b\n', "d.jsonl:2: a comment, which JSON Lines does not have"),
        ("d.jsonl.xz", lzma.compress(b"{}"), "an xz archive; only .gz and .zst are read as they are (xz -dk d.jsonl.xz)"),
        ("d.jsonl.bz2", bz2.compress(b"{}"), "a bzip2 archive; only .gz and .zst are read as they are (bzip2 -dk d.jsonl.bz2)"),
        ("d.csv", "a,b\n1,2\n".encode("utf-32"), "it is UTF-32, not UTF-8 (iconv -f UTF-32 -t UTF-8 d.csv)"),
        ("d.csv", "question,answer\n一加一等于几？天空是什么颜色,2\n".encode("gbk"), "(is it GBK? iconv -f GB18030 -t UTF-8)"),
        ("d.csv", "question,answer\n天空是什麼顏色，請回答這個問題,2\n".encode("big5"), "(is it Big5? iconv -f BIG5 -t UTF-8)"),
        ("d.csv", "question,answer\n空の色を答えてください,2\n".encode("shift_jis"), "(is it Shift JIS? iconv -f SHIFT_JIS -t UTF-8)"),
        ("d.csv", "question,answer\n하늘의 색은 무엇입니까,2\n".encode("euc_kr"), "(is it EUC-KR? iconv -f EUC-KR -t UTF-8)"),
        ("d.csv", "question,answer\nПривет мир как дела,2\n".encode("cp1251"), "(is it Windows-1251? iconv -f CP1251 -t UTF-8)"),
        ("d.jsonl", '{"input": "Grüße aus Köln für Jürgen"}\n'.encode("latin-1"), "(is it Latin-1?)"),
        ("d.jsonl", '{"input": "é"}\n'.encode("latin-1"), "(is it Latin-1?)"),
        ("d.jsonl", '{"input": "It is 5 € – “ok”"}\n'.encode("cp1252"), "is it Windows-1252? iconv -f CP1252 -t UTF-8"),
        ("d.csv", "question,answer\nWo ist Köln,x\n".encode("utf-16-le"), "it is UTF-16LE, not UTF-8 (iconv -f UTF-16LE"),
        ("d.jsonl", '{"input": "Wo?"}\n'.encode("utf-16-be"), "it is UTF-16BE, not UTF-8 (iconv -f UTF-16BE"),
        ("d.jsonl", '{"input": "一加一等于几？天空是什么颜色"}\n'.encode("gbk"), "(is it GBK? iconv -f GB18030 -t UTF-8)"),
    ],
)  # fmt: skip
def test_what_is_packed_encoded_or_commented_otherwise_is_named(
    tmp_path: Path, name: str, data: bytes, told: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert told in fault(tmp_path, name)


def test_what_somebody_names_is_a_row(tmp_path: Path) -> None:
    rows: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"chat": [{"role": "user", "content": "hi"}]}, {"fields": {"input": "chat"}}),
        ({"prompt": ["a", "b"], "reference": ["c", "d"]}, {"fields": {"input": "prompt", "target": "reference"}}),
        ({"prompt": ["a", "b"], "reference": ["c", "d"]}, {"layout": "plain"}),
        ({"input": {"a": 1}, "target": {"a": 2}}, {}),
    ]
    for row, named in rows:
        (tmp_path / "d.jsonl").write_bytes(jsonl([row]))
        assert len(samples(tmp_path, "d.jsonl", **named)) == 1


def test_an_encoding_is_told_at_once_however_long_a_line_is(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b'{"input": "' + "一加一等于几".encode("gbk") * 20_000 + b'"}\n')
    begin = time.thread_time()
    assert "is it GBK?" in fault(tmp_path, "d.jsonl")
    assert time.thread_time() - begin < 2


def test_the_only_line_of_a_json_file_may_be_a_row_with_lists(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    for row in ({"messages": messages}, {"messages": messages[:1]}, {"input": "x", "data": messages}):
        (tmp_path / "d.json").write_bytes(jsonl([row]))
        assert len(samples(tmp_path, "d.json")) == 1


def test_columns_of_one_name_in_parquet_are_refused(tmp_path: Path) -> None:
    table = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["input", "input"])
    pyarrow.parquet.write_table(table, tmp_path / "d.parquet")
    assert fault(tmp_path, "d.parquet").endswith("d.parquet: two columns have the name 'input' (rename one)")


def test_a_broken_list_is_named_by_its_column(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("q,options,calls\nQ,red,\n")
    assert "d:2: options: expected a JSON list" in fault(tmp_path, "d", fields={"input": "q", "choices": "options"})
    (tmp_path / "d").write_text("q,options,calls\nQ,,[5]\n")
    assert "d:2: calls[0]: " in fault(tmp_path, "d", fields={"input": "q", "tools": "calls"})


def test_options_in_a_table_are_a_list(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('question,choices,answer\nWhich?,"[""red"",""blue""]",blue\n')
    (found,) = samples(tmp_path, "d.csv")
    assert (found.choices, found.target) == (("red", "blue"), "blue")


WITHIN_ITSELF: list[Any] = []
WITHIN_ITSELF.append(WITHIN_ITSELF)


class Colour(str, enum.Enum):  # noqa: UP042  # as older code has it
    RED = "red"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"input": "\ud800"}, "row 2: input: half of a surrogate pair at position 0"),
        ({"a\udc00": "x"}, "row 2: half of a surrogate pair"),
        ({1: "x"}, "row 2: expected column names that are text, found 1"),
        (
            {"input": object()},
            "row 2: input: expected text, a number, true, false, None, a list or a dictionary, found <object",
        ),
        ({"input": "x", "tags": {1, 2}}, "row 2: tags: expected text, a number"),
        ({"input": "x", "image": b"x"}, "row 2: image: expected text, a number"),
        ({"input": "x", "target": math.nan}, "row 2: target: nan is not a JSON number (use None for a missing value)"),
        ({"input": "x", "target": [1, {"a": math.inf}]}, "row 2: target[1]: a: inf is not a JSON number"),
        ({"input": "x", "at": pandas.NaT}, "row 2: at: expected text, a number"),
        ({"input": "x", "target": 10**5000}, "row 2: target: a whole number of more than 4300 digits"),
        ({"input": "x", "more": WITHIN_ITSELF}, "row 2: more: nested too deeply"),
    ],
    ids=range(11),
)
def test_a_value_that_no_file_could_hold_is_refused_with_row_and_column(row: dict[Any, Any], problem: str) -> None:
    with pytest.raises(InputError) as raised:
        checked_rows([{"input": "fine"}, row])
    assert str(raised.value).startswith(problem)


def test_values_of_python_become_those_of_json() -> None:
    row = {"input": numpy.int64(3), "share": numpy.float64(0.5), "sure": numpy.bool_(True), "pair": (1, 2), "c": Colour.RED,
           "at": datetime.datetime.fromisoformat("2026-01-02 03:04:05"), "price": decimal.Decimal("1.50")}  # fmt: skip
    (found,) = checked_rows([row])
    assert found == {
        "input": 3,
        "share": 0.5,
        "sure": True,
        "pair": [1, 2],
        "c": "red",
        "at": "2026-01-02 03:04:05",
        "price": "1.50",
    }
    assert [type(value) for value in found.values()] == [int, float, bool, list, str, str, str]


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path, kind: str) -> None:
    rows = [{"id": "a", "input": "one", "target": "1"}, {"id": "b", "input": "two", "target": "2"}]
    data = FORMATS[kind](rows)
    (tmp_path / "plain").write_bytes(data)
    (tmp_path / "windows").write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    assert digest(samples(tmp_path, "windows")) == digest(samples(tmp_path, "plain"))


@pytest.mark.parametrize("above", [b"\n", b"\r\n\r\n"])
def test_empty_lines_above_a_header_change_nothing(tmp_path: Path, above: bytes) -> None:
    table = delimited([{"id": "a", "input": "one", "target": "1"}], ";")
    (tmp_path / "plain").write_bytes(table)
    (tmp_path / "below").write_bytes(above + table)
    assert digest(samples(tmp_path, "below")) == digest(samples(tmp_path, "plain"))
    (tmp_path / "ragged").write_bytes(above + table + b"\nx\n")
    with pytest.raises(InputError, match=rf"ragged:{above.count(bytes([10])) + 3}: 1 cells where the header has 3"):
        samples(tmp_path, "ragged")


def test_numbers_keep_every_digit(tmp_path: Path) -> None:
    row = b'{"input": "x", "target": %d}' % (10**400 + 1)
    for content in (row, b"[" + row + b"]"):
        (tmp_path / "d").write_bytes(content)
        assert samples(tmp_path, "d")[0].target == 10**400 + 1


def test_a_line_of_ten_megabytes_is_one_sample(tmp_path: Path) -> None:
    (tmp_path / "d").write_bytes(jsonl([{"input": "x" * 10_000_000}]))
    (found,) = samples(tmp_path, "d")
    assert len(found.input) == 10_000_000


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "the dataset is empty"),
        (b" \n\n", "the dataset is empty"),
        (b"[]", "the dataset has no rows"),
        (b"input,target\n", "the dataset has no rows"),
        (jsonl(ROWS[:1] * 6) + b'{"input": oops}\n', ":7: not valid JSON: expected value at column 11"),
        (b'{"input": 1}\n[1]\n', ":2: expected one JSON object per line, found a list"),
        (b'[{"input": "a"},\n {"input": }]', ":2: not valid JSON: expected value"),
        (b'[{"input": "a"}, 3]', "element 2: expected an object"),
        (b"input,target\na,1\nb\n", ":3: 1 cells where the header has 2"),
        (b'input,target\n"a\nb",1\nc,2,3\n', ":4: 3 cells where the header has 2"),
        (b"input,input\na,1\n", ":1: the header names 'input' twice"),
        (b'input,target\n"open,1\n', "a quote opened on line 2 is never closed"),
        (b"input,target\n\xff\xfe,1\n", "byte 0xff is not UTF-8"),
        (b'{"input": "\\ud83d"}\n', "half of a surrogate pair"),
        (
            b'[{"input": "a"}, {"input": "\\ud800"}]',
            "d: element 2: not valid JSON: a \\u escape is half of a surrogate pair",
        ),
        (
            b'[{"input": "a"}, {"input": "\\udc00b"}]',
            "d: element 2: not valid JSON: a \\u escape is half of a surrogate pair",
        ),
        (b'{"input": "a\xff"}\n', ":1: not valid JSON"),
        (b'[{"input": "a"}, {"input": "a\xff"}]', "d: element 2: not valid JSON: byte 0xff is not UTF-8"),
        (deep(1200), "d:1: not valid JSON: nested too deeply"),
        (deep(975), "d:1: not valid JSON: nested too deeply"),
        (b'[{"input": "a"},' + deep(1200) + b"]", "d: element 2: not valid JSON: nested too deeply"),
        (b'[{"input": "a"},' + deep(971) + b"]", "d: element 2: not valid JSON: nested too deeply"),
        (b'[{"input": "a"},' + deep(5000) + b"]", "d: element 2: not valid JSON: nested too deeply"),
        (b"input,tools\na," + b"[" * 2000 + b"]" * 2000, "d:2: tools: expected a JSON list"),
        (b"input,choices\na,red\n", "d:2: choices: expected a JSON list, found the text 'red'"),
        (b'{"input": "a", "choices": ["x", {"y": 1}]}', "d:1: choices[1]: expected an option's text, found an object"),
        (
            b'{"input": {"a": [[1, 1e999]]}}\n',
            "d:1: not valid JSON: a number is too large: the limit is 1.8e308, and 4300 digits",
        ),
        (b'{"input": "x", "target": 1e999}\n', "d:1: not valid JSON: a number is too large: the limit is 1.8e308"),
        (b'{"input": "x", "target": NaN}\n', "d:1: not valid JSON: NaN is not a JSON number"),
        (
            b'[{"input": "x"}, {"input": "x", "target": 1e999}]',
            "d: element 2: not valid JSON: a number is too large: the limit is 1.8e308",
        ),
        (
            b'[{"input": "x"}, {"input": "x", "target": -Infinity}]',
            "d: element 2: not valid JSON: -Infinity is not a JSON number",
        ),
        (b'[{"input": ' + b"1" * 5000 + b"}]", "d: element 1: not valid JSON: a number is too large"),
        (b'[{"input": "a"}', "d:1: not valid JSON: expected ',' delimiter at column 16"),
        (b'[{"input": "a"},]', "d:1: not valid JSON"),
        (b'[{"input": "a"}}', "d:1: not valid JSON: expected ',' delimiter"),
        (b'[{"input": "a"}] x', "d:1: not valid JSON: Extra data at column 18 (expected the end there)"),
        (b"[", "d:1: not valid JSON: expected value"),
        (b"[1 2]", "element 1: expected an object"),
        (b"PAR1 and no more", "not a readable Parquet file"),
        (gzip.compress(jsonl(ROWS * 50))[:-30], "its compression is damaged or truncated"),
        (packed(jsonl(ROWS * 50))[:40] + b"rubbish", "its compression is damaged or truncated"),
    ],
)
def test_a_broken_dataset_is_named_with_its_place(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "d").write_bytes(content)
    assert expected in fault(tmp_path, "d")


@pytest.mark.parametrize(
    ("content", "found"), [(b'{"items": [{"input": "a"}]}', "an object"), (b"input\na\n", "'input")]
)
def test_an_array_is_expected_where_the_job_says_so(tmp_path: Path, content: bytes, found: str) -> None:
    (tmp_path / "d").write_bytes(content)
    assert f"d: expected a JSON array of rows, found {found}" in fault(tmp_path, "d", format="json")


def test_an_array_is_cut_into_its_elements_wherever_the_pieces_end(tmp_path: Path) -> None:
    rows = [{"id": str(n), "input": 'é, [\\"{' * (n + 1), "target": [n, {"a": "\U0001f600"}]} for n in range(400)]
    for indent in (None, 3):
        (tmp_path / "d").write_text("\n" + " " * 70_000 + json.dumps(rows, indent=indent, ensure_ascii=indent is None))
        assert [(s.id, s.input, s.target) for s in samples(tmp_path, "d", format="json")] == [
            (row["id"], row["input"], row["target"]) for row in rows
        ]


def test_missing_files_and_columns_name_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "arithmetic.jsonl").write_bytes(jsonl([{"question": "q", "answer": "a"}]))
    assert "did you mean 'arithmetic.jsonl'?" in fault(tmp_path, "aritmetic.jsonl")
    assert "no file matches" in fault(tmp_path, "*.csv")
    assert "did you mean 'question'?" in fault(tmp_path, "arithmetic.jsonl", fields={"input": "questoin"})
    assert "did you mean 'answer'?" in fault(
        tmp_path, "arithmetic.jsonl", fields={"input": "question", "target": "answr"}
    )


def test_what_is_there_but_no_file_is_called_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in (".", "d", str(tmp_path)):
        found = fault(tmp_path, path)
        assert "is a folder (name the files in it, such as" in found
        assert "did you mean" not in found
    for path in ("pipe", "/dev/null"):
        assert fault(tmp_path, path).endswith(f"{path} is not a regular file (write what it gives into a file first)")
    assert "no file matches" in fault(tmp_path, "*d*")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert fault(tmp_path, "dangling").endswith(f"dangling ({tmp_path} has no files)")


def test_fields_choices_and_tools(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    (tmp_path / "d").write_text(
        "q,right,w1,w2,calls,note\nQ,A,B,C," + '"' + json.dumps(tools).replace('"', '""') + '",n\n'
    )
    (found,) = samples(
        tmp_path, "d", fields={"input": "q", "target": "right", "choices": ["right", "w1", "w2"], "tools": "calls"}
    )
    assert found.choices == ("A", "B", "C")
    assert list(found.tools) == tools
    assert found.metadata == {"note": "n"}
    assert found.target == "A"


def test_options_of_several_columns_may_end_early_but_have_no_gap(tmp_path: Path) -> None:
    fields = {"input": "q", "choices": ["a", "b", "c"], "target": ["t", "u"]}
    (tmp_path / "d").write_text("q,a,b,c,t,u\nQ,1,2,,,y\nQ,,,,x,\n")
    assert [(found.choices, found.target) for found in samples(tmp_path, "d", fields=fields)] == [
        (("1", "2"), ["y"]),
        ((), ["x"]),
    ]
    (tmp_path / "d").write_text("q,a,b,c,t,u\nQ,1,2,3,x,\nQ,1,,3,x,\n")
    assert "d:3: b: an empty option before 'c', which has a text" in fault(tmp_path, "d", fields=fields)
    fields["choices"] = ["a", "bb", "c"]
    assert "d:2: no column 'bb'; the columns are: q, a, b, c, t, u (did you mean 'b'?)" in fault(
        tmp_path, "d", fields=fields
    )


def test_a_row_without_an_input_column_stands_for_itself(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("language,body\nFrench,Hello\nGerman,Hello\n")
    found = samples(tmp_path, "d")
    assert found[0].input == {"language": "French", "body": "Hello"} == found[0].metadata


def test_selection(tmp_path: Path) -> None:
    (tmp_path / "d").write_bytes(jsonl([{"id": f"{'ab'[n % 2]}{n}", "input": str(n)} for n in range(20)]))

    def ids(**dataset: Any) -> list[str]:
        return [sample.id for sample in samples(tmp_path, "d", **dataset)]

    assert ids(limit=2) == ["a0", "b1"]
    assert ids(limit="3-4") == ["a2", "b3"]
    assert ids(sample_ids=["b1*"]) == ["b1", "b11", "b13", "b15", "b17", "b19"]
    assert ids(sample_ids=["b*"], limit=2) == ["b1", "b3"]
    assert ids(sample_ids=["b3", "b1?"]) == ["b3", "b11", "b13", "b15", "b17", "b19"]
    drawn = ids(shuffle_seed=7, limit=5)
    assert drawn == ids(shuffle_seed=7, limit=5) != ids(shuffle_seed=8, limit=5)
    assert drawn != ids(limit=5)
    assert "has an id like" in fault(tmp_path, "d", sample_ids=["z*"])


def test_several_files_are_read_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl"):
        (tmp_path / name).write_bytes(jsonl([{"input": name}]))
    assert [sample.input for sample in samples(tmp_path, "*.jsonl")] == ["a.jsonl", "b.jsonl"]


def test_the_spool_reads_back_what_was_put_in() -> None:
    with Spool() as spool:
        for record in (b"a", b"", b"xyz" * 1000):
            spool.append(record)
        spool.seal()
        assert [spool[number] for number in range(len(spool))] == [b"a", b"", b"xyz" * 1000]


@pytest.mark.parametrize("pack", [PACKINGS[".gz"], PACKINGS[".zst"]], ids=["gzip", "zstd"])
def test_a_line_that_unpacks_to_more_than_memory_allows_is_refused(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_LINE_BYTES", 2**22)
    whole = b'{"input": "' + b"a" * 2**21 + b'"}\n'
    path = tmp_path / "d.jsonl"
    path.write_bytes(pack(whole * 3))
    with opened(path) as stream:
        assert len(list(stream)) == 3
    path.write_bytes(pack(whole + b'{"input": "' + b"a" * 2**26))
    with pytest.raises(InputError, match="a line unpacks to more than"), opened(path) as stream:
        list(stream)


def test_values_of_parquet_are_those_that_json_has(tmp_path: Path) -> None:
    moment = datetime.datetime.fromisoformat("2026-01-02 03:04:05")
    row = {"input": b"What is 2+2?", "price": decimal.Decimal("1.50"), "at": moment, "share": math.nan,
           "box": {"price": decimal.Decimal("2.50"), "parts": [b"x"]}}  # fmt: skip
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "d.parquet")
    (found,) = samples(tmp_path, "d.parquet")
    assert found.input == "What is 2+2?"
    assert found.metadata == {
        "price": "1.50", "at": "2026-01-02 03:04:05", "share": None, "box": {"price": "2.50", "parts": ["x"]},
    }  # fmt: skip


def test_a_narrow_float_of_parquet_is_the_number_that_was_stored(tmp_path: Path) -> None:
    single = pyarrow.float32()
    columns = {
        "price": pyarrow.array([0.1], single),
        "coded": pyarrow.array([0.1], single).dictionary_encode(),
        "many": pyarrow.array([[0.1, None]], pyarrow.list_(single)),
        "box": pyarrow.array([{"parts": [0.1]}], pyarrow.struct({"parts": pyarrow.list_(single)})),
        "pairs": pyarrow.array([[("a", 0.1)]], pyarrow.map_(pyarrow.string(), single)),
        "point": pyarrow.array([[0.1]], pyarrow.list_(single, 1)),
        "wide": pyarrow.array([0.10000000149011612]),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "d.parquet")
    (found,) = samples(tmp_path, "d.parquet")
    assert found.metadata == {
        "price": 0.1, "coded": 0.1, "many": [0.1, None], "box": {"parts": [0.1]}, "pairs": [["a", 0.1]],
        "point": [0.1], "wide": 0.10000000149011612,
    }  # fmt: skip


def test_bytes_that_are_not_text_name_row_and_column(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist([{"input": "x", "image": b"\xff\xd8"}]), tmp_path / "d.parquet"
    )
    assert "d.parquet: row 1: image: 2 bytes that are not text" in fault(tmp_path, "d.parquet")


MOST_MIB = 1024
BOMB = """
import sys
from pathlib import Path
from workbench.dataset.samples import samples_in
from workbench.errors import InputError

try:
    print(sum(1 for _ in samples_in(Path(sys.argv[1]))))
except InputError as error:
    print(error)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("mib", "times", "said"), [(32, 40, "40"), (300, 1, "values of 300 MiB")])
def test_a_small_parquet_file_that_unpacks_to_gigabytes_takes_little_memory(
    mib: int, times: int, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "d.parquet"
    table = pyarrow.table({"input": ["x" * (mib * 2**20)] * times})
    pyarrow.parquet.write_table(table, path, compression="zstd", dictionary_pagesize_limit=2**30)
    assert path.stat().st_size < 2**20
    done = subprocess.run([sys.executable, "-c", BOMB, str(path)], capture_output=True, text=True, check=True)
    text, peak_mib = done.stdout.splitlines()
    assert said in text
    assert int(peak_mib) < MOST_MIB


def test_thousands_of_ids_are_looked_up_at_once() -> None:
    globs = IdGlobs([*(f"id{n}" for n in range(20_000)), "x*", "[b"])
    began = time.thread_time()
    assert sum(globs.match(f"id{n}") for n in range(10_000, 30_000)) == 10_000
    assert time.thread_time() - began < 1
    assert globs.match("xy")
    for taken in (*(f"id{n}" for n in range(20_000)), "xy"):
        globs.take(taken)
    assert globs.unmatched == {"[b"}


def test_messages_in_a_cell_are_messages(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}]
    with (tmp_path / "d.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["messages", "target"], [json.dumps(messages), "4"]])
    (sample,) = samples(tmp_path, "d.csv")
    assert (sample.input, sample.is_chat) == (messages, True), "their text was sent as one message"
