"""A rebuild: a new loadout beside the old one, its settings stored before it is swapped in."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from acpagent.core.faults import Fault, OurFault
from acpagent.runtime.session.keep import Keep, settings_of
from acpagent.runtime.session.loadout import Loadout, Needs
from acpagent.runtime.session.services import Services
from acpagent.runtime.session.works import Rebuild, Rebuilt


@dataclass(frozen=True, slots=True)
class Rebuilder:
    """Runs rebuilds of one session on its worker. `active` are the axes of the loadout in use."""

    services: Services
    keep: Keep
    asks: str
    active: Mapping[str, str]

    def run(self, rebuild: Rebuild) -> Rebuilt:
        """Axes and reload together; if that fails, the axes alone, then the reload alone."""
        axes = {**self.active, **rebuild.axes}
        loadout, fault = self._build(axes, rebuild.reload)
        axes_fault = fault if rebuild.axes else None
        reload_fault = fault if rebuild.reload else None
        if fault is not None and rebuild.axes and rebuild.reload:
            loadout, axes_fault = self._build(axes, fresh=False)
            if loadout is None:
                axes = dict(self.active)
                loadout, reload_fault = self._build(axes, fresh=True)
        if loadout is None:
            return Rebuilt(axes_fault, reload_fault)
        gone = None if loadout.model == axes["model"] else (axes["model"], loadout.model)
        axes = self.services.offer.fit({**axes, "model": loadout.model})
        lost = self._store(axes)
        if lost is not None:
            loadout.provider.close()
            return Rebuilt(lost if rebuild.axes else None, lost if rebuild.reload else None)
        return Rebuilt(
            axes_fault, reload_fault, lambda: self._swap(loadout, axes), lambda: self._discard(loadout), gone
        )

    def _build(self, axes: Mapping[str, str], fresh: bool) -> tuple[Loadout | None, Fault | None]:
        """A reload that finds the model in use no longer configured takes the usual one, as opening the session
        would."""
        services = self.services
        try:
            return services.build_loadout(axes, Needs(self.asks, fresh)), None
        except Fault as fault:
            instead = services.defaults["model"]
            used = axes["model"] == self.active["model"]
            if fresh and used and instead and services.offer.is_gone(axes["model"]):
                return self._build({**axes, "model": instead}, fresh=False)
            return None, fault

    def _store(self, axes: Mapping[str, str]) -> Fault | None:
        """Wait until the axes are stored: what is answered is stored before."""
        errors: list[BaseException | None] = []
        written = threading.Event()

        def then(error: BaseException | None) -> None:
            errors.append(error)
            written.set()

        self.keep.save(axes, then)
        written.wait()
        return None if errors[0] is None else OurFault(f"the change could not be stored: {errors[0]}")

    def _swap(self, loadout: Loadout, axes: Mapping[str, str]) -> None:
        """Under the session lock. A control that was set since may have stored the old axes beside it."""
        keep = self.keep
        keep.loadout.provider.close()
        keep.loadout = loadout
        keep.gate.rules = loadout.rules
        keep.conversation.rebind(loadout.provider)
        if keep.row.settings != settings_of(axes, keep.controls):
            keep.save(axes)

    def _discard(self, loadout: Loadout) -> None:
        """Under the session lock: nobody wants the loadout any more, and the old axes are what is stored."""
        loadout.provider.close()
        self.keep.save(self.active)
