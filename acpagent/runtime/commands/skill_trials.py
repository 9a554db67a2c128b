"""/skill eval and bench: the cases of a skill, asked of the session's model with the skill, and without it."""

from __future__ import annotations

from dataclasses import dataclass

from acpagent.core.bounds import asked_line
from acpagent.core.faults import Fault
from acpagent.extensions import skills
from acpagent.extensions.skills import Skill
from acpagent.runtime.commands import skill_cases
from acpagent.runtime.commands.arguments import split
from acpagent.runtime.commands.skill_cases import Case
from acpagent.runtime.commands.skill_places import found
from acpagent.runtime.session.services import CommandDesk

_SYSTEM = (
    "You are a coding agent. Answer the request in text alone: there are no tools here, and nothing was said before."
)
_LETTERS = 60


@dataclass(slots=True)
class _Side:
    """The requests with the skill, or those without it. `code` says which."""

    code: str
    with_skill: bool
    asked: int = 0
    passed: int = 0
    tokens: int = 0

    def ask(self, case: Case, one: Skill, desk: CommandDesk) -> str:
        """What came of a case. Raises `Fault`, `Cancelled`."""
        text = skills.invoked(one, case.prompt) if self.with_skill else case.prompt
        written = desk.upkeep.ask(_SYSTEM, text)
        self.asked += 1
        if written.usage is not None:
            self.tokens += written.usage.usage.input + written.usage.usage.output
        if not written.text.strip():
            return desk.say("skill_case_silent")
        lacks, has = case.faults(written.text)
        if not lacks and not has:
            self.passed += 1
            return desk.say("skill_case_passed")
        parts = [desk.say("skill_case_lacks", texts=_quoted(lacks))] if lacks else []
        parts += [desk.say("skill_case_has", texts=_quoted(has))] if has else []
        return f"{desk.say('skill_case_failed')} ({'; '.join(parts)})"


def evaluate(rest: str, desk: CommandDesk) -> str:
    """Raises `Refused`, OSError, `Cancelled`."""
    return _run(found(" ".join(split(rest)), "eval", desk), desk, _Side("skill_with", True))


def bench(rest: str, desk: CommandDesk) -> str:
    """Raises `Refused`, OSError, `Cancelled`."""
    sides = _Side("skill_with", True), _Side("skill_without", False)
    return _run(found(" ".join(split(rest)), "bench", desk), desk, *sides)


def _run(one: Skill, desk: CommandDesk, *sides: _Side) -> str:
    """Each case is told as it ends. What keeps the model from answering ends it all: it would keep it again."""
    stopped = ""
    for number, case in enumerate(skill_cases.read(one, desk), 1):
        try:
            told = [f"{desk.say(side.code)}: {side.ask(case, one, desk)}" for side in sides]
        except Fault as fault:
            stopped = desk.say("skill_trial_stopped", number=number, cause=fault.message) + "\n\n"
            break
        desk.tell(f"{number}. {_quoted([case.prompt])}: {'; '.join(told)}")
    lines = [
        f"- {desk.say(side.code)}: "
        + desk.say("skill_trial_sum", passed=side.passed, count=side.asked, tokens=side.tokens)
        for side in sides
    ]
    return stopped + "\n".join([desk.say("skill_trial_head", name=one.name), "", *lines])


def _quoted(texts: list[str]) -> str:
    return ", ".join(f"`{asked_line(one, _LETTERS).replace('`', chr(39))}`" for one in texts)
