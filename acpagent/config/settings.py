"""The settings of the person who uses acpagent, as frozen data.

`load` is the only way they are read. Times are in seconds, sizes in bytes, lengths of text in tokens.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from acpagent.config import document, locate, selection, work_modes
from acpagent.config.check import check, file_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

# The effort that leaves the choice to the server; every model with an effort control has it.
NO_EFFORT = "auto"
# The efforts that mean no thought at all, and what the others are in tokens where thought is measured so.
NO_THOUGHT = ("disabled", "none", "off")
THOUGHT_TOKENS = {"minimal": 1024, "low": 4096, "medium": 10_000, "high": 24_000, "xhigh": 32_000, "max": 48_000}


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Price:
    """What `per` tokens cost in `currency` (ISO 4217): sent, found in the provider's cache, answered, and put into the
    cache (None: as any that are sent). `as_of`: the day that the price is of, empty if nobody said."""

    input: float
    cached: float
    output: float
    currency: str = "USD"
    per: int = 1_000_000
    written: float | None = None
    as_of: str = ""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: until a connection stands, and between two reads of an answer."""

    connect: float = 10
    read: float = 120


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a failed call is made in all, and the seconds before the second try; they double from there."""

    tries: int = 4
    base_seconds: float = 0.5


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model. `efforts` is empty where the model has no effort control; `max_output_tokens` None leaves
    the limit to the provider; `price` None means unknown; `context_window` 0 means that the model's file says."""

    provider: str
    name: str
    context_window: int = 128_000
    max_output_tokens: int | None = None
    vision: bool = False
    efforts: tuple[str, ...] = ()
    price: Price | None = None
    tools: bool = True

    @property
    def id(self) -> str:
        return f"{self.provider}/{self.name}"


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """One provider. `base_url` is None only for `scripted` and `llama-cpp`; `script`, set only for the first, is the
    name of a shipped script or an absolute path; `model_file`, set only for the second, is absolute. `models` has at
    least one entry. Headers may hold secrets: not in the repr."""

    name: str
    api: str
    base_url: str | None = None
    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=_nothing, repr=False)
    timeouts: Timeouts = Timeouts()
    script: str | None = None
    models: Mapping[str, ModelSettings] = field(default_factory=_nothing)
    retries: Retries = Retries()
    model_file: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """`turn_requests`: model calls in one prompt. `session_tokens` and `session_cost` (money, in the currency of
    the model's price) None: no limit."""

    turn_requests: int = 100
    goal_rounds_without_progress: int = 3
    command_seconds: float = 120
    output_bytes: int = 65_536
    session_tokens: int | None = None
    session_cost: float | None = None


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """`auto`: a conversation is summarised by itself. `at` and `keep` are shares of the model's window: at which that
    happens, and how much of what came last stays whole. `seconds`: how long the model may take for a summary."""

    auto: bool = True
    at: float = 0.8
    keep: float = 0.3
    seconds: float = 60


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """`allow_private`: hosts that may be fetched from although they are in a private network."""

    allow_private: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PermissionSettings:
    """Rules as written: `Tool`, `Tool(pattern)`, `Bash(prefix:*)`."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class McpServerSettings:
    """A server to start (`command`) or to reach (`url`); exactly one of the two is set. `type` is `stdio`,
    `http` or `sse`. Environment and headers may hold secrets: not in the repr. Seconds: for its start, for a call, and
    for a call of single tools."""

    name: str
    type: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=_nothing, repr=False)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=_nothing, repr=False)
    startup_seconds: float = 30
    call_seconds: float = 300
    tool_seconds: Mapping[str, float] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything `config.yaml` says, with defaults filled in. `home` is the directory it was read from;
    `skill_paths` are absolute. Without providers acpagent is not configured."""

    home: str
    default_model: str | None = None
    profile: str = work_modes.BALANCED
    tool_approval: str = "ask"
    language: str = "auto"
    providers: Mapping[str, ProviderSettings] = field(default_factory=_nothing)
    limits: Limits = Limits()
    compaction: CompactionSettings = CompactionSettings()
    fetch: FetchSettings = FetchSettings()
    permissions: PermissionSettings = PermissionSettings()
    mcp_servers: Mapping[str, McpServerSettings] = field(default_factory=_nothing)
    skill_paths: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[ModelSettings, ...]:
        """All models in configured order."""
        return tuple(model for provider in self.providers.values() for model in provider.models.values())

    def model(self, wanted: str | None = None) -> ModelSettings:
        """The model that `wanted` names as in `--model`, or the start-up model.

        Raises `selection.UnknownModel`, for None only if no model is configured.
        """
        models = self.models
        wanted = wanted or self.default_model
        if wanted is None and models:
            return models[0]
        return models[selection.select([(model.provider, model.name) for model in models], wanted or "")]

    def catalogue(self) -> tuple[tuple[str, str], ...]:
        """Every model that can be chosen, in configured order: its id, and what describes it, its provider's name."""
        return tuple((model.id, model.provider) for model in self.models)

    def efforts(self, model_id: str) -> tuple[str, ...]:
        """The efforts that can be chosen for a model, `auto` first; none where it has no effort control, or is not
        configured."""
        for model in self.models:
            if model.id == model_id and model.efforts:
                return (NO_EFFORT, *(level for level in model.efforts if level != NO_EFFORT))
        return ()


def load(home: str) -> Settings:
    """Read `config.yaml` in `home`; a missing file means defaults. Raises `ConfigError`."""
    try:
        page = document.read(locate.config_file(home))
    except FileNotFoundError:
        return Settings(home)
    return _settings(home, check(page))


def _settings(home: str, written: dict[str, Any]) -> Settings:
    plain = ("default_model", "profile", "tool_approval", "language")
    paths = written.get("skills", {}).get("paths", [])
    rules = written.get("permissions", {})
    return Settings(
        home=home,
        providers=_named(_provider, written.get("providers", {}), home),
        limits=Limits(**written.get("limits", {})),
        compaction=CompactionSettings(**written.get("compaction", {})),
        fetch=FetchSettings(tuple(written.get("fetch", {}).get("allow_private", ()))),
        permissions=PermissionSettings(**{verdict: tuple(listed) for verdict, listed in rules.items()}),
        mcp_servers=_named(_mcp_server, written.get("mcp_servers", {})),
        skill_paths=tuple(locate.from_home(home, path) for path in paths),
        **{key: written[key] for key in plain if key in written},
    )


def _provider(name: str, written: dict[str, Any], home: str) -> ProviderSettings:
    script, model_file = written.get("script"), written.get("model_file")
    if script is not None and os.path.basename(script) != script:
        script = locate.from_home(home, script)
    models = written.get("models") or {}
    if not models and (file := script or model_file):  # it stands for one model, named after it
        models = {file_model(file): {}}
    if model_file is not None:
        model_file = locate.from_home(home, model_file)
        models = {model: {"context_window": 0, **body} for model, body in models.items()}
    return ProviderSettings(
        name=name,
        api=written["api"],
        base_url=written.get("base_url"),
        api_key_env=written.get("api_key_env"),
        headers=MappingProxyType(written.get("headers", {})),
        timeouts=Timeouts(**written.get("timeouts", {})),
        script=script,
        models=_named(_model, models, name),
        retries=Retries(**written.get("retries", {})),
        model_file=model_file,
    )


def _model(name: str, written: dict[str, Any], provider: str) -> ModelSettings:
    rest = dict(written)
    efforts = tuple(rest.pop("efforts", ()))
    price = rest.pop("price", None)
    if price is not None:
        price = Price(**{"cached": price["input"], **price})
    return ModelSettings(provider=provider, name=name, efforts=efforts, price=price, **rest)


def _mcp_server(name: str, written: dict[str, Any]) -> McpServerSettings:
    return McpServerSettings(
        name=name,
        type=written.get("type", "stdio" if "command" in written else "http"),
        command=written.get("command"),
        args=tuple(written.get("args", ())),
        env=MappingProxyType(written.get("env", {})),
        url=written.get("url"),
        headers=MappingProxyType(written.get("headers", {})),
        startup_seconds=written.get("startup_timeout_seconds", 30),
        call_seconds=written.get("call_timeout_seconds", 300),
        tool_seconds=MappingProxyType(written.get("tool_timeout_seconds", {})),
    )


def _named(make: Callable[..., T], written: dict[str, Any], *context: str) -> Mapping[str, T]:
    return MappingProxyType({name: make(name, body, *context) for name, body in written.items()})
