import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from workbench.errors import InputError
from workbench.job.faults import limit_range
from workbench.job.job import Job, load_job, parse_job
from workbench.job.keys import job_schema

HERE = Path("jobs/a.toml")
SCORED = (
    'models = ["m"]\n[dataset]\npath = "d.jsonl"\n[[scorers]]\nname = "json"\n[[scorers]]\nname = "exact"\n[gates]\n'
)
LEAST = 'models = ["m"]\n[dataset]\npath = "d.jsonl"\n'


def faults(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_job(text, HERE)
    return [str(fault) for fault in caught.value.faults]


def parsed(text: str) -> Job:
    return parse_job(text, HERE)


def test_every_fault_is_named_at_once_with_its_line() -> None:
    found = faults(
        """name = 5
nam = "x"
models = ["m"]
[dataset]
path = "x.jsonl"
limt = 3
[run]
max_in_flight = 64
deadline_s = -2
[[scorers]]
name = "numerik"
[[scorers]]
name = "numeric"
tolerance = -1
[gates]
max_failed_shar = 0.1
"""
    )
    assert [line.split(" ")[0] for line in found] == [
        "jobs/a.toml:1:", "jobs/a.toml:2:", "jobs/a.toml:6:", "jobs/a.toml:8:", "jobs/a.toml:9:",
        "jobs/a.toml:11:", "jobs/a.toml:14:", "jobs/a.toml:16:",
    ]  # fmt: skip
    assert "did you mean 'name'?" in found[1]
    assert "did you mean 'limit'?" in found[2]
    assert "at most 63, found 64" in found[3]
    assert "expected more than 0" in found[4]
    assert "did you mean 'numeric'?" in found[5]
    assert "did you mean 'max_failed_share'?" in found[7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[dataset]\npath='x'\n", "models missing"),
        ('models=["m"]\n', "dataset missing"),
        ('models=[]\n[dataset]\npath="x"', "must name at least one model"),
        ('models=["a","a"]\n[dataset]\npath="x"', "'a' is given twice"),
        ('models="all"\n[dataset]\npath="x"', "'visible' or a list"),
        ('[[models]]\nid="a"\nid_glob="b"\n[dataset]\npath="x"', "either id or id_glob"),
        (LEAST + "limit = 0", "number of rows"),
        (LEAST + 'limit = "9-3"', "number of rows"),
        (LEAST + "[request]\nmax_tokens = 0", "at least 1"),
        (LEAST + "[request.extra]\nsession_id = 1", "the platform reserves this name"),
        (LEAST + "[request.extra]\nstream = true", "sets this field itself"),
        (LEAST + "[request.extra]\ntemperature = 1", "write it as request.temperature"),
        (LEAST + '[request]\ntools_path = "no.json"', "cannot be read"),
        (LEAST + '[request]\ntool_choice = "always"', "expected auto, none, required"),
        (LEAST + '[prompt]\nsystem = "s"\nmessages = [{role="user",content="c"}]', "one of them"),
        (LEAST + '[[scorers]]\nname = "pattern"\npattern = "("', "not a valid regular expression"),
        (LEAST + '[[scorers]]\nname = "exact"\n[[scorers]]\nname = "exact"', "its own label"),
        (LEAST + '[run]\nreuse = "ocasion"', "did you mean 'occasion'?"),
        (LEAST + "[budget]\ntotal_tokens = 100", "needs request.max_tokens"),
        (LEAST + "[gates]\nmin_mean = { exact = 0.5 }", "the job has no scorer 'exact'"),
        (
            LEAST + '[gates]\nmin_kappa = { "jso.topic" = 0.5 }',
            "gates.min_kappa.jso.topic: the job has no scorer 'jso.topic'",
        ),
        (
            SCORED + "min_kappa = { json = 0.5 }",
            "'json' reads the fields of an object, each by itself (name a field of its targets",
        ),
        (
            SCORED + "max_mean_error = { exact = 0.5 }",
            "'exact' does not read a number in an answer (numeric reads numbers)",
        ),
        (
            SCORED + 'min_macro_f1 = { "exact.topic" = 0.5 }',
            "'exact' does not read fields in an answer (json does, of objects)",
        ),
        ("models = [", "not valid TOML"),
    ],
)
def test_a_fault_says_what_was_expected(text: str, expected: str) -> None:
    assert any(expected in line for line in faults(text))


def test_paths_are_relative_to_the_job_file(tmp_path: Path) -> None:
    job = parse_job(LEAST, tmp_path / "jobs" / "a.toml")
    assert job.dataset_paths == (str(tmp_path / "jobs" / "d.jsonl"),)
    assert job.name == "a"


def test_a_job_that_cannot_be_read_is_not_suggested_in_its_own_place(tmp_path: Path) -> None:
    (tmp_path / "u16.toml").write_text(LEAST, "utf-16")
    (tmp_path / "folder.toml").mkdir()
    for name, expected in (
        ("u16.toml", "it is not valid UTF-8: byte 0xff at position 0 (save it as UTF-8)"),
        ("folder.toml", "it is a folder"),
        ("u17.toml", "No such file or directory (did you mean 'u16.toml'?)"),
        ("grades", f"No such file or directory ({tmp_path} has: u16.toml)"),
    ):
        with pytest.raises(InputError) as caught:
            load_job(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: the job cannot be read: {expected}"


def test_a_model_overrides_the_jobs_fields() -> None:
    job = parsed(
        """
        [request]
        max_tokens = 5
        extra = { k = 1 }
        [dataset]
        path = "x"
        [[models]]
        id = "a"
        max_tokens = 9
        max_in_flight = 2
        """
    )
    assert job.models is not None
    assert job.request_fields == {"max_tokens": 5, "k": 1}
    assert job.models[0].fields == {"max_tokens": 9}
    assert job.models[0].max_in_flight == 2


@pytest.mark.parametrize(
    ("given", "range_"), [(None, (1, None)), (5, (1, 5)), ("10-20", (10, 20)), (" 3 - 3 ", (3, 3))]
)
def test_limit_ranges(given: Any, range_: tuple[int, int | None]) -> None:
    assert limit_range(given) == range_


def test_the_published_schema_takes_what_the_parser_takes() -> None:
    schema = job_schema()
    validator = jsonschema_rs.Draft202012Validator(schema)
    assert validator.is_valid({"models": ["m"], "dataset": {"path": "x"}, "scorers": [{"name": "numeric"}]})
    assert not validator.is_valid({"models": ["m"], "dataset": {"path": "x"}, "unknown": 1})
    json.dumps(schema)


def test_the_published_schema_is_current() -> None:
    published = Path(__file__).parents[3] / "jobs" / "job.schema.json"
    current = json.dumps(job_schema(), indent=1, ensure_ascii=False) + "\n"
    assert published.read_text() == current, "write `current` to jobs/job.schema.json"


def test_labels_default_to_the_kind() -> None:
    job = parsed(LEAST + '[[scorers]]\nname = "exact"\n[[scorers]]\nname = "exact"\nlabel = "b"')
    assert [scorer.named for scorer in job.scorers] == ["exact", "b"]
