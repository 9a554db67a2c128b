"""Whether an agent started this program: then it speaks for a model, and not for a person.

What decides about trust asks this. It holds what goes by itself, as a build that approves what it finds; who may run
anything as this person can also write to the person's files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from acpagent.core import process

REFUSAL = "an agent runs this program, and this is for a person to say, in a terminal of their own"


def is_under_agent() -> bool:
    """By what every child of an agent inherits, and by the processes above, for a child may forget it."""
    return process.MARK in os.environ or any(_is_agent(words) for words in process.ancestors())


def _is_agent(words: Sequence[str]) -> bool:
    if "acp" not in words:
        return False
    return any(os.path.basename(word) == "acpagent" for word in words[: words.index("acp")])
