"""Where a filled spreadsheet goes: in place of the file, or beside it where that would lose something; whole or not at all."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from workbench.dataset.filled import Sheet, read_sheet
from workbench.dataset.workbook_parts import what_a_change_breaks
from workbench.errors import Fault, InputError, no_folder
from workbench.scratch import sync

_READABLE = 0o666


def check_target(sheet: Sheet, out: Path | None) -> None:
    """Refuse a place where the sheet cannot be written, before anything is spent.

    Args:
        out: The file that is named; None is the sheet's own.

    Raises:
        InputError: There is no such folder, nothing can be written to it, or the name is one of another format.
    """
    where, target = ("--out", out) if out is not None else (str(sheet.path), sheet.path)
    if target.is_dir():
        raise InputError(Fault(where, f"{target} is a folder", "name a file"))
    if target.suffix.lower() != sheet.path.suffix.lower():
        problem = f"{target.name} would be in another format than {sheet.path.name}, which is kept"
        raise InputError(Fault(where, problem, f"name it {target.with_suffix(sheet.path.suffix).name}"))
    if not target.parent.is_dir():
        raise InputError(no_folder(where, target.parent))
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        hint = "name another folder" if out is not None else "--out FILE writes it elsewhere"
        raise InputError(Fault(where, f"{target.parent} cannot be written: {error.strerror or error}", hint)) from error


def why_not_in_place(sheet: Sheet) -> str:
    """Return why the file of a sheet cannot take the new columns, and what to do about it; empty where it can."""
    path = sheet.path
    for program, name in (("Excel", f"~${path.name}"), ("LibreOffice", f".~lock.{path.name}#")):
        if path.with_name(name).exists():
            return f"{path.name} is open in {program} (if it is not, remove {name}): close it, and run the same command again"
    if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        return f"{path.name} is read-only: make it writable, and run the same command again"
    if sheet.is_workbook and (lost := what_a_change_breaks(path)):
        return f"{path.name} has {lost}, which a change would break"
    return ""


def beside(sheet: Sheet) -> Path:
    """Return a file beside a sheet's: a new one, or one that `fill` has written."""
    number = 1
    while True:
        name = f"{sheet.path.stem}.filled{f'-{number}' if number > 1 else ''}{sheet.path.suffix}"
        path = sheet.path.with_name(name)
        if not path.exists() or _is_ours(path, sheet.name):
            return path
        number += 1


def _is_ours(path: Path, name: str | None) -> bool:
    with contextlib.suppress(InputError, OSError):
        return bool(read_sheet(path, name).own) and not why_not_in_place(read_sheet(path, name))
    return False


def put(target: Path, write: Callable[[IO[bytes]], None], mode: int, is_current: Callable[[], bool]) -> bool:
    """Write a file whole or not at all, and return whether it was written.

    Args:
        is_current: Asked just before the file takes its place: whether what it was made from is still so.

    Raises:
        OSError: It cannot be written.
    """
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", suffix=".part", delete=False) as part:
        try:
            write(part)
            part.flush()
            os.fchmod(part.fileno(), mode & _READABLE)
            os.fsync(part.fileno())
            if not is_current():
                os.unlink(part.name)
                return False
            os.replace(part.name, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part.name)
            raise
    sync(target.parent)
    return True
