"""How a turn's end is told to whoever prompted."""

from __future__ import annotations

from typing import get_args

import pytest

from acpagent.core.events import Stop
from acpagent.core.faults import Fault, OurFault, TheirFault
from acpagent.core.model import ProviderFault
from acpagent.runtime.turn.stop import STOPS, End, leaves_no_trace, provider_fault


def test_every_end_has_a_stop_and_every_stop_an_end() -> None:
    assert set(STOPS) == set(get_args(End))
    assert set(STOPS.values()) == set(get_args(Stop))


@pytest.mark.parametrize("kind", ["auth", "payment", "too_long", "rate", "unavailable", "rejected", "broken"])
def test_a_providers_failure_is_an_error_with_cause_and_remedy(kind: str) -> None:  # TURN-10, AUTH-15
    fault = provider_fault(ProviderFault(kind, "the model said no"))  # type: ignore[arg-type]
    assert fault.code == (-32000 if kind == "auth" else -32603)
    cause, _, remedy = fault.message.partition("; ")
    assert cause == "the model said no"
    assert remedy
    if kind != "auth":
        assert fault.data == {"kind": kind, "details": "the model said no"}


def test_a_remedy_is_told_once() -> None:
    said = "no key was accepted; set KEY or run `acpagent setup`"
    assert provider_fault(ProviderFault("auth", said)).message == said


@pytest.mark.parametrize(
    ("stop", "fault", "expected"),
    [
        ("end_turn", None, False),
        ("cancelled", None, False),
        ("max_tokens", None, False),
        ("refusal", None, True),  # TURN-08
        (None, OurFault("it broke"), False),
        (None, TheirFault(-32000, "no key"), True),  # AUTH-18
    ],
)
def test_what_leaves_no_trace(stop: Stop | None, fault: Fault | None, expected: bool) -> None:
    assert leaves_no_trace(stop, fault) is expected
