"""Params as the runtime takes them: cleaned with the schema's own tolerance, older shapes made new, then converted."""

from __future__ import annotations

import base64
import binascii
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from acpagent.acp.v1 import initialize
from acpagent.acp.v1.log import log
from acpagent.core.blocks import Block, Image, Link, Resource, Text
from acpagent.core.catalogue import Phrase
from acpagent.core.faults import TheirFault
from acpagent.wire import codes, schema

_HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamablehttp"})


@dataclass(frozen=True, slots=True)
class OpenParams:
    kind: Literal["new", "load", "resume"]
    session_id: str
    cwd: str
    directories: tuple[str, ...]
    servers: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ListParams:
    cwd: str | None
    cursor: str | None


@dataclass(frozen=True, slots=True)
class ModeParams:
    session_id: str
    mode: str


@dataclass(frozen=True, slots=True)
class ModelParams:
    session_id: str
    model: str


@dataclass(frozen=True, slots=True)
class OptionParams:
    session_id: str
    option: str
    value: Any


@dataclass(frozen=True, slots=True)
class SubmitParams:
    session_id: str
    form: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PromptParams:
    session_id: str
    blocks: tuple[Block, ...]


def clean(method: str, params: Any) -> Mapping[str, Any]:
    """The params by the schema; what it tolerates is put right with a line on stderr. Raises `TheirFault`."""
    cleaned, remarks = schema.bundle().clean_params("agent", method, params)
    for remark in remarks:
        log(f"{method}: {remark}")
    return cleaned if isinstance(cleaned, Mapping) else {}


def bad(path: str, remedy: str) -> TheirFault:
    """-32602 whose text names path and remedy and echoes no value."""
    return TheirFault(codes.INVALID_PARAMS, Phrase("parameter", name=path, cause=remedy))


def nothing(method: str) -> Callable[[Any], None]:
    """For methods without params of interest."""

    def read(params: Any) -> None:
        clean(method, params)

    return read


def authenticate(params: Any) -> str:
    return str(clean("authenticate", params)["methodId"])


def session_id(method: str) -> Callable[[Any], str]:
    """For methods that take a session id alone."""
    return lambda params: str(clean(method, params)["sessionId"])


def new_session(params: Any) -> OpenParams:
    return _open("new", "session/new", params)


def load_session(params: Any) -> OpenParams:
    return _open("load", "session/load", params)


def resume_session(params: Any) -> OpenParams:
    return _open("resume", "session/resume", params)


def _open(kind: Literal["new", "load", "resume"], method: str, params: Any) -> OpenParams:
    """A missing `mcpServers` is an empty one (RPC-15); its entries are judged where they are used, so that a bad one is
    told of instead of left out."""
    written: Any = ()
    if isinstance(params, dict):
        written = _servers(params.get("mcpServers"))
        params = {**params, "mcpServers": written}
    fields = clean(method, params)
    cwd = absolute("cwd", fields["cwd"])
    roots = fields.get("additionalDirectories") or []
    directories = tuple(absolute(f"additionalDirectories[{index}]", path) for index, path in enumerate(roots))
    servers = tuple(written if isinstance(written, list) else fields.get("mcpServers") or ())
    return OpenParams(kind, fields.get("sessionId", ""), cwd, directories, servers)


def _servers(written: Any) -> Any:
    """Their `env` and `headers` written as maps, and other names of HTTP, as older clients have them, in the protocol's
    own form."""
    if not isinstance(written, list):
        return [] if written is None else written
    return [_server(server) if isinstance(server, dict) else server for server in written]


def _server(written: dict[str, Any]) -> dict[str, Any]:
    server = {key: _pairs(value) if key in ("env", "headers") else value for key, value in written.items()}
    if isinstance(kind := server.get("type"), str) and kind.lower() in _HTTP:
        server["type"] = "http"
    return server


def _pairs(written: Any) -> Any:
    if not isinstance(written, dict):
        return written
    return [{"name": name, "value": value} for name, value in written.items()]


def list_sessions(params: Any) -> ListParams:
    fields = clean("session/list", params)
    cwd = fields.get("cwd")
    return ListParams(None if cwd is None else absolute("cwd", cwd), fields.get("cursor"))


def absolute(path: str, value: str) -> str:
    """A path that does not depend on where this process happens to run (SESS-02)."""
    if not os.path.isabs(value) or "\0" in value:
        raise bad(path, "must be an absolute path")
    return value


def prompt(params: Any) -> PromptParams:
    """The blocks of a prompt; a `command` field becomes the slash command it stands for, before all of them."""
    command = _command(params)
    if command and params.get("prompt") is None:
        params = {**params, "prompt": []}
    return _blocks("session/prompt", params, command)


def _blocks(method: str, params: Any, before: tuple[Block, ...] = ()) -> PromptParams:
    fields = clean(method, params)
    written = tuple(block(f"prompt[{index}]", value) for index, value in enumerate(fields["prompt"]))
    blocks = (*before, *written)
    if not any(not isinstance(item, Text) or item.text.strip() for item in blocks):
        raise bad("prompt", "is empty; send at least one block with content")
    return PromptParams(fields["sessionId"], blocks)


def _command(params: Any) -> tuple[Text, ...]:
    command = params.get("command") if isinstance(params, dict) else None
    if not isinstance(command, dict) or not isinstance(command.get("name"), str):
        return ()
    arguments = command.get("args") or command.get("arguments") or ""
    if isinstance(arguments, list):  # SOBA's shape: each of them is one
        arguments = shlex.join(word for word in arguments if isinstance(word, str))
    words = arguments if isinstance(arguments, str) else ""
    return (Text(f"/{command['name'].lstrip('/')} {words}".strip()),)


def steer(params: Any) -> PromptParams:
    """Guidance for a prompt that runs; text or attachments, at least one of them with content."""
    return _blocks(initialize.STEER_METHOD, params)


def submit(params: Any) -> SubmitParams:
    """A form that the client showed by itself, filled in; the form judges the values."""
    fields = clean(initialize.SUBMIT_METHOD, params)
    return SubmitParams(fields["sessionId"], fields["formInstanceId"], fields["values"])


def set_mode(params: Any) -> ModeParams:
    fields = clean("session/set_mode", params)
    return ModeParams(fields["sessionId"], fields["modeId"])


def set_model(params: Any) -> ModelParams:
    """Not in the protocol's schema any more, so ours has it."""
    fields = clean("session/set_model", params)
    return ModelParams(fields["sessionId"], fields["modelId"])


def set_option(params: Any) -> OptionParams:
    """`configId`, not `optionId`: those who confuse them are told so. The value is judged by the option (CONF-07)."""
    if isinstance(params, dict) and "configId" not in params and "optionId" in params:
        raise bad("optionId", "is not the name of the field; give the option's id as configId")
    fields = clean("session/set_config_option", params)
    return OptionParams(fields["sessionId"], fields["configId"], fields["value"])


def block(path: str, value: Mapping[str, Any]) -> Block:
    """One content block. Raises `TheirFault` for audio, which no model here hears, and for bad base64 (CONT-05)."""
    return _BLOCKS[value["type"]](path, value)


def _image(path: str, value: Mapping[str, Any]) -> Block:
    return Image(_base64(f"{path}.data", value["data"]), value["mimeType"], value.get("uri"))


def _audio(path: str, value: Mapping[str, Any]) -> Block:
    raise bad(path, "audio is not supported; send text")


def _link(path: str, value: Mapping[str, Any]) -> Block:
    return Link(value["uri"], value["name"], value.get("mimeType"), value.get("size"))


def _resource(path: str, value: Mapping[str, Any]) -> Block:
    inner = value["resource"]
    blob = inner.get("blob")
    if blob is not None:
        blob = _base64(f"{path}.resource.blob", blob)
    return Resource(inner["uri"], inner.get("text"), blob, inner.get("mimeType"))


_BLOCKS: dict[str, Callable[[str, Mapping[str, Any]], Block]] = {
    "text": lambda path, value: Text(value["text"]),
    "image": _image,
    "audio": _audio,
    "resource_link": _link,
    "resource": _resource,
}


def _base64(path: str, data: str) -> str:
    try:
        if len(data) % 4:  # the decoder overlooks padding after what needs none
            raise binascii.Error
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise bad(path, "is not valid base64") from None
    return data
