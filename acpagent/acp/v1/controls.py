"""The controls of a session: mode, model, effort, work mode, tool approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acpagent.acp.v1 import options
from acpagent.acp.v1.decode import bad
from acpagent.acp.v1.replies import nothing
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Controls
from acpagent.runtime.session.loadout import CONTROLS

if TYPE_CHECKING:
    from acpagent.acp.v1.decode import ModelParams, ModeParams, OptionParams
    from acpagent.acp.v1.methods import Methods


def set_mode(methods: Methods, request_id: Any, params: ModeParams) -> None:
    session = methods.session(params.session_id)
    changed = options.mode_controls(params.mode)
    session.adjust(changed, methods.reply(request_id, session, params.session_id, nothing))


def set_model(methods: Methods, request_id: Any, params: ModelParams) -> None:
    """For clients older than options. Takes a provider or a bare model name as well."""
    session = methods.session(params.session_id)
    model = methods.registry.find_model(params.model)
    if model is None:
        raise bad("modelId", Phrase("not_a_model"))
    session.configure("model", model, methods.reply(request_id, session, params.session_id, nothing))


def set_option(methods: Methods, request_id: Any, params: OptionParams) -> None:
    session = methods.session(params.session_id)
    option, changed = options.setting(params.option, params.value)
    reply = methods.reply(request_id, session, params.session_id, _refreshed)
    if option in CONTROLS:
        session.adjust(changed, reply)
    else:
        session.configure(option, changed[option], reply)


def _refreshed(controls: Controls) -> dict[str, Any]:
    return {"configOptions": options.options(controls)}
