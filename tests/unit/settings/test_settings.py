from pathlib import Path

import pytest

from workbench.errors import InputError, KeyRejectedError
from workbench.settings.endpoint import Endpoint, find_endpoint
from workbench.settings.environment import Environment, found_upward, read_environment
from workbench.settings.file import Settings, load_settings
from workbench.settings.urls import normalised_url

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
        find_endpoint(Settings(), Environment({}))
    with pytest.raises(KeyRejectedError, match="WORKBENCH_API_KEY"):
        find_endpoint(Settings(), Environment({"WORKBENCH_BASE_URL": "http://h"}))


def test_a_key_goes_only_where_its_own_url_points() -> None:
    environment = {"WORKBENCH_BASE_URL": "http://ours", "OPENAI_BASE_URL": "http://theirs", "OPENAI_API_KEY": KEY}
    with pytest.raises(KeyRejectedError):
        find_endpoint(Settings(), Environment(environment))
    del environment["WORKBENCH_BASE_URL"]
    assert find_endpoint(Settings(), Environment(environment)).key == KEY
    with pytest.raises(KeyRejectedError):
        find_endpoint(Settings(), Environment(environment), base_url="http://elsewhere")


def test_the_key_is_not_shown() -> None:
    endpoint = Endpoint("http://h", KEY, "http://h")
    assert KEY not in repr(endpoint)
    assert KEY not in f"{endpoint}"
    assert endpoint.key_fingerprint in repr(endpoint)


@pytest.mark.parametrize("key", ["  ", "\n"])
def test_a_blank_key_is_no_key(key: str) -> None:
    with pytest.raises(KeyRejectedError):
        find_endpoint(Settings(), Environment({"WORKBENCH_BASE_URL": "http://h", "WORKBENCH_API_KEY": key}))


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (f"Bearer {KEY}", "begins with 'Bearer '"),
        (f'"{KEY}"', "is in quotes"),
        ("sk-...", "is a placeholder or was cut"),
        (f"{KEY} {KEY}", "characters that no HTTP header can carry"),
    ],
)
def test_a_key_that_was_copied_wrong_is_named_by_its_variable(key: str, problem: str) -> None:
    given = Environment({"WORKBENCH_BASE_URL": "http://h", "WORKBENCH_API_KEY": key})
    with pytest.raises(KeyRejectedError, match=f"the API key in WORKBENCH_API_KEY .*{problem}") as caught:
        find_endpoint(Settings(), given)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("127.0.0.1:8080", "did you mean 'http://127.0.0.1:8080'?"),
        ("https://h?x=1", r"must not have a query or fragment \(https://h\)"),
        ("https://h#x", "must not have a query or fragment"),
        ("http://h h", "has no valid host name"),
        ("http://h:99999", "is not a URL"),
        ("https://h/api/chat/completions", r"is more than the base URL \(use https://h\)"),
        ("https://h/team/v1", r"is more than the base URL \(use https://h/team\)"),
        ("https://h/api/models/", r"is more than the base URL \(use https://h\)"),
    ],
)
def test_a_url_says_what_is_wrong_with_it(url: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"WORKBENCH_BASE_URL: .*{problem}"):
        find_endpoint(Settings(), Environment({"WORKBENCH_BASE_URL": url, "WORKBENCH_API_KEY": KEY}))


def test_an_empty_flag_is_not_the_environment() -> None:
    with pytest.raises(InputError, match="--base-url: it is empty"):
        find_endpoint(
            Settings(), Environment({"WORKBENCH_BASE_URL": "http://h", "WORKBENCH_API_KEY": KEY}), base_url=""
        )


def test_a_misspelt_variable_is_noticed() -> None:
    with pytest.raises(InputError, match="WORKBENCH_BASEURL is set; did you mean 'WORKBENCH_BASE_URL'"):
        find_endpoint(Settings(), Environment({"WORKBENCH_BASEURL": "http://h"}))


def test_a_file_does_not_send_the_environments_key_to_another_host(tmp_path: Path) -> None:
    ours = {"OPENAI_API_KEY": KEY}
    file = Environment(ours, {"OPENAI_BASE_URL": "http://theirs"}, tmp_path / ".env")
    with pytest.raises(InputError, match=r"is for https://api\.openai\.com, not for http://theirs"):
        find_endpoint(Settings(), file)
    empty = Environment(ours | {"OPENAI_BASE_URL": ""}, {"OPENAI_BASE_URL": "http://theirs"}, tmp_path / ".env")
    with pytest.raises(InputError, match="OPENAI_BASE_URL=http://theirs in the environment sends it there"):
        find_endpoint(Settings(), empty)
    both = Environment(ours, {"OPENAI_BASE_URL": "http://theirs", "OPENAI_API_KEY": "sk-their-own-key"})
    with pytest.raises(InputError, match="not for http://theirs"):  # the environment's comes first
        find_endpoint(Settings(), both)
    own = Environment({}, {"OPENAI_BASE_URL": "http://theirs", "OPENAI_API_KEY": "sk-their-own-key"})
    assert find_endpoint(Settings(), own).key == "sk-their-own-key"
    (tmp_path / "workbench.toml").write_text('default_profile = "lab"\n[profiles.lab]\nbase_url = "http://theirs"\n')
    settings = load_settings(tmp_path)
    mine = Environment({"WORKBENCH_BASE_URL": "http://ours", "WORKBENCH_API_KEY": KEY})
    with pytest.raises(InputError, match="is for http://ours, not for http://theirs"):
        find_endpoint(settings, mine)
    assert find_endpoint(settings, mine, profile="lab").base_url == "http://theirs", "it was asked for"
    assert find_endpoint(settings, mine, base_url="http://theirs").base_url == "http://theirs"


def test_files_are_found_up_to_the_repositorys_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "repository" / "jobs" / "nightly"
    inner.mkdir(parents=True)
    (tmp_path / ".env").write_text("A=above\n")
    assert found_upward(inner, ".env") is None, "neither a repository nor a home folder is around it"
    (tmp_path / "repository" / ".git").mkdir()
    assert found_upward(inner, ".env") is None, "the repository ends below it"
    (tmp_path / "repository" / ".env").write_text("A=within\n")
    assert found_upward(inner, ".env") == tmp_path / "repository" / ".env"
    (inner / ".env").write_text("A=nearest\n")
    assert read_environment(inner, of_shell=False).get("A") == "nearest"
    (inner / ".env").unlink()
    (tmp_path / "repository" / ".git").rmdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "repository" / ".env").unlink()
    assert read_environment(inner, of_shell=False).get("A") == "above"


@pytest.mark.parametrize("line", ["hello", "A B=1", "WORKBENCH_API_KEY"])
def test_a_line_of_dotenv_that_sets_nothing_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"A=1\n{line}\n")
    with pytest.raises(InputError, match=r"\.env:2: expected NAME=VALUE"):
        read_environment(tmp_path)


def test_an_unknown_time_zone_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "workbench.toml").write_text('[account]\ntime_zone = "Europe/Berln"\n')
    with pytest.raises(InputError, match=r"workbench\.toml:2: account\.time_zone: .* \(did you mean 'Europe/Berlin'"):
        load_settings(tmp_path)


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown() -> None:
    with pytest.raises(KeyRejectedError) as caught:
        find_endpoint(Settings(), Environment({"WORKBENCH_BASE_URL": "http://h", "WORKBENCH_API_KEY": "sk-…1234"}))
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


def test_the_folder_of_shared_slots_is_the_same_wherever_a_command_runs(tmp_path: Path) -> None:
    (tmp_path / "workbench.toml").write_text('reports_mode = "shared"\nslots_folder = "slots"\n')
    with pytest.raises(InputError, match=r"workbench\.toml:2: slots_folder: 'slots' is a relative path"):
        load_settings(tmp_path)
    (tmp_path / "workbench.toml").write_text('slots_folder = "~/slots"\n')
    assert load_settings(tmp_path).slots_folder == "~/slots"


def test_a_signature_must_be_a_regular_expression(tmp_path: Path) -> None:
    (tmp_path / "workbench.toml").write_text('[allowance]\nsignature = "("\n')
    with pytest.raises(InputError, match=r"workbench\.toml:2: allowance\.signature: not a valid regular expression"):
        load_settings(tmp_path)


def test_an_empty_variable_hides_none_of_the_file() -> None:
    environment = Environment({"LAB_KEY": "", "OTHER": "x"}, {"LAB_KEY": "from the file"})
    assert environment.values() == {"LAB_KEY": "from the file", "OTHER": "x"}
    assert environment.get("LAB_KEY") == "from the file"
