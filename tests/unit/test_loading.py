import subprocess
import sys
from pathlib import Path

import pytest
import trustme

from workbench.loading import tls_context


def in_a_process(code: str, environment: dict[str, str]) -> None:
    """lean_imports does something only where aiohttp was not imported before."""
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_the_process_is_as_it_was() -> None:
    code = """
import contextlib, gc, os, sys
from workbench.loading import lean_imports
with contextlib.suppress(ImportError), lean_imports():
    assert os.environ["SSL_CERT_FILE"] == os.environ["SSL_CERT_DIR"] == os.devnull
    assert not gc.isenabled()
    with lean_imports():
        import workbench.local_platform.__main__
    raise ImportError
assert os.environ.get("SSL_CERT_FILE") == "mine.pem"
assert "SSL_CERT_DIR" not in os.environ
assert "httpx._main" not in sys.modules
assert gc.isenabled()
"""
    in_a_process(code, {"SSL_CERT_FILE": "mine.pem"})


def test_what_is_left_out_is_left_out() -> None:
    code = """
import sys
from workbench.loading import lean_imports
with lean_imports():
    from workbench.client import transport
from aiohttp.connector import _SSL_CONTEXT_VERIFIED
assert not {"rich", "pygments", "httpx._main"} & sys.modules.keys()
assert not _SSL_CONTEXT_VERIFIED.get_ca_certs()
transport.httpx.main  # what stands in for the command line
"""
    in_a_process(code, {})


def test_certificates_come_when_they_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "authority.pem"
    trustme.CA().cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    tls_context.cache_clear()
    try:
        assert len(tls_context().get_ca_certs()) == 1
        assert tls_context().verify_mode.name == "CERT_REQUIRED"
        assert tls_context() is tls_context()
    finally:
        tls_context.cache_clear()
