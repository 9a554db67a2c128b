"""What a good configuration becomes."""

from __future__ import annotations

import dataclasses
import re

import pytest

from acpagent.config import credentials, presets, selection
from acpagent.config.settings import (
    FetchSettings,
    Limits,
    ModelSettings,
    PermissionSettings,
    Price,
    Retries,
    Settings,
    Timeouts,
)
from tests.config.home import LOCAL, Home

WHOLE = """
default_model: local/tiny
profile: delivery
tool_approval: auto
language: ru
providers:
  local:
    api: openai-chat
    base_url: http://127.0.0.1:8080/v1
    api_key_env: LOCAL_KEY
    headers: {X-Team: blue}
    timeouts: {connect: 5, read: 60.5}
    models:
      tiny:
        context_window: 32768
        max_output_tokens: 4096
        vision: true
        efforts: [low, medium, high]
        price: {input: 1, cached: 0.1, output: 2.5, currency: EUR, per: 1000}
  rehearsal:
    api: scripted
    script: demo.yaml
limits:
  turn_requests: 7
  goal_rounds_without_progress: 2
  command_seconds: 1.5
  output_bytes: 2048
  session_tokens: 1000
  session_cost: 2.5
fetch:
  allow_private: [localhost, 10.0.0.1, "[::1]"]
permissions:
  allow: ["Bash(git status:*)"]
  ask: [WebFetch]
  deny: ["Bash(rm -rf:*)", "mcp__db__drop"]
mcp_servers:
  files:
    {command: serve-files, args: [--root, .], env: {LEVEL: "1"}, call_timeout_seconds: 9,
     tool_timeout_seconds: {x: 2.5}}
  web: {type: sse, url: "https://example.org/sse", headers: {X-A: b}}
skills: {paths: [skills, ~/more, /opt/skills]}
"""


def test_everything(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    loaded = home.load(WHOLE)
    assert (loaded.home, loaded.default_model, loaded.profile) == (str(home), "local/tiny", "delivery")
    assert (loaded.tool_approval, loaded.language) == ("auto", "ru")
    local = loaded.providers["local"]
    assert (local.name, local.api, local.base_url) == ("local", "openai-chat", "http://127.0.0.1:8080/v1")
    assert (local.api_key_env, dict(local.headers), local.script) == ("LOCAL_KEY", {"X-Team": "blue"}, None)
    assert local.timeouts == Timeouts(5, 60.5)
    price = Price(input=1, cached=0.1, output=2.5, currency="EUR", per=1000)
    efforts = ("low", "medium", "high")
    assert local.models["tiny"] == ModelSettings("local", "tiny", 32768, 4096, True, efforts, price)
    assert loaded.limits == Limits(7, 2, 1.5, 2048, 1000, 2.5)
    assert loaded.fetch == FetchSettings(("localhost", "10.0.0.1", "[::1]"))
    deny = ("Bash(rm -rf:*)", "mcp__db__drop")
    assert loaded.permissions == PermissionSettings(("Bash(git status:*)",), ("WebFetch",), deny)
    files, web = loaded.mcp_servers["files"], loaded.mcp_servers["web"]
    assert (files.type, files.command, files.args) == ("stdio", "serve-files", ("--root", "."))
    assert (dict(files.env), files.url) == ({"LEVEL": "1"}, None)
    assert (files.startup_seconds, files.call_seconds, dict(files.tool_seconds)) == (30, 9, {"x": 2.5})
    assert (web.type, web.url, dict(web.headers)) == ("sse", "https://example.org/sse", {"X-A": "b"})
    assert loaded.skill_paths == (f"{home}/skills", "/somewhere/more", "/opt/skills")


def test_it_is_frozen(home: Home) -> None:
    loaded = home.load(WHOLE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.language = "fr"  # type: ignore[misc]
    with pytest.raises(TypeError):
        loaded.providers["other"] = loaded.providers["local"]  # type: ignore[index]


def test_secrets_stay_out_of_the_repr(home: Home) -> None:
    shown = repr(home.load(WHOLE.replace("blue", "s3cret").replace('LEVEL: "1"', "KEY: s3cret")))
    assert "s3cret" not in shown
    assert "serve-files" in shown


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "providers:\nlimits:\n", "---\n"])
def test_an_empty_file_means_defaults(home: Home, text: str) -> None:
    assert home.load(text) == Settings(str(home))


def test_no_file_means_defaults(home: Home) -> None:
    loaded = home.load()
    assert loaded == Settings(str(home))
    assert (loaded.profile, loaded.tool_approval, loaded.language) == ("balanced", "ask", "auto")
    assert loaded.limits == Limits(100, 3, 120, 65536, None)
    assert not loaded.models


def test_defaults_of_a_model(home: Home) -> None:
    model = home.load(LOCAL).model()
    assert model == ModelSettings("local", "tiny", 128_000, None, False, (), None)
    assert model.id == "local/tiny"


def test_cached_costs_as_much_as_input_where_nothing_is_said(home: Home) -> None:
    price = home.load(LOCAL.replace("tiny: {}", "tiny: {price: {input: 3, output: 4}}")).model().price
    assert price == Price(input=3, cached=3, output=4, currency="USD", per=1_000_000)


def test_whole_numbers_written_with_a_point(home: Home) -> None:
    limit = home.load("limits: {turn_requests: 10.0}").limits.turn_requests
    assert (limit, type(limit)) == (10, int)


def test_keys_are_texts_as_written(home: Home) -> None:
    loaded = home.load(LOCAL.replace("tiny: {}", "4.50:\n      yes:"))
    assert [model.name for model in loaded.models] == ["4.50", "yes"]


def test_aliases_and_merges(home: Home) -> None:
    loaded = home.load("""
        providers:
          one: &one
            api: openai-chat
            base_url: http://127.0.0.1:1/v1
            models: {a: }
          two: {<<: *one, base_url: "http://127.0.0.1:2/v1"}
    """)
    assert loaded.providers["two"].base_url == "http://127.0.0.1:2/v1"
    assert [model.id for model in loaded.models] == ["one/a", "two/a"]


# -- scripted providers


@pytest.mark.parametrize(
    ("written", "script", "model"),
    [
        ("demo.yaml", "demo.yaml", "demo"),
        ("./mine.yaml", "{home}/mine.yaml", "mine"),
        ("scripts/x.y.yaml", "{home}/scripts/x.y.yaml", "x.y"),
        ("/opt/other.yaml", "/opt/other.yaml", "other"),
    ],
)
def test_scripts(home: Home, written: str, script: str, model: str) -> None:
    provider = home.load(f"providers: {{p: {{api: scripted, script: {written}}}}}").providers["p"]
    assert provider.script == script.format(home=home)
    assert list(provider.models) == [model]


def test_a_scripted_provider_may_describe_its_models(home: Home) -> None:
    loaded = home.load("providers: {p: {api: scripted, script: a.yaml, models: {eyes: {vision: true}}}}")
    assert [(model.id, model.vision) for model in loaded.models] == [("p/eyes", True)]


def test_a_model_in_a_file(home: Home) -> None:
    """Named after it; without a window of its own the file tells how large that is."""
    text = "providers: {mine: {api: llama-cpp, model_file: models/small.gguf}}"
    (model,) = home.load(text).models
    assert (model.id, model.context_window) == ("mine/small", 0)
    provider = home.load(text).providers["mine"]
    assert provider.model_file == str(home.path / "models" / "small.gguf")
    assert credentials.find_key(str(home.path), provider) is None
    loaded = home.load(text.replace("small.gguf", "small.gguf, models: {little: {context_window: 2048}}"))
    assert [(model.id, model.context_window) for model in loaded.models] == [("mine/little", 2048)]


def test_retries_and_tools(home: Home) -> None:
    loaded = home.load(LOCAL).providers["local"]
    assert (loaded.retries, loaded.models["tiny"].tools) == (Retries(4, 0.5), True)
    text = LOCAL.replace("{}", "{tools: false}") + "    retries: {tries: 2, base_seconds: 0}\n"
    loaded = home.load(text).providers["local"]
    assert (loaded.retries, loaded.models["tiny"].tools) == (Retries(2, 0), False)


# -- presets


def test_presets_are_good_providers(home: Home) -> None:
    for name, preset in presets.load().items():
        loaded = home.load(f"providers: {{{name}: {{models: {{m: }}}}}}").providers[name]
        assert (loaded.api, loaded.base_url) == (preset["api"], preset["base_url"])
        assert loaded.api_key_env == preset.get("api_key_env")


def test_a_preset_knows_models(home: Home) -> None:
    """All of them are there if none is written, and each of them is usable as it stands."""
    for name, preset in presets.load().items():
        if "models" not in preset:
            continue
        loaded = home.load(f"providers: {{{name}: }}").providers[name]
        assert list(loaded.models) == list(preset["models"])
        for model, figures in preset["models"].items():
            assert re.fullmatch(r"2026-\d\d-\d\d", figures["as_of"])
            assert loaded.models[model].context_window == figures["context_window"]
            price = loaded.models[model].price
            assert (price.as_of if price else "") == (figures["as_of"] if "price" in figures else "")


def test_what_is_written_of_a_model_beats_what_is_known(home: Home) -> None:
    text = "providers: {anthropic: {models: {claude-haiku-4-5: {max_output_tokens: 9, efforts: []}, other: }}}"
    known, other = home.load(text).providers["anthropic"].models.values()
    assert (known.context_window, known.max_output_tokens, known.efforts) == (200_000, 9, ())
    assert known.price is not None
    assert dataclasses.replace(known.price, as_of="") == Price(1, 0.1, 5, written=1.25)
    assert (other.context_window, other.price) == (128_000, None)


def test_a_preset_leaves_a_provider_of_ones_own_alone(home: Home) -> None:
    """Its key must not go to another server."""
    loaded = home.load(LOCAL.replace("local:", "openai:")).providers["openai"]
    assert (loaded.base_url, loaded.api_key_env) == ("http://127.0.0.1:8080/v1", None)


def test_what_is_written_beats_the_preset(home: Home) -> None:
    loaded = home.load("providers: {openai: {api_key_env: WORK_KEY, models: {m: }}}").providers["openai"]
    assert loaded.api_key_env == "WORK_KEY"


# -- which model a name means

TWO = """
providers:
  a:
    api: openai-chat
    base_url: http://127.0.0.1:1/v1
    models: {one: , both: , org/deep: }
  b:
    api: openai-chat
    base_url: http://127.0.0.1:2/v1
    models: {two: , both: , a: }
"""


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, "a/one"),
        ("b/both", "b/both"),
        ("b", "b/two"),
        ("two", "b/two"),
        ("org/deep", "a/org/deep"),
        ("a/org/deep", "a/org/deep"),
        ("a", "a/one"),
    ],
)
def test_models_by_name(home: Home, wanted: str | None, found: str) -> None:
    assert home.load(TWO).model(wanted).id == found


def test_default_model(home: Home) -> None:
    assert home.load("default_model: two\n" + TWO).model().id == "b/two"


@pytest.mark.parametrize(("wanted", "says"), [("both", "write one of a/both, b/both"), ("x/y", "configured are a/one")])
def test_names_that_mean_no_model(home: Home, wanted: str, says: str) -> None:
    with pytest.raises(selection.UnknownModel, match=says):
        home.load(TWO).model(wanted)


def test_no_model_at_all(home: Home) -> None:
    with pytest.raises(selection.UnknownModel):
        home.load().model()


_WORDS = {"eco": "economy", "Lite": "economy", "full": "balanced", '""': "balanced", "quality": "delivery"}


@pytest.mark.parametrize(("word", "mode"), _WORDS.items())
def test_another_word_for_a_work_mode(home: Home, word: str, mode: str) -> None:
    assert home.load(f"profile: {word}\n").profile == mode


def test_what_can_be_chosen_of_models_and_efforts(home: Home) -> None:
    loaded = home.load(
        """
providers:
  one: {api: openai-chat, base_url: http://127.0.0.1:1/v1, models: {b: {efforts: [low, auto, high]}, a: {}}}
  two: {api: openai-chat, base_url: http://127.0.0.1:2/v1, models: {b: {}}}
"""
    )
    assert loaded.catalogue() == (("one/b", "one"), ("one/a", "one"), ("two/b", "two"))
    assert loaded.efforts("one/b") == ("auto", "low", "high")
    assert loaded.efforts("one/a") == loaded.efforts("two/c") == ()
