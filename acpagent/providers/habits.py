"""Where servers and models differ that speak the same API, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from acpagent.providers.chat_messages import Thoughts

# How an effort is asked for: `reasoning_effort`; the same with a `thinking` switch; or inside `reasoning`.
EffortSpelling = Literal["plain", "thinking", "reasoning"]


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
    "moonshot.ai": _FORGETFUL,
    "moonshot.cn": _FORGETFUL,
}


def of_host(host: str) -> Habits:
    for ending, habits in _HABITS.items():
        if _is_at(host, ending):
            return habits
    return Habits()


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
