"""Every mistake is reported with its file, its line and a remedy, and without the value that was wrong."""

from __future__ import annotations

import os

import pytest

from acpagent.config.problems import SHOWN, ConfigError, ConfigProblem
from tests.config.home import LOCAL, Home

SECRET = "sk-do-not-show-me"

# The text of a file; the line of its one mistake; words of what is said about it and what is advised.
MISTAKES = {
    "unknown key": (
        "language: en\nprofle: balanced\n", 2, "profle: is not a known key", "did you mean profile?",
    ),
    "unknown key without likeness": (
        "xyzzy: 1\n", 1, "xyzzy: is not a known key", "known here are default_model",
    ),
    "unknown provider key": (LOCAL + "    colour: red\n", 7, "providers.local.colour", "known here are api"),
    "unknown limit": (
        "limits:\n  turn_request: 1\n", 2, "limits.turn_request", "did you mean turn_requests?",
    ),
    "wrong choice": (
        "\ntool_approval: maybe\n", 2, "tool_approval: must be one of ask, auto, yolo", "write ask",
    ),
    "wrong api": (LOCAL.replace("openai-chat", "soap"), 3, "providers.local.api: must be one of", "scripted"),
    "wrong type": ("default_model: [a]\n", 1, "default_model: must be a string", "provider/model"),
    "text for a number": ("limits:\n  turn_requests: many\n", 2, "must be a whole number", "at least 1"),
    "number out of range": (
        "limits: {output_bytes: 3}\n", 1, "limits.output_bytes: must be at least", "1024",
    ),
    "true is no number": ("limits: {turn_requests: true}\n", 1, "must be a whole number", "at least 1"),
    "section that is no section": ("limits: 7\n", 1, "limits: must be an object", "turn_requests"),
    "list for a section": ("providers: []\n", 1, "providers: must be an object", "name a provider"),
    "bad provider name": ("providers:\n  a/b: {api: scripted, script: x}\n", 2, "name", "letters, digits"),
    "bad variable": (LOCAL + f"    api_key_env: {SECRET}\n", 7, "api_key_env", "never the key itself"),
    "number as header": (LOCAL + "    headers: {a: 1}\n", 7, "headers.a: must be a string", "in quotes"),
    "header with a line break": (LOCAL + '    headers: {a: "b\\nc"}\n', 7, "headers.a", "one line"),
    "efforts twice": (LOCAL.replace("{}", "{efforts: [low, low]}"), 6, "efforts", "different levels"),
    "price without output": (
        LOCAL.replace("{}", "{price: {input: 1}}"), 6, "price.output: is required", "0 or more",
    ),
    "rule of a strange form": (
        "permissions:\n  deny:\n  - Read\n  - rm -rf\n", 4, "permissions.deny.1: the rule 'rm -rf' is about",
        "did you mean Bash(rm -rf:*)?",
    ),
    "rule that is no text": ("permissions:\n  deny:\n  - Read\n  - 7\n", 4, "permissions.deny.1", "list of rules"),
    "rule for a tool there is not": (
        "permissions:\n  allow: [Edit, 'Bahs(ls)']\n", 2, "permissions.allow.1: the rule 'Bahs(ls)'",
        "did you mean Bash?",
    ),
    # what a schema cannot say
    "unknown default model": (LOCAL + "default_model: local/big\n", 7, "no model 'local/big'", "local/tiny"),
    "default without models": ("default_model: any\n", 1, "no model 'any' is configured", "add a provider"),
    "no base_url": (
        "providers:\n  p:\n    api: openai-chat\n    models: {a: }\n", 2, "has no base_url", "add",
    ),
    "no models": ("providers:\n  ollama:\n", 2, "providers.ollama: has no models", "list at least one"),
    "empty models": (
        LOCAL.replace("      tiny: {}\n", ""), 5, "providers.local.models: has no models", "list",
    ),
    "no script": ("providers:\n  p: {api: scripted}\n", 2, "providers.p: has no script", "add `script:`"),
    "script elsewhere": (
        LOCAL + "    script: a.yaml\n", 7, "local.script: is for `api: scripted` only", "remove it",
    ),
    "address for a script": (
        "providers:\n  p:\n    api: scripted\n    script: a\n    base_url: http://a\n",
        5, "p.base_url", "remove it",
    ),
    "no model file": ("providers:\n  p: {api: llama-cpp}\n", 2, "providers.p: has no model_file", "add"),
    "model file elsewhere": (
        LOCAL + "    model_file: a.gguf\n", 7, "local.model_file: is for `api: llama-cpp` only", "remove it",
    ),
    "key for a model file": (
        "providers:\n  p:\n    api: llama-cpp\n    model_file: a\n    api_key_env: A\n", 5, "p.api_key_env", "remove",
    ),
    "two models in a file": (
        "providers:\n  p:\n    api: llama-cpp\n    model_file: a\n    models: {a: , b: }\n", 5, "p.models", "keep one",
    ),
    "retries of a script": (
        "providers:\n  p:\n    api: scripted\n    script: a\n    retries: {}\n", 5, "p.retries", "remove it",
    ),
    "no tries": (LOCAL + "    retries: {tries: 0}\n", 7, "local.retries.tries", "from 1 to 20"),
    "address without scheme": (
        LOCAL.replace("http://", ""), 4, "base_url: is not the address", "write http://",
    ),
    "address with password": (LOCAL.replace("127", f"me:{SECRET}@127"), 4, "is not the address", "password"),
    "address with bad port": (
        LOCAL.replace("8080", "80x"), 4, "base_url: is not the address", "write http://",
    ),
    "server of two kinds": (
        "mcp_servers:\n  s: {command: a, url: 'http://b'}\n", 2, "either command or url", "keep",
    ),
    "server of no kind": (
        "mcp_servers:\n  s:\n", 2, "mcp_servers.s: must have either command or url", "keep",
    ),
    "server type": ("mcp_servers:\n  s: {command: a, type: sse}\n", 2, "s.type: does not fit", "stdio"),
    "server headers": (
        "mcp_servers:\n  s: {command: a, headers: {}}\n", 2, "s.headers: means nothing", "remove it",
    ),
    # YAML itself
    "key twice": ("language: en\n\nlanguage: ru\n", 3, "'language' is given twice", "the first is on line 1"),
    "key twice below": (LOCAL + "    api: scripted\n", 7, "'api' is given twice", "line 3"),
    "tab": ("providers:\n\tlocal: 1\n", 2, "a tab is used for indentation", "indent with spaces"),
    "open bracket": ("limits:\n  a: [1,\n  b: 2\n", 2, "is not valid YAML", "check indentation"),
    "open quote": ('language: "en\n', 1, "is not valid YAML", "quotes"),
    "bad indentation": (
        "limits:\n  turn_requests: 1\n command_seconds: 2\n", 3, "is not valid YAML", "indentation",
    ),
    "no mapping": ("- a\n- b\n", 1, "must hold keys and values", "key: value"),
    "just a word": ("hello\n", 1, "must hold keys and values", "key: value"),
    "two documents": ("language: en\n---\nlanguage: de\n", 2, "a second document", "remove"),
    "list as key": ("limits:\n  ? [a]\n  : 1\n", 2, "a key must be", "key: value"),
    "tag": ("limits: {}\nlanguage: !!python/name:os.system x\n", 2, "is not valid YAML", "check"),
    "date": ("language: 2020-01-02\n", 1, "a date", "in quotes"),
    "impossible date": ("language: 2020-13-45\n", 1, "only looks like", "in quotes"),
    "infinite": ("limits:\n  command_seconds: .inf\n", 2, "must be a finite number", "write a number"),
    "alias of itself": ("limits: &a\n  x: *a\n", 1, "contains itself", "instead of an alias"),
    "unknown alias": (f"language: *{SECRET}\n", 1, "is not valid YAML", "check"),
    "control character": ("language: en\nprofile: \x07\n", 2, "holds a control character", "remove"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "what", "remedy"), MISTAKES.values(), ids=MISTAKES.keys())
def test_one_mistake(home: Home, text: str, line: int, what: str, remedy: str) -> None:
    home.config.write_text(text)
    found = home.problem()
    assert found.line == line, str(found)
    assert what in found.what
    assert remedy in found.remedy
    assert str(found) == f"{home.config}:{line}: {found.what}; {found.remedy}"
    assert SECRET not in str(found)


def test_several_mistakes_in_order_of_their_lines(home: Home) -> None:
    found = home.problems("""
        profile: none
        providers:
          local:
            api: openai-chat
            base_url: 5
            models: {tiny: {vision: 3}}
        languag: en
    """)
    assert [problem.line for problem in found] == [1, 5, 6, 7]


def test_not_utf8(home: Home) -> None:
    home.config.write_bytes(b"language: en\nprofile: \xff\n")
    found = home.problem()
    assert (found.line, found.what, found.remedy) == (2, "is not UTF-8 text", "save the file as UTF-8")


def test_byte_order_mark_is_harmless(home: Home) -> None:
    home.config.write_bytes(b"\xef\xbb\xbflanguage: ru\n")
    assert home.load().language == "ru"


def test_nested_absurdly_deep(home: Home) -> None:
    home.config.write_text("a: " + "[" * 5000)
    assert home.problem().what == "is nested too deeply"


def test_a_folder_in_place_of_the_file(home: Home) -> None:
    home.config.mkdir()
    assert "cannot be read" in home.problem().what


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(home: Home) -> None:
    home.write("language: en\n")
    home.config.chmod(0)
    assert "Permission denied" in home.problem().what


def test_an_error_lists_its_problems_and_counts_the_rest() -> None:
    problems = [ConfigProblem("f", number, "bad", "mend") for number in range(1, SHOWN + 3)]
    lines = str(ConfigError(*problems)).splitlines()
    assert lines[0] == "f:1: bad; mend"
    assert lines[SHOWN:] == ["and 2 more"]
    assert str(ConfigProblem("--model", None, "bad", "mend")) == "--model: bad; mend"
