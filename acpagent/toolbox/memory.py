"""remember and recall_memory: short notes of the repository that later sessions are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from acpagent.core import bounds, memory
from acpagent.core.catalogue import Phrase
from acpagent.core.memory import KINDS, TEXT_CHARACTERS, Full, Memory, Note
from acpagent.core.paths import within
from acpagent.core.phrases import titled
from acpagent.core.repositories import repository_of
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import COUNT, STRING, Schema, closed, described

_KIND = {"type": "string", "enum": list(KINDS)}
_TITLE = 100
_LISTED = 20
_MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class _Kept:
    note: Note
    root: str


class Remember:
    """Asks as an edit does: what is kept now, later sessions are told."""

    name = "remember"
    description = (
        "Keep a short note about this repository for later sessions: a decision and why, a cause and its fix, a "
        "convention, what blocks. Only what is not obvious from the files, and never a secret. Name the file it is "
        "from, if any: once that changes the note is marked."
    )
    schema: Schema = closed(
        {
            "text": described(STRING, f"one fact, at most {TEXT_CHARACTERS} characters"),
            "kind": _KIND,
            "file": described(STRING, "the file that shows it"),
        },
        "text",
    )
    reads_only = False
    kind: Kind = "edit"

    def __init__(self, kept: Memory) -> None:
        self._memory = kept

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        text = bounds.one_line(args["text"], TEXT_CHARACTERS + 1)
        if not text or len(text) > TEXT_CHARACTERS:
            raise ToolRefusal(f"text must have 1 to {TEXT_CHARACTERS} characters.")
        root = memory.top(ctx.roots.cwd)
        file, digest = _source(args.get("file", ""), root, ctx)
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        note = Note(
            memory.note_id(text), text, args.get("kind", "insight"), file, digest, ctx.session_id, ctx.turn_id, stamp
        )
        kind = Phrase(f"memory_kind_{note.kind}")
        about = Phrase("note_memory_file" if file else "note_memory", text=note.text, kind=kind, file=file)
        return Proposal(
            title=titled("title_remember", _TITLE, text),
            kind=self.kind,
            effects=(Effect("memory"),),
            subject=note.id,
            locations=(Location(f"{root}/{file}"),) if file else (),
            detail=_Kept(note, root),
            note=about,
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        kept: _Kept = proposal.detail
        ctx.scope.check()
        try:
            self._memory.keep(repository_of(ctx.roots.cwd), kept.note)
        except Full:
            raise ToolRefusal("The memory of this repository is full; ask the person to forget some: /memory") from None
        return ToolResult(f"Kept as {kept.note.id}.", raw={"id": kept.note.id, "kind": kept.note.kind})


class RecallMemory:
    name = "recall_memory"
    description = (
        "Look through the notes that were kept about this repository, with where they are from and whether that has "
        "changed since. Without a query: the newest."
    )
    schema: Schema = closed(
        {"query": described(STRING, "words that must all be in a note"), "kind": _KIND, "limit": COUNT}
    )
    reads_only = True
    kind: Kind = "search"

    def __init__(self, kept: Memory) -> None:
        self._memory = kept

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        query = bounds.one_line(args.get("query", ""), 200)
        title = titled("title_recall", _TITLE, query) if query else Phrase("title_recall_all")
        return Proposal(title, self.kind, (Effect("recall"),), detail=args, facts={"query": query})

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        args: Mapping[str, Any] = proposal.detail
        cwd = ctx.roots.cwd
        root, every = memory.top(cwd), self._memory.notes(repository_of(cwd))
        found = memory.matching(every, args.get("query", ""), args.get("kind", ""))
        shown = found[: min(args.get("limit", _LISTED), _MOST_LISTED)]
        lines = [memory.told(note, root) for note in shown]
        if len(found) > len(shown):
            lines.append(f"[{len(found) - len(shown)} more]")
        text = bounds.cut("\n".join(lines), ctx.output_bytes).text if lines else "Nothing was kept that fits."
        return ToolResult(text, raw={"matches": len(found)}, facts={"match_count": len(found)})


def _source(written: str, root: str, ctx: ToolContext) -> tuple[str, str]:
    """The file that a note is from, as it is kept, and what is in it. Raises `ToolRefusal`."""
    if not written:
        return "", ""
    try:
        path = ctx.roots.resolve(written)
    except ValueError as fault:
        raise ToolRefusal(f"file: {fault}.") from None
    ctx.veto(path)
    if not within(path, root):
        raise ToolRefusal("file must be one of this repository.")
    file = path[len(root) :].lstrip("/")
    digest = memory.digest_of(root, file)
    if digest is None:
        raise ToolRefusal(f"{file} cannot be read; leave file out, or name one that is there.")
    return file, digest
