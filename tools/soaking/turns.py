"""What a person may say, what the model does then, how the person takes it and how the turn must end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

MODEL_CALLS = 6  # in one prompt, before it is stopped

# `allows` and `denies`: the answer to every question. The others cancel: as soon as something is shown, at the first
# question, or once a call runs.
Manner = Literal["allows", "denies", "cancels", "cancels the question", "cancels the call"]


@dataclass(frozen=True)
class Turn:
    """`ends`: a stop reason or an error code. `weight`: how often it is said, compared with others."""

    words: str
    ends: str | int
    replies: Sequence[Sequence[Any]]
    manner: Manner = "allows"
    weight: int = 4
    loop: bool = False


def call(tool: str, **args: Any) -> Any:
    return {"call": {"tool": tool, "args": args}}


def fails(status: int, **more: Any) -> Any:
    return {"error": {"status": status, "message": "as the script says", "retry_after": 0.02} | more}


SAYS = {"text": "That is all there is to say about it.", "chunk": 6}
PLAN = [{"content": "Look", "status": "completed"}, {"content": "Act", "status": "in_progress"}]
NOTE = "".join(f"line {number} of a note\n" for number in range(60))
EDIT = call("edit_file", path="note.txt", old="line 30 of a note", new="the middle")
SLEEP = call("bash", command="echo begun; sleep 300 & sleep 300")
HALF = {**call("write_file", path="no.txt", content=NOTE), "chunk": 50}
ENDLESS = {"repeat": {"times": 1_000_000, "text": "word ", "every": 0.001}}
NOISE = call("bash", command="seq 1 200000; echo err >&2; exit 3")

TURNS: tuple[Turn, ...] = (
    Turn("just answer", "end_turn", [[{"thought": "Easy.", "chunk": 2}, SAYS]]),
    Turn("talk long", "end_turn", [[{"repeat": {"times": 300, "text": "word ", "every": 0}}]]),
    Turn("look around", "end_turn", [
        [SAYS, call("list_dir"), call("glob", pattern="*"), call("grep", pattern="note")],
        [call("read_file", path="note.txt"), call("read_file", path="not-there.txt")], [SAYS]], weight=8),
    Turn("change it", "end_turn", [[call("write_file", path="note.txt", content=NOTE)], [EDIT],
                                   [call("read_file", path="note.txt", line=25, limit=10)], [SAYS]], weight=8),
    Turn("create it", "end_turn", [[call("write_file", path="sub/new.txt", content="new\n")], [SAYS]]),
    Turn("run it", "end_turn", [[call("bash", command="cat note.txt | tail -3; ls")], [SAYS]], weight=8),
    Turn("make noise", "end_turn", [[NOISE], [SAYS]], weight=2),
    Turn("plan it", "end_turn", [[call("todo_write", todos=PLAN), call("list_dir")],
                                 [call("todo_write", todos=[])], [SAYS]]),
    Turn("no thanks", "end_turn", [[EDIT, call("bash", command="true")], [SAYS]], manner="denies"),
    Turn("nonsense", "end_turn", [[call("no_such_tool"), call("read_file", pith="x"), call("bash", command="")],
                                  [SAYS]]),
    Turn("chatter", "cancelled", [[ENDLESS]], "cancels"),
    Turn("hesitate", "cancelled", [[SAYS, call("bash", command="touch no"), EDIT], [SAYS]], "cancels the question"),
    Turn("sleep", "cancelled", [[SAYS, SLEEP], [SAYS]], "cancels the call"),
    Turn("fall silent", "cancelled", [[SAYS, {"stall": True}]], "cancels", weight=2),
    Turn("too busy once", "end_turn", [[fails(429, times=1), SAYS]]),
    Turn("down once", "end_turn", [[SAYS, call("list_dir")], [fails(500, times=1), SAYS]]),
    Turn("too busy for ever", -32603, [[fails(429)]], weight=2),
    Turn("down after work", -32603, [[SAYS, call("list_dir")], [fails(500)]], weight=2),
    Turn("too much", -32603, [[fails(413)]], weight=1),
    Turn("unpaid", -32603, [[fails(402)]], weight=1),
    Turn("hang up", "end_turn", [[{"drop": {"how": "reset", "times": 1}}, SAYS]], weight=1),
    Turn("hang up late", -32603, [[SAYS, {"drop": "reset"}]], weight=2),
    Turn("hang up in a call", -32603, [[HALF, {"drop": "close"}]], weight=2),
    Turn("end early", -32603, [[SAYS, {"drop": "end"}]], weight=2),
    Turn("stall", -32603, [[{"stall": True}]], weight=1),
    Turn("stop short", "max_tokens", [[SAYS, {"finish": "length"}]], weight=2),
    Turn("say no", "refusal", [[SAYS, {"finish": "refusal"}]], weight=2),
    Turn("go in circles", "max_turn_requests", [[call("list_dir")]], weight=1, loop=True),
)  # fmt: skip


def script() -> dict[str, Any]:
    """The turns as the scripted model plays them."""
    return {
        "turns": [
            {"prompt": f"^(\\[Today is .*\\]\\n\\n)?{turn.words}$", "replies": list(turn.replies), "loop": turn.loop}
            for turn in TURNS
        ]
    }
