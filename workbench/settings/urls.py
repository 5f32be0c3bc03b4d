"""The URL of a platform: how it is written, and what it is called where its slots are kept."""

import hashlib
import posixpath
import re
from urllib.parse import unquote, urlsplit

from workbench.errors import Fault, InputError

PORTS = {"http": 80, "https": 443}
EXAMPLE = "for example https://chat.example.org"
_KEY_IN_PATH = re.compile(r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}")


def normalised_url(url: str, where: str = "base URL") -> str:
    """Return the base URL without `/api`, `/api/v1` and trailing slashes; scheme and host in lower case.

    Args:
        where: Names it, for messages.

    Raises:
        InputError: It is not an http(s) URL of a platform.
    """
    text = url.strip()
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        host = host if ":" in host else host.encode("idna").decode()
    except ValueError as error:  # UnicodeError is one
        raise InputError(Fault(where, f"{url!r} is not a URL: {error}", EXAMPLE)) from error
    scheme = parts.scheme.lower()
    if text[:1] in ("'", '"') and text[:1] == text[-1:]:
        raise InputError(Fault(where, f"{url!r} is in quotes", f"remove them: {text[1:-1]}"))
    if scheme not in PORTS:
        is_here = is_loopback(f"http://{text}")
        near = "" if scheme and "//" in text else f"did you mean '{'http' if is_here else 'https'}://{text}'?"
        raise InputError(Fault(where, f"{url!r} must start with http:// or https://", near or EXAMPLE))
    if not host or any(character.isspace() for character in text):
        raise InputError(Fault(where, f"{url!r} has no valid host name", EXAMPLE))
    if parts.query or parts.fragment:
        raise InputError(Fault(where, f"{url!r} must not have a query or fragment", text.split("?")[0].split("#")[0]))
    if parts.username or parts.password:
        raise InputError(Fault(where, "it must not carry a user name or password", f"{EXAMPLE}; a key is given apart"))
    if _KEY_IN_PATH.search(unquote(parts.path)):
        raise InputError(Fault(where, "it must not carry an API key in its path", "WORKBENCH_API_KEY is for the key"))
    shown_port = "" if port in (None, PORTS[scheme]) else f":{port}"
    base = f"{scheme}://{f'[{host}]' if ':' in host else host}{shown_port}"
    path = re.sub(r"/api(/v1)?$", "", parts.path.rstrip("/"))
    if found := re.search(r"(/api)?(/v1)?(/chat/completions|/models)$|/v1$", path):
        raise InputError(Fault(where, f"{url!r} is more than the base URL", f"use {base}{path[: found.start()]}"))
    return base + path


def slots_name(base_url: str) -> str:
    """Return the folder name of an endpoint's slots: one for every way to write the URL of one platform."""
    parts = urlsplit(base_url)
    host = "localhost" if is_loopback(base_url) else parts.hostname or ""
    path = posixpath.normpath(unquote(parts.path)).strip("/.") if parts.path else ""
    identity = f"{host}:{parts.port or PORTS[parts.scheme]}/{path}"
    readable = re.sub(r"[^a-z0-9]+", "-", identity.lower())[:40].strip("-")
    return f"{readable}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def older_slots_names(base_url: str) -> tuple[str, ...]:
    """Return the folder names that older versions gave to an endpoint's slots: of layout 1, one for every spelling of the URL."""
    readable = re.sub(r"[^a-z0-9]+", "-", base_url.split("://")[-1])[:40]
    return (f"{readable}-{hashlib.sha256(base_url.encode()).hexdigest()[:8]}",)


def is_loopback(url: str) -> bool:
    """Return whether a base URL names this machine by a loopback address."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))
