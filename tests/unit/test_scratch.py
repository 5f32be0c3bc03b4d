"""Private temporary folders: nobody else reads them, and nothing of a killed process stays behind."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from workbench.ledger.engine import Engine
from workbench.scratch import ScratchFolder

HOLD = """
import sys
from workbench.scratch import ScratchFolder
folder = ScratchFolder()
(folder.path / "prompt.txt").write_text("a prompt")
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holder(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that has a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_private_and_goes_with_its_user(temporary: Path) -> None:
    with ScratchFolder() as folder:
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        (folder.path / "a").write_text("b")
    assert list(temporary.iterdir()) == []


def test_the_next_start_removes_what_a_kill_left_and_nothing_else(temporary: Path) -> None:
    living, lived_in = holder(temporary)
    killed, left = holder(temporary)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    name = left.name[:-1] + ("a" if left.name[-1] != "a" else "b")
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "kept").touch()
    planted = temporary / name
    planted.symlink_to(elsewhere)
    (temporary / "workbench-results").mkdir(mode=0o700)
    assert (left / "prompt.txt").exists()
    with ScratchFolder() as own:
        assert not left.exists()
        assert (lived_in / "prompt.txt").exists()
        assert {path.name for path in temporary.iterdir()} == {
            own.path.name, lived_in.name, "elsewhere", name, "workbench-results",
        }  # fmt: skip
        assert (elsewhere / "kept").exists()
    living.communicate("")
    ScratchFolder().close()
    assert not lived_in.exists()


def test_each_engine_spills_to_a_folder_of_its_own(temporary: Path) -> None:
    big = "CREATE TEMP TABLE big AS SELECT range AS n, repeat('x', 200) || hash(range) AS text FROM range(400_000)"
    engines = [Engine(memory_mib=48) for _ in range(2)]
    try:
        for engine in engines:
            engine.started().execute(big)
        spilled = [path for path in temporary.rglob("*") if path.is_file()]
        assert len({path.relative_to(temporary).parts[0] for path in spilled}) == 2
        for top in temporary.iterdir():
            assert stat.S_IMODE(top.stat().st_mode) == 0o700
        for engine in engines:
            assert engine.started().execute(
                "SELECT count(*), min(n), max(n) FROM big WHERE text LIKE 'xxx%'"
            ).fetchone() == (400_000, 0, 399_999)
    finally:
        for engine in engines:
            engine.stop()
    assert list(temporary.iterdir()) == []
