"""Where servers that speak chat completions differ, by the end of their host name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from acpagent.providers.chat_messages import Thoughts


@dataclass(frozen=True, slots=True)
class Habits:
    """`output_limit`: the field that bounds an answer; `thoughts`: whether reasoning is sent back."""

    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    thoughts: Thoughts = "when_there"


_STRICT = Habits(thoughts="never")
_FORGETFUL = Habits(thoughts="always")

_HABITS = {
    "openai.com": Habits("max_completion_tokens", "never"),
    "groq.com": _STRICT,
    "mistral.ai": _STRICT,
    "cerebras.ai": _STRICT,
    "deepseek.com": _FORGETFUL,
    "moonshot.ai": _FORGETFUL,
    "moonshot.cn": _FORGETFUL,
}


def of_host(host: str) -> Habits:
    for ending, habits in _HABITS.items():
        if host == ending or host.endswith("." + ending):
            return habits
    return Habits()
