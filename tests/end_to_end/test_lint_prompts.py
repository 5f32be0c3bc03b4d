"""`workbench lint` looks at the prompts as they are sent."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Workbench
from tests.contract.asking import platform_of
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
         "1 of 6 prompts are the same as an earlier one, but for case and spaces: 'again'"),
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
        bench.write("d.jsonl", json.dumps(PLAIN[0] | {"option_a": "x"}) + "\n")
        bench.write("job.toml", JOB.format(model="m", template="{{ input }}", most=64))
        assert (
            "error: job.toml:4: prompt: no prompt shows what is a part of the question by its name; a template names it as "
            "{{ option_a }}; nothing was sent (--allow passage_not_shown sends it)\n"
        ) in bench("run", "job.toml", "--no-report", code=2).stderr
        assert (
            "warning: job.toml:4: prompt: no prompt shows the columns 'option_a'"
            in bench("run", "job.toml", "--no-report", "--allow", "passage_not_shown").stderr
        )


def test_a_route_that_thinks_first_needs_room_for_it(tmp_path: Path) -> None:
    said = "max_tokens of 300 counts reasoning too"
    assert any(
        said in text for text in findings(tmp_path, PLAIN, "{{ input }}", model="Ponder [thinking only]", most=300)
    )
    assert findings(tmp_path, PLAIN, "{{ input }}", model="Ponder [thinking only]", most=4096) == []
