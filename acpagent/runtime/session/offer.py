"""What a session's controls can be set to, and what they are set to: one place decides what fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from acpagent.config import work_modes
from acpagent.config.settings import NO_EFFORT
from acpagent.core.bounds import one_line
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Controls, ModelChoice
from acpagent.core.faults import TheirFault
from acpagent.runtime.session.loadout import AUTO_COMPACT, COST_LIMIT, OFFERS, SOURCES, TOKEN_LIMIT
from acpagent.toolbox import sources
from acpagent.wire import codes

# Axes and controls of ours that no client sets or sees.
_HIDDEN = frozenset({SOURCES, OFFERS, AUTO_COMPACT, TOKEN_LIMIT, COST_LIMIT})


@dataclass(frozen=True, slots=True)
class Offer:
    """`models` are those configured, in their order; `efforts` those of a model by its id, none where it has no effort
    control; `find_model` the id that a looser name means, or None. All of them answer at once, under any lock."""

    models: Callable[[], tuple[ModelChoice, ...]]
    efforts: Callable[[str], tuple[str, ...]]
    find_model: Callable[[str], str | None]

    def is_gone(self, model: str) -> bool:
        """Whether a model is not configured, or no longer."""
        return model not in [choice.id for choice in self.models()]

    def controls(self, values: Mapping[str, str]) -> Controls:
        """The snapshot that clients see. A model in use that is no longer configured stays listed (CONF-02)."""
        models, model = self.models(), values["model"]
        if self.is_gone(model):
            models = (*models, ModelChoice(model, model.partition("/")[0]))
        shown = {name: value for name, value in values.items() if name not in _HIDDEN}
        return Controls(shown, models, self.efforts(model))

    def fit(self, axes: Mapping[str, str]) -> dict[str, str]:
        """An effort that the model does not have falls back to `auto`, an unknown work mode to the usual one."""
        fitted = dict(axes)
        if fitted.get("effort") not in self.efforts(fitted["model"]):
            fitted["effort"] = NO_EFFORT
        if fitted.get("work_mode") not in work_modes.NAMES:
            fitted["work_mode"] = work_modes.BALANCED
        fitted[SOURCES] = ",".join(sources.listed(fitted.get(SOURCES, "")))
        return fitted

    def refusal(self, axis: str, value: str, axes: Mapping[str, str]) -> TheirFault | None:
        """Why an axis cannot take a value while `axes` are requested: only what is listed can be set (CONF-05)."""
        if axis in _HIDDEN:
            return None
        listed = {
            "model": tuple(choice.id for choice in self.models()),
            "effort": self.efforts(axes["model"]),
            "work_mode": work_modes.NAMES,
        }[axis]
        if value in listed or value == axes[axis]:
            return None
        code = "not_a_value" if listed else "no_effort"
        refused = Phrase(code, option=axis, values=one_line(", ".join(listed), 400))
        return TheirFault(codes.INVALID_PARAMS, Phrase("parameter", name="value", cause=refused))
