"""Samples of openai/evals."""

from workbench.dataset.layouts.layout import Layout, Row, always, refused, without


def _recognises(row: Row) -> bool:
    return (
        ("input" in row and "ideal" in row)
        or row.keys() == {"input1", "input2"}
        or (isinstance(row.get("spec"), dict) and "run_id" in row["spec"])
    )


def _read(place: str, row: Row) -> Row:
    if "input1" in row:
        raise refused(place, "openai/evals samples for a battle of two prompts", "make a row with one `input` of each")
    if "spec" in row:
        raise refused(place, "a log of openai/evals, not its samples")
    return without(row, "ideal") | {"target": row.get("ideal")}


LAYOUT = Layout("openai_evals", "openai/evals samples", _recognises, always(_read), "`input` and `ideal`")
