"""Faults of TOML files name the line of what is wrong."""

from pathlib import Path

import pytest

from workbench.api.session import checked_config
from workbench.errors import InputError
from workbench.strict import line_of, read_toml

TEXT = '''units = 1
[allowance]
window_s = 60
[[routes]]
id = "a"
system = """
[[routes]]
kind = "x"
"""
[routes.latency_ms]
median = -1
[[routes.faults]]
kind = "hangs"
[[routes]]
id = "b"
[[routes.faults]]
kind = "slow"
[[routes.faults]]
kind = "slower"
"key with. dots" = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("units",), 1), (("allowance", "window_s"), 3), (("routes", 0, "id"), 5), (("routes", 0, "latency_ms", "median"), 11),
        (("routes", 0, "faults", 0, "kind"), 13), (("routes", 1, "id"), 15), (("routes", 1, "faults", 0, "kind"), 17),
        (("routes", 1, "faults", 1, "kind"), 19), (("routes", 1, "faults", 1, "key with. dots"), 20),
        (("routes", 1, "faults", 1), 18), (("routes", 0, "faults"), 12), (("nowhere",), None),
    ],
)  # fmt: skip
def test_a_place_is_found_in_tables_within_lists(path: tuple[str | int, ...], line: int | None) -> None:
    assert line_of(path, TEXT) == line


def test_a_blank_around_a_name_is_said_in_words(tmp_path: Path) -> None:
    path = tmp_path / "platform.toml"
    path.write_text('[[routes]]\nid = " r"\nsimulated = "prose"\n')
    with pytest.raises(
        InputError, match=r"platform.toml:2: routes\[0\].id: expected no blank at its beginning or end, found .* r"
    ):
        checked_config(path)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (r'path = "C:\Users\ada\q.csv"', "a backslash begins an escape"),
        (r'pattern = "(\d+)"', "a backslash begins an escape"),
        ("fixed = True", "fixed = true"),
        ("target = None", "leave target out"),
        ("name = “j”", "typographic quotes"),
        ("max_tokens = 64,", "no sign stands after a value: max_tokens = 64"),
    ],
)
def test_what_people_write_for_toml_is_told_what_toml_has(line: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        read_toml(f"{line}\n", "job.toml")
    assert refused.value.faults[0].where == "job.toml:1"
    assert hint in refused.value.faults[0].hint
