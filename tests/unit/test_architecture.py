"""What ARCHITECTURE.md and CONTRIBUTING.md say is so."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHITECTURE, CONTRIBUTING = ((ROOT / name).read_text("utf-8") for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"))


def test_the_drawing_is_what_the_contract_holds_the_imports_to() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    drawing = ARCHITECTURE.split("```")[3].strip().splitlines()
    assert [re.split(r"\s{2,}", line)[0] for line in drawing] == [layer for layer in layers if layer != "__main__"]


@pytest.mark.parametrize("text", [ARCHITECTURE, CONTRIBUTING], ids=["architecture", "contributing"])
def test_every_file_that_is_named_is_there(text: str) -> None:
    named = re.findall(r"`([\w./-]+\.(?:py|md|toml|json|txt|sql))(?:: \w+)?`", text)
    places = (ROOT, ROOT / "workbench", ROOT / "workbench" / "dataset" / "layouts")
    assert named
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert [name for name in missing if not name.startswith("team/") or (ROOT / "workbench" / "team").exists()] == []


PLACES = re.findall(r"^\| `(\S+): (\w+)` \|", ARCHITECTURE, re.MULTILINE)


def test_the_places_to_be_careful_are_as_many_as_it_says() -> None:
    assert len(set(PLACES)) == 25


@pytest.mark.parametrize(("module", "name"), PLACES)
def test_a_place_to_be_careful_says_why(module: str, name: str) -> None:
    path = ROOT / "workbench" / module
    if module.startswith("team/") and not path.parent.is_dir():
        pytest.skip("a team's room is removed")
    text = path.read_text("utf-8")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lines = [text.splitlines()[node.lineno : node.end_lineno] for node in functions if node.name == name]
    assert any(re.search(r"(^|\s)# (?!noqa|type:)\w", line) for body in lines for line in body)


def test_every_name_in_the_steps_is_in_its_module() -> None:
    steps = CONTRIBUTING.split("## Add something")[1].split("## Write")[0]
    code = "".join(path.read_text("utf-8") for path in (ROOT / "workbench").rglob("*.py"))
    names = re.findall(r"`(_?[A-Z][A-Za-z_]+)`", steps)
    assert len(names) > 6
    assert [name for name in names if not re.search(rf"^(class )?{name}\b", code, re.MULTILINE)] == []


def test_every_marker_is_explained() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]
    markers = [marker.split(":")[0] for marker in settings.get("ini_options", settings)["markers"]]
    assert {marker for marker in markers if marker != "file_ledger"} <= set(
        re.findall(r"^\| `(\w+)` \|", CONTRIBUTING, re.M)
    )
