"""Words that are no commands here: explained, and not sent to the model."""

from __future__ import annotations

# Commands of terminals -> what to say of them.
ELSEWHERE = {
    "clear": "elsewhere_clear",
    "new": "elsewhere_clear",
    "model": "elsewhere_model",
    "models": "elsewhere_model",
    "keys": "elsewhere_keys",
    "theme": "elsewhere_screen",
    "exit": "elsewhere_exit",
    "quit": "elsewhere_exit",
    "sidebar": "elsewhere_screen",
    "notifications": "elsewhere_screen",
    "queue": "elsewhere_queue",
}
# What other agents call it -> what it is here.
OTHER_WORDS = {
    "goal": "plan goal",
    "mode": "plan",
    "effort": "reasoning",
    "resume": "sessions resume",
    "cost": "budget",
}
