from pathlib import Path

import pytest

from workbench.errors import InputError, KeyRejectedError
from workbench.settings import Endpoint, Settings, find_endpoint, load_settings, normalised_url, read_environment

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize(
    "url",
    [
        "https://Chat.Example.org",
        "https://chat.example.org/",
        "https://chat.example.org/api",
        "https://chat.example.org/api/v1/",
    ],
)
def test_the_base_url_works_with_and_without_api(url: str) -> None:
    assert normalised_url(url) == "https://chat.example.org"


def test_a_path_in_front_of_api_is_kept() -> None:
    assert normalised_url("http://h:8080/team/api") == "http://h:8080/team"
    assert normalised_url("https://h:443/api") == normalised_url("https://h") == "https://h"


@pytest.mark.parametrize(
    "url",
    [
        "chat.example.org",
        "ftp://x",
        "http://",
        "https://user:pw@host",
        "https://h/?a=1",
        "http://[::1",
        "http://a..b",
        "http://h:abc",
    ],
)
def test_what_is_no_base_url_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        normalised_url(url)


def test_a_missing_endpoint_is_noticed_before_a_missing_key() -> None:
    with pytest.raises(InputError, match="no endpoint is configured"):
        find_endpoint(Settings(), {})
    with pytest.raises(KeyRejectedError, match="WORKBENCH_API_KEY"):
        find_endpoint(Settings(), {"WORKBENCH_BASE_URL": "http://h"})


def test_a_key_goes_only_where_its_own_url_points() -> None:
    environment = {"WORKBENCH_BASE_URL": "http://ours", "OPENAI_BASE_URL": "http://theirs", "OPENAI_API_KEY": KEY}
    with pytest.raises(KeyRejectedError):
        find_endpoint(Settings(), environment)
    del environment["WORKBENCH_BASE_URL"]
    assert find_endpoint(Settings(), environment).key == KEY
    with pytest.raises(KeyRejectedError):
        find_endpoint(Settings(), environment, base_url="http://elsewhere")


def test_the_key_is_not_shown() -> None:
    endpoint = Endpoint("http://h", KEY, "http://h")
    assert KEY not in repr(endpoint)
    assert KEY not in f"{endpoint}"
    assert endpoint.key_fingerprint in repr(endpoint)


@pytest.mark.parametrize("key", ["  ", "\n"])
def test_a_blank_key_is_no_key(key: str) -> None:
    with pytest.raises(KeyRejectedError):
        find_endpoint(Settings(), {"WORKBENCH_BASE_URL": "http://h", "WORKBENCH_API_KEY": key})


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown() -> None:
    with pytest.raises(KeyRejectedError) as caught:
        find_endpoint(Settings(), {"WORKBENCH_BASE_URL": "http://h", "WORKBENCH_API_KEY": "sk-…1234"})
    assert "1234" not in str(caught.value)


def test_profiles_and_dot_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAB_KEY", raising=False)
    (tmp_path / "workbench.toml").write_text(
        'default_profile = "lab"\n[profiles.lab]\nbase_url = "http://lab/api"\nkey_env = "LAB_KEY"\n'
        '[profiles.file]\nbase_url = "http://file"\nkey_file = "' + str(tmp_path / "key") + '"\n'
    )
    (tmp_path / ".env").write_text(f"LAB_KEY={KEY}\n")
    (tmp_path / "key").write_text("sk-from-file\n")
    settings, environment = load_settings(tmp_path), read_environment(tmp_path)
    assert find_endpoint(settings, environment).key == KEY
    assert find_endpoint(settings, environment, profile="file").key == "sk-from-file"
    with pytest.raises(InputError, match="did you mean 'lab'"):
        find_endpoint(settings, environment, profile="lap")


def test_unknown_settings_are_refused_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "workbench.toml").write_text('[profiles.lab]\nbase_url = "x"\nkey = "sk-1"\n')
    with pytest.raises(InputError, match=r"workbench\.toml:3: profiles\.lab\.key: unknown key"):
        load_settings(tmp_path)


def test_a_signature_must_be_a_regular_expression(tmp_path: Path) -> None:
    (tmp_path / "workbench.toml").write_text('[allowance]\nsignature = "("\n')
    with pytest.raises(InputError, match="not a valid regular expression"):
        load_settings(tmp_path)
