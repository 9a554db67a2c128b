"""Words that are nearly the name of a command."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.runtime.commands.near import nearest, slips
from acpagent.runtime.commands.table import CommandTable

NAMES = [command.name for command in CommandTable().listed("en")]
WORDS = st.text("abcdeilmnoprst-", max_size=12)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("hlep", "help"), ("helpp", "help"), ("mpc", "mcp"), ("sesion", "session"), ("sessionss", "sessions"),
        ("permision", "permissions"), ("projecttrust", "project-trust"), ("relaod", "reload"),
        ("reasonning", "reasoning"),
        ("he", None), ("x", None), ("", None), ("fix", None), ("explain", None), ("review", None), ("test", None),
        ("commit", None), ("init", None), ("helpless", None),
    ],
)  # fmt: skip
def test_what_is_meant(word: str, meant: str | None) -> None:
    assert nearest(word, NAMES) == meant


@given(WORDS, WORDS)
def test_slips_are_a_distance(one: str, other: str) -> None:
    assert slips(one, other) == slips(other, one)
    assert (slips(one, other) == 0) == (one == other)
    assert abs(len(one) - len(other)) <= slips(one, other) <= max(len(one), len(other))


def test_one_slip_of_each_kind() -> None:
    assert [slips("memory", word) for word in ("memoy", "memmory", "memary", "mmeory")] == [1, 1, 1, 1]
