"""Delivery at the wire: what is sent back, what the person is told of it, and that it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import Call, calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, text_in

MAKEFILE = "test:\n\t@grep -q good a.txt && echo 1 passed\n"
GOES_ON = "Delivery: it goes on, for there is not yet "
ENDS = "Delivery: it ends here, without "


def plan(*statuses: str) -> Message:
    return calls("todo_write", todos=[{"content": f"Step {n}", "status": status} for n, status in enumerate(statuses)])


def signs(*evidence: str) -> Message:
    return calls("complete_step", step="It", result="It is good.", evidence=list(evidence))


def runs(command: str) -> Message:
    return calls("bash", command=command)


OPEN, DONE = plan("in_progress"), plan("completed")
EDIT = calls("edit_file", path="a.txt", old="bad", new="good")
LOOK, CHECK = calls("read_file", path="a.txt"), runs("make test")
SIGN = signs("`make test`: 1 passed")


@contextmanager
def delivering(folder: Path, *replies: Any, later: Any = None, **config: Any) -> Iterator[Served]:
    """A session's world whose model gives these replies to the prompt `go`, the last one again and again."""
    turns = [turn("go", *replies, loop=True), *([later] if later else [])]
    with served(folder, {"turns": turns}, profile="delivery", tool_approval="yolo", **config) as one:
        (one.workspace / "a.txt").write_text("bad\n")
        (one.workspace / "Makefile").write_text(MAKEFILE)
        yield one


def done(updates: list[Message]) -> list[tuple[str, str]]:
    return [(call.first["title"].split()[0].rstrip(":"), call.status) for call in calls_in(updates)]


def told_host(one: Served) -> list[str]:
    """What the model was told by the host, not the person."""
    return [m["content"] for m in one.read() if m["role"] == "user" and m["content"].startswith("[From acpagent")]


def failed(updates: list[Message]) -> Call:
    (call,) = [call for call in calls_in(updates) if call.status == "failed"]
    return call


def test_a_model_that_complies_is_left_alone(tmp_path: Path) -> None:
    road = [OPEN, EDIT, LOOK, CHECK, SIGN, DONE, says("It is good.")]
    with delivering(tmp_path, *road) as one:
        updates = one.prompt(one.new(), "go")
        assert {call.status for call in calls_in(updates)} == {"completed"}
        assert text_in(updates) == "It is good."
        assert len(one.server.requests) == len(road)


@pytest.mark.parametrize("call", [EDIT, CHECK, runs("touch b.txt"), calls("write_file", path="b.txt", content="x")])
def test_nothing_changes_or_checks_before_there_are_criteria(tmp_path: Path, call: Message) -> None:
    with delivering(tmp_path, LOOK, call, OPEN, call, says("Well.")) as one:
        read, refused, _, allowed = calls_in(one.prompt(one.new(), "go"))[:4]
        assert (read.status, refused.status) == ("completed", "failed")
        assert "Call todo_write" in refused.text
        assert "todo_write" not in allowed.text


def test_an_empty_list_is_none(tmp_path: Path) -> None:
    with delivering(tmp_path, plan(), EDIT, says("Well.")) as one:
        assert "acceptance criteria come first" in failed(one.prompt(one.new(), "go")).text
        assert (one.workspace / "a.txt").read_text() == "bad\n"


def test_what_is_missing_is_sent_back_step_by_step(tmp_path: Path) -> None:
    road = [OPEN, EDIT, says("Fixed."), LOOK, CHECK, says("Really."), [SIGN, DONE], says("Now it is.")]
    with delivering(tmp_path, *road) as one:
        updates = one.prompt(one.new(), "go")
        first, second = told_host(one)
        assert [line[:20] for line in first.splitlines() if line.startswith("- ")] == [
            "- Look at the change", "- No check passed af", "- Complete what is l", "- Sign off with comp",
        ]  # fmt: skip
        assert "a.txt" in first
        assert [line[:20] for line in second.splitlines() if line.startswith("- ")] == [
            "- Complete what is l", "- Sign off with comp",
        ]  # fmt: skip
        text = text_in(updates)
        assert text.startswith(
            f"Fixed.{GOES_ON}a look at what was changed last, a check that passed after the last change"
        )
        assert f"Really.{GOES_ON}an end to every entry of the plan, a sign-off that quotes the check." in text
        assert text.endswith("Now it is.")
        assert ENDS not in text


def test_it_ends_after_three_tries(tmp_path: Path) -> None:
    with delivering(tmp_path, OPEN, EDIT, *[says(f"Done {n}.") for n in range(9)]) as one:
        updates = one.prompt(one.new(), "go")
        assert len(told_host(one)) == 3
        assert len(one.server.requests) == 6
        text = text_in(updates)
        assert text.count(GOES_ON) == 3
        assert text.endswith(
            f"{ENDS}a look at what was changed last, a check that passed after the last change, an end to every entry "
            "of the plan, a sign-off that quotes the check. Look at it yourself before you rely on it.\n\n"
        )
        assert text.index("Done 3.") < text.index(ENDS)


@pytest.mark.parametrize(
    "command", ["make test || true", "make test; echo fine", "make test | cat", "make -n test", "make test; true", "ls"]
)
def test_a_check_whose_failure_would_not_show_is_none(tmp_path: Path, command: str) -> None:
    with delivering(tmp_path, OPEN, EDIT, LOOK, runs(command), SIGN, DONE, says("Done."), says("So it is.")) as one:
        updates = one.prompt(one.new(), "go")
        assert "No check passed after the last change" in failed(updates).text  # the sign-off
        assert f"{GOES_ON}a check that passed after the last change, a sign-off that quotes the check." in text_in(
            updates
        )


def test_a_check_that_failed_and_one_before_the_last_change(tmp_path: Path) -> None:
    undo = calls("edit_file", path="a.txt", old="good", new="bad")
    with delivering(tmp_path, OPEN, EDIT, CHECK, undo, LOOK, CHECK, DONE, says("Done."), says("Well.")) as one:
        updates = one.prompt(one.new(), "go")
        assert [status for title, status in done(updates) if title == "Run"] == ["completed", "failed"]
        assert GOES_ON + "a check that passed" in text_in(updates)


def test_a_failure_is_not_made_good_by_another_check(tmp_path: Path) -> None:
    fails, lint = runs("make test"), runs("make lint")
    road = [OPEN, calls("write_file", path="b.txt", content="b\n"), calls("read_file", path="b.txt"), fails, lint]
    sign = signs("`make lint`: fine")
    mended = [EDIT, LOOK, CHECK, SIGN, says("Now.")]
    with delivering(tmp_path, *road, sign, DONE, says("Done."), *mended) as one:
        (one.workspace / "Makefile").write_text(f"{MAKEFILE}lint:\n\t@echo fine\n")
        updates = one.prompt(one.new(), "go")
        assert f"{GOES_ON}a pass of each check that failed." in text_in(updates)
        assert "have not passed since: `make test`." in told_host(one)[0]
        assert text_in(updates).endswith("Now.")


def test_a_sign_off_must_quote_the_check(tmp_path: Path) -> None:
    vague = signs("All tests pass.")
    with delivering(tmp_path, OPEN, EDIT, LOOK, CHECK, vague, SIGN, DONE, says("Good.")) as one:
        updates = one.prompt(one.new(), "go")
        refused = failed(updates)
        assert refused.first["title"] == "Done: It"
        assert refused.text == (
            "Not signed off. Quote, letter by letter, a check that passed after the last change: `make test`."
        )
        assert GOES_ON not in text_in(updates)


@pytest.mark.parametrize("look", ["git diff", "git --no-pager diff", "git status --short"])
def test_the_diff_is_a_look_at_all_that_changed(tmp_path: Path, look: str) -> None:
    with delivering(tmp_path, OPEN, EDIT, runs("git init -q"), runs(look), CHECK, SIGN, DONE, says("Good.")) as one:
        updates = one.prompt(one.new(), "go")
        assert GOES_ON not in text_in(updates)


@pytest.mark.parametrize("look", ["ls", "cat a.txt", "git status || ls", "grep -r bad . | head", "cd . && wc -l a.txt"])
def test_commands_that_only_read_need_no_criteria(tmp_path: Path, look: str) -> None:
    with delivering(tmp_path, runs(look), says("It says bad.")) as one:
        (call,) = calls_in(one.prompt(one.new(), "go"))
        assert call.status == "completed"


@pytest.mark.parametrize(
    "change", ["sed -i s/bad/good/ a.txt", "echo good > a.txt", "cp b.txt a.txt", "false; tee a.txt"]
)
def test_what_a_command_writes_is_a_change(tmp_path: Path, change: str) -> None:
    with delivering(tmp_path, OPEN, runs(change), DONE, says("Well.")) as one:
        (one.workspace / "b.txt").write_text("good\n")
        assert f"Well.{GOES_ON}a look at what was changed last, a check" in text_in(one.prompt(one.new(), "go"))
        assert "git diff: a.txt." in told_host(one)[0]


def test_a_formatter_makes_another_check_due(tmp_path: Path) -> None:
    formats = runs("git stash -q || true")
    with delivering(tmp_path, OPEN, EDIT, LOOK, CHECK, SIGN, formats, DONE, says("Well.")) as one:
        told = f"Well.{GOES_ON}a check that passed after the last change, a sign-off that quotes the check."
        assert told in text_in(one.prompt(one.new(), "go"))


def test_documents_are_checked_by_reading_them(tmp_path: Path) -> None:
    write, read = calls("write_file", path="x.md", content="# X\n"), calls("read_file", path="x.md")
    with delivering(tmp_path, OPEN, write, read, signs("x.md says X"), DONE, says("Good.")) as one:
        assert GOES_ON not in text_in(one.prompt(one.new(), "go"))


def test_a_claim_without_a_change_is_doubted_once(tmp_path: Path) -> None:
    with delivering(tmp_path, LOOK, says("I have fixed it."), says("I have fixed it, honestly.")) as one:
        updates = one.prompt(one.new(), "go")
        (told,) = told_host(one)
        assert "nothing was changed in this prompt" in told
        assert text_in(updates) == (
            f"I have fixed it.{GOES_ON}any change, although it says that work was done.\n\nI have fixed it, honestly."
        )


def test_an_answer_to_a_question_is_an_answer(tmp_path: Path) -> None:
    with delivering(tmp_path, LOOK, says("It says bad. Nothing has to be done.")) as one:
        one.prompt(one.new(), "go")
        assert not told_host(one)


def test_the_next_task_needs_criteria_of_its_own(tmp_path: Path) -> None:
    later = turn("more", runs("make test"), says("Well."))
    with delivering(tmp_path, OPEN, EDIT, LOOK, CHECK, SIGN, DONE, says("Good."), later=later) as one:
        session = one.new()
        one.prompt(session, "go")
        assert "acceptance criteria come first" in failed(one.prompt(session, "more")).text


def test_a_task_goes_on_with_the_next_prompt_and_in_another_process(tmp_path: Path) -> None:
    later = turn("more", LOOK, runs("make test"), [SIGN, DONE], says("Good."))
    with delivering(tmp_path, OPEN, EDIT, *[says("Not yet.")] * 4, later=later) as one:
        session = one.new()
        one.prompt(session, "go")
        one.agent.call("session/close", {"sessionId": session})
        second = one.start()
        try:
            second.initialize()
            second.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
            updates, _ = second.prompt(session, "more")
            assert {call.status for call in calls_in(updates)} == {"completed"}
            assert text_in(updates) == "Good."
        finally:
            second.close()


def test_other_modes_hold_nobody_up(tmp_path: Path) -> None:
    script = {"turns": [turn("go", EDIT, says("I have fixed it."))]}
    with served(tmp_path, script, tool_approval="yolo") as one:
        (one.workspace / "a.txt").write_text("bad\n")
        assert text_in(one.prompt(one.new(), "go")) == "I have fixed it."
