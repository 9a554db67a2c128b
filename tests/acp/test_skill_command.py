"""/skill in a session: another text and the way back, what is kept from the model, and what the record tells."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.acp.mcp import says
from tests.acp.seen import call_in, calls, turn
from tests.acp.seen import says as replies
from tests.acp.served import Served, served
from tests.extensions.world import skill

USAGE = {"usage": {"input": 20, "output": 5}}
SCRIPT = {
    "turns": [
        turn(r"\buse it$", calls("use_skill", name="tidy"), replies("Used.")),
        turn(r"Do tidy[\s\S]*colour", [{"text": "It is green."}, USAGE]),
        turn(r"colour", [{"text": "It is red."}, USAGE]),
        turn(r"shape", [{"text": "A square."}, USAGE]),
        turn(r"break now", [{"error": {"status": 400, "message": "not to be had"}}]),
        turn(r"stall now", [{"stall": True}]),
        turn("", [{"text": "Hello."}, USAGE]),
    ]
}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("skills"), SCRIPT) as made:
        for name in ("tidy", "other"):
            path = made.home.path / "skills" / name / "SKILL.md"
            path.parent.mkdir(parents=True)
            path.write_text(skill(name, f"Is for {name}.", f"Do {name}."))
        made.agent.initialize()
        yield made


def test_another_text_is_used_at_once_and_the_old_one_comes_back(one: Served) -> None:
    path = one.home.path / "skills/fresh/SKILL.md"
    session = one.new()
    says(one, session, "/skill new fresh First text.")
    first = path.read_bytes()
    assert "other instructions" in says(one, session, "/skill edit fresh Second\n\ntext.")
    one.prompt(session, "/skill:fresh")
    assert "Second\n\ntext." in one.read()[-1]["content"]
    told = says(one, session, "/skill history fresh")
    assert re.findall(r"(?m)^- (\d)\. [\d: -]+UTC `[0-9a-f]{12}` written by `(\w+)`", told) == [
        ("1", "new"),
        ("2", "edit"),
    ]
    assert "as in revision 1" in says(one, session, "/skill rollback fresh 1")
    assert path.read_bytes() == first
    assert "Removed" in says(one, session, "/skill rm fresh --confirm")
    assert "as in revision 1" in says(one, session, "/skill rollback fresh 1")
    assert path.read_bytes() == first
    one.prompt(session, "/skill:fresh")
    assert "First text." in one.read()[-1]["content"]


def test_what_is_off_is_neither_told_nor_given_until_it_is_called_up(one: Served) -> None:
    session = one.new()
    one.prompt(session, "hello")
    first = one.last.body["messages"][0], one.last.body["tools"]
    assert "Is for tidy." in str(one.read()[0])
    assert "off in this session" in says(one, session, "/skill off tidy")
    assert "already" in says(one, session, "/skill deactivate tidy")
    assert "Is for tidy. (off in this session)" in says(one, session, "/skill list")
    one.prompt(session, "again")
    news = str(one.read()[-1])
    assert ("Is for other." in news, "Is for tidy." in news) == (True, False)
    assert call_in(one.prompt(session, "use it")).status == "failed"
    assert (one.last.body["messages"][0], one.last.body["tools"]) == first
    one.prompt(session, "/skill:tidy")
    assert "Do tidy." in str(one.read()[-1])
    assert call_in(one.prompt(session, "use it")).status == "completed"
    assert "(off" not in says(one, session, "/skill list")


def test_the_trace_tells_who_called_it_up_and_how_that_ended(one: Served) -> None:
    cwd = one.workspace / "traced"
    cwd.mkdir()
    before, session = one.new(cwd), one.new(cwd)
    assert "was not called up" in says(one, session, "/skill trace tidy")
    one.prompt(before, "/skill:tidy the shed")
    one.prompt(session, "use it")
    says(one, session, "/skill off tidy")
    one.prompt(session, "use it")
    told = says(one, session, "/skill trace tidy")
    assert ": 3\n" in told
    lines = [re.sub(r"^- [\d: -]+UTC `turn_\w+` ", "", line) for line in told.split("\n") if line.startswith("- ")]
    assert lines[0].startswith("by you: ended well, session `")
    assert lines[1:] == ["by the model: ended well", "by the model (not given): ended well"]
    assert says(one, session, "/skill trace tidy --last 1").count("\n- ") == 1
    for wrong in ("--last", "--last 0", "--last 51", "--last x"):
        assert "from 1 to 50" in says(one, session, f"/skill trace tidy {wrong}")


def cases(one: Served, name: str, text: str) -> None:
    (one.home.path / "skills" / name / "evals.yaml").write_text(text)


CASES = """\
- prompt: Which colour?
  expect: [green]
  reject: [red, blue]
- prompt: Which shape?
  expect: round
"""


def test_cases_are_asked_with_the_skill_and_without_it(one: Served) -> None:
    session = one.new()
    assert "```yaml\n- prompt:" in says(one, session, "/skill eval tidy")
    cases(one, "tidy", CASES)
    begun = len(one.server.requests)
    told = says(one, session, "/skill eval tidy")
    assert "1. `Which colour?`: with the skill: passed\n" in told
    assert "2. `Which shape?`: with the skill: failed (lacks `round`)\n" in told
    assert re.search(r"with the skill: passed 1 of 2; tokens: 50$", told)
    asked = one.server.requests[begun:]
    assert [("Do tidy." in str(each.messages[-1]), each.body.get("tools")) for each in asked] == [(True, None)] * 2
    told = says(one, session, "/skill bench tidy")
    assert "with the skill: passed; without it: failed (lacks `green`; has `red`)" in told
    assert re.search(r"without it: passed 0 of 2; tokens: 50$", told)
    one.prompt(session, "hello")
    assert "Which colour?" not in str(one.read())


def test_what_cases_took_still_counts_once_the_session_is_loaded(one: Served) -> None:
    session = one.new()
    cases(one, "tidy", CASES)
    one.prompt(session, "hello")
    says(one, session, "/skill eval tidy")

    def used() -> list[str]:
        return [line for line in says(one, session, "/session").split("\n") if "oken" in line and "75" in line]

    before = used()
    one.agent.call("session/close", {"sessionId": session})
    one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    assert used() == before != []


def test_what_keeps_the_model_from_answering_is_told(one: Served) -> None:
    session = one.new()
    cases(one, "other", "- prompt: break now\n  expect: x\n- prompt: never asked\n  expect: x\n")
    told = says(one, session, "/skill eval other")
    assert "Case 1 could not be asked, and none after it: " in told
    assert "not to be had" in told
    assert "passed 0 of 0" in told
    says(one, session, "/budget tokens 1")
    one.prompt(session, "hello")
    assert "tokens" in says(one, session, "/skill eval tidy").split("none after it: ")[1]


def test_cases_can_be_cancelled(one: Served) -> None:
    session = one.new()
    cases(one, "other", "- prompt: stall now\n  expect: x\n")
    begun = len(one.server.requests)
    prompt = one.agent.start_prompt(session, "/skill eval other")
    one.server.wait_for_request(begun + 1)
    one.agent.notify("session/cancel", {"sessionId": session})
    assert one.agent.response(prompt)["result"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("a: b", "must be a list"),
        ("[]", "must be a list"),
        ("- prompt: x\n", "case 1 needs"),
        ("- prompt: x\n  expect: y\n- prompt: x\n  expect: [3]\n", "case 2 needs"),
        ("- prompt: x\n  expect: y\n  more: z\n", "case 1 needs"),
        ("- [", "is no YAML"),
        ("- prompt: x\n  expect: y\n" * 21, "at most 20"),
    ],
)
def test_cases_that_cannot_be_used(one: Served, written: str, told: str) -> None:
    cases(one, "other", written)
    assert told in says(one, one.new(), "/skill eval other")


def test_cases_behind_a_link_are_not_read(one: Served) -> None:
    path = one.home.path / "skills/other/evals.yaml"
    path.unlink(missing_ok=True)
    (one.workspace / "cases.yaml").write_text("- prompt: x\n  expect: y\n")
    path.symlink_to(one.workspace / "cases.yaml")
    assert "is not read" in says(one, one.new(), "/skill eval other")
    path.unlink()
