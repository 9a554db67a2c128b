"""Where servers and models differ that speak the same API, as data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from acpagent.providers.chat_messages import Thoughts

# How an effort is asked for: `reasoning_effort`; the same with a `thinking` switch; or inside `reasoning`.
EffortSpelling = Literal["plain", "thinking", "reasoning"]
# Efforts that are no degree but turn thinking on or off -> what the switch is set to.
SWITCHES = {"disabled": "disabled", "none": "disabled", "off": "disabled", "enabled": "enabled", "adaptive": "adaptive"}
# Who has one of these has a `thinking` switch, whatever the server is called; `none` is a degree to some.
_TELLTALE = frozenset({"disabled", "enabled", "adaptive"})


@dataclass(frozen=True, slots=True)
class Habits:
    """Of a server of chat completions. `output_limit`: the field that bounds an answer; `thoughts`: whether reasoning
    is sent back; `mute_with_tools`: the models, a regular expression, that take tools there only when told not to
    reason."""

    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    thoughts: Thoughts = "when_there"
    effort: EffortSpelling = "plain"
    mute_with_tools: str = ""


_STRICT = Habits(thoughts="never")
_FORGETFUL = Habits(thoughts="always")

# By the end of the host's name.
_HABITS = {
    "openai.com": Habits("max_completion_tokens", "never", mute_with_tools=r"gpt-(5\.[6-9]|[6-9])"),
    "openrouter.ai": Habits(effort="reasoning"),
    "groq.com": _STRICT,
    "mistral.ai": _STRICT,
    "cerebras.ai": _STRICT,
    "deepseek.com": Habits(thoughts="always", effort="thinking"),
    "z.ai": Habits(effort="thinking"),
    "bigmodel.cn": Habits(effort="thinking"),
    "minimax.io": Habits("max_completion_tokens", effort="thinking"),
    "minimaxi.com": Habits("max_completion_tokens", effort="thinking"),
    "moonshot.ai": _FORGETFUL,
    "moonshot.cn": _FORGETFUL,
}


def of_host(host: str) -> Habits:
    for ending, habits in _HABITS.items():
        if _is_at(host, ending):
            return habits
    return Habits()


def effort_fields(habits: Habits, efforts: Sequence[str], effort: str | None) -> dict[str, Any]:
    """The fields that ask a model with these `efforts` for one of them; None leaves it to the server."""
    if not effort:
        return {}
    switch, spelling = SWITCHES.get(effort), habits.effort
    if spelling == "plain" and not _TELLTALE.isdisjoint(efforts):
        spelling = "thinking"
    if spelling == "thinking":
        degree = {} if switch else {"reasoning_effort": effort}
        return {"thinking": {"type": switch or "enabled"}, **degree}
    if spelling == "reasoning":
        return {"reasoning": {"enabled": switch != "disabled"} if switch else {"effort": effort}}
    return {"reasoning_effort": effort}


# How a model behind Anthropic messages is made to think: by itself (`adaptive`), with an effort or without; within a
# budget of tokens, which an effort stands for; or as the server likes, told an effort at most.
Thinking = Literal["adaptive", "budget", "effort"]

_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?")
_ADAPTIVE_SINCE = (4, 6)
SUMMARIES_SINCE = (4, 7)  # models before show their thoughts unasked


def claude_version(model: str) -> tuple[int, int] | None:
    """The version in the name of a Claude model, None for any other."""
    found = _CLAUDE.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else None


def thinking_of(host: str, model: str) -> Thinking:
    version = claude_version(model)
    if version is not None:
        return "adaptive" if version >= _ADAPTIVE_SINCE else "budget"
    return "effort" if _is_at(host, "deepseek.com") else "budget"


def caches_by_itself(host: str) -> bool:
    """Whether the server takes the wish to cache a conversation as it grows at the top of a request."""
    return _is_at(host, "anthropic.com")


def _is_at(host: str, ending: str) -> bool:
    return host == ending or host.endswith("." + ending)
