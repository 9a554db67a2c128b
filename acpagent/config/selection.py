"""Which configured model a name means.

The start-up copy and the full settings resolve names through this one function, so that `--model` means the
same on both roads. This file lies on the path to `initialize`: no imports.
"""

from __future__ import annotations

from acpagent.core.catalogue import Phrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class UnknownModel(Exception):
    """No configured model has this name, or several have. `what` and `remedy` are for the person."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(Phrase("model_says_remedy", message=what, remedy=remedy))
        self.what = what
        self.remedy = remedy


def select(models: Sequence[tuple[str, str]], wanted: str) -> int:
    """The position in `models`, pairs of provider and model in configured order, of the model `wanted` names.

    `wanted` is `provider/model`, a provider (its first model), or the name of a model that only one provider
    has. Raises `UnknownModel`.
    """
    for position, (provider, model) in enumerate(models):
        if wanted == f"{provider}/{model}":
            return position
    for position, (provider, _) in enumerate(models):
        if wanted == provider:
            return position
    found = [position for position, (_, model) in enumerate(models) if wanted == model]
    if len(found) == 1:
        return found[0]
    if found:
        names = [f"{provider}/{wanted}" for provider, model in models if model == wanted]
        raise UnknownModel(Phrase("several_models", name=wanted), Phrase("write_one_of", names=", ".join(names)))
    if not models:
        raise UnknownModel(Phrase("unknown_model", name=wanted), Phrase("add_provider"))
    known = ", ".join(f"{provider}/{model}" for provider, model in models[:10])
    raise UnknownModel(Phrase("unknown_model", name=wanted), Phrase("configured_are", names=known))
