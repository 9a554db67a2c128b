"""How a local model is told of tools, what its replies become, and what is known of its file. No model is needed."""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from acpagent.config.settings import ModelSettings, ProviderSettings
from acpagent.core.model import (
    AssistantMessage,
    CallDelta,
    Finished,
    ModelCall,
    ModelEvent,
    TextDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from acpagent.providers import base, gguf, llama_cpp, llama_prompt
from acpagent.providers.llama_reader import Form, LlamaReader
from acpagent.toolbox.registry import Registry, builtin_tools
from tests.providers.calling import TOOL

TOOLS = [ToolSpec(tool.name, tool.description, tool.schema) for tool in Registry(builtin_tools()).tools().values()]


def read(text: str, cuts: list[int], finish: str = "stop") -> list[ModelEvent]:
    """The events of a reply that comes in these pieces."""
    reader, events = LlamaReader(), []
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for start, end in pairwise(places):
        events += reader.take(json.dumps({"choices": [{"delta": {"content": text[start:end]}}]}).encode())
    reader.take(json.dumps({"choices": [{"delta": {}, "finish_reason": finish}]}).encode())
    return events + reader.end()


def said(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def made(events: list[ModelEvent]) -> tuple[str, str]:
    found = [event for event in events if isinstance(event, CallDelta)]
    return "".join(event.name or "" for event in found), "".join(event.arguments for event in found)


CUTS = st.lists(st.integers(0, 500), max_size=8)
LETTERS = st.text(st.characters(codec="utf-8"), max_size=30)
VALUES = st.dictionaries(st.text(max_size=5), st.one_of(LETTERS, st.integers(), st.booleans()), max_size=3)


@given(text=LETTERS, cuts=CUTS, plain=st.booleans(), indent=st.sampled_from([None, 2]))
def test_a_text_comes_out_as_it_was_meant(text: str, cuts: list[int], plain: bool, indent: int | None) -> None:
    events = read(json.dumps({"answer": text}, ensure_ascii=plain, indent=indent), cuts)
    assert said(events) == text
    assert events[-1] == Finished("stop")


@given(arguments=VALUES, cuts=CUTS, indent=st.sampled_from([None, 2]))
def test_a_call_comes_out_as_it_was_meant(arguments: dict[str, Any], cuts: list[int], indent: int | None) -> None:
    events = read(json.dumps({"tool": "read_file", "arguments": arguments}, indent=indent), cuts)
    name, written = made(events)
    assert (name, json.loads(written), said(events)) == ("read_file", arguments, "")
    assert events[-1] == Finished("calls")


def test_a_text_is_passed_on_while_it_is_written() -> None:
    form = Form()
    assert [form.take(piece) for piece in ('{"ans', 'wer": "He', "llo\\", 'n\\"', '."}', "\n")] == [
        [],
        [TextDelta("He")],
        [TextDelta("llo")],
        [TextDelta('\n"')],
        [TextDelta(".")],
        [],
    ]


@pytest.mark.parametrize("text", ["Just words.", '{"reply": "x"}', "{", '{"tool": 3}'])
def test_what_has_another_form_is_not_lost(text: str) -> None:
    assert said(read(text, [])) == text


def test_a_reply_that_is_cut() -> None:
    assert read('{"answer": "half a', [], "length") == [TextDelta("half a"), Finished("length")]
    events = read('{"tool": "ls", "arguments": {"path": "a', [], "length")
    assert (made(events), events[-1]) == (("ls", '{"path": "a'), Finished("length"))


def test_the_form_of_all_tools_is_a_good_schema_and_short() -> None:
    schema = json.loads(llama_prompt.schema(TOOLS))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"answer": "x"})
    assert validator.is_valid({"tool": "list_dir", "arguments": {}})
    assert not validator.is_valid({"tool": "rm_rf", "arguments": {}})
    assert not validator.is_valid({"tool": "read_file", "arguments": {}})
    assert "Read a file" not in llama_prompt.schema(TOOLS)
    assert len(llama_prompt.describe(TOOLS)) < 3000


def test_what_was_said_is_told_in_the_same_form() -> None:
    reply = AssistantMessage("Sure.", "hm", (ModelCall("c", "read_file", '{"path":"a"}'),))
    spoken = [
        one["content"]
        for message in (UserMessage("hi"), reply, ToolMessage("c", "read_file", "text"))
        for one in llama_prompt.message(message, True)
    ]
    assert spoken == [
        "hi",
        '{"answer":"Sure."}',
        '{"tool":"read_file","arguments":{"path":"a"}}',
        "[Result of the tool read_file]\ntext",
    ]
    assert llama_prompt.message(AssistantMessage("Sure."), False) == [{"role": "assistant", "content": "Sure."}]
    assert llama_prompt.describe([TOOL]).endswith("- read_file(path?): Read a file.")


# -- the file


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def written(folder: Path, *pairs: bytes, magic: bytes = b"GGUF", version: int = 3) -> str:
    path = folder / "model.gguf"
    path.write_bytes(magic + struct.pack("<IQQ", version, 0, len(pairs)) + b"".join(pairs))
    return str(path)


LENGTH = text("llama.context_length") + struct.pack("<II", 4, 8192)
OTHERS = [
    text("general.architecture") + struct.pack("<I", 8) + text("llama"),
    text("a.float") + struct.pack("<If", 6, 1.5),
    text("a.list") + struct.pack("<IIQ", 9, 8, 2) + text("x") + text("yy"),
    text("a.numbers") + struct.pack("<IIQ3i", 9, 5, 3, 1, 2, 3),
]


def test_the_window_is_in_the_file(tmp_path: Path) -> None:
    assert gguf.context_length(written(tmp_path, *OTHERS, LENGTH)) == 8192


@pytest.mark.parametrize(
    ("pairs", "options"),
    [
        ([LENGTH], {"magic": b"GGML"}),
        ([LENGTH], {"version": 1}),
        (OTHERS, {}),
        ([LENGTH[:-2]], {}),
        ([struct.pack("<Q", 1 << 40)], {}),
        ([text("a") + struct.pack("<I", 77)], {}),
        ([], {}),
    ],
)
def test_no_model(tmp_path: Path, pairs: list[bytes], options: Any) -> None:
    with pytest.raises(gguf.NotGguf):
        gguf.context_length(written(tmp_path, *pairs, **options))


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Exception, match=r"pip install 'acpagent\[local\]'"):
        base.build(
            ProviderSettings("local", "llama-cpp", model_file=written(tmp_path, LENGTH)), ModelSettings("local", "m")
        )


@pytest.mark.parametrize(("name", "words"), [("none.gguf", "cannot be read"), ("model.gguf", "is not a model")])
def test_a_file_that_cannot_be_used(tmp_path: Path, name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp.importlib.util, "find_spec", lambda name: object())
    written(tmp_path, magic=b"####")
    with pytest.raises(Exception, match=words):
        base.build(ProviderSettings("local", "llama-cpp", model_file=str(tmp_path / name)), ModelSettings("local", "m"))


@pytest.mark.parametrize(("configured", "window"), [(0, 8192), (2048, 2048)])
def test_the_window_of_the_file_or_of_the_settings(
    tmp_path: Path, configured: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama_cpp.importlib.util, "find_spec", lambda name: object())
    model = ModelSettings("local", "m", configured)
    provider = base.build(ProviderSettings("local", "llama-cpp", model_file=written(tmp_path, LENGTH)), model)
    assert provider.context_window == window
