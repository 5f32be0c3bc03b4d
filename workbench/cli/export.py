"""`workbench export`: a run's answers for other programs."""

import contextlib
import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import tostring

import click

from workbench.api.session import ledger_to_read
from workbench.cli import options
from workbench.cli.output import say, terminal_safe, terminal_safe_json
from workbench.errors import Fault, InputError, no_folder
from workbench.evaluation.exports import (
    batch_lines,
    json_line,
    junit,
    rows,
    safe_for_a_spreadsheet,
    said_by,
    table_rows,
)
from workbench.evaluation.run_figures import find_run
from workbench.ledger.queries import Reader, reading
from workbench.ledger.score_rows import AnswerScore
from workbench.ledger.store import is_of_duckdb

_HEAD_BYTES = 2**16
_BEGINS = (b"sample_id,epoch,requested_model", b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites")
_BATCH = (b'"custom_id": ', b'"response": ', b'"error": ')
FORMATS = ("csv", "jsonl", "parquet", "batch", "junit")


@click.command()
@options.optional_run_id
@options.ledger
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file [default: standard output, as -]."
)
def export(run: str | None, form: str, output: Path | None, **given: Any) -> None:
    """Write the answers of RUN, by default the newest: rows, OpenAI Batch output lines, or JUnit test cases.

    Formula-like text is prefixed with ' in CSV.
    """
    output = None if output == Path("-") else output
    is_stream = output is not None and output.exists() and not output.is_file()
    if form == "parquet" and (output is None or is_stream):
        raise click.UsageError("--format parquet needs --output FILE")
    if output is not None and not output.parent.is_dir():
        raise InputError(no_folder("--output", output.parent))
    if output is not None and not is_stream:
        _refuse_what_would_be_lost(output)
    with reading(ledger_to_read(options.where(given))) as reader:
        run_id = find_run(reader, run)
        if output is None or is_stream:
            written = contextlib.nullcontext(sys.stdout.buffer) if output is None else output.open("wb")
            with written as stream:
                for part in _parts(reader, run_id, form):
                    safe = terminal_safe_json if form in ("jsonl", "batch") else terminal_safe
                    stream.write(safe(part) if output is None else part)
            return
        place = output.resolve()  # a link stays one
        beside = place.with_name(f"{place.name}.part")  # whole or not at all
        beside.unlink(missing_ok=True)
        beside.touch(0o600)  # it has the prompts and answers of the ledger
        try:
            if form == "parquet":
                _write_parquet(reader, run_id, beside)
            else:
                with beside.open("wb") as file:
                    file.writelines(_parts(reader, run_id, form))
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
    say(f"run {run_id} written to {output}")


def _refuse_what_would_be_lost(output: Path) -> None:
    """Refuse to write over what no export has made.

    Raises:
        InputError: It is a ledger, a file of settings, or a dataset.
    """
    if is_of_duckdb(output):
        raise InputError(Fault("--output", f"{output} is a ledger, and would be lost", "name another file"))
    with contextlib.suppress(OSError):
        if output.is_file() and output.stat().st_size and not _is_an_export(output):
            problem = f"{output} is there and is not an export of a run: it would be lost"
            raise InputError(Fault("--output", problem, "name a new file, or remove it"))


def _is_an_export(path: Path) -> bool:
    """Return whether a file is an export in one of the formats, as it is where a timer writes one every night."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(b"PAR1"):
        import pyarrow
        import pyarrow.parquet

        with contextlib.suppress(pyarrow.ArrowInvalid):
            return "request_key" in pyarrow.parquet.read_schema(path).names
    return head.startswith(_BEGINS) or all(name in head for name in _BATCH) or b'"request_key": ' in head


def _parts(reader: Reader, run_id: str, form: str) -> Iterator[bytes]:
    match form:
        case "junit":
            yield tostring(junit(reader, run_id), encoding="utf-8", xml_declaration=True) + b"\n"
        case "batch":
            yield from batch_lines(reader, run_id)
        case "jsonl":
            for row in rows(reader, run_id):
                yield json_line(row)
        case _:
            yield from _csv(reader, run_id)


def _csv(reader: Reader, run_id: str) -> Iterator[bytes]:
    buffer = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in table_rows(reader, run_id):
        if writer is None:
            writer = csv.DictWriter(buffer, list(row))
            writer.writerow({name: safe_for_a_spreadsheet(name) for name in row})
        writer.writerow({name: safe_for_a_spreadsheet(value) for name, value in row.items()})
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()


def _write_parquet(reader: Reader, run_id: str, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = reader.arrow("answers", run_id=run_id)
    scores: dict[str, dict[str, AnswerScore]] = {}
    for score in reader.all(AnswerScore, run_id=run_id):
        scores.setdefault(score.scorer, {})[score.request_key] = score
    keys = table.column("request_key").to_pylist()
    for scorer, own in scores.items():
        said = [said_by(scorer, own.get(key)) for key in keys]
        for name in said_by(scorer, None):
            kind = pyarrow.float64() if name.startswith("score.") else pyarrow.string()
            table = table.append_column(name, pyarrow.array([one[name] for one in said], kind))
    pyarrow.parquet.write_table(table, path)
