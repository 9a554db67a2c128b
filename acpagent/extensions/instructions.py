"""Instruction files: what the person and the project want every agent to know. Context, which needs no trust."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from acpagent.core import files
from acpagent.core.bounds import cut, printable
from acpagent.core.catalogue import Phrase
from acpagent.core.paths import within
from acpagent.core.phrases import told
from acpagent.core.repositories import top_of
from acpagent.extensions.problems import Problem

NAMES = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md")
MAX_FILE = 32 * 1024  # bytes of one file that the model reads
MAX_TOTAL = 64 * 1024
_MAX_READ = 1024 * 1024
_MAX_DIRECTORIES = 40  # between a repository's top and the working directory


@dataclass(frozen=True, slots=True)
class Instruction:
    """One file: its absolute `path` and its `text`, cut to what fits. `personal`: it is of the person's own home and
    not of the project."""

    path: str
    text: str = field(repr=False)
    personal: bool = False


Found = tuple[tuple[Instruction, ...], tuple[Problem, ...]]


def find(cwd: str, home: str) -> Found:
    """The files of `home`, and of each directory from the repository's top down to `cwd`; later ones are closer to
    the work. Links of a project count while they stay in the repository. A file that is there twice counts once."""
    problems: list[Problem] = []
    found = _unique(_candidates(cwd, home, problems))
    return _bounded(found, problems), tuple(problems)


def message(found: Iterable[Instruction]) -> str:
    """What the model reads before the person's first words; empty if there is nothing. For a message of its own: the
    system prompt stays the same whatever a project says."""
    parts = []
    for one in found:
        whose = "the person's own instructions" if one.personal else "instructions of the project"
        mark = "```"
        while mark in one.text:
            mark += "`"
        parts.append(f"{printable(one.path)} ({whose}):\n{mark}\n{one.text}\n{mark}")
    if not parts:
        return ""
    head = (
        "Instruction files of this person and this project. Follow them where they fit the task; of two that disagree"
        " the later one counts, and what the person says in this conversation counts more than any."
    )
    return "\n\n".join([head, *parts])


def _candidates(cwd: str, home: str, problems: list[Problem]) -> Iterator[tuple[str, bytes, Instruction]]:
    """Each file that is there, by what it really is, in order."""
    for path in _paths(home):
        yield from _read(path, None, problems)
    place = os.path.realpath(cwd)
    top = top_of(place) or place
    for directory in _downwards(top, place):
        if directory != os.path.realpath(home):
            for path in _paths(directory):
                yield from _read(path, top, problems)


def _downwards(top: str, place: str) -> list[str]:
    places = [place]
    while places[-1] != top and within(places[-1], top):
        places.append(os.path.dirname(places[-1]))
    return places[:_MAX_DIRECTORIES][::-1]


def _paths(directory: str) -> list[str]:
    return [os.path.join(directory, name) for name in NAMES]


def _read(path: str, top: str | None, problems: list[Problem]) -> Iterator[tuple[str, bytes, Instruction]]:
    """`top` None: a file of the person's home, whose links lead where they want."""
    if not os.path.lexists(path):
        return
    real = os.path.realpath(path)
    if top is not None and not within(real, top):
        what = Phrase("what_leaves_repository")
        problems.append(Problem("instructions", path, None, what, Phrase("remedy_file_itself")))
        return
    try:
        text = files.read_text(real, _MAX_READ).text.strip()
    except FileNotFoundError:
        return
    except files.NotText as error:
        what = Phrase("what_not_read", what=told(error))
        problems.append(Problem("instructions", path, None, what, Phrase("remedy_short_text")))
        return
    except OSError as error:
        what = Phrase("what_unreadable", cause=told(error))
        problems.append(Problem("instructions", path, None, what, Phrase("remedy_readable_file")))
        return
    if text:
        yield real, hashlib.sha256(text.encode("utf-8", "replace")).digest(), Instruction(path, text, top is None)


def _unique(found: Iterable[tuple[str, bytes, Instruction]]) -> list[Instruction]:
    """Each file and each text once, where it stands first; a file that only refers to one beside it says nothing."""
    kept: list[Instruction] = []
    seen: set[str | bytes] = set()
    for real, digest, one in found:
        referred = os.path.join(os.path.dirname(one.path), one.text[1:]) if one.text.startswith("@") else ""
        if not seen.isdisjoint((real, digest)) or any(referred == other.path for other in kept):
            continue
        seen.update((real, digest))
        kept.append(one)
    return kept


def _bounded(found: list[Instruction], problems: list[Problem]) -> tuple[Instruction, ...]:
    """In all no more than the model should read before it begins. The closest to the work get the room first."""
    kept: list[Instruction] = []
    left = MAX_TOTAL
    for one in reversed(found):
        room = min(MAX_FILE, left)
        excerpt = cut(one.text, room) if room >= 256 else None
        if excerpt is None or excerpt.left_out:
            what = Phrase("what_cut") if excerpt else Phrase("what_no_room")
            remedy = Phrase("remedy_instructions", one=MAX_FILE // 1024, all=MAX_TOTAL // 1024)
            problems.append(Problem("instructions", one.path, None, what, remedy, excerpt is None))
        if excerpt is not None:
            left -= len(excerpt.text.encode("utf-8", "replace"))
            kept.append(Instruction(one.path, excerpt.text, one.personal))
    return tuple(reversed(kept))
