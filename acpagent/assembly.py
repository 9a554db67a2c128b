"""The composition root: settings in, a working set of services out. It hands each room what it needs of another."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from acpagent.config import credentials, locate, settings
from acpagent.config.problems import ConfigError
from acpagent.config.selection import UnknownModel
from acpagent.config.settings import ModelSettings, ProviderSettings, Settings
from acpagent.core import process
from acpagent.core.faults import OurFault, TheirFault
from acpagent.core.paths import Roots
from acpagent.permission.gate import Gate
from acpagent.providers import base
from acpagent.runtime.commands.table import CommandTable
from acpagent.runtime.session import loadout
from acpagent.runtime.session.instructions import SYSTEM_PROMPT
from acpagent.runtime.session.loadout import Loadout
from acpagent.runtime.session.services import Limits, Observer, Services
from acpagent.store.database import Store
from acpagent.store.leases import Leases
from acpagent.toolbox.registry import Registry, builtin_tools
from acpagent.wire import codes

NO_EFFORT = "auto"
_NO_MODEL = "no model is configured: describe a provider in config.yaml in the acpagent home folder"


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line sets; None leaves it to the configuration."""

    model: str | None = None
    profile: str | None = None


class Assembly:
    """One process's services. Making it reads the configuration and opens nothing.

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
        try:
            self._settings = settings.load(home)
        except ConfigError as error:
            raise OurFault(f"the configuration cannot be used: {error}") from None
        self._tools = Registry(builtin_tools()).tools()
        store = Store(locate.store_file(home))
        self.services = Services(
            store=store,
            leases=Leases(store, home),
            build_loadout=self._build_loadout,
            make_gate=self._make_gate,
            commands=CommandTable(),
            limits=_limits(self._settings),
            defaults=_defaults(self._settings, flags),
            report=report,
            observe=observe,
            hidden_env=_hidden_env(self._settings),
        )

    def has_credentials(self) -> bool:
        """Whether the start-up model could be used: its key is there, and was not turned away last time."""
        name = self.services.defaults["model"]
        if not name or self.services.credentials.rejected:
            return False
        return credentials.has_key(self._home, self._provider(self._settings.model(name)))

    def finish(self, deadline: float) -> None:
        """Leave no process behind, store what is queued and let go of the store, by `deadline` (monotonic)."""
        process.sweep()
        if self.services.store.close(max(0.0, deadline - time.monotonic())):
            self.services.leases.close()  # else writes are still queued, and the end of the process frees the leases

    def _provider(self, model: ModelSettings) -> ProviderSettings:
        return self._settings.providers[model.provider]

    def _build_loadout(self, axes: Mapping[str, str]) -> Loadout:
        if not self._settings.models:
            raise TheirFault(codes.AUTH_REQUIRED, _NO_MODEL)
        try:
            model = self._settings.model(axes["model"] or None)
        except UnknownModel as unknown:
            raise TheirFault(codes.INVALID_PARAMS, f"{unknown.what}; {unknown.remedy}") from None
        settled = self._provider(model)
        if not credentials.has_key(self._home, settled):
            raise TheirFault(
                codes.AUTH_REQUIRED,
                f"no key for {settled.name}: set {settled.api_key_env} or add {settled.name} to credentials.yaml",
            )
        effort = axes.get("effort", NO_EFFORT)
        try:
            provider = base.build(
                settled,
                model,
                lambda: credentials.find_key(self._home, settled),
                effort if effort in model.efforts else None,
            )
        except ConfigError as error:
            raise OurFault(f"the model {model.id} cannot be used: {error}") from None
        return loadout.assemble(model.id, provider, self._tools, SYSTEM_PROMPT)

    def _make_gate(self, roots: Roots) -> Gate:
        return Gate(self._settings.permissions, roots)


def _limits(configured: Settings) -> Limits:
    limits = configured.limits
    return Limits(limits.turn_requests, limits.command_seconds, limits.output_bytes)


def _defaults(configured: Settings, flags: Flags) -> dict[str, str]:
    """The axes and controls of a new session: flags beat the configuration, which beats our own defaults."""
    model = configured.model(flags.model).id if configured.models else ""
    return {
        "model": model,
        "effort": NO_EFFORT,
        "work_mode": flags.profile or configured.profile,
        "mode": "normal",
        "tool_approval": configured.tool_approval,
    }


def _hidden_env(configured: Settings) -> frozenset[str]:
    """The variables that hold keys: no command the model runs may read them."""
    names = (provider.api_key_env for provider in configured.providers.values())
    return frozenset(name for name in names if name)
