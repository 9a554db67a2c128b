"""Modes, options, guidance and reloads, with agents that have some of them or none."""

from __future__ import annotations

import pytest

from acpagent.client.faults import AgentFault


def test_an_agent_that_offers_nothing(launch, tmp_path, monkeypatch):
    log = tmp_path / "log"
    session = launch("echo", env={"TOY_LOG": str(log)}).open("/")
    controls = session.controls
    assert (controls.mode, controls.modes, controls.options, controls.value("model")) == (None, [], [], None)
    for attempt in (
        lambda: session.set_mode("plan"),
        lambda: session.set_option("model", "best"),
        lambda: session.steer("use email"),
        session.reload,
    ):
        with pytest.raises(AgentFault) as caught:
            attempt()
        assert caught.value.code == -32601
    assert controls.mode is None
    heard = log.read_text()
    assert ("session/set_mode" in heard, "steer" in heard, "reload" in heard) == (True, False, False)
    assert session.prompt("on").wait(60) == "end_turn"


def test_a_mode_is_known_from_the_answer_alone(launch):
    session = launch("chooses").open("/")
    assert (session.controls.mode, [mode["id"] for mode in session.controls.modes]) == (
        "slow",
        ["slow", "fast", "moody"],
    )
    session.set_mode("fast")
    assert session.controls.mode == "fast"
    with pytest.raises(AgentFault, match="no such mode"):
        session.set_mode("wrong")
    assert session.controls.mode == "fast"


def test_what_the_agent_says_of_its_mode_counts(launch):
    client = launch("chooses")
    session = client.open("/")
    session.set_mode("quick")
    assert session.controls.mode == "fast"
    session.set_mode("moody")
    client.call("session/list", {})
    assert session.controls.mode == "slow"


def test_CONF_07_a_boolean_says_what_it_is(launch):
    session = launch("chooses").open("/")
    assert session.controls.value("safe") is False
    assert session.set_option("safe", True) == session.controls.options
    assert session.controls.value("safe") is True
    with pytest.raises(AgentFault, match="safe is a boolean"):
        session.set_option("safe", "true")
    assert session.controls.value("safe") is True
