"""What the README shows works as it says: its commands, its job file, and what a run prints; so do the topics that it links."""

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from importlib import resources
from pathlib import Path

import pytest

from tests.conftest import COMMAND, Workbench
from workbench.local_platform.server import ThreadedServer

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The code blocks of a language, without their margins."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", TEXT, re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{margin}", "", block, flags=re.MULTILINE) for margin, block in found]


def topic(name: str) -> str:
    return resources.files("workbench.starter").joinpath("topics", f"{name}.md").read_text("utf-8")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The folders that the examples name."""
    for name in ("jobs", "datasets"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.slow
def test_the_steps_with_an_account(tmp_path: Path, platform: ThreadedServer) -> None:
    steps = [block for block in blocks("bash") if "venv .venv &&" not in block]
    script = "\n".join(steps)
    assert {"doctor", "models", "init", "lint", "plan", "run"} <= set(re.findall(r"workbench (\w+)", script))
    script = script.replace("source .venv/bin/activate\n", "").replace("https://chat.example.org", platform.base_url)
    bench = Workbench(tmp_path, platform)
    bench.environment["PATH"] = f"{COMMAND.parent}:{bench.environment['PATH']}"
    script = script.replace("WORKBENCH_API_KEY=sk-…", f"WORKBENCH_API_KEY={platform.key}")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=bench.environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "answered (0 reused)" in done.stdout


def test_the_job_file(clone: Path) -> None:
    (block,) = blocks("toml")
    (clone / "jobs" / "readme.toml").write_text(block)
    bench = Workbench(clone, None)
    assert bench.json("lint", "jobs/readme.toml", "--local") == []
    assert bench.json("run", "jobs/readme.toml", "--local", "--no-report")["completed"] == 98


def test_what_a_run_prints(clone: Path) -> None:
    (block,) = blocks("text")
    command, _, printed = block.partition("\n")
    assert command.startswith("$ workbench ")
    done = Workbench(clone, None)(*command.split()[2:])

    def without_chance(text: str) -> str:
        text = re.sub(r"\d{8}T\d{6}-[0-9a-f]{6}", "RUN", text)
        return re.sub(r"page: .*/reports/", "page: …/reports/", text)

    assert without_chance(done.stdout) == without_chance(printed)


@pytest.mark.parametrize(
    "row", re.findall(r"^\| (`workbench [^|]*) \|(.*)\|$", topic("commands"), re.MULTILINE), ids=lambda row: row[0]
)
def test_every_command_of_the_table_has_the_options_that_it_names(tmp_path: Path, row: tuple[str, str]) -> None:
    names = re.findall(r"`(?:workbench )?(\w+)", row[0])
    helps = [Workbench(tmp_path, None)(name, "--help").stdout for name in names]
    for option in re.findall(r"--[\w-]+", row[1]):
        assert any(option in text for text in helps), option
    for word in re.findall(r"`([a-z]+)`", row[1]):
        assert any(word in text for text in helps), word


def without_chance(text: str, folder: str = "/home/ada/tickets") -> str:
    """What a command printed, without ids, times and widths, which differ from run to run."""
    text = text.replace(folder, "FOLDER")
    text = re.sub(r"\d{8}T\d{6}-[0-9a-f]{6}", "RUN", text)
    text = re.sub(r"(?<=\d\d )\d+\.\d+(?= +0 +0$)", "MS", text, flags=re.MULTILINE)
    return re.sub(r"  +", "  ", re.sub(r"\d+\.\d{2,}(?= +\d+ +\d+\n)", "MS", text))


@pytest.mark.slow
@pytest.mark.file_ledger  # a team's has a settings file, which `plan` names
def test_the_tutorial_word_by_word(tmp_path: Path) -> None:
    """Its files are written as it says, and its commands print what it says."""
    bench = Workbench(tmp_path, None)
    printed = 0
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", topic("tutorial"), re.MULTILINE | re.DOTALL):
        if kind == "diff":  # of a line of the sheet
            before, after = (line[1:] for line in block.splitlines())
            text = (tmp_path / "tickets.csv").read_text()
            assert before in text
            (tmp_path / "tickets.csv").write_text(text.replace(before, after))
            continue
        if kind != "console":
            with (tmp_path / f"tickets.{kind}").open("a") as file:
                file.write(("\n" if file.tell() else "") + block)
            continue
        command, _, said = block.partition("\n")
        done = bench(*shlex.split(command.removeprefix("$ workbench ")))
        assert without_chance(done.stdout, str(tmp_path)) == without_chance(said), command
        printed += 1
    assert printed == 10
    header, row = (tmp_path / "tickets.csv").read_text().splitlines()[:2]
    assert header == "ticket,message,category,answer,score.exact,flag (workbench)"
    assert row.startswith("1,My parcel has not arrived and it was due on Monday.,delivery,")


@pytest.mark.slow
def test_the_python_of_its_topic(tmp_path: Path) -> None:
    blocks_of_code = re.findall(r"(?:^    .*\n|^\n(?=    ))+", topic("python"), re.MULTILINE)
    code = "\n".join(textwrap.dedent(block) for block in blocks_of_code)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=Workbench(tmp_path, None).environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2\n")
