import contextlib
import os
import subprocess
import sys

import pytest

from workbench.loading import lean_imports, tls_context


def test_the_environment_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "mine.pem")
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    with contextlib.suppress(ImportError), lean_imports():
        assert os.environ["SSL_CERT_FILE"] == os.devnull
        raise ImportError
    assert os.environ["SSL_CERT_FILE"] == "mine.pem"
    assert "SSL_CERT_DIR" not in os.environ


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
    subprocess.run([sys.executable, "-c", code], check=True)


def test_certificates_come_when_they_are_needed() -> None:
    assert tls_context() is tls_context()
    assert tls_context().verify_mode.name == "CERT_REQUIRED"
