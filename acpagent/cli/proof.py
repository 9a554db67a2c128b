"""`acpagent proof`: the sealed receipts of what each turn changed, checked and was permitted."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acpagent.cli import agent, proof_words
from acpagent.cli.agent import UsageError
from acpagent.cli.main import FAILED, OK
from acpagent.cli.spoken import say, spoken
from acpagent.cli.terminal import Terminal
from acpagent.config import locate
from acpagent.core.bounds import printable
from acpagent.core.history import EvidenceSet
from acpagent.core.phrases import told
from acpagent.runtime.evidence import receipts, verify
from acpagent.runtime.evidence.receipts import Damaged, Receipt
from acpagent.runtime.evidence.verify import Finding
from acpagent.store import entries
from acpagent.store.database import Store

_ENOUGH = 4  # letters of an id that stand for it, if no other begins so


@dataclass(frozen=True, slots=True)
class _Kept:
    """The file of a receipt; None for a receipt that cannot be read."""

    path: str
    receipt: Receipt | None

    @property
    def session(self) -> str:
        return os.path.basename(os.path.dirname(self.path))

    @property
    def turn(self) -> str:
        return os.path.basename(self.path).removesuffix(".json")


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    return agent.dispatched(make_parser(), words)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent proof",
        description=say("proof_about"),
        epilog=say("epilog_proof"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    listing = commands.add_parser("list", help=say("proof_help_list"), allow_abbrev=False)
    listing.add_argument("--session", metavar="ID", help=say("proof_help_session"))
    listing.add_argument("--json", action="store_true", help=say("help_json"))
    listing.set_defaults(command=_list)
    for name, about, command in (
        ("show", say("proof_help_show"), _show),
        ("explain", say("proof_help_explain"), _explain),
        ("verify", say("proof_help_verify"), _verify),
    ):
        one = commands.add_parser(name, help=about, allow_abbrev=False)
        one.add_argument("id", metavar="ID", help=say("proof_help_id"))
        one.set_defaults(command=command)
    return parser


def _list(options: argparse.Namespace) -> int:
    found = [kept for kept in _all() if options.session is None or _named(kept.session, options.session)]
    if options.session is not None and not found:
        raise UsageError(say("proof_no_session", id=printable(options.session)))
    found.sort(key=lambda kept: kept.receipt.bundle.created_at if kept.receipt else "")
    if options.json:
        sys.stdout.write(json.dumps([_row(kept) for kept in found], indent=2) + "\n")
        return OK
    terminal = Terminal(sys.stdout)
    for kept in found:
        terminal.line(printable(proof_words.line(kept.turn, kept.session, kept.receipt)))
    if not found:
        sys.stdout.write(say("proof_none"))
    return OK


def _row(kept: _Kept) -> dict[str, object]:
    row: dict[str, object] = {"turn": kept.turn, "session": kept.session, "file": kept.path}
    if kept.receipt is None:
        return {**row, "status": "damaged"}
    bundle, receipt = kept.receipt.bundle, kept.receipt
    return {
        **row, "status": bundle.status, "created": bundle.created_at, "sequence": receipt.sequence,
        "seal": receipt.seal, "files": bundle.diff.file_count, "checks": len(bundle.checks),
    }  # fmt: skip


def _show(options: argparse.Namespace) -> int:
    for receipt in _receipts(options.id):
        sys.stdout.write(json.dumps(json.loads(receipt.data), indent=2, ensure_ascii=False, sort_keys=True) + "\n")
    return OK


def _explain(options: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    for receipt in _receipts(options.id):
        for line in proof_words.explained(receipt.bundle):
            terminal.line(printable(line.text), line.style)
    return OK


def _verify(options: argparse.Namespace) -> int:
    kept = _find(options.id, or_remembered=True)
    if isinstance(kept, str):
        found, wrong = verify.chain(kept, _remembered(os.path.basename(kept)))
    else:
        ours = _is_ours(kept.path)
        one, wrong = verify.single(kept.path, ours, _remembered(kept.session) if ours else [])
        found = [one] if one is not None else []
    terminal = Terminal(sys.stdout)
    for finding in wrong:
        terminal.line(f"{terminal.sign('✗')} {printable(_problem(finding))}", "red")
    for receipt in found if not wrong else []:
        bundle = receipt.bundle
        status = proof_words.status(bundle)
        terminal.line(f"{terminal.sign('✓')} {say('proof_holds', id=bundle.turn_id, status=status)}", "green")
    return FAILED if wrong else OK


def _problem(finding: Finding) -> str:
    return f"{finding.file}: {say(finding.code, detail=spoken(finding.detail))}"


def _receipts(wanted: str) -> list[Receipt]:
    """The receipts that are asked for. Raises `UsageError`, OSError."""
    kept = _find(wanted)
    places = list(receipts.listed(kept)) if isinstance(kept, str) else [kept.path]
    try:
        found = [receipts.read(place) for place in places]
    except Damaged as error:
        raise OSError(say("proof_fails", cause=spoken(told(error)))) from None
    return sorted(found, key=lambda one: one.sequence)


def _is_ours(place: str) -> bool:
    """Whether a file lies among the receipts, and is not a copy somewhere else."""
    top = os.path.join(locate.home(), receipts.FOLDER)
    return os.path.realpath(top) == os.path.dirname(os.path.dirname(os.path.realpath(place)))


def _find(wanted: str, or_remembered: bool = False) -> _Kept | str:
    """A receipt's file, or the folder of a session; `or_remembered`: be it one that has lost all of them. Raises
    `UsageError`."""
    if os.path.isfile(wanted):
        return _Kept(wanted, None)
    every = list(_all())
    turns = [kept for kept in every if _named(kept.turn, wanted)]
    folders = sorted({os.path.dirname(kept.path) for kept in every if _named(kept.session, wanted)})
    if len(turns) + len(folders) > 1:
        raise UsageError(say("proof_ambiguous", id=printable(wanted)))
    if not turns and not folders and or_remembered and _remembered(wanted):
        return receipts.folder(locate.home(), wanted)
    if not turns and not folders:
        raise UsageError(say("proof_not_found", id=printable(wanted)))
    return turns[0] if turns else folders[0]


def _named(name: str, wanted: str) -> bool:
    bare = name.removeprefix("turn_")
    return name == wanted or (len(wanted) >= _ENOUGH and (name.startswith(wanted) or bare.startswith(wanted)))


def _all() -> Iterator[_Kept]:
    top = os.path.join(locate.home(), receipts.FOLDER)
    try:
        sessions = sorted(os.listdir(top))
    except OSError:
        return
    for session in sessions:
        for place in receipts.listed(os.path.join(top, session)):
            try:
                yield _Kept(place, receipts.read(place))
            except (Damaged, OSError):
                yield _Kept(place, None)


def _remembered(session_id: str) -> list[str]:
    """The seals that the session itself has kept. Raises `StoreFault`."""
    path = locate.store_file(locate.home())
    if not os.path.exists(path):
        return []
    return [entry.seal for entry in entries.read(Store(path), session_id) if isinstance(entry, EvidenceSet)]
