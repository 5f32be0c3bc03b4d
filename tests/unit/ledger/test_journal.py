import errno
import io
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from workbench.ledger import journal
from workbench.ledger.entries import SampleSeen
from workbench.ledger.journal import LEAST_RESERVE_BYTES, JournalFullError, JournalWriter
from workbench.ledger.recovery import set_aside, unpack


def entry(number: int, size: int = 10) -> SampleSeen:
    return SampleSeen(f"k{number}", os.urandom(size).hex())


def lines(path: Path) -> list[bytes]:
    content = io.BytesIO()
    unpack(path, content)
    return content.getvalue().splitlines()


def test_what_was_flushed_is_read_back(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j")
    for number in range(10):
        writer.append(entry(number))
        writer.flush()
    path = writer.rotate()
    assert path is not None
    assert len(lines(path)) == 10
    assert writer.durable == 10
    writer.append(entry(11))
    writer.close()
    assert len(list((tmp_path / "j").iterdir())) == 2  # a new file after rotation, and no reserve left


def test_what_a_removed_file_held_is_written_again(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j")
    for number in range(5):
        writer.append(entry(number))
    writer.sync()
    shutil.rmtree(tmp_path / "j")
    writer.append(entry(5))
    path = writer.rotate()
    assert writer.disk_error == "the journal was removed while it was written", "nothing more is sent"
    assert path is not None
    assert len(lines(path)) == writer.durable == 6
    writer.close()


def test_where_a_file_was_moved_to_is_said(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "j")
    for number in range(5):
        writer.append(entry(number))
    writer.sync()
    (tmp_path / "j").rename(tmp_path / "elsewhere")
    writer.append(entry(5))
    path = writer.rotate()
    (moved,) = (tmp_path / "elsewhere").iterdir()
    assert writer.disk_error == f"the journal was moved while it was written: what it holds is in {moved}"
    assert path is not None
    assert (len(lines(moved)), len(lines(path))) == (5, 1)
    writer.close()


def test_nothing_appended_makes_no_file(tmp_path: Path) -> None:
    JournalWriter(tmp_path / "j").close()
    assert not (tmp_path / "j").exists()


@pytest.mark.parametrize("damage", ["cut", "flip", "rubbish"])
def test_a_torn_tail_is_set_aside_and_the_rest_is_whole(tmp_path: Path, damage: str) -> None:
    writer = JournalWriter(tmp_path)
    for number in range(5):
        writer.append(entry(number))
        writer.flush()
    path = writer.rotate()
    assert path is not None
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[:-3]
    elif damage == "flip":
        data[-10] ^= 0xFF
    else:
        data += b"rubbish"
    path.write_bytes(data)
    found = unpack(path, io.BytesIO())
    assert found.torn is not None
    assert found.records == (5 if damage == "rubbish" else 4)
    aside = set_aside(path, [found.torn], ".torn")
    assert aside.read_bytes() == data[-found.torn.size :]
    assert found.damaged == ()


def test_durable_counts_only_what_is_synced(tmp_path: Path) -> None:
    told: list[int] = []
    synced = threading.Event()

    def tell(durable: int) -> None:
        told.append(durable)
        synced.set()

    writer = JournalWriter(tmp_path)
    assert writer.append(entry(1)) == 1
    writer.flush()
    assert writer.durable == 0
    writer.sync_in_background(tell)
    assert synced.wait(5)
    assert told[-1] == 1 == writer.durable
    writer.close()


def test_one_sync_covers_what_is_written_while_it_gathers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_GATHER_S", 0.5)
    real, told, synced = os.fdatasync, [], threading.Event()
    counted: list[int] = []

    def counting(fd: int) -> None:
        counted.append(fd)
        real(fd)

    def tell(durable: int) -> None:
        told.append(durable)
        synced.set()

    monkeypatch.setattr(os, "fdatasync", counting)
    writer = JournalWriter(tmp_path)
    writer.sync_in_background(tell)
    for number in range(20):
        writer.append(entry(number))
        writer.flush()
    assert synced.wait(10)
    assert told == [20]
    assert len(counted) == 1
    writer.close()


def test_closing_waits_for_nothing_to_gather(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_GATHER_S", 600.0)
    writer = JournalWriter(tmp_path)
    writer.sync_in_background(lambda _: None)
    writer.append(entry(1))
    writer.flush()
    closing = threading.Thread(target=writer.close, daemon=True)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()
    assert writer.durable == 1


def test_a_full_disk_uses_the_reserve_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(entry(1))
    writer.flush()
    assert writer._reserve is not None
    assert os.fstat(writer._reserve).st_size == LEAST_RESERVE_BYTES
    assert not list(tmp_path.glob("*.reserve"))  # without a name, nothing is left of it after a kill
    real, refused = os.write, []

    def full_until_the_reserve_is_freed(fd: int, data: memoryview) -> int:
        if writer._reserve is not None:
            refused.append(1)
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(os, "write", full_until_the_reserve_is_freed)
    writer.append(entry(2))
    writer.flush()
    assert refused
    assert writer.disk_error
    path = writer.rotate()
    assert path is not None
    assert len(lines(path)) == 2


def test_a_disk_that_takes_nothing_more_leaves_whole_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(entry(1))
    writer.flush()
    real = os.write

    def half_then_full(fd: int, data: memoryview) -> int:
        if len(data) < 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half_then_full)
    writer.append(entry(2, 500))
    with pytest.raises(JournalFullError, match="free disk space and rerun"):
        writer.flush()
    monkeypatch.undo()
    (path,) = tmp_path.glob("*.zst")
    assert unpack(path, io.BytesIO()).torn is None
    assert len(lines(path)) == 1
    writer.flush()  # there is room again: what waited is written
    assert len(lines(path)) == 2
    writer.close()


def test_a_journal_that_cannot_be_written_is_let_go(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import os, resource, signal, sys
        from pathlib import Path
        from workbench.ledger.entries import SampleSeen
        from workbench.ledger.journal import JournalFullError, JournalWriter
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        writer = JournalWriter(Path(sys.argv[1]))
        writer.append(SampleSeen("k", "x"))
        try:
            writer.close()
        except (JournalFullError, OSError) as error:
            print(type(error).__name__, len(os.listdir("/proc/self/fd")))
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "JournalFullError"
    assert int(done.stdout.split()[1]) == 4, "the three streams, and the listing itself"


def test_a_limit_on_file_sizes_goes_on_in_another_file(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import os, resource, sys
        from pathlib import Path
        from workbench.ledger.entries import SampleSeen
        from workbench.ledger.journal import JournalWriter
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
        writer = JournalWriter(Path(sys.argv[1]))
        count = 0
        while not writer.disk_error:
            writer.append(SampleSeen("k", os.urandom(200).hex())); writer.flush(); count += 1
        writer.close()
        print(count)
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    files = sorted(tmp_path.glob("*.zst"))
    assert len(files) == 2
    assert sum(len(lines(path)) for path in files) == int(done.stdout)


class FailingSync:
    """`fdatasync` that fails a number of times: the kernel forgets what it could not write, and the next one succeeds."""

    def __init__(self, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left, self.failed, self._real = times, threading.Event(), os.fdatasync
        self.synced: list[int] = []
        monkeypatch.setattr(os, "fdatasync", self)

    def __call__(self, fd: int) -> None:
        if self.left:
            self.left -= 1
            self.failed.set()
            raise OSError(errno.EIO, "Input/output error")
        self.synced.append(os.fstat(fd).st_ino)
        self._real(fd)


def test_what_one_failed_sync_may_have_lost_is_written_again_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    writer = JournalWriter(tmp_path)
    writer.append(entry(1))
    writer.sync()
    (first,) = tmp_path.glob("*.zst")
    sync = FailingSync(1, monkeypatch)
    writer.append(entry(2))
    writer.flush()
    writer.sync_in_background(told.append)
    assert sync.failed.wait(5)
    for number in (3, 4):  # answers that were in flight
        writer.append(entry(number))
        writer.flush()
    assert "did not store" in writer.disk_error
    writer.close()
    assert writer.durable == 4
    assert told[-1:] != [1]
    (second,) = set(tmp_path.glob("*.zst")) - {first}
    assert first.stat().st_ino not in sync.synced
    assert [len(lines(path)) for path in (first, second)] == [1, 3]


def test_a_disk_that_stores_nothing_is_never_called_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    FailingSync(1_000_000, monkeypatch)
    writer = JournalWriter(tmp_path)
    writer.append(entry(1))
    writer.flush()
    writer.sync_in_background(told.append)
    writer.append(entry(2))
    with pytest.raises(JournalFullError, match="Input/output error"):
        writer.close()
    assert not any(told), "a busy thread may still say that there are none"
    assert writer.durable == 0
    assert sum(len(lines(path)) for path in tmp_path.glob("*.zst")) == 2, "it is in the kernel all the same"


def test_a_reserve_is_kept_for_answers_alone(tmp_path: Path) -> None:
    """Scores can be made again: they must not want room for what is not on its way."""
    for in_flight, reserves in ((0, 0), (1, 1)):
        writer = JournalWriter(tmp_path, in_flight)
        writer.append(entry(1))
        writer.flush()
        held = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        assert sum(path.parent == tmp_path and ".reserve" in path.name for path in held) == reserves
        writer.close()
