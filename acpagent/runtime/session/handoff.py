"""The hand-off: at the end of a turn that did something, its evidence is sealed, kept and shown."""

from __future__ import annotations

from collections.abc import Callable

from acpagent.config import redaction
from acpagent.core.events import Event, EvidenceReady, Notice, Usage
from acpagent.core.history import EvidenceSet
from acpagent.core.phrases import why
from acpagent.runtime.evidence import bundle, receipts
from acpagent.runtime.evidence.bundle import Session
from acpagent.runtime.session.keep import Keep
from acpagent.runtime.turn import keeping
from acpagent.runtime.turn.speaker import Speaker, new_id
from acpagent.store import sessions


def look_at_jobs(keep: Keep, turn_id: str) -> None:
    """Take down what the jobs of the turn have changed by now, which counts for the calls that started them."""
    account = keep.witness.account
    for call_id, found in keep.witness.watch.by_jobs():
        changes = account.strays(found)
        account.changed(call_id, changes)
        keep.ledger.saw(file.path for file in changes.files)
        for entry in keeping.by_commands(turn_id, changes, keep.contents.put):
            keep.record(entry)


def hand_off(keep: Keep, home: str, usage: Usage, speaker: Speaker, emit: Callable[[Event], None]) -> None:
    """Give evidence of the turn, if there is any. What is shown, stored and sealed is the same, without secrets."""
    hide = redaction.Secrets(redaction.known(home, named=True)).strictly
    running = frozenset(job.id for job in keep.jobs.all() if job.running)  # what ends from here on is not all seen
    look_at_jobs(keep, keep.witness.account.turn_id)
    keep.witness.watch.forget_jobs()
    session = Session(keep.row.id, keep.roots, sessions.now, hide, running)
    found = bundle.assemble(keep.witness.account, keep.ledger, session, usage)
    if found is None:
        return
    found = receipts.redacted(found, hide)
    receipt = keep.witness.seal(found, home)
    speaker.end_message()
    shown = EvidenceReady(found, new_id("msg"), receipt.seal)
    keep.record(EvidenceSet(found.turn_id, shown.message_id, found, receipt.seal))
    emit(shown)
    try:
        receipts.write(home, receipt)
    except OSError as error:
        speaker.tell(Notice("warning", "proof_not_written", {"cause": why(error)}))
