"""Clients of the toy agents, none of which may leave a thread or a process behind."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent import Client
from tests.descendants import new_mark, survivors

TOYS = Path(__file__).parent.parent / "toy_agents"

Launch = Callable[..., Client]


def toy(name: str, *arguments: str) -> list[str]:
    return [sys.executable, str(TOYS / f"{name}.py"), *arguments]


@pytest.fixture
def launch() -> Iterator[Launch]:
    """`launch("echo", ...)`: a client of a toy agent; arguments are those of the agent, keywords those of
    `Client.launch`."""
    before = set(threading.enumerate())
    mark = new_mark()
    clients: list[Client] = []

    def start(name: str, *arguments: str, **options: Any) -> Client:
        env = {**os.environ, **mark, **options.pop("env", {})}
        client = Client.launch(toy(name, *arguments), env=env, **{"timeout": 60} | options)
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.close()
    assert not survivors(mark, 20.0)
    for thread in set(threading.enumerate()) - before:
        thread.join(20.0)
        assert not thread.is_alive(), thread
