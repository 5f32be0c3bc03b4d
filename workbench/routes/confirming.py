"""Names that the user confirms as a route's own, written to `workbench.toml`."""

from pathlib import Path

import tomlkit

from workbench.environment import found_upward
from workbench.errors import Fault, InputError
from workbench.settings import FILE_NAME, load_settings, served_as


def confirm_name(folder: Path, model: str, name: str) -> Path | None:
    """Add a name to those under which a route answers itself; comments and order of the file stay.

    Args:
        folder: Whose settings; without any, they are created there.
        model: The route's id.
        name: As answers give it.

    Returns:
        The file that was written; None where it had the name.

    Raises:
        InputError: The settings have a fault or cannot be written.
    """
    if name in served_as(load_settings(folder)).get(model, []):
        return None
    path = found_upward(folder, FILE_NAME) or folder / FILE_NAME
    text = path.read_text("utf-8-sig") if path.exists() else ""
    document = tomlkit.parse(text)
    routes = document.setdefault("routes", tomlkit.table(is_super_table=True))
    route = routes.setdefault(model, tomlkit.table())
    known = route.get("served_as", [])
    route["served_as"] = [*([known] if isinstance(known, str) else known), name]
    written = tomlkit.dumps(document)
    temporary = path.with_name(f".{path.name}.new")
    try:
        temporary.write_text(written, "utf-8")
        temporary.replace(path)
    except OSError as error:
        raise InputError(Fault(str(path), f"cannot be written: {error.strerror or error}")) from error
    return path
