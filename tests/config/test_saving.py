"""config.yaml and credentials.yaml as they are written for the person."""

from __future__ import annotations

import os
import stat
import traceback
from pathlib import Path

import pytest

from acpagent.config import credentials, saving, settings
from acpagent.config.credentials import Secret
from acpagent.config.edit import Unchangeable
from acpagent.config.problems import ConfigError
from tests.config.home import LOCAL, Home

KEY = "sk-canary-0123456789"
PROVIDER = {"api": "openai-chat", "models": {"deepseek-chat": {}}}
ADDED = {"default_model": "deepseek", "providers": {"deepseek": PROVIDER}}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def keys(home: Home) -> dict[str, str]:
    return {name: key.reveal() for name, key in credentials.read_file(str(home.credentials)).items()}


def test_a_first_configuration(tmp_path: Path) -> None:
    home = tmp_path / "not" / "there"
    saving.save_settings(str(home), ADDED)
    saving.save_key(str(home), "deepseek", Secret(KEY))
    assert settings.load(str(home)).model().id == "deepseek/deepseek-chat"
    assert mode(home) == 0o700
    assert mode(home / "credentials.yaml") == 0o600
    assert {path.name for path in home.iterdir()} == {"config.yaml", "credentials.yaml"}


def test_settings_are_added_to_what_is_there(home: Home) -> None:
    home.write(f"# mine\n{LOCAL}tool_approval: auto # please\n")
    home.config.chmod(0o640)
    saving.save_settings(str(home), ADDED)
    text = home.config.read_text()
    assert text.startswith("# mine\n")
    assert "tool_approval: auto # please" in text
    loaded = home.load()
    assert set(loaded.providers) == {"local", "deepseek"}
    assert loaded.model().id == "deepseek/deepseek-chat"
    assert mode(home.config) == 0o640


def test_a_file_that_is_wrong_is_not_touched(home: Home) -> None:
    for text in ("providers: [\n", "tool_aproval: ask\n", "default_model: nobody\n"):
        home.write(text)
        with pytest.raises(ConfigError) as caught:
            saving.save_settings(str(home), ADDED)
        assert caught.value.problems[0].file == str(home.config)
        assert home.config.read_text() == text


def test_a_change_that_makes_no_configuration_is_not_written(home: Home) -> None:
    home.write(LOCAL)
    with pytest.raises(ConfigError):
        saving.save_settings(str(home), {"default_model": "nobody/nothing"})
    assert home.config.read_text() == LOCAL


def test_a_key_beside_others(home: Home) -> None:
    home.credentials.write_text("# keys\nopenai: 'sk-old'  # work\nlocal: abc\n")
    home.credentials.chmod(0o600)
    saving.save_key(str(home), "deepseek", Secret(KEY))
    saving.save_key(str(home), "local", Secret("xyz"))
    assert keys(home) == {"openai": "sk-old", "local": "xyz", "deepseek": KEY}
    assert home.credentials.read_text().startswith("# keys\nopenai: 'sk-old'  # work\n")
    assert mode(home.credentials) == 0o600


@pytest.mark.parametrize("key", ["0123", "1e5", "yes", "null", "#x", "a:", "'", '"\\', "{[", "*a", "0x1F", "@%!"])
def test_keys_that_look_like_something_else(key: str, home: Home) -> None:
    saving.save_key(str(home), "1.5", Secret(key))
    saving.save_key(str(home), "other", Secret(key))
    saving.save_key(str(home), "1.5", Secret(key + key))
    assert keys(home) == {"1.5": key + key, "other": key}


def test_rights_of_others_are_taken_away(home: Home) -> None:
    home.credentials.write_text("local: abc\n")
    home.credentials.chmod(0o644)
    saving.save_key(str(home), "deepseek", Secret(KEY))
    assert mode(home.credentials) == 0o600
    assert keys(home) == {"local": "abc", "deepseek": KEY}


def test_a_key_is_never_readable_by_others_not_even_for_a_moment(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    real = os.open

    def watch(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        handle = real(path, flags, mode, **more)
        if flags & os.O_CREAT:
            opened.append(stat.S_IMODE(os.fstat(handle).st_mode))
        return handle

    monkeypatch.setattr(os, "open", watch)
    for _ in range(2):  # new, then replaced
        saving.save_key(str(home), "deepseek", Secret(KEY))
    assert opened == [0o600, 0o600]


def test_a_link_stays_one(home: Home, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.yaml"
    kept.write_text("local: abc\n")
    kept.chmod(0o600)
    home.credentials.symlink_to(kept)
    saving.save_key(str(home), "deepseek", Secret(KEY))
    assert home.credentials.is_symlink()
    assert KEY in kept.read_text()


def test_credentials_that_cannot_be_used_are_not_touched(home: Home) -> None:
    for text in (f"deepseek: [{KEY}\n", f"- {KEY}\n", f"a: &k {KEY}\ndeepseek: *k\n"):
        home.credentials.write_text(text)
        home.credentials.chmod(0o600)
        with pytest.raises((ConfigError, Unchangeable)) as caught:
            saving.save_key(str(home), "deepseek", Secret("other"))
        assert KEY not in "".join(traceback.format_exception(caught.value))
        assert home.credentials.read_text() == text


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everything")
def test_a_folder_that_cannot_be_written(home: Home) -> None:
    home.path.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot be written"):
        saving.save_settings(str(home), ADDED)


def test_a_home_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        saving.save_key(str(tmp_path / "file" / "home"), "deepseek", Secret(KEY))


class TestRehearsal:
    """Whether writing can work, seen before."""

    def test_changes_nothing(self, tmp_path: Path) -> None:
        saving.rehearse(str(tmp_path / "not" / "there"))
        assert not list(tmp_path.iterdir())

    def test_what_is_there_may_be_extended(self, home: Home) -> None:
        home.write(LOCAL)
        home.credentials.write_text("local: abc\n")
        home.credentials.chmod(0o600)
        saving.rehearse(str(home))
        assert home.config.read_text() == LOCAL
        assert home.credentials.read_text() == "local: abc\n"

    def test_what_may_not(self, home: Home) -> None:
        home.write("providers: &all {}\nskills: *all\n")
        with pytest.raises(Unchangeable):
            saving.rehearse(str(home))
        home.config.unlink()
        home.credentials.write_text("- list\n")
        with pytest.raises(Unchangeable):
            saving.rehearse(str(home))

    def test_a_home_that_is_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(ConfigError, match="cannot be written"):
            saving.rehearse(str(tmp_path / "file" / "home"))

    @pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everything")
    def test_a_folder_that_cannot_be_written(self, home: Home) -> None:
        home.path.chmod(0o500)
        with pytest.raises(ConfigError, match="cannot be written"):
            saving.rehearse(str(home))
