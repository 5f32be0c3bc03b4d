"""`workbench lint` looks at the prompts as they are sent."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cases import first_of
from tests.conftest import Workbench
from tests.contract.asking import platform_of
from workbench.display.text import plural
from workbench.local_platform.server import ThreadedServer

JOB = 'models = ["{model}"]\n[dataset]\npath = "d.jsonl"\n[prompt]\ntemplate = """{template}"""\n[request]\nmax_tokens = {most}\n'


def findings(folder: Path, rows: list[dict[str, Any]], template: str, *, model: str = "m", most: int = 64) -> list[str]:
    with ThreadedServer(platform_of({"id": "m"}, {"id": "Ponder [thinking only]"})) as server:
        bench = Workbench(folder, server)
        bench.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        bench.write("job.toml", JOB.format(model=model, template=template, most=most))
        return [f"{row['where']}: {row['text']}" for row in bench.json("lint", "job.toml")]


QUESTIONS = [
    {"id": f"q{n}", "input": f"Which is {n}?", "choices": [f"alpha{n}", f"beta{n}"], "target": "A"} for n in range(5)
]
PLAIN = [{"id": f"p{n}", "input": f"Who wrote book {n}?", "target": f"Author Number {n}"} for n in range(5)]


@pytest.mark.parametrize(
    ("rows", "template", "told"),
    [
        (QUESTIONS, "{{ input }}", "5 of 5 prompts do not show all options of their question: 'q0', 'q1', 'q2' and 2 more"),
        (QUESTIONS, "{{ input }}\n{% for c in choices %}{{ c }}\n{% endfor %}", None),
        (PLAIN, "{{ input }}\nAnswer: {{ target }}", "5 of 5 prompts hold the target in their last line: 'p0', 'p1', 'p2' and 2 more"),
        (PLAIN, "{{ input }}\nAnswer:", None),
        ([*PLAIN, {"id": "again", "input": "  who WROTE book 3?"}], "{{ input }}",
         "1 of 6 prompts are the same as an earlier one, but for case and spaces: 'again'; rows with the same input and target count as one sample"),
        ([row | {"passage": f"Ann {n}", "explanation": "It is that because of this", "split": "test"}
          for n, row in enumerate(PLAIN)], "{{ input }}", "no prompt shows the columns 'passage'; a template can name them"),
        ([row | {"hint": f"Think of all {n}", "exp": "It is that because of this", "Equation": "( 7 - 2 )", "cot_content": "a b c d e"}
          for n, row in enumerate(PLAIN)], "{{ input }}", "no prompt shows the columns 'hint': is one a part of the question?"),
        ([row | {"passage": f"Ann {n}"} for n, row in enumerate(PLAIN)], "{{ passage }} {{ input }}", None),
        ([{"id": "file", "input": "word " * 200_000}], "{{ input }}",
         "1 of 1 prompts are over 500\u202f000 characters, more than most models read: 'file'; is each a whole file?"),
        ([*PLAIN, {"id": "giant", "input": "word " * 9_000}], "{{ input }}", "1 of 6 prompts are over 20 times as long as the median: 'giant'"),
    ],
)  # fmt: skip
def test_prompts_that_are_likely_wrong_are_told(
    tmp_path: Path, rows: list[dict[str, Any]], template: str, told: str | None
) -> None:
    found = findings(tmp_path, rows, template)
    if told is None:
        assert found == []
    else:
        assert any(told in text for text in found), found


def test_a_run_says_what_it_leaves_out_of_its_prompts(tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("d.jsonl", json.dumps(PLAIN[0] | {"passage": "Ann was 7 years old."}) + "\n")
        bench.write("job.toml", JOB.format(model="m", template="{{ input }}", most=64))
        assert (
            "error: job.toml:4: prompt: no prompt shows what is a part of the question by its name; a template names it as "
            '{{ passage }}; nothing was sent (--allow passage_not_shown, in Python allow=["passage_not_shown"], sends it)\n'
        ) in bench("run", "job.toml", "--no-report", code=2).stderr
        assert (
            "warning: job.toml:4: prompt: no prompt shows the columns 'passage'"
            in bench("run", "job.toml", "--no-report", "--allow", "passage_not_shown").stderr
        )


def test_a_route_that_thinks_first_needs_room_for_it(tmp_path: Path) -> None:
    said = "max_tokens of 300 counts reasoning too"
    assert any(
        said in text for text in findings(tmp_path, PLAIN, "{{ input }}", model="Ponder [thinking only]", most=300)
    )
    assert findings(tmp_path, PLAIN, "{{ input }}", model="Ponder [thinking only]", most=4096) == []


SOUND: list[tuple[str, list[dict[str, Any]], str, str]] = [
    ("an answer key of two", [{"input": f"q{n}", "target": "a", "answer2": "b"} for n in range(2)], "{{ input }}", ""),
    (
        "a label by the name of table",
        [{"input": f"q{n}", "target": "a", "table": "users"} for n in range(2)],
        "{{ input }}",
        "",
    ),
    ("TeX", [{"input": f"q{n}", "target": "a", "answer": "a"} for n in range(2)], "{{ input }} \\\\boxed{answer}", ""),
    (
        "options of one sample",
        [{"input": "q", "target": "a"}, {"input": "r", "target": "a", "choices": ["a", "b"]}],
        "{{ input }}",
        "",
    ),
    (
        "messages with options",
        [{"input": [{"role": "user", "content": f"q{n}"}], "target": "a", "choices": ["a", "b"]} for n in range(2)],
        "{{ input }}",
        "",
    ),
    (
        "one of two scorers without a target",
        [{"input": f"q{n}"} for n in range(2)],
        "{{ input }}",
        '[[scorers]]\nname = "length"\nat_most = 9\n',
    ),
    (
        "tools that differ",
        [
            {"input": f"q{n}", "target": "a", "tools": [{"type": "function", "function": {"name": f"f{n}"}}]}
            for n in range(2)
        ],
        "What is it?",
        "",
    ),
]


@pytest.mark.parametrize(
    ("rows", "template", "more"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] if number > 2 else [])
        for number, (name, *case) in enumerate(SOUND)
    ],
)
def test_what_makes_sense_is_sent(tmp_path: Path, rows: list[dict[str, Any]], template: str, more: str) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        scorer = '[[scorers]]\nname = "includes"\n'
        bench.write("job.toml", JOB.format(model="m", template=template, most=64) + scorer + more)
        assert "nothing was sent" not in bench("run", "job.toml", "--no-report", code=None).stderr
        assert server.platform.statistics.requests.total() == len(rows)


ONE_LABEL = [{"input": f"Is {n} a number?", "target": "yes"} for n in range(6)]
BY_TARGET = '[[scorers]]\nname = "exact"\n'
A_TOOL = 'tool_choice = "required"\ntools = [{ type = "function", function = { name = "f" } }]\n'


@pytest.mark.parametrize(
    ("rows", "more", "part", "findings", "now"),
    first_of(
        (ONE_LABEL, BY_TARGET, (), ["a constant yes scores 1.000"], 0),
        (PLAIN, A_TOOL, (), ["never called a tool in 5 answers that had to"], 0),
        (ONE_LABEL, f"[run]\ndeadline_s = 0.0001\n{BY_TARGET}", (), ["a constant yes scores 1.000"], 1),
        (PLAIN, f"{BY_TARGET}[gates]\nmin_mean = {{ exact = 0.9 }}\n", ("--limit", "2"),
         ["answers that are cut off", "2 samples cannot show it"], 0),
        (PLAIN, BY_TARGET, (), [], 0),
        default=2,
    ),
)  # fmt: skip
def test_a_run_counts_the_findings_that_lint_has_once_it_ended(
    tmp_path: Path, rows: list[dict[str, Any]], more: str, part: tuple[str, ...], findings: list[str], now: int
) -> None:
    with ThreadedServer(platform_of({"id": "m", "simulated": "prose", "latency_ms": {"median": 20}})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        bench.write("job.toml", JOB.format(model="m", template="{{ input }}", most=64) + more)
        said = bench("run", "job.toml", "--no-report", *part, code=None).stderr
        linted = bench("lint", "job.toml", *part)
    assert len(linted.stdout.splitlines()) == len(findings) + now, linted.stdout
    assert all(text in linted.stdout for text in findings)
    counted = plural(len(findings), "finding")
    left = f", {now} about what is left now" if now else ""
    assert linted.stderr.endswith(f"job.toml: no errors, {counted}{left}\n")
    told = f"note: {counted}: workbench lint job.toml{''.join(f' {word}' for word in part)}\n"
    assert (told in said) is bool(findings), said


MOVES_THE_DATASET = """
import pathlib
def moved(answer, sample):
    if pathlib.Path("d.jsonl").exists() and answer.text:
        pathlib.Path("d.jsonl").rename("elsewhere.jsonl")
    return True
"""


@pytest.mark.parametrize("pages", [("--no-report",), pytest.param((), marks=pytest.mark.slow)])
def test_a_dataset_that_is_moved_during_a_run_hides_nothing_that_it_found(
    tmp_path: Path, pages: tuple[str, ...]
) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("d.jsonl", "".join(json.dumps({"id": f"s{n}", "input": f"What is {n}?"}) + "\n" for n in range(3)))
        bench.write("own.py", MOVES_THE_DATASET)
        scorer = '[[scorers]]\nname = "custom"\nfunction = "own.py:moved"\nscale = [0, 1]\n'
        bench.write("job.toml", JOB.format(model="m", template="{{ input }}", most=64) + scorer)
        done = bench("run", "job.toml", *pages)
    assert not (tmp_path / "d.jsonl").exists()
    assert "m scores 1.000" in done.stdout
    assert "missing" not in done.stderr


CUSTOM = """
import json, re
def of_json(answer, sample): return json.loads(answer.text)["answer"] == sample.target
def of_a_word(answer, sample): return re.search(r"Answer: (\\w+)", answer.text).group(1)
def of_time(answer, sample): return answer.latency_ms < 5000 and answer.total_tokens > 0
def misnamed(answer, sample): return answr.text
def of_one(answer): return 1
def a_word(answer, sample): return "yes"
def too_much(answer, sample): return 7
"""


@pytest.mark.parametrize(
    ("function", "sent", "says"),
    first_of(
        ("of_json", True, "warning: job.toml"), ("misnamed", False, "NameError: name 'answr' is not defined"),
        ("a_word", True, "the function returned str, not a number"), ("of_a_word", True, "warning: job.toml"), ("of_time", True, ""),
        ("of_one", False, "it takes an answer and a sample: too many"),
        ("too_much", True, "the function returned 7, outside of its scale"), default=3,
    ),
)  # fmt: skip
def test_a_function_that_fails_on_any_answer_stops_a_run_and_others_are_named(
    tmp_path: Path, function: str, sent: bool, says: str
) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("own.py", CUSTOM)
        bench.write("d.jsonl", json.dumps({"input": "q", "target": 2}) + "\n")
        scorer = f'[[scorers]]\nname = "custom"\nfunction = "own.py:{function}"\nscale = [0, 1]\n'
        bench.write("job.toml", JOB.format(model="m", template="{{ input }}", most=64) + scorer)
        done = bench("run", "job.toml", "--no-report", code=None)
        assert says in done.stderr
        assert ("fails" in done.stderr) == bool(says)
        assert (server.platform.statistics.requests.total() == 1) == sent


def test_a_pilot_is_not_paid_for_a_job_that_would_be_refused(tmp_path: Path) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("d.jsonl", "".join(json.dumps({"input": f"q{n}", "target": "a"}) + "\n" for n in range(9)))
        more = '[[scorers]]\nname = "includes"\n[gates]\nmin_mean = { includes = 90 }\n'
        bench.write("job.toml", JOB.format(model="m", template="{{ input }}", most=64) + more)
        assert "90 is never reached" in bench("run", "job.toml", "--pilot", "2", "--yes", code=2).stderr
        assert server.platform.statistics.requests.total() == 0


@pytest.mark.parametrize(
    ("table", "key", "says"),
    [
        ("gates", "min_mean", "5 is never reached"), ("gates", "min_over_constant", "5 more is never reached"),
        ("gates", "max_drop", "5 less is never exceeded, so that it fails no run"),
        ("compare", "margin", "5 less is never exceeded, so that every model is within it"),
    ],
)  # fmt: skip
def test_points_where_a_share_is_meant_stop_a_run(tmp_path: Path, table: str, key: str, says: str) -> None:
    with ThreadedServer(platform_of({"id": "m"})) as server:
        bench = Workbench(tmp_path, server)
        bench.write("d.jsonl", json.dumps({"input": "q", "target": "a"}) + "\n")
        job = JOB.format(model="m", template="{{ input }}", most=64) + '[[scorers]]\nname = "includes"\n'
        bench.write("job.toml", f"{job}[{table}]\n{key} = {{ includes = 1 }}\n")
        assert ("gate_out_of_range" in bench("lint", "job.toml", "--json").stdout) == ("exceeded" in says), (
            "1 is reached"
        )
        bench.write("job.toml", f"{job}[{table}]\n{key} = {{ includes = 5 }}\n")
        said = bench("run", "job.toml", "--no-report", code=2).stderr
        assert f"{table}.{key}.includes: {says}: 'includes' gives 0 to 1; 0.05 is 5 points" in said
        assert server.platform.statistics.requests.total() == 0


@pytest.mark.parametrize(
    ("targets", "is_refused"),
    [
        ((1, 2, 3), True), (("1", "2", "3"), True), ((0, 1, 3), False), ((1, 2, 2), False), (("B", "C", "C"), False),
        (([1, 3], [2], [1]), True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scorer", ["choice", "choices"])
def test_numbers_of_options_from_1_are_refused(
    bench: Workbench, scorer: str, targets: Sequence[Any], is_refused: bool
) -> None:
    rows = (
        {"input": f"q{n}", "choices": ["red", "green", "blue"], "target": target} for n, target in enumerate(targets)
    )
    bench.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench.write(
        "job.toml",
        JOB.format(model="sim/instant", template="{{ input }}", most=64) + f'[[scorers]]\nname = "{scorer}"\n',
    )
    said = bench("lint", "job.toml", code=2 if is_refused else 0).stderr
    assert ("scorers[0]: the targets are numbers from 1, and options are counted from 0: sample" in said) == is_refused


def test_a_column_in_single_braces_is_found_under_the_dataset_s_own_name(bench: Workbench) -> None:
    rows = [{"question": f"What is {n} + 1?", "answer": n + 1, "topic": "sum"} for n in range(3)]
    bench.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    job = JOB.format(model="sim/instant", template="{{ topic }} {{ id }}: {question}", most=64)
    fields = 'path = "d.jsonl"\nfields = { input = "question", target = "answer" }'
    bench.write("job.toml", job.replace('path = "d.jsonl"', fields))
    said = bench("run", "job.toml", "--no-report", code=2).stderr
    assert "{question} is sent as it stands: a column is named in double braces, {{ input }}" in said
