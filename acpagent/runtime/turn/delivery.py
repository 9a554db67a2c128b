"""Delivery: the model is held to acceptance criteria, a look at what changed, a check that passed, and a sign-off.

Nothing here is a barrier against anybody: it keeps a model from stopping half-way, and ends after a few tries.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from acpagent.core import bounds, shellparse
from acpagent.core.events import Notice
from acpagent.core.paths import Roots
from acpagent.core.toolcalls import Effect, Proposal
from acpagent.permission import weighing
from acpagent.runtime.evidence import checks, ledger, status
from acpagent.runtime.evidence.ledger import Ledger

# How often in one prompt the model is told to go on.
MOST_INTERCEPTIONS = 3
LISTED_FILES = 10
LISTED_LETTERS = 200  # of a command

Lack = Literal["plan", "review", "check", "failure", "completion", "sign_off", "change"]

_HARMLESS = frozenset({"read", "plan", "question", "job", "end_job"})
NO_PLAN = (
    "acceptance criteria come first. Call todo_write with one entry for each thing that can be observed once the work "
    "is done, how it is checked included; then make this call again."
)
_DONE = "implemented|fixed|added|updated|changed|created|removed|deleted|refactored|renamed|written|completed|finished"
_CLAIM = re.compile(
    rf"\b(?:i|we)(?:'ve|’ve|\s+have)?\s+(?:(?:now|just|also|successfully)\s+)*(?:{_DONE})\b"
    rf"|\b(?:has|have)\s+been\s+(?:\w+ly\s+)?(?:{_DONE})\b|\b(?:is|are)\s+now\s+(?:{_DONE})\b"
    r"|^\W*(?:all\s+)?done\b[.!:]",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Delivery:
    """One prompt under delivery. Runs on the session worker. `rests` says whether nothing may be changed anyway."""

    ledger: Ledger
    roots: Roots
    tell: Callable[[Notice], None]
    rests: Callable[[], bool] = lambda: False
    _interceptions: int = 0
    _doubted: bool = False

    def objection(self, tool_name: str, proposal: Proposal) -> str | None:
        """Why a call has to wait, as the model is told; None where it has not."""
        self.ledger.read(self.roots)
        if tool_name == ledger.SIGN_OFF_TOOL:
            return self._unfounded(proposal)
        if self.ledger.plan or not any(self._acts(effect) for effect in proposal.effects or (Effect("execute"),)):
            return None
        return f"Not run: {NO_PLAN}"

    def after(self, text: str) -> str | None:
        """The model stopped: what it still has to do, or None for the end. The person is told either way."""
        self.ledger.read(self.roots)
        lacks = self._lacks(text)
        if not lacks:
            return None
        shown = {"missing": [f"delivery_lacks_{lack}" for lack in lacks]}
        if self._interceptions == MOST_INTERCEPTIONS:
            self._interceptions += 1
            self.tell(Notice("warning", "delivery_unfinished", shown))
        if self._interceptions > MOST_INTERCEPTIONS:
            return None
        self._interceptions += 1
        self.tell(Notice("info", "delivery_goes_on", shown))
        return self._told(lacks)

    def _acts(self, effect: Effect) -> bool:
        """Whether an effect changes something, or checks."""
        if effect.kind == "execute":
            script = shellparse.parse(effect.command or "")
            steps = weighing.weigh(script, self.roots)
            return bool(checks.recognise(script)) or not all(step.level == "reads" for step in steps)
        return effect.kind not in _HARMLESS and not (effect.kind == "network" and effect.host)

    def _unfounded(self, proposal: Proposal) -> str | None:
        """Why a step cannot be signed off yet."""
        if not self.ledger.changed:
            return None
        proofs = self.ledger.proofs()
        if not proofs:
            if self.ledger.only_documents():
                return None
            return f"Not signed off. {_WAYS['check']}"
        said = "\n".join(proposal.detail[0])
        if any(ledger.quotes(said, proof) for proof in proofs):
            return None
        lines = ", ".join(f"`{line}`" for line in dict.fromkeys(proof.line for proof in proofs))
        return f"Not signed off. Quote, letter by letter, a check that passed after the last change: {lines}."

    def _lacks(self, text: str) -> tuple[Lack, ...]:
        """What is missing, in the order in which it is to be done. A prompt that neither changed anything nor claims it
        is none to deliver."""
        if self.rests() or not (self.ledger.changed_in_turn or self._claims(text)):
            return ()
        if not self.ledger.changed:
            return self._doubt()
        proofs = self.ledger.proofs()
        checked = bool(proofs) or self.ledger.only_documents()
        signed = any(self.ledger.signed_for(proof) for proof in proofs or (None,))
        found: dict[Lack, bool] = {
            "plan": not self.ledger.plan,
            "review": bool(self.ledger.unreviewed()),
            "check": not checked,
            "failure": checked and bool(self._failures()),
            "completion": bool(self.ledger.open_steps()),
            "sign_off": not (checked and signed),
        }
        return tuple(lack for lack, missing in found.items() if missing)

    def _failures(self) -> list[str]:
        """The checks that failed and were not made good."""
        standing = status.standing(self.ledger.ran, self.ledger.changes)
        return [bounds.one_line(run.check.command, LISTED_LETTERS) for run in standing if run.status == "failed"]

    def _claims(self, text: str) -> bool:
        """Whether the model says that work was done, in words or by signing it off."""
        signed = any(at > self.ledger.turn_began for at, _ in self.ledger.signed)
        return signed or _CLAIM.search(text) is not None

    def _doubt(self) -> tuple[Lack, ...]:
        """A claim that work was done while nothing was seen to change is doubted once."""
        if self._doubted:
            return ()
        self._doubted = True
        return ("change",)

    def _told(self, lacks: tuple[Lack, ...]) -> str:
        """What the model is told to do, one line for each thing."""
        names = [self.roots.relative(path) for path in self.ledger.unreviewed()]
        more = f" and {len(names) - LISTED_FILES} more" if len(names) > LISTED_FILES else ""
        files = ", ".join(names[:LISTED_FILES]) + more
        failed = ", ".join(f"`{line}`" for line in self._failures()[:LISTED_FILES])
        ways = "\n".join(f"- {_WAYS[lack].format(files=files, checks=failed)}" for lack in lacks)
        return f"{_HEAD if lacks != ('change',) else _DOUBT_HEAD}\n{ways}\n{_FOOT}"


_HEAD = "[From acpagent, not from the person: the delivery is not finished. Still to do, in this order:"
_DOUBT_HEAD = "[From acpagent, not from the person: this cannot be taken for a delivery."
_FOOT = "Then give the final answer. What cannot be done, do not claim: say in the answer what is missing and why.]"
_WAYS: dict[Lack, str] = {
    "plan": "Write the acceptance criteria down with todo_write.",
    "review": "Look at the changes as they are now, with read_file or git diff: {files}.",
    "check": (
        "No check passed after the last change. Run one that covers it, such as its tests, a linter, a type checker or "
        "the build, as a command of its own in the foreground: no pipe, no `|| true`, nothing behind it."
    ),
    "failure": "These checks failed, and have not passed since: {checks}. Mend what they show, and run them again.",
    "completion": "Complete what is left of the plan, and set it to completed with todo_write once it is so.",
    "sign_off": "Sign off with complete_step; evidence quotes the check that passed, letter by letter.",
    "change": (
        "Work is said to be done, but nothing was changed in this prompt. Do it, or say plainly that nothing had to be "
        "changed."
    ),
}
