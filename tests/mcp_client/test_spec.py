"""Settings of servers as editors and files write them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from acpagent.config.settings import McpServerSettings
from acpagent.mcp_client.faults import SpecError
from acpagent.mcp_client.spec import ServerSpec, expanded, merged, of_file, of_settings, read


def test_a_program_as_the_protocol_has_it() -> None:
    args = ["--übung", "two words", "$HOME"]
    written = {"name": "a", "command": "/bin/x", "args": args, "env": [{"name": "K", "value": "v"}]}
    spec = read(written)
    assert spec == ServerSpec("a", "stdio", "/bin/x", tuple(args), (("K", "v"),))
    assert (spec.startup_seconds, spec.call_seconds) == (30, 300)


@pytest.mark.parametrize("value", [None, {}, []])
def test_environment_and_arguments_may_be_missing_or_empty(value: Any) -> None:
    assert read({"name": "a", "command": "x", "env": value, "args": None}).env == ()


def test_maps_and_lists_of_pairs_are_the_same() -> None:
    as_map = read({"name": "a", "type": "http", "url": "http://x/", "headers": {"A": "1", "B": "2"}})
    pairs = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    assert as_map == read({"name": "a", "type": "http", "url": "http://x/", "headers": pairs})


@pytest.mark.parametrize(
    ("kind", "transport"),
    [("http", "http"), ("streamable-http", "http"), ("streamable_http", "http"), ("streamableHttp", "http"),
     ("sse", "sse"), (None, "http")],
)  # fmt: skip
def test_transports_by_all_their_names(kind: str | None, transport: str) -> None:
    assert read({"name": "a", "type": kind, "url": "https://x.org/mcp"}).transport == transport


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ([], "must be an object"),
        ({"command": "x"}, "MCP server name is required"),
        ({"name": " ", "command": "x"}, "MCP server name is required"),
        ({"name": 3, "command": "x"}, "MCP server name must be a string"),
        ({"name": "a"}, 'MCP server "a" command is required'),
        ({"name": "a", "type": "http"}, 'MCP server "a" url is required'),
        ({"name": "a", "type": "weird"}, 'MCP server "a" uses an unsupported transport'),
        ({"name": "a", "type": "sse", "url": "ftp://x"}, "must begin with http:// or https://"),
        ({"name": "a", "type": "sse", "url": "http://x", "headers": [{"value": "v"}]}, "headers[0].name is required"),
        ({"name": "a", "type": "sse", "url": "http://x", "headers": [{"name": "A"}]}, "headers[0].value must be"),
        ({"name": "a", "type": "sse", "url": "http://x", "headers": {"A B": "v"}}, "not a header that can be sent"),
        ({"name": "a", "type": "sse", "url": "http://x", "headers": {"A": "v\r\nX: y"}}, "not a header"),
        ({"name": "a", "command": "x", "env": "K=v"}, "env must be an array of {name,value} objects"),
        ({"name": "a", "command": "x", "env": {"K": 1}}, "env[0].value must be a string"),
        ({"name": "a", "command": "x", "env": {"K=": "v"}}, "a name with a = in it"),
        ({"name": "a", "command": "x\0"}, "NUL"),
        ({"name": "a", "command": "x", "args": "one two"}, "args must be a list of strings"),
        ({"name": "a", "command": "x", "call_timeout_seconds": "9"}, "must be a number of seconds above 0"),
        ({"name": "a", "command": "x", "startup_timeout_seconds": 0}, "must be a number of seconds above 0"),
        ({"name": "a", "command": "x", "tool_timeout_seconds": {"t": True}}, "t must be a number of seconds"),
    ],
)
def test_what_makes_no_sense_is_told(written: Any, said: str) -> None:
    with pytest.raises(SpecError) as wrong:
        read(written)
    assert said in str(wrong.value)
    assert len(str(wrong.value)) < 500


def test_times_of_single_tools() -> None:
    spec = read({"name": "a", "command": "x", "call_timeout_seconds": 9, "tool_timeout_seconds": {"slow": 99}})
    assert (spec.seconds("slow"), spec.seconds("other")) == (99, 9)


def test_secrets_are_not_shown() -> None:
    url = "https://x.org/mcp?key=opensesame"
    spec = read({"name": "a", "type": "http", "url": url, "headers": {"Authorization": "Bearer hush-hush"}})
    assert not {"opensesame", "hush-hush"} & set(repr(spec).replace("'", " ").split())
    assert "hush" not in repr(spec)
    assert spec.hide("opensesame says hush-hush, or Bearer hush-hush") == "*** says ***, or ***"
    program = read({"name": "a", "command": "x", "env": {"TOKEN": "t0ps3cret", "SHORT": "on"}})
    assert "t0ps3cret" not in repr(program)
    assert program.hide("t0ps3cret goes on") == "*** goes on"


def test_variables_of_files_are_filled_in() -> None:
    spec = read(
        {"name": "a", "type": "http", "url": "https://${HOST:-x.org}/mcp", "headers": {"Authorization": "Bearer ${K}"}}
    )
    filled = expanded(spec, {"K": "secret", "HOST": ""})
    assert (filled.url, filled.headers) == ("https://x.org/mcp", (("Authorization", "Bearer secret"),))
    with pytest.raises(SpecError, match=r'MCP server "a": the variable K is not set'):
        expanded(spec, {})


def test_the_settings_of_the_person() -> None:
    settings = McpServerSettings("a", "stdio", "${TOOL}", ("--x",), MappingProxyType({"K": "${V:-w}"}))
    spec = of_settings(settings, {"TOOL": "/bin/tool"})
    assert spec == ServerSpec("a", "stdio", "/bin/tool", ("--x",), (("K", "w"),))
    assert spec.source == "config.yaml"


LOCKED = {"name": "a", "transport": "streamableHttp", "url": "https://${ENV:HOST}/mcp"}


@pytest.mark.parametrize(
    ("auth", "headers"),
    [
        ({"type": "bearerEnv", "env": "KEY"}, (("Authorization", "Bearer s3cret"),)),
        ({"type": "apiKeyEnv", "env": "KEY", "header": "X-Key"}, (("X-Key", "s3cret"),)),
        ({"type": "none"}, ()),
        ({"type": "oauth"}, ()),
        (None, ()),
    ],
)
def test_files_as_soba_has_them(auth: Any, headers: Any) -> None:
    lookup = {"KEY": "s3cret", "HOST": "x.org"}
    spec = of_file({**LOCKED, "auth": auth, "timeoutMs": 1500, "trustMode": "normal"}, ".soba/mcp.json", lookup)
    assert (spec.transport, spec.url, spec.headers) == ("http", "https://x.org/mcp", headers)
    assert (spec.call_seconds, spec.source) == (1.5, ".soba/mcp.json")
    own = of_file({**LOCKED, "auth": auth, "headers": {"A": "${KEY}"}, "call_timeout_seconds": 9}, "x", lookup)
    assert (own.headers, own.call_seconds) == ((("A", "s3cret"), *headers), 9)


@pytest.mark.parametrize(
    "wrong",
    [{"auth": "bearer"}, {"auth": {}}, {"auth": {"type": "magic"}}, {"auth": {"type": "bearerEnv"}}, {"timeoutMs": 0},
     {"auth": {"type": "bearerEnv", "env": "a b"}}, {"auth": {"type": "apiKeyEnv", "env": "K", "header": 3}},
     {"auth": {"type": "bearerEnv", "env": "UNSET"}}, {"name": 3}],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_told(wrong: Any) -> None:
    with pytest.raises(SpecError):
        of_file({**LOCKED, **wrong}, "x", {"K": "k", "HOST": "x"})


def test_of_two_with_one_name_the_first_counts() -> None:
    first, second, other = (read({"name": name, "command": command}) for name, command in ("ax", "ay", "bz"))
    assert merged([first], [second, other]) == (first, other)
    assert merged([first, second]) == (first,)
