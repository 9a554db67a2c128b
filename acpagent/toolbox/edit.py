"""edit_file: replace one passage of a file, found by its exact text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds
from acpagent.core.blocks import Text
from acpagent.core.files import TextFile
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import FLAG, STRING, Schema, closed, described
from acpagent.toolbox.texts import Texts, change, name, place

TITLE_CHARACTERS = 120
_LISTED = 10
_NUMBERED = re.compile(r"\d+\t")

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Edit:
    path: str
    base: TextFile
    raw: str
    lines: tuple[int, ...]


class EditFile:
    name = "edit_file"
    description = (
        "Replace old by new in a file. old must be the exact text, without line numbers, and occur once, "
        "unless replace_all is set."
    )
    schema: Schema = closed(
        {
            "path": STRING,
            "old": described(STRING, "exact text, with enough lines around it to be unique"),
            "new": STRING,
            "replace_all": FLAG,
        },
        "path",
        "old",
        "new",
    )
    reads_only = False
    kind: Kind = "edit"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        path = place(ctx, args["path"])
        texts, called = Texts(ctx), name(ctx, path)
        base = texts.read(path)
        old, new = args["old"].replace("\r\n", "\n"), args["new"].replace("\r\n", "\n")
        spans = _found(base.text, old, new, called, args.get("replace_all", False))
        lines = _line_numbers(base.text, spans)
        raw = base.replaced(*_narrowed(spans, old, new))
        texts.encode(path, raw, base)
        return Proposal(
            title=bounds.one_line(f"Edit {called}", TITLE_CHARACTERS),
            kind=self.kind,
            effects=(Effect("write", path),),
            subject=called,
            locations=(Location(ctx.roots.shown(path), lines[0]),),
            diff=change(ctx, path, base.raw, raw),
            detail=_Edit(path, base, raw, lines),
            facts={"path": called},
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        edit: _Edit = proposal.detail
        Texts(ctx).write(edit.path, edit.raw, edit.base)
        count = len(edit.lines)
        many = f" ({count} edits)" if count > 1 else ""
        text = f"Edited {proposal.subject}{many} at {_listed(edit.lines)}."
        facts = {"path": proposal.subject, "edit_count": count}
        return ToolResult(
            text,
            content=(proposal.diff, Text(text)) if proposal.diff else (),
            raw={**facts, "lines": list(edit.lines[:100])},
            facts=facts,
            title=bounds.one_line(f"Edited {proposal.subject}{many}", TITLE_CHARACTERS),
        )


def _found(text: str, old: str, new: str, called: str, replace_all: bool) -> Spans:
    if not old:
        raise ToolRefusal("old is empty; to create a file or replace all of it, use write_file.")
    if old == new:
        raise ToolRefusal("old and new are the same; there is nothing to change.")
    wanted = (
        re.escape(old) if replace_all else f"(?={re.escape(old)})"
    )  # overlapping ones make it ambiguous too
    spans = tuple((match.start(), match.start() + len(old)) for match in re.finditer(wanted, text))
    if not spans:
        raise ToolRefusal(f"old was not found in {called}.{_hint(text, old)}")
    if len(spans) > 1 and not replace_all:
        where = _listed(_line_numbers(text, spans))
        raise ToolRefusal(
            f"old was found {len(spans)} times in {called}, at {where}. Add lines around it until it is unique, "
            "or set replace_all."
        )
    return spans


def _narrowed(spans: Spans, old: str, new: str) -> tuple[Spans, str]:
    """The same change without what is equal at both ends, so that lines which stay keep their line ends."""
    start = _common(old, new)
    rest_old, rest_new = old[start:], new[start:]
    end = _common(rest_old[::-1], rest_new[::-1])
    return tuple((first + start, last - end) for first, last in spans), rest_new[: len(rest_new) - end]


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _line_numbers(text: str, spans: Spans) -> tuple[int, ...]:
    numbers, line, at = [], 1, 0
    for start, _ in spans:
        line += text.count("\n", at, start)
        at = start
        numbers.append(line)
    return tuple(numbers)


def _listed(lines: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, lines[:_LISTED]))
    word = "line" if len(lines) == 1 else "lines"
    return f"{word} {shown}{', ...' if len(lines) > _LISTED else ''}"


def _hint(text: str, old: str) -> str:
    """Why the passage may not have been found."""
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted):
        return " Leave out the line numbers that read_file shows."
    bare, target = [line.split() for line in lines], [line.split() for line in wanted]
    starts = [number for number, line in enumerate(bare) if line == target[0]]
    for start in starts:
        if bare[start : start + len(target)] == target:
            return f" Lines {start + 1}-{start + len(target)} differ from it in white space alone."
    if starts and target[0]:
        numbers = tuple(number + 1 for number in starts)
        return f" Its first line is at {_listed(numbers)}, but what follows differs. Read the file again."
    return " Read the file again; it may have changed."
