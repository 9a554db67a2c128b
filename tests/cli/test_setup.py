"""`acpagent setup`: asked at a terminal and told by flags, with a server that is right, wrong, or not there."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from acpagent.cli.choice import known_providers
from acpagent.config import settings
from tests.agent import Agent
from tests.cli.catalogue import KEY, WRONG, Catalogue
from tests.cli.terminals import ACPAGENT, CTRL_C, CTRL_D, Terminal, call
from tests.conftest import Home, StartAgent


@pytest.fixture
def offline(home: Home) -> Home:
    """A home from which no server of the world is reached, and no key of the world is known."""
    for name in list(home.env):
        if name.upper().endswith(("_PROXY", "_API_KEY")):
            del home.env[name]
    home.env["HTTPS_PROXY"] = home.env["https_proxy"] = "http://127.0.0.1:9"
    return home


@pytest.fixture
def guarded() -> Iterator[Catalogue]:
    with Catalogue(("small", "large", "text-embedding-1", "model-0", "model-1"), key=KEY) as server:
        yield server


def written(home: Home) -> tuple[dict[str, object], dict[str, object]]:
    """What config.yaml and credentials.yaml say; nothing for files that are not there."""
    files = [home.path / name for name in ("config.yaml", "credentials.yaml")]
    config, keys = (yaml.safe_load(path.read_text()) if path.exists() else {} for path in files)
    return config, keys


def untouched(home: Home) -> bool:
    return written(home) == ({}, {})


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that nobody listens on, nor will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def as_other(terminal: Terminal, server: Catalogue, key: str = KEY) -> None:
    """Answer up to the key for a server of one's own."""
    terminal.wait_for("Number or name: ")
    terminal.type("other\n")
    terminal.wait_for("Address of its API")
    terminal.type(f"127.0.0.1:{server.port}\n")
    terminal.wait_for("What does it speak?")
    terminal.type("\n")
    terminal.wait_for("A name for it [local]: ")
    terminal.type("mine\n")
    terminal.wait_for("Key for mine")
    terminal.type(f"{key}\n")


class TestAsking:
    """At a terminal."""

    def test_a_server_of_ones_own(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        with Terminal(["setup"], offline.env, tmp_path) as terminal:
            as_other(terminal, guarded)
            terminal.wait_for("5 models")
            terminal.wait_for("1  small")
            terminal.wait_for("2  large")
            terminal.wait_for("[1]: ")
            terminal.type("2\n")
            code, shown = terminal.end()
            everything = terminal.everything
        assert code == 0
        assert "mine/large is what sessions start with" in shown
        assert "acpagent run" in shown
        assert KEY not in everything
        assert "text-embedding" not in everything
        assert written(offline) == (
            {
                "default_model": "mine/large",
                "providers": {
                    "mine": {
                        "api": "openai-chat",
                        "base_url": guarded.base_url,
                        "api_key_env": "MINE_API_KEY",
                        "models": {"large": {}},
                    }
                },
            },
            {"mine": KEY},
        )
        assert stat.S_IMODE((offline.path / "credentials.yaml").stat().st_mode) == 0o600
        assert settings.load(str(offline.path)).model().id == "mine/large"

    def test_a_wrong_key_then_the_right_one(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        with Terminal(["setup"], offline.env, tmp_path) as terminal:
            as_other(terminal, guarded, WRONG)
            terminal.wait_for(f"127.0.0.1:{guarded.port} does not accept the key")
            terminal.wait_for("Number: ")
            assert untouched(offline)
            terminal.type("1\n")
            terminal.wait_for("Key for mine")
            terminal.type(f"{KEY}\n")
            terminal.wait_for("[1]: ")
            terminal.type("\n")
            code, _ = terminal.end()
            everything = terminal.everything
        assert code == 0
        assert KEY not in everything
        assert WRONG not in everything
        assert written(offline)[1] == {"mine": KEY}

    def test_nobody_there_then_another_address(self, offline: Home, tmp_path: Path, closed_port: int) -> None:
        with Catalogue(("only",)) as server, Terminal(["setup"], offline.env, tmp_path) as terminal:
            terminal.wait_for("Number or name: ")
            terminal.type("ollama\n")
            terminal.wait_for("Address [http://127.0.0.1:11434/v1]: ")
            terminal.type(f"http://127.0.0.1:{closed_port}\n")
            terminal.wait_for("takes no connections; is the server running there?")
            terminal.wait_for("Number: ")
            terminal.type("2\n")
            terminal.wait_for("Address [")
            terminal.type(f"{server.base_url}\n")
            terminal.wait_for("[1]: ")
            terminal.type("\n")
            code, _ = terminal.end()
        assert code == 0
        config, keys = written(offline)
        assert config["default_model"] == "ollama/only"
        assert keys == {}

    def test_no_network(self, offline: Home, tmp_path: Path) -> None:
        with Terminal(["setup", "--provider", "openai"], offline.env, tmp_path) as terminal:
            terminal.wait_for("Key for openai")
            terminal.type(f"{KEY}\n")
            terminal.wait_for("The proxy does not reach api.openai.com")
            terminal.wait_for("is this machine online")
            terminal.wait_for("Number: ")
            terminal.type("4\n")
            code, shown = terminal.end()
        assert code == 1
        assert "given up; nothing was changed" in shown
        assert untouched(offline)

    def test_no_network_and_written_all_the_same(self, offline: Home, tmp_path: Path) -> None:
        with Terminal(["setup", "--provider", "openai"], offline.env, tmp_path) as terminal:
            terminal.wait_for("Key for openai")
            terminal.type(f"{KEY}\n")
            terminal.wait_for("Number: ")
            terminal.type("3\n")
            terminal.wait_for("Model")
            terminal.type("some-model\n")
            code, shown = terminal.end()
            if "Take it all the same?" in shown:
                pytest.fail(shown)
        assert code == 0
        config, keys = written(offline)
        assert config["default_model"] == "openai/some-model"
        assert keys == {"openai": KEY}
        known = known_providers()["openai"]["models"]
        names = [model.name for model in settings.load(str(offline.path)).models]
        assert names == [*known, "some-model"]  # written out, or they would be there no more

    def test_a_list_for_anybody_hides_no_wrong_key(self, offline: Home, tmp_path: Path) -> None:
        with Catalogue(key=KEY, public_list=True) as server, Terminal(["setup"], offline.env, tmp_path) as terminal:
            as_other(terminal, server, WRONG)
            terminal.wait_for("[1]: ")
            terminal.type("\n")
            terminal.wait_for("Trying small")
            terminal.wait_for("does not accept the key")
            terminal.type("1\n")
            terminal.wait_for("Key for mine")
            terminal.type(f"{KEY}\n")
            code, _ = terminal.end()
        assert code == 0
        assert written(offline)[1] == {"mine": KEY}

    def test_a_long_list_is_narrowed(self, offline: Home, tmp_path: Path) -> None:
        models = [f"model-{number}" for number in range(300)] + ["the-one"]
        with Catalogue(models) as server, Terminal(["setup"], offline.env, tmp_path) as terminal:
            as_other(terminal, server, "")
            terminal.wait_for("and 281 more")
            terminal.type("one\n")
            terminal.wait_for("1  the-one")
            terminal.type("nothing-like-it\n")
            terminal.wait_for("lists no nothing-like-it")
            terminal.type("n\n")
            terminal.wait_for("1  the-one")
            terminal.type("1\n")
            code, _ = terminal.end()
        assert code == 0
        config, keys = written(offline)
        assert config["default_model"] == "mine/the-one"
        assert keys == {}

    def test_what_is_there_stays(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        before = "# mine\ndefault_model: toy   # for now\nproviders:\n  toy: {api: scripted, script: hello.yaml}\n"
        (offline.path / "config.yaml").write_text(before)
        with Terminal(["setup"], offline.env, tmp_path) as terminal:
            as_other(terminal, guarded)
            terminal.wait_for("[1]: ")
            terminal.type("\n")
            terminal.wait_for("Start sessions with mine/small from now on, instead of toy? [Y/n]: ")
            terminal.type("n\n")
            code, shown = terminal.end()
        assert code == 0
        assert "mine/small can be used" in shown
        assert (offline.path / "config.yaml").read_text().startswith(before)

    def test_the_key_in_a_variable_is_copied(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        flags = ["--provider", "mine", "--base-url", guarded.base_url, "--key-env", "MINE", "--no-check", "--yes"]
        assert call(["setup", *flags, "--model", "small"], {**offline.env, "MINE": "old"}, tmp_path).returncode == 0
        with Terminal(["setup", "--provider", "mine"], {**offline.env, "MINE": KEY}, tmp_path) as terminal:
            terminal.wait_for("Enter takes the one in $MINE")
            terminal.type("\n")
            terminal.wait_for("[1]: ")
            terminal.type("\n")
            code, _ = terminal.end()
        assert code == 0
        assert written(offline)[1] == {"mine": KEY}

    def test_a_variable_that_would_win_is_told_of(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        offline.env["MINE_API_KEY"] = WRONG
        flags = ["--provider", "mine", "--base-url", guarded.base_url, "--key-stdin", "--model", "small"]
        assert call(["setup", *flags], offline.env, tmp_path, typed=KEY).returncode == 0
        done = call(["setup", *flags[:2], "--key-stdin", "--model", "large"], offline.env, tmp_path, typed=KEY)
        assert done.returncode == 0
        assert "$MINE_API_KEY holds another key here, and wins" in done.stdout

    @pytest.mark.parametrize("keys", [CTRL_C, CTRL_D], ids=["interrupt", "end"])
    @pytest.mark.parametrize("at", ["Number or name: ", "Address of its API", "speak?", "A name", "Key for", "[1]: "])
    def test_leaving_anywhere(self, at: str, keys: str, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        answers = {
            "Number or name: ": "other",
            "Address of its API": guarded.base_url,
            "speak?": "",
            "A name": "mine",
            "Key for": KEY,
        }
        with Terminal(["setup"], offline.env, tmp_path) as terminal:
            for question, answer in answers.items():
                if question == at:
                    break
                terminal.wait_for(question)
                terminal.type(f"{answer}\n")
            terminal.wait_for(at)
            terminal.type(keys)
            code, shown = terminal.end()
        assert code == (130 if keys == CTRL_C else 1)
        assert "nothing was changed" in shown
        assert "Traceback" not in shown
        assert untouched(offline)

    def test_interrupting_a_check(self, offline: Home, tmp_path: Path) -> None:
        with Catalogue(silent=True) as server, Terminal(["setup"], offline.env, tmp_path) as terminal:
            as_other(terminal, server)
            terminal.wait_for("Asking")
            terminal.type(CTRL_C)
            code, shown = terminal.end()
        assert code == 130
        assert "nothing was changed" in shown
        assert untouched(offline)

    @pytest.mark.parametrize("plain", ["TERM", "NO_COLOR"])
    def test_without_colours(self, plain: str, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        env = {**offline.env, "NO_COLOR": "1"} if plain == "NO_COLOR" else offline.env
        with Terminal(["setup"], env, tmp_path, "dumb" if plain == "TERM" else "xterm") as terminal:
            as_other(terminal, guarded)
            terminal.wait_for("[1]: ")
            terminal.type("\n")
            assert terminal.end()[0] == 0
            assert "\x1b" not in terminal.everything

    def test_a_model_in_a_file(self, offline: Home, tmp_path: Path) -> None:
        (tmp_path / "small.gguf").write_bytes(b"no model")
        with Terminal(["setup"], offline.env, tmp_path) as terminal:
            terminal.wait_for("Number or name: ")
            terminal.type("file\n")
            terminal.wait_for("GGUF file: ")
            terminal.type("nowhere.gguf\n")
            terminal.wait_for("there is no file")
            terminal.wait_for("GGUF file: ")
            terminal.type("small.gguf\n")
            terminal.wait_for("Number: ")
            terminal.type("3\n")
            code, shown = terminal.end()
        assert code == 0
        assert "pocket/small is what sessions start with" in shown

    def test_a_key_is_not_typed_in_the_open(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        flags = ["setup", "--provider", "mine", "--base-url", guarded.base_url, "--key-stdin"]
        with Terminal(flags, offline.env, tmp_path) as terminal:
            code, shown = terminal.end()
        assert code == 2
        assert "could be seen" in shown
        assert untouched(offline)

    def test_keys_that_others_could_read(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        (offline.path / "credentials.yaml").write_text("other: abc\n")
        (offline.path / "credentials.yaml").chmod(0o644)
        with Terminal(["setup"], offline.env, tmp_path) as terminal:
            terminal.wait_for("Now only you can")
            as_other(terminal, guarded)
            terminal.wait_for("[1]: ")
            terminal.type("\n")
            assert terminal.end()[0] == 0
        assert stat.S_IMODE((offline.path / "credentials.yaml").stat().st_mode) == 0o600
        assert written(offline)[1] == {"other": "abc", "mine": KEY}


class TestTelling:
    """By flags, where nobody can be asked."""

    def flags(self, server: Catalogue, *more: str) -> list[str]:
        return ["setup", "--provider", "mine", "--base-url", server.base_url, *more]

    def test_a_key_from_stdin(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        done = call(self.flags(guarded, "--key-stdin", "--model", "large"), offline.env, tmp_path, typed=f"{KEY}\n")
        assert (done.returncode, done.stderr) == (0, "")
        assert KEY not in done.stdout
        assert written(offline)[1] == {"mine": KEY}
        assert ("POST", "/v1/chat/completions") not in guarded.asked  # the list has shown that the key is right

    def test_a_key_from_a_variable(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        offline.env["SOME_KEY"] = KEY
        done = call(self.flags(guarded, "--key-env", "SOME_KEY", "--model", "large"), offline.env, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        config, keys = written(offline)
        assert keys == {"mine": KEY}
        assert config["providers"]["mine"]["api_key_env"] == "SOME_KEY"  # type: ignore[index]

    def test_a_known_model_hides_none_of_the_others(self, offline: Home, tmp_path: Path) -> None:
        flags = ["setup", "--provider", "anthropic", "--key-stdin", "--no-check", "--yes"]
        assert call(flags, offline.env, tmp_path, typed=KEY).returncode == 0
        known = list(known_providers()["anthropic"]["models"])
        config, keys = written(offline)
        assert config == {
            "default_model": f"anthropic/{known[0]}",
            "providers": {"anthropic": {"api": "anthropic-messages"}},
        }
        assert keys == {"anthropic": KEY}
        assert [model.name for model in settings.load(str(offline.path)).models] == known

    def test_a_model_in_a_file(self, offline: Home, tmp_path: Path) -> None:
        (tmp_path / "small.gguf").write_bytes(b"no model")
        flags = ["setup", "--model-file", "small.gguf"]
        done = call(flags, offline.env, tmp_path)
        assert done.returncode == 1
        assert "nothing was changed" in done.stderr
        assert untouched(offline)
        assert call([*flags, "--no-check"], offline.env, tmp_path).returncode == 0
        config, keys = written(offline)
        assert config == {
            "default_model": "pocket/small",
            "providers": {"pocket": {"api": "llama-cpp", "model_file": str(tmp_path / "small.gguf")}},
        }
        assert keys == {}

    def test_again_with_another_model(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        flags = self.flags(guarded, "--key-stdin", "--model", "large")
        assert call(flags, offline.env, tmp_path, typed=KEY).returncode == 0
        text = (offline.path / "config.yaml").read_text().replace("large: {}", "large: {context_window: 5000}  # mine")
        (offline.path / "config.yaml").write_text(text)
        assert call(["setup", "--provider", "mine", "--model", "small"], offline.env, tmp_path).returncode == 0
        assert call(["setup", "--provider", "mine", "--model", "large"], offline.env, tmp_path).returncode == 0
        loaded = settings.load(str(offline.path))
        assert {model.id: model.context_window for model in loaded.models} == {
            "mine/large": 5000,
            "mine/small": 128000,
        }
        assert "# mine" in (offline.path / "config.yaml").read_text()

    def test_what_the_server_tells_is_kept(self, offline: Home, tmp_path: Path) -> None:
        row = {"id": "m", "context_length": 40960, "architecture": {"input_modalities": ["image"]}}
        with Catalogue([row]) as server:
            assert call(self.flags(server, "--yes"), offline.env, tmp_path).returncode == 0
        model = settings.load(str(offline.path)).model()
        assert (model.id, model.context_window, model.vision) == ("mine/m", 40960, True)

    def test_an_address_without_its_end(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        flags = ["--provider", "mine", "--base-url", f"127.0.0.1:{guarded.port}", "--key-stdin", "--model", "small"]
        done = call(["setup", *flags], offline.env, tmp_path, typed=KEY)
        assert done.returncode == 0
        assert f"Its API is at {guarded.base_url}" in done.stdout
        assert settings.load(str(offline.path)).providers["mine"].base_url == guarded.base_url

    def test_a_wrong_key(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        done = call(self.flags(guarded, "--key-stdin", "--model", "large"), offline.env, tmp_path, typed=WRONG)
        assert done.returncode == 1
        assert "does not accept the key; nothing was changed" in done.stderr
        assert WRONG not in done.stdout + done.stderr
        assert untouched(offline)

    def test_a_wrong_model(self, offline: Home, tmp_path: Path) -> None:
        with Catalogue(refusal=404) as server:
            done = call(self.flags(server, "--model", "nobody"), offline.env, tmp_path)
        assert done.returncode == 1
        assert "nothing was changed" in done.stderr
        assert untouched(offline)

    def test_nobody_there(self, offline: Home, tmp_path: Path, closed_port: int) -> None:
        flags = ["--provider", "mine", "--base-url", f"http://127.0.0.1:{closed_port}/v1", "--model", "m"]
        done = call(["setup", *flags], offline.env, tmp_path)
        assert done.returncode == 1
        assert "takes no connections" in done.stderr
        assert untouched(offline)
        assert call(["setup", *flags, "--no-check"], offline.env, tmp_path).returncode == 0
        assert settings.load(str(offline.path)).model().id == "mine/m"

    def test_no_credit_is_no_mistake(self, offline: Home, tmp_path: Path) -> None:
        with Catalogue(key=KEY, public_list=True, refusal=402) as server:
            flags = self.flags(server, "--key-stdin", "--model", "small")
            done = call(flags, offline.env, tmp_path, typed=KEY)
        assert done.returncode == 0
        assert "no credit left" in done.stdout

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ([], "nobody can be asked here"),
            (["--yes"], "nobody can be asked here"),
            (["--provider", "nobody"], "add its --base-url"),
            (["--provider", "a b", "--base-url", "http://a"], "cannot be a provider's name"),
            (["--provider", "a", "--base-url", "ftp://a"], "http:// or https://"),
            (["--provider", "a", "--base-url", "http://me:word@a"], "http:// or https://"),
            (["--model", "m"], "--provider"),
            (["--provider", "openai", "--model", "m"], "needs a key"),
            (["--provider", "openai", "--key-env", "NO_SUCH_VARIABLE"], "$NO_SUCH_VARIABLE is empty"),
            (["--provider", "openai", "--key-stdin"], "what came on stdin is empty"),
            (["--provider", "openai", "--key-env", "A", "--key-stdin"], "not allowed with"),
            (["--provider", "openai", "--key", "x"], "unrecognized"),
            (["--model-file", "nowhere.gguf"], "there is no file"),
            (["--model-file", "nowhere.gguf", "--model", "x"], "takes no address"),
            (["--model-file", __file__, "--provider", "openai"], "choose another"),
        ],
    )
    def test_wrong_usage(self, words: list[str], said: str, offline: Home, tmp_path: Path) -> None:
        done = call(["setup", *words], offline.env, tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert untouched(offline)

    def test_a_key_that_is_none(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        done = call(self.flags(guarded, "--key-stdin", "--model", "m"), offline.env, tmp_path, typed="two words\n")
        assert done.returncode == 2
        assert "two words" not in done.stdout + done.stderr

    def test_a_broken_configuration_is_told_before_anything_is_asked(self, offline: Home, tmp_path: Path) -> None:
        (offline.path / "config.yaml").write_text("providers: [\n")
        with Terminal(["setup"], offline.env, tmp_path) as terminal:
            code, shown = terminal.end()
        assert code == 2
        assert f"{offline.path / 'config.yaml'}:" in shown
        assert "Where does the model" not in shown

    def test_a_configuration_that_cannot_be_extended(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        before = "providers: &nothing {}\nskills: *nothing\n"
        (offline.path / "config.yaml").write_text(before)
        done = call(self.flags(guarded, "--key-stdin", "--model", "small"), offline.env, tmp_path, typed=KEY)
        assert done.returncode == 2
        assert "aliases" in done.stderr
        assert (offline.path / "config.yaml").read_text() == before

    def test_a_known_keys_variable_is_for_the_known_server_only(self, offline: Home, tmp_path: Path) -> None:
        offline.env["OPENAI_API_KEY"] = KEY
        with Catalogue() as server:
            flags = ["--provider", "openai", "--base-url", server.base_url, "--model", "small"]
            assert call(["setup", *flags], offline.env, tmp_path).returncode == 0
            assert KEY not in str(server.asked)
        assert settings.load(str(offline.path)).providers["openai"].api_key_env is None


class TestSignIn:
    """As editors call it: with the arguments of the terminal method."""

    def test_behind_the_command_that_the_editor_knows(self, offline: Home, guarded: Catalogue, tmp_path: Path) -> None:
        words = ["acp", "--model", "x", "setup"]
        with Terminal(words, offline.env, tmp_path) as terminal:
            as_other(terminal, guarded)
            terminal.wait_for("[1]: ")
            terminal.type("\n")
            code, _ = terminal.end()
        assert code == 0
        assert written(offline)[1] == {"mine": KEY}

    def test_AUTH_08_AUTH_10_both_forms_of_the_method_lead_here(
        self, offline: Home, guarded: Catalogue, agent: StartAgent, tmp_path: Path
    ) -> None:
        abilities = {"auth": {"terminal": True}, "_meta": {"terminal-auth": True}}
        _, method = agent().initialize(abilities)["authMethods"]
        assert method["env"] == {"ACPAGENT_HOME": str(offline.path)}
        task = method["_meta"]["terminal-auth"]
        assert os.path.isabs(task["command"])
        flags = ["--provider", "mine", "--base-url", guarded.base_url, "--key-stdin", "--model"]
        for number, (command, env) in enumerate(
            [
                ([*ACPAGENT, "acp", *method["args"]], method["env"]),
                ([task["command"], *task["args"]], task["env"]),
            ]
        ):
            done = subprocess.run(
                [*command, *flags, f"model-{number}"], env={"PATH": "", **env}, cwd=tmp_path,
                input=KEY, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, "")
        assert [model.name for model in settings.load(str(offline.path)).models] == ["model-0", "model-1"]

    def test_a_running_agent_finds_what_was_set_up(
        self, offline: Home, guarded: Catalogue, agent: StartAgent, workspace: Path
    ) -> None:
        one = agent()
        assert "`acpagent setup`" in self.refused(one, workspace)
        flags = ["--provider", "mine", "--base-url", guarded.base_url, "--key-stdin", "--model", "small"]
        assert call(["setup", *flags], offline.env, workspace, typed=KEY).returncode == 0
        assert one.call("session/new", {"cwd": str(workspace), "mcpServers": []})["sessionId"]

    def test_a_running_agent_finds_another_provider(
        self, offline: Home, guarded: Catalogue, agent: StartAgent, workspace: Path
    ) -> None:
        offline.configure({"providers": {"openai": {"api": "openai-chat", "models": {"m": {}}}}})
        one = agent()
        assert "`acpagent setup`" in self.refused(one, workspace)
        flags = ["--provider", "mine", "--base-url", guarded.base_url, "--key-stdin", "--model", "small"]
        assert call(["setup", *flags], offline.env, workspace, typed=KEY).returncode == 0
        assert one.call("session/new", {"cwd": str(workspace), "mcpServers": []})["sessionId"]

    def refused(self, one: Agent, cwd: Path) -> str:
        one.initialize()
        error = one.fail("session/new", {"cwd": str(cwd), "mcpServers": []})
        assert error["code"] == -32000
        message: str = error["message"]
        return message
