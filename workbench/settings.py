"""`workbench.toml` as one value.

default_profile = "lab"

[profiles.lab]
base_url = "https://chat.example.org"      # with or without /api
key_env = "LAB_API_KEY"                    # the name of a variable, in the environment or in .env
# key_file = "~/.config/lab.key"           # or a file that holds the key alone
# gateway_limit_s = 300

# slots_folder = "/var/lib/workbench/slots"  # shared by all users of this machine, who make it writable for each other

[account]
time_zone = "Europe/Berlin"                # whose days usage is summed up by; by default UTC

[allowance]
signature = "allowance .* used up"         # regular expression: what an exhausted allowance says

[routes."Qwen3 Coder [fast]"]
served_as = "qwen3-coder-30b"              # this name is the model itself; answers under any other are a fallback's
"""

from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import msgspec

from workbench.environment import found_upward
from workbench.errors import Fault, InputError, nearest, why_unreadable
from workbench.strict import convert, faults, located, read_toml

FILE_NAME = "workbench.toml"


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One named endpoint of `workbench.toml`."""

    base_url: str
    key_env: str | None = None
    key_file: str | None = None
    gateway_limit_s: Annotated[float, msgspec.Meta(gt=0)] | None = None


class AllowanceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the account's allowance."""

    signature: str | None = None


class RouteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one model."""

    served_as: str | list[str] = []
    """Names under which it answers itself, besides its own: any other is a fallback then."""


class AccountSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for everything of this account."""

    time_zone: str = "UTC"
    """Whose days usage is summed up by (IANA time zone)."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of `workbench.toml`."""

    profiles: dict[str, Profile] = {}
    default_profile: str | None = None
    account: AccountSettings = AccountSettings()
    allowance: AllowanceSettings = AllowanceSettings()
    routes: dict[str, RouteSettings] = {}
    """By model id."""
    slots_folder: str | None = None
    """Where the slots of all users of this machine are kept; by default each user's own are in the state folder."""


def served_as(settings: Settings) -> dict[str, list[str]]:
    """Model -> the names that the settings confirm for it."""
    return {
        model: [route.served_as] if isinstance(route.served_as, str) else route.served_as
        for model, route in settings.routes.items()
        if route.served_as
    }


def load_settings(folder: Path) -> Settings:
    """Read `workbench.toml` of a folder; without one, everything has its default.

    Raises:
        InputError: The file is not valid TOML, or has unknown or mistyped keys.
    """
    path = found_upward(folder, FILE_NAME)
    if path is None:
        return Settings()
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(str(path), f"cannot be read: {why_unreadable(error)}")) from error
    settings, problems = convert(read_toml(text, str(path)), Settings)
    if settings is None:
        raise InputError(*faults(problems, text, str(path)))
    try:
        ZoneInfo(settings.account.time_zone)
    except (OSError, ValueError, ZoneInfoNotFoundError) as error:
        known = nearest(settings.account.time_zone, available_timezones()) or 'such as "Europe/Berlin"'
        problem = f"{settings.account.time_zone!r} is not a known time zone"
        raise InputError(Fault(located(("account", "time_zone"), text, str(path)), problem, known)) from error
    if settings.allowance.signature is not None:
        import regex  # as the client searches with

        try:
            regex.compile(settings.allowance.signature)
        except (regex.error, OverflowError, RecursionError) as error:
            problem = f"not a valid regular expression: {error}"
            raise InputError(Fault(f"{path}: allowance.signature", problem)) from error
    return settings
