"""A run's view of the slots, without a run."""

import errno
import os
import shutil
import stat
import time
from pathlib import Path

import msgspec
import pytest

from tests.waiting import until
from workbench.errors import InputError
from workbench.running.slot_files import Holding, release_ghosts, slots_in, slots_of_endpoint
from workbench.running.slots import Slots
from workbench.settings.urls import older_slots_names, slots_name


def test_a_ghost_of_a_clock_that_was_put_back_stays_as_long_as_any(tmp_path: Path) -> None:
    next_year = time.time() + 365 * 86400
    for number in range(2):
        holding = Holding(next_year + 0.5, next_year, 1, "j", "m")
        (tmp_path / f"{number:02}.slot").write_bytes(msgspec.json.encode(holding).ljust(1024))
    (row, _) = slots_of_endpoint(tmp_path)
    assert row["state"] == "ghost"
    assert row["busy_until"] == pytest.approx(time.time() + 0.5, abs=0.2)
    with Slots(tmp_path, 2, "job") as slots:
        assert slots.take() is None
        assert slots.ghosts() == [pytest.approx(time.time() + 0.5, abs=0.2)] * 2
        assert until(slots.take)
        assert until(slots.take)


def test_the_log_names_what_keeps_slots_and_nothing_that_does_not(tmp_path: Path) -> None:
    with Slots(tmp_path, 1, "one") as one:
        slot = one.take()
        assert slot is not None
        assert one.take() is None
        assert one.why_none() == "no slot is free: all are in use"
        with Slots(tmp_path, 1, "two") as two:
            assert two.take() is None
            assert two.why_none() == "no slot is free: 1 other run on this machine"
        slot.begin("m", 100)
        slot.keep(100)
        one.give_back(slot)
        assert one.take() is None
        assert one.why_none() == "no slot is free: 1 kept by calls that were given up"


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
            one.release_unused()


def test_a_jump_of_the_clock_neither_frees_a_ghost_nor_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Slots(tmp_path, 1, "job") as slots:
        slot = slots.take()
        assert slot is not None
        slot.begin("m", 100)
        slot.keep(100)
        slots.give_back(slot)
        now = time.time()
        for jump_s in (-86_400, 0, 86_400):
            monkeypatch.setattr(time, "time", lambda jump_s=jump_s: now + jump_s)
            (row,) = slots_of_endpoint(tmp_path)
            assert row["state"] == "ghost"
            assert row["busy_until"] == pytest.approx(now + jump_s + 100, abs=5)
        assert slots.take() is None


def test_names_that_take_much_room_are_cut_and_the_slot_stays_taken(tmp_path: Path) -> None:
    with Slots(tmp_path, 1, "\x01" * 900) as slots:
        slot = slots.take()
        assert slot is not None
        slot.begin("\U0001f600" * 900, 100)
        slot.keep(100)
        slots.give_back(slot)
        (row,) = slots_of_endpoint(tmp_path)
        assert row["state"] == "ghost"


def test_a_removed_folder_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "slots"
    with Slots(folder, 1, "job") as slots:
        assert slots.take() is not None
        shutil.rmtree(folder)
        with pytest.raises(FileNotFoundError, match="were removed"):
            until(slots.take)


def test_ghosts_are_freed_and_calls_in_flight_are_not(tmp_path: Path) -> None:
    with Slots(tmp_path, 2, "job") as slots:
        ghost, busy = slots.take(), slots.take()
        assert ghost is not None
        assert busy is not None
        for slot in (ghost, busy):
            slot.begin("m", 100)
        ghost.keep(100)
        slots.give_back(ghost)
        assert release_ghosts(tmp_path) == 1
        assert [row["state"] for row in slots_of_endpoint(tmp_path)] in (["free", "in flight"], ["in flight", "free"])
        assert release_ghosts(tmp_path) == 0


def test_a_shared_folder_lets_other_users_write(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with Slots(tmp_path / "all", 1, "job", shared=True), Slots(tmp_path / "own", 1, "job"):
            assert stat.S_IMODE((tmp_path / "all").stat().st_mode) == 0o1777
            assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "all").iterdir()} == {0o666}
            assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "own").iterdir()} == {0o600}
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    "spelled",
    ["http://localhost:80", "http://127.0.0.1", "http://[::1]", "http://127.1.2.3", "http://localhost/a/..", "http://localhost/./", "http://localhost/%2e"],
)  # fmt: skip
def test_one_platform_has_one_set_of_slots(spelled: str) -> None:
    assert slots_name(spelled) == slots_name("http://localhost")
    assert slots_name("http://localhost:8080") != slots_name("http://localhost")
    assert (
        slots_name("http://localhost/a%20b")
        == slots_name("http://localhost/x/../a b")
        != slots_name("http://localhost")
    )


def test_the_names_of_older_versions_are_known() -> None:
    """As 0.1.0 made them before layouts had a number."""
    assert older_slots_names("https://chat.example.org") == ("chat-example-org-fa55e5e1",)


def test_two_versions_with_folders_of_their_own_keep_to_one_limit(tmp_path: Path) -> None:
    """An older version knows its folder alone; where it begins later, it is seen at the next look."""
    old, new = tmp_path / "old", tmp_path / "new"
    taken = []

    def take(slots: Slots) -> bool:
        found = slots.take()
        if found is not None:
            found.begin("m", 100)
            taken.append(found)
        return found is not None

    with Slots(new, 5, "new", older=[old]) as slots:
        assert take(slots)
        with Slots(old, 5, "old") as others:
            assert until(lambda: not take(slots) and any(row["state"] == "in flight" for row in slots_of_endpoint(old)))
            assert until(
                lambda: (
                    (take(others), take(slots)) and all(row["state"] == "in flight" for row in slots_of_endpoint(old))
                )
            )
            assert len(taken) == 5


def test_a_ghost_of_an_older_version_keeps_its_slot_and_one_of_ours_is_seen_by_it(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with Slots(old, 2, "old") as others:
        slot = others.take()
        assert slot is not None
        slot.keep(100)
        others.give_back(slot)
        with Slots(new, 2, "new", older=[old]) as slots:
            assert slots.ghosts() == [pytest.approx(time.time() + 100, abs=5)]
            ours = slots.take()
            assert ours is not None
            assert until(lambda: slots.take() is None)
            assert others.take() is None
            ours.keep(100)
            slots.give_back(ours)
        assert len(others.ghosts()) == 2
        assert [release_ghosts(folder) for folder in (old, new)] == [2, 2]
        assert until(others.take) is not None


def test_a_folder_of_another_layout_is_refused_and_ours_says_its_own(tmp_path: Path) -> None:
    with Slots(tmp_path, 1, "job"):
        assert (tmp_path / "layout").read_text() == "2\n"
    with Slots(tmp_path, 1, "job"):
        pass
    (tmp_path / "layout").write_text("3\n")
    with pytest.raises(InputError, match="of layout '3', and this version of Workbench knows 2"):
        Slots(tmp_path, 1, "job")
    assert not list(tmp_path.glob("*.process")), "it is not there for others"


def test_a_slot_that_is_taken_in_two_folders_is_told_once(tmp_path: Path) -> None:
    new, old, other = (tmp_path / name for name in ("new", "old", "other"))
    with Slots(old, 2, "old"), Slots(other, 2, "other") as others, Slots(new, 2, "new", older=[old]) as slots:
        for _ in range(2):
            assert until(others.take), "not begun yet: it says nothing of itself"
            taken = until(slots.take)
            assert taken is not None
            taken.begin("m", 100)
        found = [(row["endpoint"], row["slot"]) for row in slots_in([new, old, other])]
    assert found == [("new", 0), ("new", 1), ("other", 0), ("other", 1)]
