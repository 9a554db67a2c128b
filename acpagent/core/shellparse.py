"""One command line as bash reads it: every simple command in it, with its words, redirections and surroundings.

Nothing here decides anything. What cannot be read for sure is a doubt, and who decides must take a doubt for the worst.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
    """A command line. `commands` holds every simple command of every part of it, in the order of the text; `doubts`
    says, in words for a person, why there may be more to it. `plain`: one command and nothing else."""

    text: str
    commands: tuple[Command, ...] = ()
    doubts: tuple[str, ...] = ()
    plain: bool = field(default=False)

    @property
    def argv(self) -> tuple[str, ...] | None:
        """The words of a single static command; None where there is any expansion, operator, redirection,
        assignment, glob, `~`, brace or `&`, or a doubt."""
        if self.doubts or not self.plain or len(self.commands) != 1:
            return None
        [command] = self.commands
        static = all(word.static for word in command.words)
        if not static or not command.words or command.assignments or command.redirects or command.background:
            return None
        return tuple(word.text for word in command.words)


def parse(text: str, shell: str | None = None) -> Script:
    """Read a command line. Never raises. `shell` is the path of the shell that will run it, by default the one that
    runs commands here: only bash reads it as it is read here, so any other is a doubt."""
    return Script(text, (), ("it was not read",))
