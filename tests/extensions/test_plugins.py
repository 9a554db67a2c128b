"""Packages: their manifests, how they get into acpagent's home, and the record of them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acpagent.extensions import installing, manifest, plugins
from acpagent.extensions.manifest import MANIFEST, ManifestError
from acpagent.extensions.plugins import PluginError, UnknownPlugin
from tests.extensions.sidecars import EXAMPLE

PLAIN: dict[str, Any] = {"api": 1, "name": "probe", "version": "1.0.0", "description": "A probe"}


def write(folder: Path, written: Any = None, **fields: Any) -> Path:
    """A package with that manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    text = written if isinstance(written, str) else json.dumps(written if written is not None else PLAIN | fields)
    (folder / MANIFEST).write_text(text)
    return folder


def problems(folder: Path) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        manifest.read(str(folder))
    for problem in caught.value.problems:
        assert problem.file == str(folder / MANIFEST)
        assert problem.remedy
    return [str(problem).removeprefix(f"{folder / MANIFEST}") for problem in caught.value.problems]


# -- manifests


def test_the_least_there_is(tmp_path: Path) -> None:
    found = manifest.read(str(write(tmp_path)))
    assert (found.name, found.version, found.runtime, dict(found.contributes)) == ("probe", "1.0.0", None, {})


def test_the_example() -> None:
    found = manifest.read(str(EXAMPLE))
    assert found.runtime is not None
    assert (found.runtime.command, found.runtime.timeout, found.runtime.required) == ("python3", 5.0, False)
    assert [tool.reads_only for tool in found.runtime.tools] == [True]
    assert found.runtime.tools[0].parameters == {"type": "object", "properties": {}}


def test_a_tool_may_do_anything_unless_it_says_otherwise(tmp_path: Path) -> None:
    able = {"tools": [{"name": "a", "description": "A"}, {"name": "b", "description": "B", "readOnly": True}]}
    found = manifest.read(str(write(tmp_path, runtime={"command": "true", "capabilities": able})))
    assert found.runtime is not None
    assert [tool.reads_only for tool in found.runtime.tools] == [False, True]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"api": 2}, ": api: must be 1; write 1; this acpagent knows no other"),
        ({"name": "Probe"}, ": name: has the wrong form; use up to 24 small letters"),
        ({"name": "probe\n"}, ": name: has the wrong form"),
        ({"name": "../probe"}, ": name: has the wrong form"),
        ({"version": 1}, ": version: must be a string; write a version such as 1.0.0"),
        ({"description": ""}, ": description: must not be empty"),
        ({"colour": "red"}, ": colour: is not a known key; remove it; known here are api, name, version, description"),
        (
            {"contributes": {"themes": ["a"]}},
            ": contributes.themes: is not a known key; remove it; known here are skil",
        ),
        ({"contributes": {"skills": "skills"}}, ": contributes.skills: must be a list; write a list of paths"),
        ({"contributes": {"skills": ["/etc"]}}, ": contributes.skills[0]: has the wrong form; write a path inside"),
        ({"contributes": {"skills": ["../x"]}}, ": contributes.skills[0]: has the wrong form"),
        ({"contributes": {"skills": ["a/../../x"]}}, ": contributes.skills[0]: has the wrong form"),
        ({"contributes": {"hooks": ["hooks.json"]}}, ": contributes.hooks[0]: there is no file hooks.json; add it"),
        ({"contributes": {"skills": [MANIFEST]}}, f": contributes.skills[0]: there is no folder {MANIFEST}"),
        ({"runtime": {}}, ": runtime.command: is required"),
        ({"runtime": {"command": "/bin/sh"}}, ": runtime.command: leads out of the package"),
        ({"runtime": {"command": "../x"}}, ": runtime.command: leads out of the package"),
        ({"runtime": {"command": "a", "timeout": 61}}, ": runtime.timeout: must be at most 60; write seconds, 60 at"),
        ({"runtime": {"command": "a", "args": [1]}}, ": runtime.args[0]: must be a string"),
        ({"runtime": {"command": "a", "env": {"A-B": ""}}}, ": runtime.env"),
        (
            {"runtime": {"command": "a", "capabilities": {"intercepts": ["everything"]}}},
            ": runtime.capabilities.intercepts[0]: must be one of input.receive, tool.before",
        ),
        (
            {"runtime": {"command": "a", "capabilities": {"actions": [{"id": "a", "label": "A"}] * 2}}},
            ": runtime.capabilities.actions: has a twice; give each its own name",
        ),
    ],
    ids=str,
)
def test_mistakes(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    (problem,) = problems(write(tmp_path, **change))
    assert problem.startswith(f":1{told}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", ":1: is not valid JSON"),
        ('{"api": 1,\n"name" "x"}', ":2: is not valid JSON"),
        ("[]", ":1: must be an object"),
        ('{"api": 1, "api": 1}', ": has the key api twice in one object; keep one"),
        ("[" * 100_000, ": is no JSON that can be read"),
        ('{"a": "' + "x" * 1_100_000 + '"}', ": it is larger than 1 MiB"),
    ],
    ids=["cut", "line", "list", "twice", "deep", "large"],
)
def test_files_that_are_none(tmp_path: Path, text: str, told: str) -> None:
    assert problems(write(tmp_path, text))[0].startswith(told)


def test_no_manifest(tmp_path: Path) -> None:
    assert problems(tmp_path) == [": is not there; a plugin package has one; see docs/plugins.md"]


def test_links_that_lead_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "probe", contributes={"skills": ["skills"]}, runtime={"command": "./run"})
    (folder / "skills").symlink_to("/etc")
    (folder / "run").symlink_to("/bin/sh")
    assert [problem.removeprefix(":1:") for problem in problems(folder)] == [
        " contributes.skills[0]: leads out of the package; keep in it what it brings",
        " runtime.command: leads out of the package; name a program on the PATH",
    ]


# -- installing


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


def install(home: str, source: Path | str, link: bool = False, replace: bool = False) -> plugins.Record:
    with installing.staged(home, str(source), link) as package:
        return installing.commit(home, package, replace)


def tree(folder: str) -> list[str]:
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def test_a_directory_is_copied(tmp_path: Path, home: str) -> None:
    source = write(tmp_path / "source", contributes={"skills": ["skills"]})
    (source / "skills").mkdir()
    (source / "skills" / "a.md").write_text("a")
    (source / "run").write_text("#!/bin/sh\n")
    (source / "run").chmod(0o755)
    (source / ".git").mkdir()
    (source / ".git" / "config").write_text("")
    record = install(home, source)
    assert record == plugins.Record("probe", str(source), "1.0.0")
    assert tree(plugins.folder(home)) == [f"probe/{MANIFEST}", "probe/run", "probe/skills/a.md"]
    assert stat.S_IMODE(os.stat(plugins.record_file(home)).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(home).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(os.path.join(home, "plugins/probe/run")).st_mode) == 0o700
    (plugin,), wrong = plugins.enabled(home)
    assert (plugin.name, plugin.root, wrong) == ("probe", os.path.join(home, "plugins/probe"), ())
    assert plugin.paths("skills") == (os.path.join(plugin.root, "skills"),)


def test_prompts_are_found_with_commands(tmp_path: Path) -> None:
    source = write(tmp_path, contributes={"commands": ["commands"], "prompts": ["prompts"]})
    for name in ("commands", "prompts"):
        (source / name).mkdir()
    plugin = plugins.Plugin("probe", str(source), manifest.read(str(source)))
    assert plugin.paths("commands") == (str(source / "commands"), str(source / "prompts"))
    assert plugin.paths("hooks") == ()


def test_nothing_is_left_of_what_was_not_committed(tmp_path: Path, home: str) -> None:
    with installing.staged(home, str(write(tmp_path / "source"))) as package:
        assert os.path.isdir(package.path)
    assert os.listdir(home) == []
    with pytest.raises(ManifestError), installing.staged(home, str(write(tmp_path / "bad", api=2))):
        raise AssertionError
    assert os.listdir(home) == []


def test_one_of_the_same_name_goes_with_replace_only(tmp_path: Path, home: str) -> None:
    install(home, write(tmp_path / "one"))
    plugins.set_enabled(home, "probe", False)
    newer = write(tmp_path / "two", version="2.0.0")
    with pytest.raises(PluginError, match=r"probe 1\.0\.0 is installed already; add --replace"):
        install(home, newer)
    assert plugins.find(home, "probe").record.version == "1.0.0"
    record = install(home, newer, replace=True)
    assert (record.version, record.enabled) == ("2.0.0", False)
    assert os.listdir(plugins.folder(home)) == ["probe"]


def test_a_link(tmp_path: Path, home: str) -> None:
    source = write(tmp_path / "source")
    record = install(home, source, link=True)
    assert record.linked
    (plugin,), _ = plugins.enabled(home)
    assert plugin.root == str(source)
    write(source, version="1.1.0")
    assert plugins.enabled(home)[0][0].manifest.version == "1.1.0"
    plugins.remove(home, "probe")
    assert (source / MANIFEST).exists()
    assert os.listdir(plugins.folder(home)) == []


def test_a_link_that_was_not_asked_for_is_not_used(tmp_path: Path, home: str) -> None:
    install(home, write(tmp_path / "source"))
    other = write(tmp_path / "other")
    plugins.discard(plugins.folder(home, "probe"))
    os.symlink(other, plugins.folder(home, "probe"))
    found, (problem,) = plugins.enabled(home)
    assert (found, problem.what) == ((), "is a link that was not installed as one")


def test_a_package_with_links_is_refused(tmp_path: Path, home: str) -> None:
    source = write(tmp_path / "source")
    (source / "deep").mkdir()
    (source / "deep" / "key").symlink_to("/etc/passwd")
    with pytest.raises(PluginError, match="deep/key is a link; put what it leads to in its place, or use --link"):
        install(home, source)
    assert os.listdir(home) == []


def test_a_package_with_a_pipe_is_refused(tmp_path: Path, home: str) -> None:
    os.mkfifo(write(tmp_path / "source") / "pipe")
    with pytest.raises(PluginError, match="pipe is neither a file nor a folder"):
        install(home, tmp_path / "source")


def test_a_package_without_end_is_refused(tmp_path: Path, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path / "source")
    (source / "a").write_text("x" * 1000)
    monkeypatch.setattr(installing, "MAX_BYTES", 900)
    with pytest.raises(PluginError, match="make it smaller"):
        install(home, source)
    monkeypatch.setattr(installing, "MAX_BYTES", 9000)
    monkeypatch.setattr(installing, "MAX_FILES", 1)
    with pytest.raises(PluginError, match="more than 1 files"):
        install(home, source)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    source = write(tmp_path / "repository")
    (source / "sub").mkdir()
    (source / "sub" / "file").write_text("x")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        command = ["git", "-c", "user.email=a@b.c", "-c", "user.name=x", *words]
        subprocess.run(command, cwd=source, check=True, capture_output=True)
    return source


def test_a_repository(repository: Path, home: str) -> None:
    record = install(home, f"file://{repository}")
    assert record.source == f"file://{repository}"
    assert tree(plugins.folder(home)) == [f"probe/{MANIFEST}", "probe/sub/file"]


def test_nothing_of_a_repository_runs(
    repository: Path, home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a hook of the person's template, nor a submodule, nor another protocol."""
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    (template / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (template / "post-checkout").chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(f"[init]\n\ttemplateDir = {template.parent}\n[protocol]\n\tallow = always\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    install(home, f"file://{repository}")
    assert not (tmp_path / "ran").exists()


def test_a_link_in_a_repository(repository: Path, home: str) -> None:
    (repository / "key").symlink_to("/etc/passwd")
    for words in (["add", "-A"], ["commit", "-qm", "y"]):
        command = ["git", "-c", "user.email=a@b.c", "-c", "user.name=x", *words]
        subprocess.run(command, cwd=repository, check=True, capture_output=True)
    with pytest.raises(PluginError, match="key is a link"):
        install(home, f"file://{repository}")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("ssh://host/x", "are fetched from https:// or file://"),
        ("http://host/x", "are fetched from https:// or file://"),
        ("ext::sh -c touch% x", "is no directory"),
        ("git@host.example:x/y", "are fetched from https:// or file://"),
        ("https://name:word@host.example/x", "leave name and password out"),
        ("https://host.example/a b", "a character that an address cannot have"),
        ("file:///nowhere/at/all", "the repository cannot be fetched"),
        ("/nowhere/at/all", "is no directory"),
    ],
)
def test_sources_that_are_none(home: str, source: str, told: str) -> None:
    with pytest.raises(PluginError, match=told):
        install(home, source)
    assert not os.path.exists(plugins.record_file(home))


# -- the record


def test_unknown_names(home: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: plugins.find(home, "nix"),
        lambda: plugins.set_enabled(home, "nix", True),
        lambda: plugins.remove(home, "../.."),
    ]
    for call in calls:
        with pytest.raises(UnknownPlugin):
            call()


@pytest.mark.parametrize(
    "written",
    [
        "{",
        "[]",
        '{"version": 2, "plugins": []}',
        '{"version": 1}',
        '{"version": 1, "plugins": [{"name": "../../etc", "source": "", "version": "1", "enabled": true, '
        '"linked": false}]}',
        '{"version": 1, "plugins": [{"name": "a"}]}',
        "\0",
    ],
)
def test_a_record_that_is_none(home: str, written: str) -> None:
    os.makedirs(home)
    Path(plugins.record_file(home)).write_text(written)
    found, (problem,) = plugins.enabled(home)
    assert (found, problem.file) == ((), plugins.record_file(home))
    with pytest.raises(PluginError):
        plugins.installed(home)


def test_one_broken_plugin_keeps_none_of_the_others(tmp_path: Path, home: str) -> None:
    for name in ("ant", "bee", "cow"):
        install(home, write(tmp_path / name, name=name))
    write(Path(plugins.folder(home, "ant")), "{")
    plugins.discard(plugins.folder(home, "bee"))
    found, wrong = plugins.enabled(home)
    assert [plugin.name for plugin in found] == ["cow"]
    assert [problem.what for problem in wrong][1] == "is not there"
    assert "is not valid JSON" in wrong[0].what
    plugins.set_enabled(home, "ant", False)
    plugins.remove(home, "bee")
    assert plugins.enabled(home)[1] == ()


def test_a_plugin_that_changed_its_name_is_not_used(tmp_path: Path, home: str) -> None:
    install(home, write(tmp_path / "source"))
    write(Path(plugins.folder(home, "probe")), name="other")
    found, (problem,) = plugins.enabled(home)
    assert found == ()
    assert problem.what == "its name is other by now, and it was installed as probe"


def test_many_at_once(tmp_path: Path, home: str) -> None:
    """Each install takes its turn at the record."""
    names = [f"p{number}" for number in range(8)]
    threads = [threading.Thread(target=install, args=(home, write(tmp_path / name, name=name))) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [plugin.name for plugin in plugins.enabled(home)[0]] == names
