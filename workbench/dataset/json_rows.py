"""JSON Lines, and one JSON array of objects."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from workbench.dataset.files import BOM, COMMENT, MOST_LINE_BYTES, likely_encoding, opened
from workbench.errors import Fault, InputError
from workbench.strict import kind_of

PlacedRow = tuple[str, dict[str, Any]]
"""A place (`file:line`) and the columns found there."""
_MEANT = {
    "'": 'JSON has texts in "…": json.dumps writes a row so',
    "True": "JSON has true",
    "False": "JSON has false",
    "None": "JSON has null",
    "Extra data": "expected the end there",
    "Invalid control character": "a line break within a text is written \\n, a tab \\t",
    "Invalid \\escape": "a backslash is written \\\\",
    "Unterminated string": 'expected "; within a text it is written \\"',
}
"""What was perhaps meant, by how the text goes on where it is not valid JSON, or by what the parser says."""
_MOST_LEVELS, _TOO_DEEP = 500, "nested too deeply (at most 500 levels)"
_TOO_LARGE = "a number is too large: the limit is 1.8e308, and 4300 digits for whole numbers"
_PIECE_CHARS = 2**16
_BLANKS = re.compile(r"[ \t\r\n]*")
_SCAN = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode  # for the ends of values; numbers cost nothing


def jsonl_rows(path: Path) -> Iterator[PlacedRow]:
    """Return the objects of a JSON Lines file, one per line; blank lines are skipped.

    Raises:
        InputError: A line is not a JSON object.
    """
    name = str(path)
    with opened(path) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MOST_LINE_BYTES + 1), b""), 1):
            if len(line) > MOST_LINE_BYTES:
                problem = f"a line of more than {MOST_LINE_BYTES // 2**20} MiB"
                raise InputError(Fault(f"{name}:{number}", problem, "one sample per line"))
            text = (line.removeprefix(BOM) if number == 1 else line).strip()
            if text:
                place = f"{name}:{number}"
                if number == 1 and _goes_on(text, stream):
                    problem = "an object that goes on over several lines: JSON Lines has one on each"
                    raise InputError(Fault(place, problem, f"jq -c . {path.name}"))
                yield place, _object(text, place)


def array_rows(path: Path) -> Iterator[PlacedRow]:
    """Return the objects of one JSON array, read as a stream.

    Elements are cut out by the standard library's scanner and decoded like the lines of JSON Lines: the streaming parser
    ijson silently puts a question mark for half a surrogate pair, which would change the question.

    Raises:
        InputError: The file is not a JSON array of objects.
    """
    number = 0
    with opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        try:
            for number, value in enumerate(_elements(text, path), 1):
                if not isinstance(value, dict):
                    raise InputError(Fault(f"{path}: element {number}", f"expected an object, found {kind_of(value)}"))
                yield f"{path}: element {number}", value
        except ValueError as error:
            place, reason = _place_in(path) or (f"{path}: element {number + 1}", str(error))
            raise InputError(Fault(place, f"not valid JSON: {reason}")) from error


def decoded(text: bytes) -> Any:
    """Return a value from JSON that every encoder can write again.

    Raises:
        ValueError: It is not valid JSON, holds what no request can carry, or is nested too deeply.
    """
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(_reason(text, error)) from error
    if text.count(b"[") + text.count(b"{") > _MOST_LEVELS and _levels(value) > _MOST_LEVELS:
        raise ValueError(_TOO_DEEP)
    return value


def _goes_on(text: bytes, stream: io.BufferedReader) -> bool:
    """Return whether a first line is the beginning of an object that was printed for people."""
    ends_open = text.endswith((b"{", b"[", b",", b":"))
    return ends_open and text.startswith(b"{") and not stream.peek(1)[:1].strip(b" \t").startswith(b"{")


def _object(text: bytes, place: str) -> dict[str, Any]:
    try:
        value = decoded(text)
    except ValueError as error:
        if text.startswith(COMMENT):
            raise InputError(Fault(place, "a comment, which JSON Lines does not have", "remove the line")) from error
        raise InputError(Fault(place, f"not valid JSON: {error}")) from error
    if not isinstance(value, dict):
        raise InputError(Fault(place, f"expected one JSON object per line, found {kind_of(value)}"))
    return value


def _elements(stream: IO[str], path: Path) -> Iterator[Any]:
    """Return the values of one array; none where there is nothing at all.

    Raises:
        InputError: It is not an array.
        ValueError: The next value is not valid JSON, the array is not closed, or something follows it.
    """
    text, at, begun = "", 1, False
    while not text and (piece := stream.read(_PIECE_CHARS)):
        text = piece.lstrip()
    if text and text[0] != "[":
        found = "an object" if text[0] == "{" else repr(text[:20])
        raise InputError(Fault(str(path), f"expected a JSON array of rows, found {found}"))
    while text:
        at = _past_blanks(text, at)
        if text.startswith("]", at) and not begun:
            break
        end = _end_of_value(text, at)
        sign = _past_blanks(text, end)
        if sign == len(text):  # the value may go on in the next piece
            if not (piece := stream.read(max(_PIECE_CHARS, len(text) - at))):
                raise ValueError("the array is not closed")
            text, at = text[at:] + piece, 0
            continue
        yield decoded(text[at:end].encode(errors="surrogateescape"))
        at, begun = sign, True
        if text[at] != ",":
            break
        at += 1
    if text and (text[at] != "]" or (text[at + 1 :] + stream.read()).strip()):
        raise ValueError("unexpected data after the array")


def _end_of_value(text: str, start: int) -> int:
    """Return where a value ends; where the text ends, if it does not."""
    try:
        return _SCAN(text, start)[1]
    except json.JSONDecodeError:
        return len(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


def _past_blanks(text: str, start: int) -> int:
    found = _BLANKS.match(text, start)
    return found.end() if found else start


def _levels(value: Any) -> int:
    """Return how deep a value is nested; level by level, because recursion would fail on the very values it is for."""
    count, level = 0, [value]
    while level := [entry for entry in level if isinstance(entry, list | dict)]:
        count += 1
        level = [inner for entry in level for inner in (entry.values() if isinstance(entry, dict) else entry)]
    return count


def _reason(text: bytes, error: Exception) -> str:
    """Return the reason, with a column; msgspec gives byte offsets, and nothing for half a surrogate pair or NaN."""
    constants: list[str] = []
    try:
        json.dumps(json.loads(text, parse_constant=constants.append), ensure_ascii=False).encode()
    except json.JSONDecodeError as better:
        return _explained(better)
    except UnicodeEncodeError:
        return "a \\u escape is half of a surrogate pair, which no request can carry (expected both halves, or the sign itself)"
    except RecursionError:
        return _TOO_DEEP
    except UnicodeDecodeError as better:
        return f"byte {better.object[better.start]:#04x} is not UTF-8 ({likely_encoding(better.object)})"
    except ValueError:  # Python's own limit of digits
        return _TOO_LARGE
    if constants:
        return f"{constants[0]} is not a JSON number (null is a missing value)"
    return _TOO_LARGE if "out of range" in str(error) else str(error)


def _explained(error: json.JSONDecodeError) -> str:
    """Return what a parser says, at which column, and what was perhaps meant there."""
    rest = error.doc[error.pos :]
    said = error.msg.removesuffix(" at").replace("Expecting", "expected")
    hint = next((hint for begins, hint in _MEANT.items() if rest.startswith(begins) or said.startswith(begins)), "")
    if rest[:1] in ("}", "]") and error.doc[: error.pos].rstrip().endswith(","):
        hint = f"no comma stands before {rest[0]}"
    return f"{said} at column {error.colno}" + (f" ({hint})" if hint else "")


def _place_in(path: Path) -> tuple[str, str] | None:
    """Find line and column of a fault; the file is read whole, once, because the run ends here."""
    with opened(path) as stream:
        try:
            json.loads(stream.read().removeprefix(BOM))
        except json.JSONDecodeError as error:
            return f"{path}:{error.lineno}", _explained(error)
        except (ValueError, RecursionError, MemoryError):
            return None
    return None
