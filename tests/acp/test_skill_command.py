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

SCRIPT = {
    "turns": [
        turn(r"\buse it$", calls("use_skill", name="tidy"), replies("Used.")),
        turn("", replies("Hello.")),
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
