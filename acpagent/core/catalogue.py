"""Everything acpagent says to a person: one sentence per code, filled with parameters; nothing for the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SENTENCES: dict[str, str] = {
    "approval_yolo": "Full access: from now on this session runs tools without asking.",
    "controls_not_changed": "The change of settings failed and the old ones stay: {cause}",
    "delivery_goes_on": "Delivery: it goes on, for there is not yet {missing}.",
    "delivery_lacks_change": "any change, although it says that work was done",
    "delivery_lacks_check": "a check that passed after the last change",
    "delivery_lacks_completion": "an end to every entry of the plan",
    "delivery_lacks_plan": "a list of acceptance criteria",
    "delivery_lacks_review": "a look at what was changed last",
    "delivery_lacks_sign_off": "a sign-off that quotes the check",
    "delivery_unfinished": "Delivery: it ends here, without {missing}. Look at it yourself before you rely on it.",
    "goal_accepted": "The brief counts as accepted, because tool approval is {approval}.",
    "goal_blocked": "Goal blocked: {reason}",
    "goal_complete": "Goal complete. Rounds of work: {rounds}.",
    "goal_out_of_tokens": "The session has used {tokens} of {limit} tokens. The goal is paused.",
    "goal_paused": "The goal is paused. The next prompt in goal mode goes on with it.",
    "goal_refused": "The goal was not started, and goal mode is off.",
    "goal_resumed": "Going on with the goal: {objective} (rounds of work so far: {rounds})",
    "goal_round": "Goal, round {round}. Model calls left in this prompt: {calls} of {limit}.",
    "goal_round_tokens": "Goal, round {round}. Model calls left in this prompt: {calls} of {limit}; tokens left in "
    "this session: {tokens} of {token_limit}.",
    "goal_stalled": "Goal stopped: nothing new came of {rounds} rounds in a row.",
    "goal_stopped": "Goal stopped.",
    "goal_unanswered": "Nobody was there to accept the brief. The goal is paused.",
    "hook_changed": "The hook {hook} ({event}) did not run: it has changed since you trusted this project. Look at it "
    "with `/project-trust`.",
    "hook_failed": "The hook {hook} ({event}) failed: {cause}",
    "hook_garbled": "The hook {hook} ({event}) gave an answer that cannot be read; it did not count.",
    "hook_gives_up": "The model was sent on {times} times by a hook, and stops all the same: {reason}",
    "hook_goes_on": "A hook sends the model on: {reason}",
    "hook_says": "{hook}: {text}",
    "hook_timed_out": "The hook {hook} ({event}) took longer than {seconds} s and was ended.",
    "extension_problem": "{problem}.",
    "image_unseen": "The model in use cannot see images; it was told that one was attached.",
    "mcp_failed": "The MCP server {server} does not run: {cause}.",
    "mcp_ready": "The MCP server {server} is ready now (tools: {tools}).",
    "mcp_restarting": "The MCP server {server} is started again, because {cause} (try {attempt} of {limit}).",
    "mcp_sign_in": "The MCP server {server} cannot be used yet: {cause}.",
    "mcp_starting": "The MCP server {server} is still starting; its tools follow.",
    "model_gone": "The model {model} of this session is no longer configured; {instead} is used instead.",
    "model_retry": "The model did not answer ({cause}); try {attempt} of {limit} follows in {seconds} s.",
    "model_silent": "The model has not answered for {seconds:g} s; it is still waited for.",
    "plan_unanswered": "Nobody was there to approve the plan. Plan mode stays on.",
    "plugin_skipped": "The plugin {plugin} was not asked ({event}): {cause}.",
    "plugin_stopped": "The plugin {plugin} is not running: {cause}. A reload of the extensions starts it again.",
    "plugin_unasked": "{plugin} has a form that cannot be shown here: {title}",
    "prompt_refused": "A hook refused this prompt, and the model has not read it: {reason}",
    "reload_failed": "The reload failed and the old runtime stays: {cause}",
    "source_connected": "From your next prompt on there are more tools ({source}): {tools}.",
    "steer_refused": "A hook refused this guidance, and the model has not read it: {reason} (you said: {text})",
    "steer_unused": "This guidance came too late for the turn and was not used: {text}",
}


def say(code: str, params: Mapping[str, Any]) -> str:
    """The sentence for a code; a parameter that is a list holds codes of its own, said one after the other. Raises
    KeyError for a code that is not in the catalogue: our own mistake."""
    return _SENTENCES[code].format_map({name: _said(value) for name, value in params.items()})


def _said(value: Any) -> Any:
    return ", ".join(_SENTENCES[code] for code in value) if isinstance(value, list) else value
