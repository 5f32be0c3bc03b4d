"""Which files a dataset names, what they hold, and their bytes without compression."""

import codecs
import contextlib
import csv
import glob
import gzip
import io
import itertools
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from workbench.errors import Fault, InputError, missing_file
from workbench.zstd import ZstdError, ZstdFile

Format = Literal["jsonl", "json", "csv", "tsv", "parquet", "xlsx"]
BOM = b"\xef\xbb\xbf"
_HEAD_BYTES, _PART_BYTES = 65_536, 2**20
MOST_LINE_BYTES = 2**26
"""Of a row: reading one takes several times its bytes in memory."""
_GZIP, _ZSTD, _PARQUET, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"PK\x03\x04"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SCALAR = re.compile(rb'null|true|false|"|-?[0-9]')
_LOGS = (
    (re.compile(rb'"promptfooVersion"|"evalId"'), "results of promptfoo"),
    (re.compile(rb'"status":.{0,200}"eval":', re.DOTALL), "a log of Inspect"),
    (re.compile(rb'"lm_eval_version"'), "results of lm-evaluation-harness"),
)
_OURS = re.compile(rb'\{"id":"(?:[^"\\]|\\.)*",(?:"input":|"target":)')
"""How `datasets convert` begins a file, not a log whatever its columns are called."""
_SUITE = re.compile(rb"^(?:prompts|providers|tests|scenarios):", re.MULTILINE)
_UTF_16, _LFS_POINTER = (b"\xff\xfe", b"\xfe\xff"), b"version https://git-lfs.github.com/spec"
_UTF_32 = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_PACKED = {
    b"\xfd7zXZ\0": ("an xz archive", "xz -dk"),
    b"BZh": ("a bzip2 archive", "bzip2 -dk"),
    b"7z\xbc\xaf\x27\x1c": ("a 7-Zip archive", "7z x"),
    b"\x04\x22\x4d\x18": ("an LZ4 archive", "lz4 -dk"),
}
COMMENT = (b"#", b"//")
"""How a line begins that some tools take for a comment."""
_DELIMITERS = ",;\t|"
_LOOKED_AT_ROWS = 50
_OF_A_SCRIPT, _OF_WORDS, _TOLD_BY_BYTES = 0.75, 0.3, 4096
_LEAST_LETTERS = 3  # one or two are a letter of some script in every encoding
_KANA = re.compile(r"[\u3040-\u30ff]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_WINDOWS_SIGNS = re.compile(rb"[\x80-\x9f]")
"""Where Latin-1 has nothing that is seen, Windows-1252 has its quotes, dashes and the euro."""
_ASCII = re.compile(r"[\0-\x7f]")
_IN_A_WORD = re.compile(rb"(?<![\x80-\xff])[A-Za-z][\x80-\xff]{1,2}(?![\x80-\xff])")
"""An accented letter or two after one without: what follows another's first byte may look like a letter, too."""
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_WESTERN_LETTER = re.compile(r"[ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûü]")
_WESTERN = re.compile(r"[ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûü–—‘’“”„…€£§°«»¿¡·×\xa0]{1,3}")
"""Not the signs that letters of other alphabets, and of Mac OS, turn into."""
_IN_A_WESTERN_WORD = re.compile(r"(?:(?<=[A-Za-z])[À-ü]{1,2}|[À-ü]{1,2}(?=[A-Za-z]))")
_LETTER = "A-Za-z\xc0-\xff"
_WESTERN_WORD = re.compile(rf"(?<![{_LETTER}])(?:[àèéêíòóôúÀÈÉÓ]|[äöüß]{{2,4}})(?![{_LETTER}])")
"""A word of one such letter (Italian `è`, French `à`, Spanish `ó`, Portuguese `é`), or the umlauts as examples."""
_WESTERN_SIGN = re.compile(
    rf"(?:(?<=\d)|(?<![{_LETTER}])[cdkm]?m)[²³](?![{_LETTER}])|(?<![{_LETTER}])(?:[±½¼¾•](?![{_LETTER}])|µ(?=[AFVglms]))|[®©™](?![{_LETTER}])"
)
"""Signs where they stand in a text of Western Europe; in one of Central Europe the same bytes are letters of words."""
_HAN = "\u3000-\u303f\u4e00-\u9fff\uff01-\uff5e"
_ENCODINGS = (
    # the first that reads it as a text of its script; an encoding of fewer signs comes before one that has them too
    ("CP1251", "Windows-1251", re.compile("[а-яё]")),
    ("EUC-KR", "EUC-KR", re.compile(r"[\uac00-\ud7a3]")),
    ("EUC-JP", "EUC-JP", re.compile(rf"[\u3040-\u30ff{_HAN}]")),
    ("SHIFT_JIS", "Shift JIS", re.compile(rf"[\u3040-\u30ff{_HAN}]")),
    ("GB18030", "GBK", re.compile(rf"[{_HAN}]")),
    ("BIG5", "Big5", re.compile(rf"[{_HAN}]")),
)


def expand(patterns: tuple[str, ...], where: str) -> list[Path]:
    """Return the files that paths and globs name, in order, each once.

    Args:
        patterns: Paths or globs.
        where: The job's key, for messages.

    Raises:
        InputError: A path does not exist or a glob matches nothing.
    """
    found: dict[Path, None] = {}
    faults = []
    for pattern in patterns:
        path = Path(pattern)
        if path.is_file():
            found[path] = None
        elif glob.has_magic(pattern) and (matches := _files_matching(pattern)):
            found.update(dict.fromkeys(matches))
        else:
            faults.append(_no_file(pattern, path, where))
    if faults:
        raise InputError(*faults)
    return list(found)


def _files_matching(pattern: str) -> list[Path]:
    return [Path(match) for match in sorted(glob.glob(pattern, recursive=True)) if Path(match).is_file()]


def _no_file(pattern: str, path: Path, where: str) -> Fault:
    if path.is_dir():
        return Fault(where, f"{pattern} is a folder", f"name the files in it, such as {path}/*.jsonl")
    if path.exists():
        return Fault(where, f"{pattern} is not a regular file", "write what it gives into a file first")
    kind = "no file matches" if glob.has_magic(pattern) else "there is no file"
    return Fault(where, f"{kind} {pattern}", missing_file(path))


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Yield a file's bytes, decompressed if its first bytes say gzip or Zstandard.

    Raises:
        InputError: It cannot be read, or its compression is broken or cut.
    """
    try:
        with path.open("rb") as raw:
            head = raw.read(4)
            raw.seek(0)
            if head[:2] == _GZIP:
                yield io.BufferedReader(_Bounded(gzip.GzipFile(fileobj=raw), path))
            elif head == _ZSTD:
                yield io.BufferedReader(_Bounded(ZstdFile(raw), path))
            else:
                yield raw
    except (EOFError, gzip.BadGzipFile, zlib.error, ZstdError) as error:
        raise InputError(
            Fault(str(path), f"its compression is damaged or truncated: {error}", "fetch it again")
        ) from error
    except OSError as error:
        hint = missing_file(path) if isinstance(error, FileNotFoundError) else ""
        raise InputError(Fault(str(path), f"cannot be read: {error.strerror or error}", hint)) from error


class _Bounded(io.RawIOBase):
    """An unpacked stream whose lines are not longer than memory allows: a few megabytes may unpack to many gigabytes."""

    def __init__(self, unpacked: gzip.GzipFile | ZstdFile, path: Path) -> None:
        self._unpacked, self._path = unpacked, path
        self._since_line_end = 0

    def readable(self) -> bool:
        """Say that it is readable, as a stream must."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what BufferedReader gives
        """Read the next bytes; a line that is too long is refused."""
        data = self._unpacked.read(len(buffer))
        buffer[: len(data)] = data
        place = data.rfind(b"\n")
        self._since_line_end = self._since_line_end + len(data) if place < 0 else len(data) - place - 1
        if self._since_line_end > MOST_LINE_BYTES:
            problem = f"a line unpacks to more than {MOST_LINE_BYTES // 2**20} MiB"
            raise InputError(Fault(str(self._path), problem, "one sample per line"))
        return len(data)


def is_compressed(path: Path) -> bool:
    """Return whether a file is unpacked as it is read."""
    with path.open("rb") as raw:
        head = raw.read(4)
    return head[:2] == _GZIP or head == _ZSTD


def refuse_sheet(path: Path, sheet: str | None) -> None:
    """Refuse the name of a sheet on the command line where a file has no sheets.

    Raises:
        InputError: It is not a workbook.
    """
    if sheet is not None and (found := format_of(path)) != "xlsx":
        raise InputError(Fault("--sheet", f"names a sheet of a workbook, and {path} is {found}", "leave it out"))


def format_of(path: Path) -> Format:
    """Detect a file's format from its content; the name only helps to decide between CSV and TSV.

    Raises:
        InputError: The file is empty, or cannot be read.
    """
    with opened(path) as stream:
        head = stream.read(_HEAD_BYTES)
    if head[:4] == _PARQUET:
        return "parquet"
    if head.startswith(_ZIP) and path.suffix != ".eval" and _is_workbook(path):
        return "xlsx"
    is_utf_16 = _is_utf_16(head)
    if is_utf_16:
        head = _as_utf_8(head)
    _refuse_packed(head, path)
    _refuse_others(head, path)
    text = head.removeprefix(BOM).lstrip()
    if not text:
        raise InputError(
            Fault(
                str(path), "the dataset is empty", 'expected a sample a line, such as {"input": "2 + 2", "target": "4"}'
            )
        )
    if is_utf_16 and text[:1] in b"[{":
        raise InputError(Fault(str(path), "it is UTF-16, not UTF-8", f"iconv -f UTF-16 -t UTF-8 {path.name}"))
    if text[:1] == b"[":
        return "json"
    if text[:1] == b"{":
        return "jsonl"
    if {".jsonl", ".ndjson"} & set(path.suffixes) and (_SCALAR.match(text) or text.startswith(COMMENT)):
        return "jsonl"  # not a header, but a row that is wrong
    return "tsv" if delimiter_in(head) == "\t" or ".tsv" in path.suffixes else "csv"


def delimiter_of(path: Path) -> str:
    """Return what separates the cells of a table."""
    with opened(path) as stream:
        head = stream.read(_HEAD_BYTES)
    return delimiter_in(_as_utf_8(head) if _is_utf_16(head) else head)


def encoding_of(path: Path) -> str:
    """Return the encoding of a table, as Python names it: UTF-8, or what spreadsheet programs write instead.

    UTF-16 has its mark. A file is CP1252 where nothing beyond ASCII in it is UTF-8 and all of it are letters of Western Europe
    within words, words of one such letter, or signs where these stand; a file that is UTF-8 but for a broken byte is not.
    """
    decoder, was_ascii = codecs.getincrementaldecoder("utf-8-sig")(), True
    with opened(path) as stream:
        part = stream.read(_HEAD_BYTES)
        if _is_utf_16(part):
            return "utf-16"
        try:
            while part:
                decoder.decode(part)
                was_ascii &= part.removeprefix(BOM).isascii()
                part = stream.read(_PART_BYTES)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252" if was_ascii and _is_western(part) else "utf-8-sig"
    return "utf-8-sig"


def _is_western(data: bytes) -> bool:
    """Return whether bytes that are not UTF-8 are a text of Western Europe as Windows writes it."""
    if any(len(found) > 1 and _is_utf_8(found) for found in _NOT_ASCII.findall(data)):
        return False
    with contextlib.suppress(UnicodeDecodeError):
        text, found = _WESTERN_SIGN.subn(" ", data.decode("cp1252"))
        text, words = _WESTERN_WORD.subn(" ", text)
        runs = _BEYOND_ASCII.findall(text)
        in_words = sum(_WESTERN_LETTER.search(run) is not None for run in runs)
        return (
            in_words + words + found > 0
            and all(_WESTERN.fullmatch(run) for run in runs)
            and len(_IN_A_WESTERN_WORD.findall(text)) >= in_words
        )
    return False


def _is_utf_8(data: bytes) -> bool:
    with contextlib.suppress(UnicodeDecodeError):
        data.decode()
        return True
    return False


def _is_utf_16(head: bytes) -> bool:
    return head.startswith(_UTF_16) and not head.startswith(_UTF_32)


def _as_utf_8(head: bytes) -> bytes:
    """Return the beginning of a UTF-16 text in UTF-8; it may be cut within a sign."""
    return codecs.getincrementaldecoder("utf-16")("replace").decode(head).encode()


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


def delimiter_in(head: bytes) -> str:
    """Return what separates the cells of a table: whatever gives its first rows the same number of cells, with regard to quotes.

    Args:
        head: The beginning of the file.
    """
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    lines = text.splitlines(keepends=True)
    if len(head) == _HEAD_BYTES and len(lines) > 1:
        lines.pop()  # cut
    found = {delimiter: _cells(lines, delimiter) for delimiter in _DELIMITERS}
    return max(_DELIMITERS, key=lambda delimiter: (found[delimiter], -_DELIMITERS.index(delimiter)))


def _cells(lines: list[str], delimiter: str) -> tuple[bool, int]:
    """Return how many cells the first rows have with a delimiter, after whether that is more than one, and the same for all."""
    reader, widths = csv.reader(lines, delimiter=delimiter, strict=True), list[int]()
    try:
        widths += (len(row) for row in itertools.islice(reader, _LOOKED_AT_ROWS) if row)
    except csv.Error as error:
        if "unexpected end" not in str(error):  # a quoted cell may be longer than what was read
            return False, lines[0].count(delimiter) + 1
    return bool(widths) and widths[0] > 1 and len(set(widths)) == 1, widths[0] if widths else 0


def likely_encoding(data: bytes) -> str:
    """Return the question which encoding a text is in that is not UTF-8, with the command that converts it.

    Args:
        data: Some of it, from its beginning.
    """
    first = _NOT_ASCII.search(data)
    data = data[max(first.start() - 2, 0) :][:_TOLD_BY_BYTES] if first else data
    western = "is it Windows-1252? iconv -f CP1252 -t UTF-8" if _WINDOWS_SIGNS.search(data) else "is it Latin-1?"
    if len(_IN_A_WORD.findall(data)) > _OF_WORDS * len(_NOT_ASCII.findall(data)):
        return western
    for name, title, script in _ENCODINGS:
        with contextlib.suppress(UnicodeDecodeError):
            # an incremental one: the last sign may be cut
            text = _ASCII.sub("", codecs.getincrementaldecoder(name)().decode(data))
            is_text = len(text) >= _LEAST_LETTERS and len(script.findall(text)) >= _OF_A_SCRIPT * len(text)
            if is_text and (name != "EUC-JP" or _KANA.search(text)):
                return f"is it {title}? iconv -f {name} -t UTF-8"
    return western


def _refuse_packed(head: bytes, path: Path) -> None:
    """Name an archive or an encoding that is not read here, by its first bytes."""
    for magic, (what, command) in _PACKED.items():
        if head.startswith(magic):
            raise InputError(
                Fault(str(path), f"{what}; only .gz and .zst are read as they are", f"{command} {path.name}")
            )
    name = "UTF-32" if head.startswith(_UTF_32) else "UTF-16" if head.startswith(_UTF_16) else _of_two_bytes(head)
    if name:
        raise InputError(Fault(str(path), f"it is {name}, not UTF-8", f"iconv -f {name} -t UTF-8 {path.name}"))


def _of_two_bytes(head: bytes) -> str | None:
    """Return the encoding of a text each of whose first signs takes two bytes, without a mark that says so."""
    for name, zeros, signs in (("UTF-16LE", head[1:64:2], head[:64:2]), ("UTF-16BE", head[:64:2], head[1:64:2])):
        if len(signs) > 3 and not zeros.strip(b"\0") and signs.decode("latin-1").replace("\n", "").isprintable():
            return name
    return None


def _refuse_others(head: bytes, path: Path) -> None:
    """Name what is often taken for a dataset and is something else."""
    begins = head.removeprefix(BOM).lstrip()[:100].lower()
    if path.suffix in (".yaml", ".yml"):
        what = "a promptfoo suite in YAML" if _SUITE.search(head) else "a YAML file"
        raise InputError(Fault(str(path), f"{what}, not rows", "put its tests into a CSV or JSON Lines file"))
    if head.startswith(_ZIP) and path.suffix == ".eval":
        raise InputError(Fault(str(path), "a log of Inspect, not a dataset", "name the dataset that its task read"))
    if head.startswith(_ZIP) and ".xlsx" in path.suffixes:
        problem = "not a readable workbook: it is cut, packed or something else"
        raise InputError(Fault(str(path), problem, "save it again as .xlsx"))
    if head.startswith(_ZIP):
        raise InputError(Fault(str(path), "a zip archive, not a dataset", f"unzip {path.name}"))
    if head.startswith(_OLD_OFFICE):
        problem = "an old Excel workbook (.xls), or one with a password"
        raise InputError(Fault(str(path), problem, "save it as .xlsx without a password"))
    if begins.startswith(_LFS_POINTER):
        raise InputError(Fault(str(path), "a Git LFS pointer, not the data", "git lfs pull"))
    for pattern, what in _LOGS if begins.startswith(b"{") and not _OURS.match(head) else ():
        if pattern.search(head):
            raise InputError(Fault(str(path), f"{what}, not a dataset", "name the dataset that it was made from"))
    if begins.startswith((b"<!doctype html", b"<html")):
        raise InputError(Fault(str(path), "an HTML page, not data", "was it downloaded without signing in?"))
