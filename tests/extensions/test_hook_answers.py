"""What the exit code and the output of a hook mean, event by event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acpagent.core.process import Result
from acpagent.extensions import hookanswers
from acpagent.extensions.happening import Happening
from acpagent.extensions.hookanswers import Answer
from acpagent.extensions.hooks import EVENTS, Hook

HEARING = ("SessionStart", "UserPromptSubmit")
BLOCKING = ("PreToolUse", "PermissionRequest", "UserPromptSubmit", "Stop")


def read(event: str, code: int | None = 0, said: Any = "", complained: str = "", **more: Any) -> Answer:
    text = said if isinstance(said, str) else json.dumps(said)
    return hookanswers.read(Hook(event, "hook"), Result(code, **more), text, complained)


def codes(answer: Answer) -> list[str]:
    return [notice.code for notice in answer.notices]


@pytest.mark.parametrize("event", [name for name, kind in EVENTS.items() if not kind.absent])
def test_what_is_printed_is_context_where_there_is_a_place_for_it(event: str) -> None:
    assert read(event, said=" words \n") == Answer(context="words" if event in HEARING else "")


@pytest.mark.parametrize("event", BLOCKING)
@pytest.mark.parametrize(
    "said",
    [
        {"decision": "block", "reason": "no"},
        {"decision": "deny", "reason": "no"},
        {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}},
        {"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no"}}},
    ],
)
def test_a_no(event: str, said: Any) -> None:
    assert read(event, said=said).refusal == "no"
    assert read(event, 2, "{}", "no\n").refusal == "no"
    assert read(event, 2, "no").refusal == "no"
    assert "gives no reason" in (read(event, 2).refusal or "")


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure"])
def test_a_no_that_comes_too_late_is_a_word_for_the_model(event: str) -> None:
    assert read(event, 2, complained="not formatted") == Answer(context="not formatted")
    assert read(event, said={"decision": "block", "reason": "not formatted"}) == Answer(context="not formatted")


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd", "Notification", "StopFailure"])
def test_nothing_can_be_refused_that_only_is_told(event: str) -> None:
    assert codes(read(event, 2, complained="no")) == ["hook_failed"]
    assert read(event, said={"decision": "block", "reason": "no"}).refusal is None


@pytest.mark.parametrize(
    "said", [{"decision": "approve"}, {"decision": "allow"}, {"hookSpecificOutput": {"permissionDecision": "allow"}}]
)
def test_a_yes_allows_nothing(said: Any) -> None:
    assert read("PreToolUse", said=said) == Answer()


def test_a_wish_that_the_person_is_asked() -> None:
    said = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "look\nat it"}}
    assert read("PreToolUse", said=said).question == "look at it"
    assert read("UserPromptSubmit", said=said) == Answer()


@pytest.mark.parametrize("event", [*HEARING, "PreToolUse", "PostToolUse", "PostToolUseFailure"])
def test_context_in_json(event: str) -> None:
    assert read(event, said={"additionalContext": "note"}).context == "note"
    assert read(event, said={"hookSpecificOutput": {"additionalContext": "note"}}).context == "note"


def test_an_end_of_everything_is_a_no_where_there_can_be_one() -> None:
    assert read("PreToolUse", said={"continue": False, "stopReason": "enough"}).refusal == "enough"
    assert read("Stop", said={"continue": False}).refusal is None
    assert read("PostToolUse", said={"continue": False}) == Answer()


def test_words_for_the_person() -> None:
    (notice,) = read("Stop", said={"systemMessage": "hi"}).notices
    assert (notice.level, notice.code, notice.params["text"]) == ("info", "hook_says", "hi")


@pytest.mark.parametrize("said", ["{", "{nothing}", '{"a": ' * 5000, {"decision": "blok"}, {"decision": "never"}])
def test_garbage_is_told_and_does_not_count(said: Any) -> None:
    answer = read("UserPromptSubmit", said=said)
    assert codes(answer) == ["hook_garbled"]
    assert (answer.refusal, answer.context) == (None, "")


@pytest.mark.parametrize("said", [{"decision": 1}, {"hookSpecificOutput": []}, {"reason": {}}, {"systemMessage": [1]}])
def test_what_is_of_another_kind_is_as_good_as_absent(said: Any) -> None:
    assert read("PreToolUse", said=said) == Answer()


def test_other_ends_are_told() -> None:
    (notice,) = read("PreToolUse", 1, complained="Traceback\nbad").notices
    assert notice.params == {"hook": "hook", "event": "PreToolUse", "cause": "exit 1: Traceback bad"}
    assert read("PreToolUse", None, signal="SIGSEGV").notices[0].params["cause"] == "ended by SIGSEGV"


def test_only_a_guard_that_is_late_refuses() -> None:
    for event, kind in EVENTS.items():
        answer = read(event, None, "{}", signal="SIGTERM", timed_out=True)
        assert codes(answer) == ["hook_timed_out"]
        assert (answer.refusal is not None) is kind.guards


def test_long_words_are_cut() -> None:
    assert len(read("SessionStart", said="x" * 60_000).context) <= hookanswers.CONTEXT_BYTES
    assert len(read("Stop", 2, "x" * 60_000).refusal or "") <= hookanswers.REASON_BYTES


def test_what_a_hook_is_told_in_both_forms() -> None:
    what = Happening("PreToolUse", "s", "/w", 3, "call_1", "edit_file", {"path": "a/../b.py", "x": "\ud800"})
    told = json.loads(what.spelled())
    assert told["event"] == told["hook_event_name"] == "PreToolUse"
    assert told["sessionId"] == told["session_id"] == "s"
    assert (told["toolName"], told["tool_name"], told["turn"]) == ("edit_file", "Edit", 3)
    assert told["tool_input"] == told["toolArgs"] | {"file_path": "/w/b.py"}
    assert "prompt" not in told
    failed = Happening("PostToolUseFailure", "s", "/w", 1, "c", "mcp__a__b", {}, "oh", True)
    told = json.loads(failed.spelled())
    assert (told["tool_name"], told["toolResult"], told["error"]) == ("mcp__a__b", "oh", "oh")
    assert told["tool_response"] == {"text": "oh", "success": False}
