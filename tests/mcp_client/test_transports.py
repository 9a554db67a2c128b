"""What a server offers arrives the same over each of the three transports."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpagent.core.blocks import Image, Link, Resource, Text
from acpagent.core.forms import Answer, Form
from acpagent.core.live import LiveOutput
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import ToolRefusal
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.prompts import PromptCommand
from acpagent.mcp_client.spec import read
from tests.mcp_client.bench import Bench, bench, everything, over_http
from tests.settling import PATIENCE, appears


@pytest.fixture(scope="module", params=["stdio", "http", "sse"])
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "stdio":
        with bench(folder) as made:
            assert made.open(everything(env={"SECRET_WORD": "xyzzy-42"}))
            yield made
        return
    with over_http(request.param) as url, bench(folder) as made:
        headers = {"X-Token": "sesame-77"}
        assert made.open(read({"name": "all", "type": request.param, "url": url, "headers": headers}))
        yield made


def prompt(one: Bench) -> PromptCommand:
    return one.pool.prompts()[0]


def test_it_is_ready(one: Bench) -> None:
    status = one.pool.status()[0]
    assert (status.state, status.cause, status.restarts) == ("ready", "", 0)
    assert status.version == "2025-11-25"
    assert {"mcp__all__add", "mcp__all__echo", "mcp__all__read_resource"} <= set(one.names())
    assert one.names() == sorted(one.names())


def test_a_call_and_its_structured_result(one: Bench) -> None:
    result = one.call("mcp__all__add", a=2, b=3)
    assert result.raw["structured"] == {"total": 5}
    assert '"total": 5' in result.text
    assert not result.failed
    assert result.facts["server"] == "all"


def test_what_a_tool_says_of_itself(one: Bench) -> None:
    add, echo, wipe = (one.tool(f"mcp__all__{name}") for name in ("add", "echo", "wipe"))
    assert (add.reads_only, echo.reads_only, wipe.reads_only) == (True, False, False)
    assert (add.description, add.schema["required"]) == ("Add two numbers.", ["a", "b"])
    proposal = wipe.prepare({}, one.context())
    assert proposal.note.startswith("The server says that this can destroy something.")
    assert add.prepare({"a": 1, "b": 2}, one.context()).title == "all: Add up"


def test_all_kinds_of_content(one: Bench) -> None:
    result = one.call("mcp__all__mixed")
    assert [type(item) for item in result.content] == [Text, Image, Link, Resource]
    assert result.text.splitlines() == [
        "Look: red", "[Image: image/png]", "[Resource a.txt: file:///a.txt]", "[Resource note://1]", "inside",
        "[End of note://1]", "[Audio (audio/wav) was left out: nobody here can hear it.]",
    ]  # fmt: skip


def test_a_tool_that_fails_and_one_that_is_called_wrongly(one: Bench) -> None:
    failed = one.call("mcp__all__fail")
    assert failed.failed
    assert "fail" in failed.text
    wrong = one.call("mcp__all__add", a="x")
    assert wrong.failed
    assert "mcp__all__add" not in wrong.text


def test_a_large_result_is_cut(one: Bench) -> None:
    result = one.call("mcp__all__big", one.context(limit=2000), size=400_000)
    assert len(result.text.encode()) <= 2000
    assert result.text.startswith("start\n")
    assert result.text.endswith("\nend")
    assert result.facts["truncated"]
    assert result.facts["original_characters"] == 400_010


def test_progress_is_live_output(one: Bench) -> None:
    live = LiveOutput()
    assert "counted" in one.call("mcp__all__count", one.context(live=live), to=3).text
    assert live.snapshot().splitlines() == ["step 1 (1/3)", "step 2 (2/3)", "step 3 (3/3)"]


def test_cancelling_reaches_the_server_and_the_connection_goes_on(one: Bench, tmp_path: Path) -> None:
    scope, raised = Scope(), threading.Event()

    def call() -> None:
        with pytest.raises(Cancelled):
            one.call("mcp__all__hang", one.context(scope), folder=str(tmp_path))
        raised.set()

    threading.Thread(target=call).start()
    appears(tmp_path / "started")
    run_closers(scope.cancel())
    assert raised.wait(PATIENCE)
    appears(tmp_path / "cancelled")
    assert one.call("mcp__all__echo", text="still here").text == "still here"


def test_a_question_reaches_the_person(one: Bench) -> None:
    forms: list[Form] = []

    def answer(form: Form) -> Answer:
        forms.append(form)
        return Answer("accept", {"name": "Ada", "age": 36, "colour": "green", "news": True})

    result = one.call("mcp__all__ask", one.context(question=answer))
    assert "accept: Person(name='Ada', age=36, colour='green', news=True)" in result.text
    (form,) = forms
    assert form.message == "all asks: Who are you?"
    assert [(field.name, field.kind, field.title, field.required) for field in form.fields] == [
        ("name", "text", "Your name", True), ("age", "integer", "Age", True), ("colour", "choice", "Colour", True),
        ("news", "boolean", "News", False),
    ]  # fmt: skip
    assert [option.id for option in form.fields[2].options] == ["red", "green"]
    assert (form.fields[0].least, form.fields[1].least, form.fields[1].most) == (2, 0, 150)


@pytest.mark.parametrize(("kind", "told"), [("decline", "decline"), ("cancel", "cancel"), ("nobody", "cancel")])
def test_a_question_that_is_not_answered(one: Bench, kind: str, told: str) -> None:
    result = one.call("mcp__all__ask", one.context(question=lambda form: Answer(kind)))  # type: ignore[arg-type]
    assert told in result.text


def test_a_question_where_nobody_can_be_asked(one: Bench) -> None:
    assert "cancel" in one.call("mcp__all__ask").text


def test_an_address_to_visit(one: Bench) -> None:
    forms: list[Form] = []

    def answer(form: Form) -> Answer:
        forms.append(form)
        return Answer("accept", {"opened": "yes"})

    assert "accept" in one.call("mcp__all__visit", one.context(question=answer)).text
    assert "https://example.org/x" in forms[0].message


def test_sampling_is_refused(one: Bench) -> None:
    with pytest.raises(ToolRefusal, match="Sampling not supported"):
        one.call("mcp__all__sample")


def test_the_directories_are_told(one: Bench) -> None:
    assert one.call("mcp__all__roots").text == f"file://{one.cwd}"


def test_a_list_that_changes(one: Bench) -> None:
    before = one.pool.signature()
    assert "mcp__all__fresh" not in one.names()
    one.call("mcp__all__grow", name="fresh")
    while "mcp__all__fresh" not in one.names():
        one.changes.get(timeout=PATIENCE)
    assert one.pool.signature() != before
    assert one.call("mcp__all__fresh").text == "new"


def test_remarks_come_as_lines(one: Bench) -> None:
    one.call("mcp__all__talk")
    assert one.line("warning: careful") == "all: warning: careful with the stove"


def test_prompts_are_commands(one: Bench) -> None:
    command = prompt(one)
    assert (command.name, command.description, command.hint) == (
        "mcp__all__review",
        "Review a file.",
        "file [focus]",
    )
    assert command.get("a.py", 1000, Scope()) == (Text("Review a.py with an eye on everything."),)
    assert command.get("focus=speed 'b c.py'", 1000, Scope()) == (Text("Review b c.py with an eye on speed."),)
    assert command.get("a.py the small things", 1000, Scope()) == (
        Text("Review a.py with an eye on the small things."),
    )
    with pytest.raises(ServerFault, match="needs file"):
        command.get("", 1000, Scope())


def test_resources_can_be_listed_and_read(one: Bench) -> None:
    listed = one.call("mcp__all__read_resource").text
    assert "note://today" in listed
    assert "note://{day}/plan" in listed
    assert "buy milk" in one.call("mcp__all__read_resource", uri="note://today").text
    assert next(offer.uri for name, offer in one.pool.resources() if name == "all") == "note://today"
    assert "buy milk" in one.pool.read("all", "note://today", 1000, Scope()).text
    assert "plan of friday" in one.call("mcp__all__read_resource", uri="note://friday/plan").text
    assert isinstance(one.call("mcp__all__read_resource", uri="picture://dot").content[1], Image)
    with pytest.raises(ToolRefusal, match="all"):
        one.call("mcp__all__read_resource", uri="note:nothing")


def test_environment_and_headers_arrive_and_are_not_told(one: Bench) -> None:
    if one.pool.status()[0].transport == "stdio":
        assert "xyzzy-42" in one.call("mcp__all__variable", name="SECRET_WORD").text
        one.call("mcp__all__talk")
        assert one.line("words on stderr") == "all: words on stderr ***"
    else:
        assert "sesame-77" in one.call("mcp__all__header", name="x-token").text
