"""One command line as bash reads it: every simple command in it, with its words, redirections and surroundings.

Nothing here decides anything. What cannot be read for sure is a doubt, and who decides must take a doubt for the worst.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acpagent.core import shells

if TYPE_CHECKING:
    from tree_sitter import Tree

LONGEST = 200_000  # characters that are read; longer lines are not
MOST_BARS = 2000  # in one line: the grammar takes ever longer for pipelines that do not end
SECONDS = 1.0  # that broken lines may take, for which the grammar looks ever longer; whole ones take milliseconds
_CHUNK = 65_536
_KEYWORDS = frozenset({"time", "coproc"})  # bash itself sees to them
# Words that begin or end something compound where a command could begin, unless they are quoted.
COMPOUND: frozenset[str] = frozenset({
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select",
    "function", "{", "}", "!", "[[", "]]",
})  # fmt: skip

Context = str  # "substitution", "function", "loop", "condition", "subshell", "case": what a command stands in


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `text` is its exact value, quotes removed, where it is `static`, and the source otherwise.

    `kinds` says what makes it dynamic: "variable", "substitution", "process", "arithmetic", "computed" (an expansion
    that may itself run code), "glob", "brace", "tilde", "translated". `lead` is the exact value up to the first of
    them; `names` are the variables that are read.
    """

    text: str
    static: bool
    kinds: frozenset[str] = frozenset()
    lead: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection: `operator` as written (`>`, `>>`, `>|`, `<`, `<>`, `&>`, `&>>`, `>&`, `<&`, `>&-`, `<&-`, `<<`,
    `<<-`, `<<<`), the descriptor before it, and where it goes: None for here-documents, here-strings and closings."""

    operator: str
    fd: int | None
    target: Word | None


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command. `[`, `[[`, `((` and declarations count as one with that name. Words may be empty: then it
    only assigns or redirects. `within` names the constructs it stands in, outermost first."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    piped_from: bool = False
    piped_to: bool = False
    background: bool = False
    within: tuple[Context, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """A command line. `commands` holds every simple command of every part of it, in the order of the text (those of a
    substitution before the command that it is in); `doubts` says, in words for a person, why there may be more to it.
    `plain`: one command and nothing else."""

    text: str
    commands: tuple[Command, ...] = ()
    doubts: tuple[str, ...] = ()
    plain: bool = False

    @property
    def argv(self) -> tuple[str, ...] | None:
        """The words of a single static command; None where there is any expansion, operator, redirection,
        assignment, glob, `~`, brace or `&`, or a doubt."""
        if self.doubts or not self.plain or len(self.commands) != 1:
            return None
        [command] = self.commands
        words = tuple(word.text for word in command.words)
        if not words or words[0] in _KEYWORDS or command.assignments or command.redirects:
            return None
        return words if all(word.static for word in command.words) else None


def parse(text: str, shell: str | None = None) -> Script:
    """Read a command line. Never raises. `shell` is the path of the shell that will run it, by default the one that
    runs commands here: only bash reads it as it is read here, so any other is a doubt."""
    runner = shell or shells.shell()
    doubts = list(_odd_characters(text))
    if not shells.is_bash(runner):
        doubts.append(f"{runner} may read it otherwise than bash")
    if len(text) > LONGEST or text.count("|") > MOST_BARS:
        return Script(text, (), (*doubts, "it is too long to be read"))
    try:
        commands, unread, plain = _walked(text)
    except RecursionError:
        commands, unread, plain = (), ("too many constructs inside one another",), False
    return Script(text, commands, tuple(dict.fromkeys((*doubts, *unread))), plain)


def _walked(text: str) -> tuple[tuple[Command, ...], tuple[str, ...], bool]:
    """The commands of a line, the doubts, and whether it is one command and nothing else."""
    from acpagent.core.shellexpand import Flow
    from acpagent.core.shelltree import Walk  # the grammar is slow to load

    source = text.encode("utf-8", "replace")
    tree = _tree(source)
    if tree is None:
        return (), ("it takes too long to be read",), False
    root = tree.root_node
    walk = Walk(source.decode("latin-1"))
    outside = walk.text[: root.start_byte] + walk.text[root.end_byte :]
    if root.has_error or outside.replace("\\\n", "").strip(" \t\n"):
        walk.doubt("it is no complete command")
    walk.statement(root, Flow())
    plain = root.type == "program" and [child.type for child in root.children] == ["command"]
    return tuple(walk.commands), tuple(walk.doubts), plain


def _tree(source: bytes) -> Tree | None:
    """The syntax tree of a line; None where it takes too long."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    deadline = time.monotonic() + SECONDS

    def is_late(_: int, broken: bool) -> bool:
        return time.monotonic() > deadline

    try:
        return Parser(Language(tree_sitter_bash.language())).parse(
            lambda place, _: source[place : place + _CHUNK], progress_callback=is_late
        )
    except ValueError:
        return None


def _odd_characters(text: str) -> Iterator[str]:
    if "\0" in text:
        yield "it has a NUL character"
    if "\r" in text:
        yield "it has a carriage return"
    if any(not char.isprintable() for char in set(text) - set("\0\r\n\t")):
        yield "it has characters that do not show"
