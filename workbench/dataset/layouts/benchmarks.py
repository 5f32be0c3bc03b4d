"""Samples of evaluation suites: openai/evals, Inspect, and prompts of benchmarks whose own checkers run elsewhere."""

from typing import Any

import msgspec

from workbench.dataset.layouts.layout import Layout, Row, always, refused, without


def _recognises(row: Row) -> bool:
    names = row.keys()
    return (
        {"key", "prompt", "instruction_id_list"} <= names
        or ("task_id" in names and {"prompt", "test"} <= names)
        or {"task_id", "completion"} == names
        or ("turns" in names and "question_id" in names)
        or {"question_id", "answer_id", "choices"} <= names
        or {"doc", "resps"} <= names
    )


def _read(place: str, row: Row) -> Row:
    if "instruction_id_list" in row:
        return without(row, "key") | {"id": row.get("key"), "input": row.get("prompt")}
    if "test" in row:
        return without(row, "task_id", "canonical_solution") | {"id": row.get("task_id"), "input": row.get("prompt")}
    if "completion" in row:
        raise refused(place, "HumanEval completions, not its problems")
    if "answer_id" in row:
        raise refused(place, "answers to MT-Bench questions, not the questions")
    if "resps" in row:
        raise refused(place, "a log of lm-evaluation-harness, not a dataset")
    turns = row.get("turns")
    if not isinstance(turns, list) or len(turns) != 1:
        count = len(turns) if isinstance(turns, list) else 0
        raise refused(f"{place}: turns", f"an MT-Bench question of {count} turns: only single ones can be asked")
    reference = row.get("reference")
    return without(row, "question_id", "turns", "reference") | {
        "id": row["question_id"],
        "input": turns[0],
        "target": reference[0] if isinstance(reference, list) and reference else None,
    }


BENCHMARK = Layout(
    "benchmark", "prompts of a benchmark (IFEval, HumanEval, MT-Bench)", _recognises, always(_read),
    "`prompt` with `key` or `task_id`, or `turns` with `question_id`",
    "the benchmark's own checks are not run",
)  # fmt: skip


def _is_openai_evals(row: Row) -> bool:
    return (
        ("input" in row and "ideal" in row)
        or row.keys() == {"input1", "input2"}
        or (isinstance(row.get("spec"), dict) and "run_id" in row["spec"])
    )


def _read_openai_evals(place: str, row: Row) -> Row:
    if "input1" in row:
        raise refused(place, "openai/evals samples for a battle of two prompts", "make a row with one `input` of each")
    if "spec" in row:
        raise refused(place, "a log of openai/evals, not its samples")
    return without(row, "ideal") | {"target": row.get("ideal")}


OPENAI_EVALS = Layout(
    "openai_evals", "openai/evals samples", _is_openai_evals, always(_read_openai_evals), "`input` and `ideal`"
)


_NEEDS_SANDBOX = ("sandbox", "files", "setup")
_OUR_NAMES = ("input", "target", "choices", "id", "tools")


def _is_inspect(row: Row) -> bool:
    if "input" not in row or "target" not in row:
        return False
    has_commas = (
        isinstance(row.get("choices"), str) and "," in row["choices"] and not row["choices"].lstrip().startswith("[")
    )
    return has_commas or isinstance(row.get("metadata"), dict) or "sandbox" in row


def _read_inspect(place: str, row: Row) -> Row:
    needed = [name for name in _NEEDS_SANDBOX if row.get(name)]
    if needed:
        raise refused(f"{place}: {needed[0]}", "an Inspect sample that runs in a sandbox: nothing is executed here")
    choices: Any = row.get("choices")
    if isinstance(choices, str):
        choices = _listed(choices)
    more = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
    # what metadata says under a name of ours is about the sample, and never a part of it
    return without(more, *_OUR_NAMES) | without(row, *_NEEDS_SANDBOX, "metadata") | {"choices": choices}


def _listed(choices: str) -> list[Any]:
    try:
        found = msgspec.json.decode(choices)
    except msgspec.DecodeError:
        found = None
    return found if isinstance(found, list) else [part.strip() for part in choices.split(",") if part.strip()]


INSPECT = Layout(
    "inspect",
    "Inspect samples",
    _is_inspect,
    always(_read_inspect),
    "`input`, `target` and perhaps `choices` and `metadata`",
)
