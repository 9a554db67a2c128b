"""The composition root: settings in, a working set of services out. It hands each room what it needs of another."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from acpagent.config import credentials, language, locate, redaction, settings, shown
from acpagent.config.credentials import Secret
from acpagent.config.problems import ConfigError
from acpagent.config.redaction import Current
from acpagent.config.selection import UnknownModel
from acpagent.config.settings import NO_EFFORT, ModelSettings, ProviderSettings, Settings
from acpagent.config.shown import Key, Shown
from acpagent.core import process
from acpagent.core.catalogue import Phrase
from acpagent.core.events import ModelChoice
from acpagent.core.faults import Fault, OurFault, TheirFault
from acpagent.core.memory import Note
from acpagent.core.model import ToolSpec
from acpagent.core.paths import Roots
from acpagent.core.phrases import told
from acpagent.extensions import discovery, plugins, trust
from acpagent.extensions.discovery import Extensions
from acpagent.extensions.problems import Problem
from acpagent.mcp_client import private, spec
from acpagent.mcp_client.faults import SpecError
from acpagent.mcp_client.spec import ServerSpec
from acpagent.permission import rules
from acpagent.permission.gate import Gate
from acpagent.permission.grants import Repositories
from acpagent.permission.rules import Rules
from acpagent.providers import base
from acpagent.runtime.commands.table import CommandTable
from acpagent.runtime.session import model_commands
from acpagent.runtime.session.equipment import Found
from acpagent.runtime.session.instructions import SYSTEM_PROMPT
from acpagent.runtime.session.loadout import AUTO_COMPACT, COST_LIMIT, SOURCES, TOKEN_LIMIT, Limits, Loadout, Needs
from acpagent.runtime.session.offer import Offer
from acpagent.runtime.session.services import Observer, Services
from acpagent.runtime.session.work_mode import WORK_MODES, WorkMode
from acpagent.runtime.turn.compaction import Thresholds
from acpagent.store import grants, memory
from acpagent.store.database import Store
from acpagent.store.leases import Leases
from acpagent.store.trust import Approvals
from acpagent.toolbox import sources
from acpagent.toolbox.memory import RecallMemory, Remember
from acpagent.toolbox.registry import Registry, builtin_tools
from acpagent.wire import codes

_SHORTEST_SECRET = 12  # letters; what is shorter may be any word of a file that the model reads


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line sets; None leaves it to the configuration."""

    model: str | None = None
    profile: str | None = None


class Assembly:
    """One process's services. Making it reads the configuration and opens nothing.

    Owns `_reading`, a leaf lock over reading the configuration again.

    Raises `OurFault` for a configuration that cannot be used.
    """

    def __init__(
        self,
        home: str,
        flags: Flags,
        report: Callable[[str, BaseException], None],
        observe: Observer | None = None,
    ) -> None:
        self._home = home
        self._flags = flags
        self._reading = threading.Lock()
        self._stamp = _stamp(home)
        self._settings, defaults = _read(home, flags)
        self._sent: dict[str, Secret | None] = {}  # the key that each provider got last
        self._own = Current(home, redaction.own, _SHORTEST_SECRET)
        store = Store(locate.store_file(home))
        self._repositories = Repositories(_Granted(store))
        self._approvals = Approvals(store)
        self._memory = _Notes(store, self._hide)
        self.services = Services(
            store=store,
            leases=Leases(store, home),
            home=home,
            approvals=self._approvals,
            build_loadout=self._build_loadout,
            find=self._find,
            offer=Offer(self._models, lambda model: self._settings.efforts(model), self._find_model),
            make_gate=self._make_gate,
            commands=CommandTable(),
            memory=self._memory,
            settings=self._shown,
            hide=self._hide,
            hide_own=lambda text: self._own.secrets.values(text),
            defaults=defaults,
            report=report,
            observe=observe,
            hidden_env=_hidden_env(self._settings),
            refresh=self._refresh,
        )

    def has_credentials(self) -> bool:
        """Whether the start-up model could be used: its key is there, and is not one that was turned away last time.

        Raises `Fault` for a configuration or a credentials file that cannot be used.
        """
        self._refresh()
        name = self.services.defaults["model"]
        if not name:
            return False
        provider = self._provider(self._settings.model(name))
        if not self._has_key(provider):
            return False
        if not self.services.credentials.rejected:
            return True
        return provider.name in self._sent and self._sent[provider.name] != self._find_key(provider)

    def finish(self, deadline: float) -> None:
        """Leave no process behind, store what is queued and let go of the store, by `deadline` (monotonic)."""
        process.sweep()
        if self.services.store.close(max(0.0, deadline - time.monotonic())):
            self.services.leases.close()  # else writes are still queued, and the end of the process frees the leases

    def _refresh(self) -> None:
        """Read the configuration again if it has changed: what is written now, the next session has (AUTH-04)."""
        with self._reading:
            stamp = _stamp(self._home)
            if stamp == self._stamp:
                return
            self._settings, self.services.defaults = _read(self._home, self._flags)
            self._stamp = stamp
            self.services.hidden_env |= _hidden_env(self._settings)

    def _provider(self, model: ModelSettings) -> ProviderSettings:
        return self._settings.providers[model.provider]

    def _find_key(self, provider: ProviderSettings) -> Secret | None:
        return credentials.find_key(self._home, provider)

    def _send_key(self, provider: ProviderSettings) -> Secret | None:
        """The key for a call that is about to be made."""
        self._sent[provider.name] = key = self._find_key(provider)
        return key

    def _has_key(self, provider: ProviderSettings) -> bool:
        try:
            return credentials.has_key(self._home, provider)
        except ConfigError as error:
            raise TheirFault(codes.AUTH_REQUIRED, error.problems[0].told) from None

    def _models(self) -> tuple[ModelChoice, ...]:
        return tuple(ModelChoice(model, provider) for model, provider in self._settings.catalogue())

    def _find_model(self, name: str) -> str | None:
        try:
            return self._settings.model(name).id if name else None
        except UnknownModel:
            return None

    def _build_loadout(self, axes: Mapping[str, str], needs: Needs) -> Loadout:
        if not self._settings.models:
            raise TheirFault(codes.AUTH_REQUIRED, Phrase("no_model"))
        try:
            model = self._settings.model(axes["model"] or None)
        except UnknownModel as unknown:
            raise TheirFault(codes.INVALID_PARAMS, told(unknown)) from None
        settled = self._provider(model)
        if not self._has_key(settled):
            raise TheirFault(
                codes.AUTH_REQUIRED,
                Phrase("no_key_for", provider=settled.name, name=settled.api_key_env),
            )
        effort = axes.get("effort", NO_EFFORT)
        try:
            provider = base.build(
                settled,
                model,
                lambda: self._send_key(settled),
                effort if effort in model.efforts else None,
            )
        except ConfigError as error:
            raise OurFault(Phrase("model_unusable", model=model.id, cause=error.problems[0].told)) from None
        mode = WORK_MODES.get(axes["work_mode"], WorkMode())  # a stored one may be of a newer version
        every = builtin_tools(
            sees_images=provider.sees_images, allow_private=self._settings.fetch.allow_private, asks=needs.asks
        )
        every += [Remember(self._memory), RecallMemory(self._memory)]
        offers = needs.kit.servers.signature()  # before the tools: what comes between is found out later
        listed = mode.tools([*every, *needs.kit.tools()], sources.listed(axes[SOURCES]))
        tools = Registry(listed).tools()
        specs = [ToolSpec(tool.name, tool.description, tool.schema) for tool in tools.values()]
        return Loadout(
            model=model.id,
            provider=provider,
            tools=tools,
            system=provider.encode_system(SYSTEM_PROMPT + mode.block),
            tool_list=provider.encode_tools(specs),
            limits=_limits(self._settings, model),
            delivers=mode.delivers,
            rules=self._rules(),
            hooks=needs.kit.found.extensions.hooks,
            commands=model_commands.of_kit(needs.kit),
            offers=offers,
        )

    def _shown(self, model: str) -> Shown:
        """The settings in force with a model. Raises `Fault`."""
        provider = self._settings.providers.get(model.partition("/")[0])
        key: Key = "unneeded"
        if provider is not None and provider.api_key_env:
            key = "set" if self._has_key(provider) else "missing"
        name = provider.api_key_env or "" if provider is not None else ""
        return Shown(locate.config_file(self._home), shown.values(self._settings, model), key, name)

    def _hide(self, text: str) -> str:
        """The text without secrets that this machine knows, or that look like one."""
        return redaction.Secrets(redaction.known(self._home)).strictly(text)

    def _find(self, cwd: str, named: tuple[ServerSpec, ...]) -> Found:
        """What extends a session in a folder. Raises `Fault` where it cannot be told what is trusted."""
        standing = trust.look(cwd, self._home, self._approvals)
        installed, broken = plugins.enabled(self._home)
        extensions = discovery.discover(self._home, standing, self._settings.skill_paths, installed)
        servers, unfit = self._servers(named, extensions)
        return Found(extensions, servers, installed, (*broken, *extensions.problems, *unfit))

    def _servers(
        self, named: tuple[ServerSpec, ...], extensions: Extensions
    ) -> tuple[tuple[ServerSpec, ...], tuple[Problem, ...]]:
        """The servers, of two with one name first the client's, then the person's, then the project's and plugins'."""
        lookup = {**os.environ, **private.secrets_file(self._home).read()}
        found, problems = list(named), list[Problem]()
        for settled in self._settings.mcp_servers.values():
            try:
                found.append(spec.of_settings(settled, lookup))
            except SpecError as error:
                where = locate.config_file(self._home)
                problems.append(
                    Problem("server", where, None, told(error), Phrase("correct_server", name=settled.name))
                )
        root = extensions.standing.project.root
        for entry in extensions.servers:
            try:
                named_there = spec.of_file(entry.written, entry.source, lookup)
                found.append(named_there if entry.owner else replace(named_there, stands=lambda: self._trusts(root)))
            except SpecError as error:
                problems.append(Problem("server", entry.file, entry.line, told(error), Phrase("correct_or_remove")))
        return spec.merged(found), tuple(problems)

    def _trusts(self, root: str) -> bool:
        """Whether a project is trusted as it is now."""
        try:
            return trust.look(root, self._home, self._approvals).trusted
        except Fault:
            return False

    def _make_gate(self, roots: Roots) -> Gate:
        """Raises `Fault` if what was granted cannot be read."""
        repository = self._repositories.open(roots.all[0])
        return Gate(self._rules(), roots, "ask", repository, kept=(os.path.realpath(self._home),))

    def _rules(self) -> Rules:
        return rules.read(self._settings.permissions)


@dataclass(frozen=True, slots=True)
class _Notes:
    """The store as the memory of repositories; nothing secret comes into it."""

    store: Store
    hide: Callable[[str], str]

    def notes(self, repository: str) -> tuple[Note, ...]:
        return memory.read(self.store, repository)

    def keep(self, repository: str, note: Note) -> None:
        self.store.apply(memory.keep(repository, replace(note, text=self.hide(note.text))))

    def forget(self, repository: str, ids: Sequence[str]) -> None:
        self.store.apply(memory.forget(repository, ids))


@dataclass(frozen=True, slots=True)
class _Granted:
    """The store as the gates see it."""

    store: Store

    def read(self, repository: str) -> tuple[str, ...]:
        return grants.read(self.store, repository)

    def add(self, repository: str, rule: str) -> None:
        self.store.apply(grants.add(repository, rule))

    def clear(self, repository: str) -> None:
        self.store.apply(grants.clear(repository))


def _read(home: str, flags: Flags) -> tuple[Settings, dict[str, str]]:
    """The settings, and the axes and controls of a new session. Raises `OurFault`."""
    try:
        configured = settings.load(home)
        return configured, _defaults(configured, flags)
    except ConfigError as error:
        raise OurFault(Phrase("configuration_unusable", cause=error.problems[0].told)) from None
    except UnknownModel as unknown:
        raise OurFault(Phrase("flag_model", cause=told(unknown))) from None


def _stamp(home: str) -> tuple[int, ...] | None:
    """What changes with config.yaml; None if there is none."""
    try:
        found = os.stat(locate.config_file(home))
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _limits(configured: Settings, model: ModelSettings) -> Limits:
    limits, compaction = configured.limits, configured.compaction
    return Limits(
        limits.turn_requests,
        limits.command_seconds,
        limits.output_bytes,
        limits.goal_rounds_without_progress,
        limits.session_tokens,
        limits.session_cost,
        Thresholds(compaction.at, compaction.keep, compaction.seconds, model.max_output_tokens or 0),
    )


def _defaults(configured: Settings, flags: Flags) -> dict[str, str]:
    """Flags beat the configuration, which beats our own defaults."""
    model = configured.model(flags.model).id if configured.models else ""
    return {
        "model": model,
        "effort": NO_EFFORT,
        "work_mode": flags.profile or configured.profile,
        SOURCES: "",
        "mode": "normal",
        "tool_approval": configured.tool_approval,
        AUTO_COMPACT: "on" if configured.compaction.auto else "off",
        TOKEN_LIMIT: "",
        COST_LIMIT: "",
        "language": language.chosen(configured.language, os.environ),
    }


def _hidden_env(configured: Settings) -> frozenset[str]:
    """The variables that hold keys: no command the model runs may read them."""
    names = (provider.api_key_env for provider in configured.providers.values())
    return frozenset(name for name in names if name)
