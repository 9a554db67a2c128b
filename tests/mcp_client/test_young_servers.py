"""Servers that know only the younger form of the protocol: no handshake, questions inside of results, changes told
to those who listen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from acpagent.core.forms import Answer, Form
from acpagent.core.live import LiveOutput
from acpagent.mcp_client.spec import read
from tests.mcp_client.bench import Bench, bench, everything, over_http


@pytest.fixture(scope="module", params=["stdio", "http"])
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("young")
    if request.param == "stdio":
        with bench(folder) as made:
            assert made.open(everything("all", "young"))
            yield made
        return
    with over_http("http", "everything.py", "young") as url, bench(folder) as made:
        assert made.open(read({"name": "all", "type": "http", "url": url}))
        yield made


def test_it_is_ready(one: Bench) -> None:
    assert [(status.state, status.version) for status in one.pool.status()] == [("ready", "2026-07-28")]
    assert one.call("mcp__all__echo", text="hello").text == "hello"


def test_progress_is_live_output(one: Bench) -> None:
    live = LiveOutput()
    one.call("mcp__all__count", one.context(live=live), to=2)
    assert live.snapshot().splitlines() == ["step 1 (1/2)", "step 2 (2/2)"]


def test_a_list_that_changes(one: Bench) -> None:
    one.call("mcp__all__grow", name="fresh")
    while "mcp__all__fresh" not in one.names():
        one.changes.get(timeout=60)
    assert one.call("mcp__all__fresh").text == "new"


def test_a_question_that_is_part_of_a_result(one: Bench) -> None:
    forms: list[Form] = []

    def answer(form: Form) -> Answer:
        forms.append(form)
        return Answer("accept", {"colour": "red"})

    assert "red" in one.call("mcp__all__paint", one.context(question=answer)).text
    assert [form.message for form in forms] == ["all asks: Which colour?"]
