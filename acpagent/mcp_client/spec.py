"""How to start or reach a server: what an editor or a file says of it, checked and in one form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from acpagent.config.settings import McpServerSettings
from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.mcp_client.faults import SpecError

Transport = Literal["stdio", "http", "sse"]
Pairs = tuple[tuple[str, str], ...]

STARTUP_SECONDS = 30.0
CALL_SECONDS = 300.0
_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}
_VARIABLE = re.compile(r"\$\{(?:ENV:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HIDDEN_LETTERS = 4  # shorter values would hide half of every text


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """Everything that a connection depends on: servers whose specs are equal are the same server. `env`, `headers`
    and `url` may hold secrets: not in the repr.

    Seconds: `startup_seconds` until it lists what it offers, `call_seconds` for a call, `tool_seconds` for calls of
    single tools. `source` says in words who named it. `stands` is asked before each start, and may read the disk: what
    a project names is trusted as long as it is what it was.
    """

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    env: Pairs = field(default=(), repr=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Pairs = field(default=(), repr=False)
    startup_seconds: float = STARTUP_SECONDS
    call_seconds: float = CALL_SECONDS
    tool_seconds: tuple[tuple[str, float], ...] = ()
    source: str = field(default="", compare=False)
    stands: Callable[[], bool] | None = field(default=None, compare=False, repr=False)

    def seconds(self, tool: str) -> float:
        """How long a call of a tool may take."""
        return dict(self.tool_seconds).get(tool, self.call_seconds)

    def hide(self, text: str) -> str:
        """`text` without the values of environment and headers, and without what an address carries along."""
        query = self.url.partition("?")[2]
        secrets = [value for _, value in (*self.env, *self.headers)]
        secrets += [part.partition("=")[2] for part in query.split("&")]
        secrets += [value.split(" ", 1)[-1] for _, value in self.headers]  # `Bearer x`: the x by itself, too
        for secret in sorted({value for value in secrets if len(value) >= _HIDDEN_LETTERS}, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def read(written: Any, source: str = "") -> ServerSpec:
    """One server as editors and `.mcp.json` files write it: `name`, `type`, `command`, `args`, `env`, `cwd`, `url`,
    `headers`, with `env` and `headers` as a map or as a list of `{name, value}`. Raises `SpecError`."""
    if not isinstance(written, Mapping):
        raise SpecError(Phrase("spec_object"))
    name = _text(written, "name", "MCP server")
    if not name.strip():
        raise SpecError(Phrase("spec_name"))
    where = _called(name)
    transport = _transport(written, where)
    common: dict[str, Any] = {
        "name": name,
        "transport": transport,
        "startup_seconds": _seconds(written, "startup_timeout_seconds", where, STARTUP_SECONDS),
        "call_seconds": _seconds(written, "call_timeout_seconds", where, CALL_SECONDS),
        "tool_seconds": _tool_seconds(written, where),
        "source": source,
    }
    if transport == "stdio":
        return _stdio(written, where, common)
    return _http(written, where, common)


def of_settings(settings: McpServerSettings, lookup: Mapping[str, str]) -> ServerSpec:
    """A server of the person's own configuration, `${VAR}` filled in from `lookup`. Raises `SpecError`."""
    written = {
        "name": settings.name,
        "type": settings.type,
        "command": settings.command or "",
        "args": list(settings.args),
        "env": dict(settings.env),
        "url": settings.url or "",
        "headers": dict(settings.headers),
        "startup_timeout_seconds": settings.startup_seconds,
        "call_timeout_seconds": settings.call_seconds,
        "tool_timeout_seconds": dict(settings.tool_seconds),
    }
    return expanded(read(written, "config.yaml"), lookup)


def of_file(written: Mapping[str, Any], source: str, lookup: Mapping[str, str]) -> ServerSpec:
    """A server as a file has it that the person wrote or trusts, `${VAR}` filled in from `lookup`; SOBA's spelling
    (`auth`, `timeoutMs`) counts, too. Raises `SpecError`."""
    where = _called(_text(written, "name", "MCP server"))
    now = dict(written)
    if "timeoutMs" in now:
        now.setdefault("call_timeout_seconds", _seconds(now, "timeoutMs", where, CALL_SECONDS) / 1000)
    sent = _auth_header(now.get("auth"), where)
    if sent is not None:
        headers = [{"name": name, "value": value} for name, value in (*_pairs(now, "headers", where), sent)]
        now["headers"] = headers
    return expanded(read(now, source), lookup)


def _auth_header(auth: Any, where: str) -> tuple[str, str] | None:
    """The header that SOBA's `auth` stands for; none where a person signs in, or nobody does."""
    if auth is None or (isinstance(auth, Mapping) and auth.get("type") in ("none", "oauth")):
        return None
    if not isinstance(auth, Mapping) or auth.get("type") not in ("bearerEnv", "apiKeyEnv"):
        raise SpecError(Phrase("spec_auth_type", where=where))
    variable = _text(auth, "env", f"{where} auth")
    if _VARIABLE.fullmatch(f"${{{variable}}}") is None:
        raise SpecError(Phrase("spec_auth_env", where=where))
    if auth["type"] == "bearerEnv":
        return "Authorization", f"Bearer ${{{variable}}}"
    return _text(auth, "header", f"{where} auth") or "X-API-Key", f"${{{variable}}}"


def expanded(spec: ServerSpec, lookup: Mapping[str, str]) -> ServerSpec:
    """The spec with `${VAR}`, `${ENV:VAR}` and `${VAR:-default}` filled in. Only for what the person wrote or trusts,
    never for what an editor sends. Raises `SpecError` for a variable that is not set."""

    def fill(text: str) -> str:
        return _VARIABLE.sub(value, text)

    def value(found: re.Match[str]) -> str:
        known = lookup.get(found[1]) or found[2]
        if known is None:
            raise SpecError(Phrase("spec_variable", where=_called(spec.name), name=found[1]))
        return known

    return replace(
        spec,
        command=fill(spec.command),
        args=tuple(fill(arg) for arg in spec.args),
        env=tuple((name, fill(text)) for name, text in spec.env),
        url=fill(spec.url),
        headers=tuple((name, fill(text)) for name, text in spec.headers),
    )


def merged(*groups: Iterable[ServerSpec]) -> tuple[ServerSpec, ...]:
    """All servers, of two with the same name the first."""
    found: dict[str, ServerSpec] = {}
    for group in groups:
        for spec in group:
            found.setdefault(spec.name, spec)
    return tuple(found.values())


def _called(name: str) -> Phrase:
    return Phrase("spec_server", name=bounds.one_line(name, 80))


def _transport(written: Mapping[str, Any], where: str) -> Transport:
    kind = written.get("type") or written.get("transport")
    if kind is None:
        return "http" if written.get("url") and not written.get("command") else "stdio"
    transport = _TRANSPORTS.get(kind.lower()) if isinstance(kind, str) else None
    if transport is None:
        raise SpecError(Phrase("spec_transport", where=where))
    return transport


def _stdio(written: Mapping[str, Any], where: str, common: dict[str, Any]) -> ServerSpec:
    command = _text(written, "command", where)
    if not command.strip():
        raise SpecError(Phrase("spec_needed", where=where, key="command"))
    args = written.get("args") or []
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        raise SpecError(Phrase("spec_args", where=where))
    env = _pairs(written, "env", where)
    if any("\0" in text for text in (command, *args, *(part for pair in env for part in pair))):
        raise SpecError(Phrase("spec_nul", where=where))
    if any("=" in name for name, _ in env):
        raise SpecError(Phrase("spec_env", where=where))
    return ServerSpec(**common, command=command, args=tuple(args), env=env, cwd=_text(written, "cwd", where) or None)


def _http(written: Mapping[str, Any], where: str, common: dict[str, Any]) -> ServerSpec:
    url = _text(written, "url", where).strip()
    if not url:
        raise SpecError(Phrase("spec_needed", where=where, key="url"))
    if not re.match(r"https?://[^\s/]", url) and not url.startswith("${"):
        raise SpecError(Phrase("spec_url", where=where))
    headers = _pairs(written, "headers", where)
    for name, value in headers:
        if not _HEADER.fullmatch(name) or not value.isprintable():
            raise SpecError(Phrase("spec_header", where=where, name=name[:40]))
    return ServerSpec(**common, url=url, headers=headers)


def _text(written: Mapping[str, Any], key: str, where: str) -> str:
    value = written.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise SpecError(Phrase("spec_string", where=where, key=key))
    return value


def _pairs(written: Mapping[str, Any], key: str, where: str) -> Pairs:
    value = written.get(key)
    if value is None:
        return ()
    if isinstance(value, Mapping):
        value = [{"name": name, "value": text} for name, text in value.items()]
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise SpecError(Phrase("spec_pairs", where=where, key=key))
    for index, item in enumerate(value):
        if not isinstance(item.get("name"), str) or not item["name"]:
            raise SpecError(Phrase("spec_needed", where=where, key=f"{key}[{index}].name"))
        if not isinstance(item.get("value"), str):
            raise SpecError(Phrase("spec_string", where=where, key=f"{key}[{index}].value"))
    return tuple((item["name"], item["value"]) for item in value)


def _tool_seconds(written: Mapping[str, Any], where: str) -> tuple[tuple[str, float], ...]:
    value = written.get("tool_timeout_seconds") or {}
    if not isinstance(value, Mapping):
        raise SpecError(Phrase("spec_tool_seconds", where=where))
    return tuple((tool, _seconds(value, tool, where, CALL_SECONDS)) for tool in value)


def _seconds(written: Mapping[str, Any], key: str, where: str, default: float) -> float:
    value = written.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise SpecError(Phrase("spec_seconds", where=where, key=key))
    return float(value)
