"""The hand-off: at the end of a turn that did something, its evidence is sealed, kept and shown."""

from __future__ import annotations

from collections.abc import Callable

from acpagent.config import redaction
from acpagent.core.events import Event, EvidenceReady, Notice, Usage
from acpagent.core.history import EvidenceSet
from acpagent.runtime.evidence import bundle, receipts
from acpagent.runtime.evidence.bundle import Session
from acpagent.runtime.session.keep import Keep
from acpagent.runtime.turn.speaker import Speaker, new_id
from acpagent.store import sessions


def hand_off(keep: Keep, home: str, usage: Usage, speaker: Speaker, emit: Callable[[Event], None]) -> None:
    """Give evidence of the turn, if there is any. What is shown, stored and sealed is the same, without secrets."""
    hide = redaction.Secrets(redaction.known(home, named=True)).strictly
    session = Session(keep.row.id, keep.roots, sessions.now, hide)
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
        speaker.tell(Notice("warning", "proof_not_written", {"cause": error.strerror or str(error)}))
