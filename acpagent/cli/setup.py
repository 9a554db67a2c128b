"""`acpagent setup`: a provider, its key and a model, asked for or taken from flags, tried out and written down."""

from __future__ import annotations

from collections.abc import Sequence


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    raise NotImplementedError
