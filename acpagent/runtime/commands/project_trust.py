"""/project-trust: whether what the project brings may be used, and what that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from acpagent.core.bounds import printable
from acpagent.core.faults import Fault
from acpagent.extensions import trust
from acpagent.extensions.trust import Approvals, Standing

DESCRIPTION = "Show, approve or revoke what this project brings: servers, hooks, commands, skills"
HINT = "status | approve | revoke"

_MOST = 40
_HOW = "There are `/project-trust status`, `/project-trust approve` and `/project-trust revoke`."
_STATES = {
    "nothing_to_trust": "This project brings nothing that would have to be trusted.",
    "untrusted": "This project is **not trusted**: nothing of what it brings is used.",
    "trusted": "This project is **trusted** as it is now.",
    "changed": "This project **has changed** since it was trusted: nothing of what it brings is used.",
}


class Desk(Protocol):
    """What the command needs of its session: the working directory, acpagent's home, and where approvals are kept.
    `reload` has the session look for everything anew once this command is done."""

    @property
    def cwd(self) -> str: ...
    @property
    def home(self) -> str: ...
    @property
    def approvals(self) -> Approvals: ...
    @property
    def reload(self) -> Callable[[], None]: ...


def answer(words: str, desk: Desk) -> str:
    """Show how the project stands, or change that first."""
    verb, *rest = words.split() or ["status"]
    act = _VERBS.get(verb.lower())
    if act is None or len(rest) > 1 or (rest and act is not _approve):
        return _HOW
    try:
        return act(desk, *rest)
    except Fault as fault:
        return f"Nothing was changed: {fault.message}."


def _status(desk: Desk) -> str:
    return report(trust.look(desk.cwd, desk.home, desk.approvals))


def _approve(desk: Desk, seen: str = "") -> str:
    """Without a fingerprint it only shows: nobody can approve what they were not shown."""
    standing = trust.look(desk.cwd, desk.home, desk.approvals)
    if standing.status in ("nothing_to_trust", "trusted") or standing.project.refusal:
        return report(standing)
    if not seen:
        return f"{report(standing)}\n\nTo trust exactly this: `/project-trust approve {trust.short(standing.project)}`"
    standing = trust.approve(desk.cwd, desk.home, desk.approvals, seen)
    desk.reload()
    return report(standing)


def _revoke(desk: Desk) -> str:
    trust.revoke(desk.cwd, desk.approvals)
    desk.reload()
    return "This project is trusted no more: nothing of what it brings is used."


_VERBS: dict[str, Callable[..., str]] = {"status": _status, "approve": _approve, "revoke": _revoke}


def report(standing: Standing) -> str:
    """How a project stands and what it brings, in Markdown."""
    project = standing.project
    parts = [_STATES[standing.status], f"Folder: {_code(project.root)}"]
    if project.git is not None:
        parts[-1] += f"  \nRepository: {_code(project.git)}"
    if standing.since is not None and standing.status != "nothing_to_trust":
        parts[-1] += f"  \nTrusted: {standing.since}"
    if project.refusal is not None:
        parts.append(f"It cannot be trusted at all: {project.refusal}.")
    if standing.changes:
        parts.append(_listed("Not as it was approved:", standing.changes[:_MOST]))
    if project.files:
        parts[1] += f"  \nFingerprint: `{trust.short(project)}`"
        parts.append(_listed("What it brings:", trust.contents(project)))
        if not standing.trusted:
            parts.append("Look at these files before you trust them: they can run commands without asking.")
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
