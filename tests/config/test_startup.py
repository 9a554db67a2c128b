"""The checked copy that makes the start quick: when it is used, and that nothing about it can do harm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acpagent.config import locate, startup
from acpagent.config.problems import ConfigError
from tests.config.home import LOCAL, Home
from tests.repository.sources import ROOT

SEEING = LOCAL.replace("tiny: {}", "tiny: {}\n      seer: {vision: true}")


def read(home: Home, flag: str | None = None) -> tuple[str | None, bool]:
    found = startup.read(str(home), flag)
    return found.model, found.images


def copy_of(home: Home) -> Path:
    return Path(locate.startup_file(str(home)))


def poison(home: Home) -> None:
    """Change the copy in a way that shows whether it was used."""
    path = copy_of(home)
    kept = json.loads(path.read_text())
    kept["models"] = [["from", "copy", True]]
    kept["start"] = 0
    path.write_text(json.dumps(kept))


def test_unconfigured(home: Home) -> None:
    found = startup.read(str(home))
    assert (found.configured, found.model, found.images) == (False, None, False)
    assert startup.read(str(home), "any").configured is False
    assert not copy_of(home).exists()
    assert startup.read(f"{home}/absent").configured is False


def test_no_providers(home: Home) -> None:
    home.write("language: en\n")
    assert read(home) == read(home, "any") == (None, False)


@pytest.mark.parametrize(
    ("flag", "found"),
    [
        (None, ("local/tiny", False)),
        ("seer", ("local/seer", True)),
        ("local/seer", ("local/seer", True)),
        ("local", ("local/tiny", False)),
    ],
)
def test_same_answer_with_and_without_the_copy(home: Home, flag: str | None, found: tuple[str | None, bool]) -> None:
    home.write(SEEING)
    assert not copy_of(home).exists()
    assert read(home, flag) == found
    assert copy_of(home).exists()
    assert read(home, flag) == found


def test_default_model_decides(home: Home) -> None:
    home.write(SEEING + "default_model: seer\n")
    assert read(home) == read(home) == ("local/seer", True)


def test_scripted_provider_counts(home: Home) -> None:
    home.write("providers: {r: {api: scripted, script: demo.yaml}}\n")
    assert startup.read(str(home)).configured is True


def test_provider_without_its_key_counts(home: Home) -> None:
    home.write(LOCAL + "    api_key_env: SURELY_NOT_SET\n")
    assert startup.read(str(home)).configured is True


def test_the_copy_is_used(home: Home) -> None:
    home.write(LOCAL)
    read(home)
    poison(home)
    assert read(home) == ("from/copy", True)


def test_another_size_or_time_is_another_configuration(home: Home) -> None:
    home.write(LOCAL)
    read(home)
    poison(home)
    home.write(LOCAL.replace("tiny", "small"))
    assert read(home) == ("local/small", False)
    poison(home)
    before = home.config.stat()
    home.write(LOCAL.replace("tiny", "large"))  # as long as `small`
    os.utime(home.config, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert home.config.stat().st_size == before.st_size
    assert read(home) == ("local/large", False)


def test_another_version_reads_anew(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(LOCAL)
    read(home)
    poison(home)
    monkeypatch.setattr(startup, "__version__", "99")
    assert read(home) == ("local/tiny", False)


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: "",
        lambda kept: "{",
        lambda kept: "[]",
        lambda kept: "null",
        lambda kept: "[" * 100_000,
        lambda kept: json.dumps({**kept, "models": None}),
        lambda kept: json.dumps({**kept, "models": [["a", "b"]]}),
        lambda kept: json.dumps({**kept, "models": [[1, 2, True]]}),
        lambda kept: json.dumps({**kept, "start": 5}),
        lambda kept: json.dumps({**kept, "start": None}),
        lambda kept: json.dumps({**kept, "start": -1}),
        lambda kept: json.dumps({"key": kept["key"]}),
        lambda kept: json.dumps({**kept, "key": []}),
    ],
)  # fmt: skip
def test_a_broken_copy_is_replaced(home: Home, change: object) -> None:
    home.write(LOCAL)
    read(home)
    whole = copy_of(home).read_text()
    copy_of(home).write_text(change(json.loads(whole)))  # type: ignore[operator]
    assert read(home) == ("local/tiny", False)
    assert copy_of(home).read_text() == whole


def test_bytes_that_are_no_text(home: Home) -> None:
    home.write(LOCAL)
    read(home)
    copy_of(home).write_bytes(b"\xff\xfe")
    assert read(home) == ("local/tiny", False)


def test_a_copy_that_cannot_be_written(home: Home) -> None:
    home.write(LOCAL)
    (home.path / "cache").write_text("in the way")
    assert read(home) == read(home) == ("local/tiny", False)


def test_a_copy_that_cannot_be_moved_to_its_place(home: Home) -> None:
    home.write(LOCAL)
    copy_of(home).mkdir(parents=True)
    assert read(home) == ("local/tiny", False)
    assert [path.name for path in copy_of(home).parent.iterdir()] == ["startup.json"]


def test_a_malformed_configuration_is_reported_every_time(home: Home) -> None:
    home.write(LOCAL)
    read(home)
    home.write("profile: none\n")
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"config\.yaml:1: profile: must be one of"):
            read(home)
    home.write(LOCAL)
    assert read(home) == ("local/tiny", False)


def test_a_flag_that_names_no_model(home: Home) -> None:
    home.write(LOCAL)
    for _ in range(2):
        with pytest.raises(ConfigError) as caught:
            read(home, "big")
        assert str(caught.value) == "--model: no model 'big' is configured; configured are local/tiny"


def test_a_home_that_is_a_file(home: Home) -> None:
    shutil.rmtree(home.path)
    home.path.write_text("")
    with pytest.raises(ConfigError, match="cannot be read"):
        read(home)


def test_a_file_changed_while_it_is_read_is_not_kept(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(LOCAL)
    load = startup._load

    def change_after(where: str) -> startup.Kept:
        kept = load(where)
        home.write(SEEING)
        return kept

    monkeypatch.setattr(startup, "_load", change_after)
    read(home)
    assert not copy_of(home).exists()


def test_what_the_copy_costs(home: Home) -> None:
    """With a good copy nothing is imported but what the start has loaded anyway."""
    home.write(LOCAL)
    read(home)
    code = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
from acpagent.config import startup
assert startup.read(sys.argv[2]).configured
print(*sorted(set(sys.modules) - before))
"""
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT), str(home)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    ours = {"acpagent", "acpagent.version", "acpagent.config"}
    ours |= {f"acpagent.config.{name}" for name in ("language", "locate", "problems", "selection", "startup")}
    ours |= {"acpagent.core", "acpagent.core.catalogue"}
    assert set(loaded) - {"__future__"} == ours
