"""/project-trust: whether what the project brings may be used, and what that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from acpagent.core import catalogue
from acpagent.core.bounds import one_line, printable
from acpagent.core.faults import Fault
from acpagent.extensions import trust
from acpagent.extensions.trust import Standing
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.session.services import CommandDesk

_MOST = 40


def answer(words: str, desk: CommandDesk) -> str:
    """Show how the project stands, or change that first. Raises `Refused`."""
    verb, *rest = split(words) or ["status"]
    act = _VERBS.get(verb.lower())
    if act is None or len(rest) > 1 or (rest and act is not _approve):
        raise Refused("trust_unknown", words=one_line(words, 60))
    try:
        return act(desk, *rest)
    except Fault as fault:
        return desk.say("trust_unchanged", cause=fault.message)


def _status(desk: CommandDesk) -> str:
    return _report(trust.look(desk.cwd, desk.home, desk.approvals), desk)


def _approve(desk: CommandDesk, seen: str = "") -> str:
    """Without a fingerprint it only shows: nobody can approve what they were not shown."""
    standing = trust.look(desk.cwd, desk.home, desk.approvals)
    if standing.status in ("nothing_to_trust", "trusted") or standing.project.refusal:
        return _report(standing, desk)
    if not seen:
        how = desk.say("trust_approve", fingerprint=trust.short(standing.project))
        return f"{_report(standing, desk)}\n\n{how}"
    standing = trust.approve(desk.cwd, desk.home, desk.approvals, seen)
    desk.reload()
    return _report(standing, desk)


def _revoke(desk: CommandDesk) -> str:
    trust.revoke(desk.cwd, desk.approvals)
    desk.reload()
    return desk.say("trust_revoked")


_VERBS: dict[str, Callable[..., str]] = {"status": _status, "approve": _approve, "revoke": _revoke}


def _report(standing: Standing, desk: CommandDesk) -> str:
    """How a project stands and what it brings, in Markdown."""
    project = standing.project
    facts = [desk.say("trust_folder", folder=_code(project.root))]
    if project.git is not None:
        facts.append(desk.say("trust_repository", repository=_code(project.git)))
    if standing.since is not None and standing.status != "nothing_to_trust":
        facts.append(desk.say("trust_since", since=standing.since))
    if project.files:
        facts.append(desk.say("trust_fingerprint", fingerprint=trust.short(project)))
    parts = [desk.say(f"trust_{standing.status}"), "  \n".join(facts)]
    if project.refusal is not None:
        parts.append(desk.say("trust_refusal", cause=project.refusal))
    if standing.changes:
        parts.append(_listed(desk.say("trust_changes"), standing.changes[:_MOST]))
    if project.files:
        parts.append(
            _listed(
                desk.say("trust_brings"), [catalogue.spoken(line, desk.language) for line in trust.contents(project)]
            )
        )
        if not standing.trusted:
            parts.append(desk.say("trust_look"))
    return "\n\n".join(parts)


def _listed(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title, "", *(f"- {_code(line)}" for line in lines)])


def _code(text: str) -> str:
    """A text as code in Markdown, whatever is in it."""
    text = printable(text)
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence}{text}{fence}" if fence == "`" else f"{fence} {text} {fence}"
