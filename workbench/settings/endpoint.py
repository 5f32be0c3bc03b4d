"""Which platform is meant, and which key goes there."""

import hashlib
import ipaddress
import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from workbench.errors import Fault, InputError, KeyRejectedError, nearest, read_error_text
from workbench.settings.environment import Environment
from workbench.settings.file import FILE_NAME, Settings, place_of
from workbench.settings.urls import EXAMPLE, PORTS, is_loopback, normalised_url

LOCAL = "local"
"""The identity of every embedded platform, whatever its port."""
_PAIRS = (("WORKBENCH_BASE_URL", "WORKBENCH_API_KEY"), ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
_USUAL = {"OPENAI_API_KEY": "https://api.openai.com"}
"""Whose a key is where the environment does not say."""
_PORT_DIGITS = 5
_HOW_TO = (
    "give --local for the embedded platform, --base-url URL, a profile in workbench.toml, or set WORKBENCH_BASE_URL "
    "and WORKBENCH_API_KEY"
)


class Proxy(NamedTuple):
    """An HTTP proxy between here and the platform."""

    url: str
    variable: str
    """Of the environment, that names it."""

    def __str__(self) -> str:
        """Return it for people: without what a password in it would be."""
        parts = urlsplit(self.url)
        return f"the proxy {parts.scheme}://{parts.netloc.rpartition('@')[2]} ({self.variable})"


class Endpoint(msgspec.Struct, frozen=True):
    """Where the platform is and the key that identifies the caller; its text form never shows the key."""

    base_url: str
    """Normalised, without `/api` and without a trailing slash."""
    key: str
    identity: str
    """What stands for the URL in a request's identity: the URL, or `local` for the embedded platform."""
    key_from: str = ""
    """The variable or the file that has the key."""
    proxy: Proxy | None = None
    gateway_limit_s: float | None = None
    embedded: bool = False
    """Whether it is the embedded platform, which ends with the command and has another port each time."""

    @property
    def recorded(self) -> str:
        """What the ledger calls it: its URL, or `local`."""
        return LOCAL if self.embedded else self.base_url

    @property
    def key_fingerprint(self) -> str:
        """Eight hexadecimal digits that distinguish keys without revealing them (salted SHA-256)."""
        return hashlib.sha256(b"workbench key fingerprint\0" + self.key.encode()).hexdigest()[:8]

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r}, key {self.key_fingerprint})"


def find_endpoint(
    settings: Settings,
    environment: Environment,
    *,
    base_url: str | None = None,
    profile: str | None = None,
    folder: Path | None = None,
) -> Endpoint:
    """Find the platform to speak to: the flag, then the profile, then the environment.

    Args:
        environment: With what `.env` adds to it.
        base_url: The `--base-url` flag.
        profile: The `--profile` flag.
        folder: Whose `workbench.toml` has the settings; messages then name its lines.

    Raises:
        InputError: No endpoint is configured, or what is configured cannot be one.
        KeyRejectedError: There is an endpoint and no key.
    """
    if base_url is not None and not base_url.strip():
        raise InputError(Fault("--base-url", "it is empty", EXAMPLE))
    name = profile or (None if base_url else settings.default_profile)
    if name is not None:
        return _of_profile(name, settings, environment, folder, asked=profile is not None)
    # a key is sent only to the URL of its own pair of variables, or to one that the caller names
    variable, key_variable = next((pair for pair in _PAIRS if environment.get(pair[0])), ("", _PAIRS[0][1]))
    if base_url is None and not variable:
        raise InputError(Fault("", "no endpoint is configured", _misspelt(environment) or _HOW_TO))
    if base_url is not None:
        key_variable, where = _PAIRS[0][1], "--base-url"
    else:
        where = variable if environment.own.get(variable) else f"{environment.path}: {variable}"
    key = environment.get(key_variable)
    if not key:
        raise KeyRejectedError(
            f"no API key: set {key_variable} in the environment or in .env (never as a flag, where others can see it)"
        )
    url = normalised_url(base_url or environment.get(variable), where)
    if base_url is None and not environment.own.get(variable):
        _check_owner(url, where, key_variable, environment)
    return Endpoint(url, _checked_key(key, key_variable), url, key_variable, _proxy_for(url))


def _of_profile(
    name: str, settings: Settings, environment: Environment, folder: Path | None, *, asked: bool
) -> Endpoint:
    """Return the endpoint of a profile; `asked` says that the caller named it."""

    def place(*key: str) -> str:
        path = ("profiles", name, *key)
        return f"{FILE_NAME}: {'.'.join(path)}" if folder is None else place_of(folder, path)

    if name not in settings.profiles:
        hint = nearest(name, settings.profiles) or f"it has: {', '.join(settings.profiles) or 'none'}"
        raise InputError(Fault("--profile", f"{FILE_NAME} has no profile {name!r}", hint))
    chosen, where = settings.profiles[name], place("base_url")
    url, variable = normalised_url(chosen.base_url, where), chosen.key_env or _PAIRS[0][1]
    if chosen.key_file is not None:
        try:
            key, source = Path(chosen.key_file).expanduser().read_text("utf-8"), chosen.key_file
        except (OSError, ValueError) as error:
            problem = f"{chosen.key_file} cannot be read: {read_error_text(error)}"
            fault = Fault(place("key_file"), problem, "expected a file with the key alone")
            raise KeyRejectedError(str(fault)) from error
    else:
        key, source = environment.get(variable), variable
        if not key:
            problem = f"no API key: {variable} is not set in the environment or in .env"
            raise KeyRejectedError(str(Fault(place("key_env"), problem, "set it in either")))
        if not asked:
            _check_owner(url, where, variable, environment)
    return Endpoint(url, _checked_key(key, source), url, source, _proxy_for(url), chosen.gateway_limit_s)


def _check_owner(url: str, where: str, key_variable: str, environment: Environment) -> None:
    """Refuse to send the environment's key for one host to another one that a file names.

    Raises:
        InputError: The file may come from somebody else, and the user was not asked.
    """
    if not environment.own.get(key_variable):
        return
    url_variable = next((pair[0] for pair in _PAIRS if pair[1] == key_variable), "")
    owner = environment.own.get(url_variable) or _USUAL.get(key_variable, "")
    if owner and urlsplit(owner).hostname != urlsplit(url).hostname:
        problem = f"the key in {key_variable} of the environment is for {owner}, not for {url}"
        way = f"--base-url {url}" if key_variable == _PAIRS[0][1] else f"{url_variable}={url} in the environment"
        raise InputError(Fault(where, problem, f"{way} sends it there"))


def _misspelt(environment: Environment) -> str:
    """Return a variable that was probably meant to name the endpoint."""
    known = [name for pair in _PAIRS for name in pair]
    for name in (*environment.of_file, *environment.own):
        if name.startswith(("WORKBENCH_", "OPENAI_")) and name not in known and (near := nearest(name, known)):
            return f"{name} is set; {near}"
    return ""


def _checked_key(key: str, source: str) -> str:
    """Return a key that a header can carry; `source` names where it is from."""
    key = key.strip()
    if not key:
        raise KeyRejectedError(f"the API key in {source} is empty: expected one that begins with sk-")
    if key.lower().startswith("bearer "):
        raise KeyRejectedError(f"the API key in {source} begins with 'Bearer '; give the key alone")
    if key[0] in "\"'" and key[-1] == key[0]:
        raise KeyRejectedError(f"the API key in {source} is in quotes; remove them")
    if "…" in key or "..." in key:
        raise KeyRejectedError(f"the API key in {source} is a placeholder or was cut; copy the whole key")
    if not key.isascii() or any(character.isspace() or not character.isprintable() for character in key):
        raise KeyRejectedError(
            f"the API key in {source} has characters that no HTTP header can carry: expected letters and digits"
        )
    return key


def _proxy_for(url: str) -> Proxy | None:
    """Return the proxy that the environment names for a URL, looked up once; this machine is asked without one.

    Raises:
        InputError: It is not an HTTP proxy.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(url) or _is_exempt(host, parts.port or PORTS[parts.scheme]):
        return None
    names = (f"{parts.scheme}_proxy", "all_proxy")
    for name in names:
        variable = name if name in os.environ else name.upper()
        if given := os.environ.get(variable, "").strip():
            return _checked_proxy(given, variable, host)
        if variable == name:  # set to nothing: how one is switched off
            return None
    return None


def _checked_proxy(given: str, variable: str, host: str) -> Proxy:
    url = given if "://" in given else f"http://{given}"
    hint = f"expected http://HOST:PORT; NO_PROXY={host} asks the platform without a proxy"
    try:
        parts = urlsplit(url)
        is_usable = (
            bool(parts.hostname) and parts.port != 0 and parts.path in ("", "/") and not parts.query + parts.fragment
        )
    except ValueError:
        raise InputError(Fault(variable, "it does not name a proxy", hint)) from None
    if parts.scheme.startswith("socks"):
        raise InputError(Fault(variable, "SOCKS proxies are not supported", hint))
    if parts.scheme not in PORTS or not is_usable:
        raise InputError(Fault(variable, "it does not name an HTTP proxy", hint))
    return Proxy(url, variable)


def _is_exempt(host: str, port: int) -> bool:
    """Return whether `NO_PROXY` names a host: itself, its domain, its port, or a network that its address is in."""
    given = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    for entry in given.replace(",", " ").lower().split():
        name, colon, of_port = entry.rpartition(":")
        if colon and of_port.isdecimal() and len(of_port) <= _PORT_DIGITS and (":" not in name or name.endswith("]")):
            entry, is_port = name, int(of_port) == port
        else:
            is_port = True
        entry = entry.strip("[]")
        domain = entry.removeprefix("*").strip(".")
        if is_port and (entry == "*" or host == domain or host.endswith(f".{domain}") or _is_in_network(host, entry)):
            return True
    return False


def _is_in_network(host: str, entry: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def key_variables(settings: Settings) -> set[str]:
    """Return the names of all variables that hold an API key."""
    return {key for _, key in _PAIRS} | {profile.key_env for profile in settings.profiles.values() if profile.key_env}
