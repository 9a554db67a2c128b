"""Whether receipts hold: each one's own seal, and the chain through those of its session."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass

from acpagent.core.phrases import told
from acpagent.runtime.evidence import receipts
from acpagent.runtime.evidence.receipts import Damaged, Receipt


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, as a code of the catalogue with its parameters."""

    code: str
    file: str
    detail: str = ""


def chain(directory: str, known_seals: Collection[str] = ()) -> tuple[list[Receipt], list[Finding]]:
    """The receipts of a session in order, and what is wrong with them. `known_seals` are those that the session itself
    remembers: a receipt that was taken away from the end breaks no chain."""
    found, wrong = list[tuple[str, Receipt]](), list[Finding]()
    for place in receipts.listed(directory):
        try:
            receipt = receipts.read(place)
        except (Damaged, OSError) as error:
            wrong.append(Finding("proof_damaged", place, told(error)))
            continue
        wrong += _strange(place, receipt)
        found.append((place, receipt))
    found.sort(key=lambda one: one[1].sequence)
    damaged = sum(finding.code == "proof_damaged" for finding in wrong)
    wrong += _breaks(found, damaged)
    seals = {receipt.seal for _, receipt in found}
    missing = [seal for seal in known_seals if seal not in seals]
    wrong += [Finding("proof_missing", directory, seal) for seal in missing[damaged:]]
    return [receipt for _, receipt in found], wrong


def _breaks(found: list[tuple[str, Receipt]], damaged: int) -> list[Finding]:
    """Where the chain is broken, but for what the damaged ones leave open: those are there, and told already."""
    wrong, previous, sequence = list[Finding](), "", 1
    for place, one in found:
        if 0 < one.sequence - sequence <= damaged:
            damaged -= one.sequence - sequence
        elif one.sequence != sequence:
            wrong.append(Finding("proof_gap", place, str(sequence)))
        elif one.previous != previous:
            wrong.append(Finding("proof_unlinked", place, str(one.sequence)))
        previous, sequence = one.seal, one.sequence + 1
    return wrong


def _strange(place: str, receipt: Receipt) -> list[Finding]:
    bundle = receipt.bundle
    detail = f"{bundle.turn_id} of session {bundle.session_id}"
    return [] if receipts.belongs(place, bundle) else [Finding("proof_renamed", place, detail)]


def single(place: str, kept: bool = False, known_seals: Collection[str] = ()) -> tuple[Receipt | None, list[Finding]]:
    """One receipt, and those before it in its folder that it is bound to. `kept`: it lies where the session has put it,
    which remembers the seals of all its receipts, if any are known."""
    try:
        receipt = receipts.read(place)
    except (Damaged, OSError) as error:
        return None, [Finding("proof_damaged", place, told(error))]
    if kept and (strange := _strange(place, receipt)):
        return receipt, strange
    if kept and known_seals and receipt.seal not in known_seals:
        return receipt, [Finding("proof_replaced", place)]
    by_seal = {one.seal: one for one in _readable(os.path.dirname(os.path.abspath(place)))}
    at = receipt
    while at.previous:
        before = by_seal.get(at.previous)
        if before is None or before.sequence != at.sequence - 1:
            return receipt, [Finding("proof_gap", place, f"{at.sequence - 1}")]
        at = before
    return receipt, [] if at.sequence == 1 else [Finding("proof_gap", place, f"{at.sequence - 1}")]


def _readable(directory: str) -> list[Receipt]:
    found = []
    for place in receipts.listed(directory):
        try:
            found.append(receipts.read(place))
        except (Damaged, OSError):
            continue
    return found
