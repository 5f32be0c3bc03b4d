"""The charts' program: Vega, Vega-Lite and Vega-Embed in one script, which lies once beside the pages."""

import contextlib
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

from workbench.settings.environment import cache_folder

VEGA_LITE = "6.4"
"""The version whose specifications the pages have."""
BUNDLE = f"vega-{VEGA_LITE}.js"
"""The file beside the pages; those of an earlier version find theirs under its own name."""
_HEAD = (
    "/* Vega, Vega-Lite and Vega-Embed: © University of Washington Interactive Data Lab and others, BSD-3-Clause. */\n"
)
_END = "})();\n"


def vega_bundle() -> str:
    """Return the script; it sets `window.vegaEmbed`.

    It takes seconds to put together, so it is kept in the user's cache folder.
    """
    kept = cache_folder() / f"vega-{version('vl-convert-python')}-{VEGA_LITE}.js"
    with contextlib.suppress(OSError, ValueError):  # not there, or not whole
        text = kept.read_text("utf-8")
        if text.startswith(_HEAD) and text.endswith(_END):
            return text
    import vl_convert  # a JavaScript engine, which only whoever makes the script needs

    program = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    text = f"{_HEAD}(()=>{{{program}}}{_END[1:]}"  # its names stay its own
    with contextlib.suppress(OSError):  # a cache that cannot be written is not an error
        kept.parent.mkdir(parents=True, exist_ok=True)
        put_whole(kept, text)
    return text


def put_whole(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file whole or not at all, whoever else writes it at the same time."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".part", delete=False) as part:
        try:
            part.write(text)
            part.flush()
            os.chmod(part.name, mode)
            os.replace(part.name, path)
        except BaseException:
            os.unlink(part.name)
            raise
