"""`workbench.toml`, `.env` and the environment as one value; nothing else reads the environment, but for TZ.

default_profile = "lab"

[profiles.lab]
base_url = "https://chat.example.org"      # with or without /api
key_env = "LAB_API_KEY"                    # the name of a variable, in the environment or in .env
# key_file = "~/.config/lab.key"           # or a file that holds the key alone
# gateway_limit_s = 300

# slots_folder = "/var/lib/workbench/slots"  # shared by all users of this machine, who make it writable for each other

[allowance]
signature = "allowance .* used up"         # regular expression: what an exhausted allowance says
"""

import hashlib
import os
import posixpath
import re
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import msgspec

from workbench.errors import Fault, InputError, KeyRejectedError, nearest
from workbench.records import LOCAL
from workbench.strict import convert, faults, read_toml

FILE_NAME = "workbench.toml"
_PAIRS = (("WORKBENCH_BASE_URL", "WORKBENCH_API_KEY"), ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
_PORTS = {"http": 80, "https": 443}
_HOW_TO = (
    "give --local for the embedded platform, --base-url URL, a profile in workbench.toml, or set WORKBENCH_BASE_URL "
    "and WORKBENCH_API_KEY"
)


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One named endpoint of `workbench.toml`."""

    base_url: str
    key_env: str | None = None
    key_file: str | None = None
    gateway_limit_s: Annotated[float, msgspec.Meta(gt=0)] | None = None


class AllowanceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the account's allowance."""

    signature: str | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of `workbench.toml`."""

    profiles: dict[str, Profile] = {}
    default_profile: str | None = None
    allowance: AllowanceSettings = AllowanceSettings()
    slots_folder: str | None = None
    """Where the slots of all users of this machine are kept; by default each user's own are in the state folder."""


class Endpoint(msgspec.Struct, frozen=True):
    """Where the platform is and what proves who asks; its text form never shows the key."""

    base_url: str
    """Normalised, without `/api` and without a closing slash."""
    key: str
    identity: str
    """What stands for the URL in a request's identity: the URL, or `local` for the embedded platform."""
    proxy: str | None = None
    gateway_limit_s: float | None = None
    embedded: bool = False
    """Whether it is the embedded platform, which ends with the command and has another port each time."""

    @property
    def recorded(self) -> str:
        """What the ledger calls it: its URL, or `local`."""
        return LOCAL if self.embedded else self.base_url

    @property
    def key_fingerprint(self) -> str:
        """Eight hexadecimal digits that tell keys apart and give none away (salted SHA-256)."""
        return hashlib.sha256(b"workbench key fingerprint\0" + self.key.encode()).hexdigest()[:8]

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r}, key {self.key_fingerprint})"


def load_settings(folder: Path) -> Settings:
    """Read `workbench.toml` of a folder; without one, everything has its default.

    Raises:
        InputError: The file is no TOML, or has unknown or mistyped keys.
    """
    path = folder / FILE_NAME
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(str(path), f"cannot be read: {error}")) from error
    settings, problems = convert(read_toml(text, str(path)), Settings)
    if settings is None:
        raise InputError(*faults(problems, text, str(path)))
    if settings.allowance.signature is not None:
        import regex  # as the client searches with

        try:
            regex.compile(settings.allowance.signature)
        except (regex.error, OverflowError, RecursionError) as error:
            problem = f"not a valid regular expression: {error}"
            raise InputError(Fault(f"{path}: allowance.signature", problem)) from error
    return settings


def read_environment(folder: Path, *, of_shell: bool = True) -> dict[str, str]:
    """The environment, over what `.env` of the folder adds to it.

    Args:
        folder: The working folder.
        of_shell: Whether what only this process was given counts; a timer sees nothing of it.

    Raises:
        InputError: There is a `.env` that cannot be read.
    """
    own = dict(os.environ) if of_shell else {}
    if not (folder / ".env").is_file():
        return own
    from dotenv import dotenv_values

    try:
        from_file = {name: value for name, value in dotenv_values(folder / ".env").items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(str(folder / ".env"), f"cannot be read: {error}")) from error
    return from_file | own


def environment_without_keys(settings: Settings) -> dict[str, str]:
    """This process's environment for another one that needs no API key."""
    names = {key for _, key in _PAIRS} | {profile.key_env for profile in settings.profiles.values()}
    return {name: value for name, value in os.environ.items() if name not in names}


def find_endpoint(
    settings: Settings,
    environment: Mapping[str, str],
    *,
    base_url: str | None = None,
    profile: str | None = None,
) -> Endpoint:
    """Find the platform to speak to: the flag, then the profile, then the environment.

    Args:
        settings: The file's.
        environment: Variables by name, `.env` included.
        base_url: The `--base-url` flag.
        profile: The `--profile` flag.

    Raises:
        InputError: No endpoint is configured, or what is configured cannot be one.
        KeyRejectedError: There is an endpoint and no key.
    """
    name = profile or (None if base_url else settings.default_profile)
    if name is not None:
        if name not in settings.profiles:
            known = ", ".join(settings.profiles) or "none"
            raise InputError(
                Fault(
                    FILE_NAME,
                    f"there is no profile {name!r}; known: {known}",
                    nearest(name, settings.profiles),
                )
            )
        chosen = settings.profiles[name]
        url, key = chosen.base_url, _profile_key(name, chosen, environment)
    else:
        chosen = Profile("")
        # a key goes only where its own variable's URL points, or where the caller says
        variable, key_variable = next((pair for pair in _PAIRS if environment.get(pair[0])), ("", _PAIRS[0][1]))
        url = base_url or environment.get(variable, "")
        if not url:
            raise InputError(Fault("", "no endpoint is configured", _HOW_TO))
        key = environment.get(_PAIRS[0][1] if base_url else key_variable, "")
        if not key:
            raise KeyRejectedError(
                f"no API key: set {_PAIRS[0][1] if base_url else key_variable} in the environment or in .env "
                "(never as a flag, where others can see it)"
            )
    url = normalised_url(url)
    return Endpoint(url, _checked_key(key), url, _proxy_for(url), chosen.gateway_limit_s)


def normalised_url(url: str) -> str:
    """The base URL without `/api`, `/api/v1` and closing slashes; scheme and host in small letters.

    Raises:
        InputError: It is no http(s) URL with a host.
    """
    no_url = InputError(
        Fault("base URL", f"{url!r} must start with http:// or https://", "for example https://chat.example.org")
    )
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
        host = host if ":" in host else host.encode("idna").decode()
    except ValueError as error:  # UnicodeError is one
        raise no_url from error
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not host or parts.query or parts.fragment:
        raise no_url
    if parts.username or parts.password:
        raise InputError(Fault("base URL", "it must not carry a user name or password"))
    shown_port = "" if port in (None, _PORTS[scheme]) else f":{port}"
    path = re.sub(r"/api(/v1)?$", "", parts.path.rstrip("/"))
    return f"{scheme}://{f'[{host}]' if ':' in host else host}{shown_port}{path}"


def slots_name(base_url: str) -> str:
    """The folder name of an endpoint's slots: one for every way to write the URL of one platform."""
    parts = urlsplit(base_url)
    host = "localhost" if is_loopback(base_url) else parts.hostname or ""
    path = posixpath.normpath(unquote(parts.path)).strip("/.") if parts.path else ""
    identity = f"{host}:{parts.port or _PORTS[parts.scheme]}/{path}"
    readable = re.sub(r"[^a-z0-9]+", "-", identity.lower())[:40].strip("-")
    return f"{readable}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def is_loopback(url: str) -> bool:
    """Whether a base URL names this machine by a loopback address."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))


def _profile_key(name: str, profile: Profile, environment: Mapping[str, str]) -> str:
    if profile.key_file is not None:
        try:
            return Path(profile.key_file).expanduser().read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            raise KeyRejectedError(f"the key file of profile {name!r} cannot be read: {error}") from error
    variable = profile.key_env or _PAIRS[0][1]
    if not environment.get(variable):
        raise KeyRejectedError(f"no API key for profile {name!r}: {variable} is not set in the environment or in .env")
    return environment[variable]


def _checked_key(key: str) -> str:
    key = key.strip()
    if not key:
        raise KeyRejectedError("the API key is empty")
    if not key.isascii() or any(character.isspace() or not character.isprintable() for character in key):
        raise KeyRejectedError("the API key has characters that no HTTP header can carry; was it copied whole?")
    return key


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for a URL, looked up once."""
    parts = urlsplit(url)
    if urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    return urllib.request.getproxies_environment().get(parts.scheme)


def cache_folder() -> Path:
    """Where what can be made again is kept (XDG Base Directory Specification)."""
    return _xdg("XDG_CACHE_HOME", "~/.cache") / "workbench"


def state_folder() -> Path:
    """Where what outlives a command and belongs to this machine is kept (XDG Base Directory Specification)."""
    return _xdg("XDG_STATE_HOME", "~/.local/state") / "workbench"


def moved_folders() -> dict[str, str]:
    """The variables that move what outlives a command, where they are set: another command must be given the same."""
    return {name: value for name in ("XDG_STATE_HOME",) if (value := os.environ.get(name))}


def unseen_by_timers() -> list[str]:
    """The names of variables of this shell on which a command depends, and which a timer is not given."""
    names = ("TZ", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")
    return [name for name in names if os.environ.get(name)]


def systemd_folder() -> Path:
    """Where systemd looks for a user's own units."""
    return _xdg("XDG_CONFIG_HOME", "~/.config") / "systemd" / "user"


def _xdg(variable: str, default: str) -> Path:
    named = os.environ.get(variable, "")
    return Path(named if Path(named).is_absolute() else os.path.expanduser(default))
