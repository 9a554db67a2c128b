"""Efforts at the wire: the option that a client sets, and what the model's server is then asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import says, turn
from tests.acp.served import Served, served

SCRIPT: dict[str, Any] = {"turns": [turn("hello", says("Hello."))]}
THINKING = ("reasoning_effort", "thinking", "reasoning", "output_config")


def switched(kind: str, **more: Any) -> dict[str, Any]:
    return {"thinking": {"type": kind}, **more}


FAMILIES: dict[str, dict[str, dict[str, Any]]] = {
    "DeepSeek V4 Flash": {
        "disabled": switched("disabled"),
        "low": switched("enabled", reasoning_effort="low"),
        "high": switched("enabled", reasoning_effort="high"),
        "max": switched("enabled", reasoning_effort="max"),
    },
    "MiniMax M3": {"adaptive": switched("adaptive"), "disabled": switched("disabled")},
    "GLM": {"enabled": switched("enabled"), "disabled": switched("disabled")},
    "Kimi K3": {level: {"reasoning_effort": level} for level in ("low", "high", "max")},
    "others": {level: {"reasoning_effort": level} for level in ("low", "medium", "high")},
}
BUDGETS = {"low": 4096, "medium": 10_000, "high": 24_000, "max": 48_000}
EFFORTS = {level: {"output_config": {"effort": level}} for level in ("low", "medium", "high", "xhigh", "max")}


def asked(one: Served) -> dict[str, Any]:
    """What the last request says of thinking."""
    return {key: one.last.body[key] for key in THINKING if key in one.last.body}


def chosen(one: Served, session: str, effort: str) -> dict[str, Any]:
    """What is asked for once an effort is chosen."""
    params = {"sessionId": session, "configId": "effort", "value": effort}
    options = {option["id"]: option for option in one.agent.call("session/set_config_option", params)["configOptions"]}
    assert options["effort"]["currentValue"] == effort
    one.prompt(session, "hello")
    return asked(one)


@pytest.mark.parametrize("family", FAMILIES)
def test_levels_behind_chat_completions(tmp_path: Path, family: str) -> None:
    levels = FAMILIES[family]
    with served(tmp_path, SCRIPT, {"efforts": list(levels)}, dialect="openai-chat") as one:
        session = one.new()
        one.prompt(session, "hello")
        assert asked(one) == {}
        for level, fields in levels.items():
            assert chosen(one, session, level) == fields
        assert chosen(one, session, "auto") == {}


def test_levels_behind_anthropic_messages(tmp_path: Path) -> None:
    """A model of an unknown family is given a budget."""
    model = {"efforts": [*BUDGETS, "disabled"], "max_output_tokens": 64_000}
    with served(tmp_path, SCRIPT, model, dialect="anthropic-messages") as one:
        session = one.new()
        for level, tokens in BUDGETS.items():
            assert chosen(one, session, level) == {"thinking": {"type": "enabled", "budget_tokens": tokens}}
        assert chosen(one, session, "disabled") == chosen(one, session, "auto") == {}


def test_levels_of_claude(tmp_path: Path) -> None:
    thinks = {"thinking": {"type": "adaptive", "display": "summarized"}}
    models = {"claude-opus-5-5": {"efforts": list(EFFORTS)}}
    with served(
        tmp_path, SCRIPT, provider={"models": models}, dialect="anthropic-messages", default_model="local"
    ) as one:
        session = one.new()
        one.prompt(session, "hello")
        assert asked(one) == thinks
        for level, fields in EFFORTS.items():
            assert chosen(one, session, level) == thinks | fields
        assert chosen(one, session, "auto") == thinks


def test_a_model_without_efforts_has_no_such_option(tmp_path: Path) -> None:
    with served(tmp_path, SCRIPT) as one:
        session = one.new()
        params = {"sessionId": session, "configId": "effort", "value": "low"}
        assert one.agent.fail("session/set_config_option", params)["code"] == -32602
        one.prompt(session, "hello")
        assert asked(one) == {}


def test_an_effort_goes_with_the_model_that_has_it(tmp_path: Path) -> None:
    models = {"deep": {"efforts": ["low", "high"]}, "plain": {}, "other": {"efforts": ["max"]}}
    with served(tmp_path, SCRIPT, provider={"models": models}, dialect="openai-chat", default_model="local") as one:
        session = one.new()
        assert chosen(one, session, "high") == {"reasoning_effort": "high"}
        for model in ("plain", "other", "deep"):
            params = {"sessionId": session, "configId": "model", "value": f"local/{model}"}
            one.agent.call("session/set_config_option", params)
            one.prompt(session, "hello")
            assert (one.last.body["model"], asked(one)) == (model, {})


def test_an_effort_is_kept_by_another_process(tmp_path: Path) -> None:
    with served(tmp_path, SCRIPT, {"efforts": ["low", "high"]}, dialect="openai-chat") as one:
        session = one.new()
        chosen(one, session, "high")
        one.agent.call("session/close", {"sessionId": session})
        second = one.start()
        try:
            second.initialize()
            params = {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []}
            second.call("session/load", params)
            second.prompt(session, "hello")
            assert asked(one) == {"reasoning_effort": "high"}
        finally:
            second.close()
