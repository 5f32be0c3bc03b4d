"""The charts' program: Vega, Vega-Lite and Vega-Embed in one compressed text, which the page unpacks without the network."""

import base64
import contextlib
import gzip
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

import vl_convert

from workbench.settings.environment import cache_folder

VEGA_LITE = "6.4"
"""The version whose specifications the installed Altair writes."""


def vega_bundle() -> str:
    """Return the bundle as base64 of gzip; it sets `window.vegaEmbed`.

    It takes more than a second to put together, so it is kept in the user's cache folder.
    """
    kept = cache_folder() / f"vega-{version('vl-convert-python')}-{VEGA_LITE}.js.gz.b64"
    with contextlib.suppress(OSError, ValueError, EOFError):  # not there, or not whole
        packed = kept.read_text("ascii")
        gzip.decompress(base64.b64decode(packed, validate=True))
        if packed:
            return packed
    program = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    packed = packed_text(f"(()=>{{{program}}})();")  # its names stay its own
    with contextlib.suppress(OSError):  # a cache that cannot be written is not an error
        kept.parent.mkdir(parents=True, exist_ok=True)
        put_whole(kept, packed)
    return packed


def packed_text(text: str) -> str:
    """Return a text as base64 of gzip, the same for the same text."""
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode("ascii")


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
