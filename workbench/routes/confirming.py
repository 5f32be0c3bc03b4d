"""Names that the user confirms as a route's own, written to `workbench.toml`."""

import shutil
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import InlineTable

import workbench.settings.clock as clock
from workbench.errors import Fault, InputError
from workbench.settings.environment import found_upward
from workbench.settings.file import FILE_NAME, load_settings, served_as

_MARK = "\ufeff"


def confirm_name(folder: Path, model: str, name: str, run_id: str | None) -> Path | None:
    """Add a name to those under which a route answers itself, with the day and a run; comments and order of the file stay.

    Args:
        folder: Whose settings; without any, they are created there.
        model: The route's id.
        name: As answers give it.
        run_id: The newest run that it rests on; None: it never answered.

    Returns:
        The file that was written; None where it had the name.

    Raises:
        InputError: The settings have a fault or cannot be written.
    """
    if name in served_as(load_settings(folder)).get(model, []):
        return None
    path = (found_upward(folder, FILE_NAME) or folder / FILE_NAME).resolve()  # of a link, what it leads to
    text = path.read_bytes().decode() if path.exists() else ""
    document = tomlkit.parse(text.removeprefix(_MARK))
    routes = _table_of(document, "routes", tomlkit.table(is_super_table=True))
    route = _table_of(routes, model, tomlkit.table())
    known = route.get("served_as", [])
    if not (isinstance(known, list) and known):
        route["served_as"] = tomlkit.array() if isinstance(known, list) else [known]
    route["served_as"].add_line(
        name, comment=f"confirmed {clock.now():%Y-%m-%d}{'' if run_id is None else f', run {run_id}'}"
    )
    written = tomlkit.dumps(document)
    if "\r\n" in text:
        written = written.replace("\r\n", "\n").replace("\n", "\r\n")
    _put(path, ((_MARK if text.startswith(_MARK) else "") + written).encode())
    return path


def _table_of(above: Any, key: str, made: Any) -> Any:
    """Return a table in another one, made where it is not there: within an inline table as an inline table."""
    if key not in above:
        above[key] = tomlkit.inline_table() if isinstance(above, InlineTable) else made
    return above[key]


def _put(path: Path, content: bytes) -> None:
    """Write the settings whole or not at all, for whom they were."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        temporary.write_bytes(content)
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except OSError as error:
        raise InputError(Fault(str(path), f"cannot be written: {error.strerror or error}")) from error
