"""A rebuild: a new loadout beside the old one, its settings stored before it is swapped in."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import Fault, OurFault
from acpagent.core.phrases import told
from acpagent.core.scope import Scope
from acpagent.runtime.session.equipment import Kit
from acpagent.runtime.session.keep import Keep, settings_of
from acpagent.runtime.session.loadout import Loadout, Needs
from acpagent.runtime.session.services import Services
from acpagent.runtime.session.works import Rebuild, Rebuilt


@dataclass(frozen=True, slots=True)
class Built:
    """A loadout, and the kit that it was built with."""

    loadout: Loadout
    kit: Kit


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
        built, fault = self._build(axes, rebuild.reload)
        axes_fault = fault if rebuild.axes else None
        reload_fault = fault if rebuild.reload else None
        if fault is not None and rebuild.axes and rebuild.reload:
            built, axes_fault = self._build(axes, fresh=False)
            if built is None:
                axes = dict(self.active)
                built, reload_fault = self._build(axes, fresh=True)
        if built is None:
            return Rebuilt(axes_fault, reload_fault)
        made, model = built, built.loadout.model
        gone = None if model == axes["model"] else (axes["model"], model)
        axes = self.services.offer.fit({**axes, "model": model})
        lost = self._store(axes)
        if lost is not None:
            self._let_go(made)
            return Rebuilt(lost if rebuild.axes else None, lost if rebuild.reload else None)
        self.keep.equipment.tell_problems(made.kit.found)
        return Rebuilt(axes_fault, reload_fault, lambda: self._swap(made, axes), lambda: self._discard(made), gone)

    def _build(self, axes: Mapping[str, str], fresh: bool) -> tuple[Built | None, Fault | None]:
        try:
            kit = self._fresh_kit() if fresh else self.keep.equipment.kit
        except Fault as fault:
            return None, fault
        try:
            return Built(self._loadout(axes, kit, fresh), kit), None
        except Fault as fault:
            self.keep.equipment.discard(kit)
            return None, fault

    def _fresh_kit(self) -> Kit:
        """Read and find everything anew. One thing that is broken makes it fail whole: what works stays (the seed's
        fail-atomic reload). Raises `Fault`."""
        services, keep = self.services, self.keep
        services.refresh()
        found = services.find(keep.row.cwd, keep.client_servers)
        if found.broken is not None:
            raise OurFault(found.broken.told)
        kit = keep.equipment.prepare(found)
        keep.equipment.wait(kit, Scope())
        return kit

    def _loadout(self, axes: Mapping[str, str], kit: Kit, fresh: bool) -> Loadout:
        """A reload that finds the model in use no longer configured takes the usual one, as opening the session
        would. Raises `Fault`."""
        services, needs = self.services, Needs(self.asks, kit)
        try:
            return services.build_loadout(axes, needs)
        except Fault:
            instead = services.defaults["model"]
            used = axes["model"] == self.active["model"]
            if fresh and used and instead and services.offer.is_gone(axes["model"]):
                return services.build_loadout({**axes, "model": instead}, needs)
            raise

    def _store(self, axes: Mapping[str, str]) -> Fault | None:
        """Wait until the axes are stored: what is answered is stored before."""
        errors: list[BaseException | None] = []
        written = threading.Event()

        def then(error: BaseException | None) -> None:
            errors.append(error)
            written.set()

        self.keep.save(axes, then)
        written.wait()
        return None if errors[0] is None else OurFault(Phrase("not_stored_change", cause=told(errors[0])))

    def _swap(self, made: Built, axes: Mapping[str, str]) -> None:
        """Under the session lock. A control that was set since may have stored the old axes beside it."""
        keep = self.keep
        keep.take(made.loadout, made.kit)
        if keep.row.settings != settings_of(axes, keep.controls):
            keep.save(axes)

    def _discard(self, made: Built) -> None:
        """Under the session lock: nobody wants the loadout any more, and the old axes are what is stored."""
        self._let_go(made)
        self.keep.save(self.active)

    def _let_go(self, made: Built) -> None:
        made.loadout.provider.close()
        self.keep.equipment.discard(made.kit)
