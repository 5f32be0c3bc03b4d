"""A run's view of the slots, without a run."""

import errno
import os
import time
from pathlib import Path

import msgspec
import pytest

from workbench.run.slots import Holding, Slots, slots_in


def test_a_ghost_of_a_clock_that_was_put_back_stays_as_long_as_any(tmp_path: Path) -> None:
    next_year = time.time() + 365 * 86400
    for number in range(2):
        holding = Holding(next_year + 0.5, next_year, 1, "j", "m")
        (tmp_path / f"{number:02}.slot").write_bytes(msgspec.json.encode(holding).ljust(1024))
    (row, _) = slots_in(tmp_path)
    assert row["state"] == "ghost"
    assert row["busy_until"] == pytest.approx(time.time() + 0.5, abs=0.2)
    with Slots(tmp_path, 2, "job") as slots:
        assert slots.take() is None
        until = slots.waits_for_ghosts_until()
        assert until == pytest.approx(time.time() + 0.5, abs=0.2)
        time.sleep(0.6)
        assert [slots.take() is not None for _ in range(2)] == [True, True]


def test_what_cannot_be_said_to_others_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Slots(tmp_path, 3, "one") as one, Slots(tmp_path, 3, "two"):
        first = one.take()
        assert first is not None

        def full(fd: int, data: bytes, offset: int) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", full)
            assert one.take() is not None
            one.give_back(first)
            one.rest()
