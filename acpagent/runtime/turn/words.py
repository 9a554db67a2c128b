"""What the model is told of steering, plan and goal, always in messages of the user: the system prompt stays."""

from __future__ import annotations

from collections.abc import Sequence

from acpagent.core.bounds import one_line

OBJECTIVE_CHARACTERS = 400
_LISTED = 20

# Before guidance that came while a prompt ran; never shown to a person.
STEER_MARK = "[The person says this while you work. It is guidance for the task at hand, not a new task.]"

PLAN_HEAD, GOAL_HEAD = "<plan-mode>\n", "<goal-mode>\n"
OFF_HEAD, APPROVED_HEAD = "<mode-off>\n", "<plan-approved>\n"

PLAN = (
    f"{PLAN_HEAD}"
    "Plan mode is on. Work out a plan for what follows; a request to build or change something is a request for the "
    "plan of it. Reading, listing and searching files, looking at the output of background jobs, keeping the todo list "
    "and asking the person work. Nothing may change: file changes, commands (harmless ones too) and everything that "
    "could have an effect are refused, so do not try them.\n"
    "Where the person must decide something, ask with the question tool if you have one; else leave it as an open "
    "question. Your final answer is taken as the plan and put to the person for approval; do not ask for it yourself. "
    "Say what is to be reached, the steps with the files they touch, the risks, and how the result will be checked.\n"
    "</plan-mode>"
)

APPROVED = (
    f"{APPROVED_HEAD}"
    "The person approved the plan. Plan mode is off: changes and commands work again, under the usual rules. Carry the "
    "plan out now.\n"
    "</plan-approved>"
)

_GOAL_RULES = (
    "Goal mode: you work towards one objective over several rounds, without being prompted for each. Whenever you "
    "stop, you are asked to go on, until you report with update_goal that the goal is complete, or blocked by "
    "something that only the person can change. It cannot be complete while your todo list has open entries."
)

_BRIEF = (
    "First write the objective brief, as your answer: scope (what is in and what is not), success criteria that can be "
    "checked, constraints, risks. Until it is accepted nothing may change: reading and searching, the todo list and "
    "asking the person work; file changes and commands are refused."
)

GOAL = f"{GOAL_HEAD}{_GOAL_RULES}\n{_BRIEF}\nThe objective is what the person says next.\n</goal-mode>"

NO_BRIEF = f"<goal-brief>\nYou stopped without a brief. {_BRIEF}\n</goal-brief>"

NO_GOAL = "There is no goal: this tool is for goal mode, which only the person can turn on."
BRIEF_FIRST = "The goal cannot be complete before its brief is accepted. Write the brief as your answer."
REPORTED = {
    "continue": "Noted. Go on with the work.",
    "complete": "Noted. Close with a few words on what was done and how it was checked.",
    "blocked": "Noted. Say in a few words what blocks you and what the person can do about it, then stop.",
}


def off(mode: str) -> str:
    """The person left a mode that the model was told of."""
    return f"{OFF_HEAD}The {mode} mode is off: changes and commands work again, under the usual rules.\n</mode-off>"


def resumed(objective: str, briefed: bool) -> str:
    """A goal goes on with a new prompt."""
    then = "Its brief is accepted: go on with the work." if briefed else _BRIEF
    return (
        f"{GOAL_HEAD}{_GOAL_RULES}\nThe objective stays: {short(objective)}\n{then}\n"
        "What the person says next is guidance for it.\n</goal-mode>"
    )


def accepted(budget: str) -> str:
    """The brief counts; the first round begins."""
    return (
        "<goal-round>\nThe brief is accepted: changes and commands work now, under the usual rules. This is round 1. "
        f"{budget} Begin the work.\n</goal-round>"
    )


def next_round(number: int, objective: str, budget: str, notes: Sequence[str]) -> str:
    """Another round of work."""
    lines = [f"This is round {number} of the goal: {short(objective)}", budget, *notes]
    lines.append(
        "Go on with the work. If it is done and checked, report complete with update_goal; if only the person can "
        "help, blocked."
    )
    return "<goal-round>\n{}\n</goal-round>".format("\n".join(lines))


def budget(calls: int, tokens: int | None) -> str:
    """What is left of the prompt's model calls, and of the session's tokens where they are limited."""
    left = f"Model calls left in this prompt: {calls}."
    return left if tokens is None else f"{left} Tokens left in this session: {tokens}."


def idle(rounds: int, limit: int) -> str:
    return f"Rounds that brought nothing new: {rounds} in a row; at {limit} the goal is stopped."


def unfinished(entries: Sequence[str]) -> str:
    """Why a goal is not complete."""
    shown = "; ".join(one_line(entry, 120) for entry in entries[:_LISTED])
    more = f"; and {len(entries) - _LISTED} more" if len(entries) > _LISTED else ""
    return (
        f"The goal is not complete: these entries of the todo list are open: {shown}{more}. "
        "Finish them, or take out with todo_write what is no longer needed."
    )


def intended(note: str) -> str:
    return f"You meant to do next: {one_line(note, 400)}"


def short(objective: str) -> str:
    """An objective on one line."""
    return one_line(objective, OBJECTIVE_CHARACTERS)
