"""Where keys come from, and that nothing shows them."""

from __future__ import annotations

import copy
import pickle
import traceback

import pytest

from acpagent.config import credentials
from acpagent.config.credentials import Secret, find_key, has_key
from acpagent.config.problems import ConfigError
from acpagent.config.settings import ProviderSettings
from tests.config.home import Home

KEY = "sk-0123456789"
KEYED = ProviderSettings("local", "openai-chat", "http://127.0.0.1/v1", api_key_env="LOCAL_KEY")
KEYLESS = ProviderSettings("local", "openai-chat", "http://127.0.0.1/v1")
SCRIPTED = ProviderSettings("local", "scripted", script="demo.yaml")


def keep(home: Home, text: str, mode: int = 0o600) -> None:
    home.credentials.write_text(text)
    home.credentials.chmod(mode)


def refused(home: Home, environ: dict[str, str] | None = None) -> str:
    """What is said about credentials that cannot be used; never the key."""
    with pytest.raises(ConfigError) as caught:
        find_key(str(home), KEYED, environ or {})
    assert KEY not in "".join(traceback.format_exception(caught.value))
    (problem,) = caught.value.problems
    assert problem.remedy
    return str(problem)


def test_from_the_environment(home: Home) -> None:
    assert find_key(str(home), KEYED, {"LOCAL_KEY": f" {KEY}\n"}) == Secret(KEY)


def test_from_the_file(home: Home) -> None:
    keep(home, f"other: x\nlocal: {KEY}\n")
    assert find_key(str(home), KEYED, {}) == Secret(KEY)


def test_the_environment_wins(home: Home) -> None:
    keep(home, "local: from-file\n")
    assert find_key(str(home), KEYED, {"LOCAL_KEY": KEY}) == Secret(KEY)


def test_an_empty_variable_is_none(home: Home) -> None:
    keep(home, f"local: {KEY}\n")
    assert find_key(str(home), KEYED, {"LOCAL_KEY": " "}) == Secret(KEY)


def test_a_corrected_key_is_found_at_once(home: Home) -> None:
    keep(home, "local: old\n")
    assert find_key(str(home), KEYED, {}) == Secret("old")
    keep(home, f"local: {KEY}\n")
    assert find_key(str(home), KEYED, {}) == Secret(KEY)


@pytest.mark.parametrize(
    ("provider", "environ", "stored", "key", "ready"),
    [
        (KEYED, {}, "", None, False),
        (KEYED, {"LOCAL_KEY": KEY}, "", KEY, True),
        (KEYED, {}, f"local: {KEY}\n", KEY, True),
        (KEYED, {}, f"other: {KEY}\n", None, False),
        (KEYLESS, {}, "", None, True),
        (KEYLESS, {"LOCAL_KEY": KEY}, "", None, True),
        (KEYLESS, {}, f"local: {KEY}\n", KEY, True),
        (SCRIPTED, {}, f"local: {KEY}\n", None, True),
    ],
)
def test_who_has_a_key(
    home: Home, provider: ProviderSettings, environ: dict[str, str], stored: str, key: str | None, ready: bool
) -> None:
    keep(home, stored)
    assert find_key(str(home), provider, environ) == (Secret(key) if key else None)
    assert has_key(str(home), provider, environ) is ready


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_file_that_others_can_read_is_refused(home: Home, mode: int) -> None:
    keep(home, f"local: {KEY}\n", mode)
    said = refused(home)
    assert f"{mode:04o}" in said
    assert said.endswith(f"run: chmod 600 '{home.credentials}'")
    home.credentials.chmod(0o400)
    assert find_key(str(home), KEYED, {}) == Secret(KEY)


@pytest.mark.parametrize(
    "text",
    [
        "a: b\nlocal: 12345\n",
        "a: b\nlocal:\n",
        f"a: b\nlocal: [{KEY}]\n",
        f"a: b\nlocal: {KEY} {KEY}\n",
        f"a: b\nlocal: {KEY}é\n",
        f'a: b\nlocal: "{KEY}\\r\\nX: y"\n',
        f"a: b\nlocal: *{KEY}\n",
        f"a: b\nlocal: !{KEY} x\n",
        f"a: b\nlocal: '{KEY}\n",
        f"a: b\nlocal: @{KEY}\n",
        f"a: b\n\t{KEY}: c\n",
    ],
)
def test_keys_that_cannot_be_used(home: Home, text: str) -> None:
    keep(home, text)
    said = refused(home)
    assert said.startswith((f"{home.credentials}:2: ", f"{home.credentials}:3: "))


def test_a_file_without_names(home: Home) -> None:
    keep(home, f"{KEY}\n")
    assert refused(home).startswith(f"{home.credentials}:1: must hold keys and values")


def test_a_folder_in_place_of_the_file(home: Home) -> None:
    home.credentials.mkdir(mode=0o700)
    assert "cannot be read" in refused(home)


@pytest.mark.parametrize("text", [f"{KEY}\n{KEY}", f"{KEY}ü", f"{KEY}\x00"])
def test_a_variable_that_cannot_be_sent(home: Home, text: str) -> None:
    assert refused(home, {"LOCAL_KEY": text}).startswith("$LOCAL_KEY: is not a key that can be sent")


def test_no_home_yet(home: Home) -> None:
    assert find_key(f"{home}/absent", KEYED, {}) is None
    assert credentials.read_file(f"{home}/absent/credentials.yaml") == {}


def test_a_secret_is_shown_nowhere() -> None:
    secret = Secret(KEY)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>40}", "%s" % secret, repr([secret])]  # noqa: UP031
    assert not [text for text in shown if KEY in text]
    assert secret.reveal() == KEY
    assert not hasattr(secret, "__dict__")
    for escape in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not written"):
            escape(secret)


def test_secrets_compare_by_content() -> None:
    assert Secret(KEY) == Secret(KEY)
    assert len({Secret(KEY), Secret(KEY), Secret("other")}) == 2
    assert Secret(KEY) != KEY
