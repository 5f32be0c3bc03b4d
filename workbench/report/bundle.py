"""The scripts of the pages, each a file that lies once beside them: their own, and the charts' program."""

import contextlib
import hashlib
import os
import tempfile
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from workbench.settings.environment import cache_folder

VEGA_LITE = "6.4"
"""The version whose specifications the pages have."""
BUNDLE = f"vega-{VEGA_LITE}.js"
"""The charts' program, beside the pages."""
_OWN = ("page.js", "tables.js", "charts.js", "exchange.js", "samples.js", "compare.js")
_HEAD = (
    "/* Vega, Vega-Lite and Vega-Embed: © University of Washington Interactive Data Lab and others, BSD-3-Clause. */\n"
)
_END = "})();\n"


class Script(NamedTuple):
    """A script that pages run."""

    name: str
    """Of the file beside the pages; it changes with the script, so that pages of an earlier version find theirs."""
    text: str


@cache
def page_script() -> Script:
    """Return what every page does by itself: tables that sort, times by the account's clock, samples and their texts."""
    templates = resources.files("workbench.report").joinpath("templates")
    text = "\n".join(templates.joinpath(name).read_text("utf-8") for name in _OWN)
    return Script(f"workbench-{hashlib.sha256(text.encode()).hexdigest()[:8]}.js", text)


def vega_bundle() -> Script:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which sets `window.vegaEmbed`.

    It takes seconds to put together, so it is kept in the user's cache folder.
    """
    kept = cache_folder() / f"vega-{version('vl-convert-python')}-{VEGA_LITE}.js"
    with contextlib.suppress(OSError, ValueError):  # not there, or not whole
        text = kept.read_text("utf-8")
        if text.startswith(_HEAD) and text.endswith(_END):
            return Script(BUNDLE, text)
    import vl_convert  # a JavaScript engine, which only whoever makes the script needs

    program = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    text = f"{_HEAD}(()=>{{{program}}}{_END[1:]}"  # its names stay its own
    with contextlib.suppress(OSError):  # a cache that cannot be written is not an error
        kept.parent.mkdir(parents=True, exist_ok=True)
        put_whole(kept, text)
    return Script(BUNDLE, text)


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
