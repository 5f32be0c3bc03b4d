"""Prompts of benchmarks whose own checkers run elsewhere, and answers that are not questions."""

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


LAYOUT = Layout(
    "benchmark", "prompts of a benchmark (IFEval, HumanEval, MT-Bench)", _recognises, always(_read),
    "`prompt` with `key` or `task_id`, or `turns` with `question_id`",
    "the benchmark's own checks are not run",
)  # fmt: skip
