from __future__ import annotations

import itertools

import pytest

from acpagent.core.toolcalls import ToolCall, moved

STATUSES = ("pending", "in_progress", "completed", "failed")
MOVES = {
    ("pending", "in_progress"),
    ("pending", "completed"),
    ("pending", "failed"),
    ("in_progress", "completed"),
    ("in_progress", "failed"),
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(STATUSES, STATUSES)))
def test_TOOL_05_a_call_moves_on_and_never_out_of_a_final_status(before, after):
    call = ToolCall("id", "bash", "Run: ls", "execute", before)
    if (before, after) in MOVES:
        assert moved(call, after, title="Ran").status == after
    else:
        with pytest.raises(ValueError, match=f"from {before} to {after}"):
            moved(call, after)
