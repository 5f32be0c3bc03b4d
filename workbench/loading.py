"""What libraries would load when they are imported, loaded only where it is needed."""

import functools
import gc
import os
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_OPENSSL_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_HTTPX_COMMAND = "httpx._main"


@contextmanager
def lean_imports() -> Iterator[None]:
    """Import modules without what no command of ours needs of them, at the start of a process of ours, on its only thread.

    - The system's certificates, which aiohttp reads twice (60 ms where they are one file), also where plain HTTP is spoken.
      Its own contexts trust nobody after that: `tls_context` is for those who speak TLS.
    - httpx's command line, which brings rich and pygments where these are installed (30 ms).
    - The search for garbage, now and later, in what is imported and stays.
    """
    if "aiohttp" in sys.modules:  # nothing is left to be spared
        yield
        return
    given = {name: os.environ.get(name) for name in _OPENSSL_PLACES}
    os.environ |= dict.fromkeys(_OPENSSL_PLACES, os.devnull)
    sys.modules.setdefault(_HTTPX_COMMAND, None)  # type: ignore[arg-type]  # None: the import system finds no such module
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        for name, value in given.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        if sys.modules.get(_HTTPX_COMMAND, sys) is None:
            del sys.modules[_HTTPX_COMMAND]
        gc.freeze()
        if collects:
            gc.enable()


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The context that verifies a server against the system's certificates, or those that `SSL_CERT_FILE` names."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
