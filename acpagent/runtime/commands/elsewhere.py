"""Commands that belong to a terminal: explained here, and not sent to the model."""

from __future__ import annotations

# What people type -> what to say of it.
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
