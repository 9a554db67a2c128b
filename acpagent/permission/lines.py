"""A command line in the eyes of the rules: which of them it is about, may be about, or is let run by."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

from acpagent.core import shellparse
from acpagent.core.paths import Roots
from acpagent.core.rules import Rule
from acpagent.core.shellparse import Script, Word
from acpagent.permission import weighing
from acpagent.permission.commands import Step
from acpagent.permission.places import pieces
from acpagent.permission.programs import PROGRAMS

# Commands that do not show what is in the files they name.
_NAMES_ONLY = frozenset(
    {"ls", "find", "tree", "du", "df", "stat", "test", "[", "[[", "realpath", "readlink", "basename", "dirname"}
    | {"cd", "pushd", "popd", "pwd", "echo", "printf", "true", "false", ":", "which", "type", "fd"}
)
# Builtins that give other names to commands, or run what others wrote.
_RENAMES = frozenset({"alias", "eval", "source", ".", "exec", "enable", "hash", "trap"})
# Programs that read, but can be told to run others meanwhile.
_RUNNING = frozenset({"rg", "sort"})
_ADDRESS = re.compile(r"(?:https?|ftps?|wss?|ssh|git)://[^\s'\"<>|;,@{}]*", re.IGNORECASE)
_LINES = re.compile(r"[\n;&|]")
# Options with which a program takes orders from a file, or runs another.
_SSH = re.compile(r"-\w*[oFSJ].*", re.DOTALL)
_COMMANDING = {
    "curl": re.compile(r"-\w*K.*|--conf.*", re.DOTALL),
    "wget": re.compile(r"-\w*[ei].*|--(?:ex|use-a|conf|in).*", re.DOTALL),
    "rsync": re.compile(r"-\w*[eM].*|--(?:rs|rem).*", re.DOTALL),
    **dict.fromkeys(("ssh", "scp", "sftp"), _SSH),
}
# What looks into variables whose names may hold code, and how such code begins.
_EVALUATES = frozenset(
    {"[[", "[", "test", "let", "((", "printf", "read", "mapfile", "readarray", "unset", "wait"}
    | {"export", "declare", "typeset", "local", "readonly"}
)
_CODE = re.compile(r"\$\(|`")
_QUOTES = re.compile(r"[\\'\"]")
_MATCHES = 200  # files that a pattern is looked up for


@dataclass(frozen=True)
class Line:
    """A command line as it is read, and what it would do, step by step."""

    script: Script
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        return self.script.text

    @cached_property
    def _said(self) -> tuple[tuple[str, ...], ...]:
        """The words of every command, as written and with wrappers taken off."""
        written = (tuple(word.text for word in command.words) for command in self.script.commands)
        return tuple(dict.fromkeys(words for words in (*written, *(step.words for step in self.steps)) if words))

    @cached_property
    def _dynamic(self) -> frozenset[str]:
        """Words of which only the running line knows what they become. `{}` is what `xargs` and `find` put there."""
        said = (word.text for command in self.script.commands for word in command.words if not word.static)
        return frozenset({"{}", *said})

    def is_about(self, rule: Rule) -> bool:
        """Whether a rule for commands speaks of one of this line's, for sure."""
        if rule.is_whole:
            return True
        if rule.literal is not None:
            return self.text.strip() == rule.literal.strip()
        return any(_matches(rule, words) for said in self._said for words in _called(said))

    def may_be_about(self, rule: Rule) -> bool:
        """Whether a rule for commands speaks of this line, or could although that does not show."""
        if self.script.doubts or self.is_about(rule):
            return True
        if rule.literal is not None:
            return False
        if any(step.opaque for step in self.steps) or self._keeps_code:
            return True
        if any(self._could_match(rule, words) for said in self._said for words in _called(said)):
            return True
        reaching = [step for step in self.steps if step.level == "reaches"]
        return bool(reaching) and (_hides_in(self.text, rule) or any(self._hides(rule, step) for step in reaching))

    @cached_property
    def _keeps_code(self) -> bool:
        """Whether it quotes what a sum, a list or a name of a variable in it could run."""
        if not any(step.level == "reaches" for step in self.steps):
            return False
        words = [word for command in self.script.commands for word in command.words]
        values = [value for command in self.script.commands for _, value in command.assignments]
        names = {command.words[0].text for command in self.script.commands if command.words}
        runs = not _EVALUATES.isdisjoint(names) or any("computed" in word.kinds for word in (*words, *values))
        return runs and any(word.static and _CODE.search(word.text) for word in (*words, *values))

    def _could_match(self, rule: Rule, words: tuple[str, ...]) -> bool:
        if rule.shape == "glob":
            return words[0] in self._dynamic or (
                not self._dynamic.isdisjoint(words) and fnmatchcase(words[0], _globbed(rule.words[:1]))
            )
        for word, wanted in zip(words, rule.words, strict=False):
            if word in self._dynamic:
                return True
            if word != wanted:
                return False
        return False

    def _hides(self, rule: Rule, step: Step) -> bool:
        """Whether a step that goes further than its text tells may be what the rule is about: more words may come to
        it, and some of its words may stand for others."""
        if not step.words:
            return False
        if step.words[0] in PROGRAMS and step.words[0] not in _RUNNING:  # whatever its words become, it runs nothing
            return False
        return (
            step.words[0] in _RENAMES
            or not self._dynamic.isdisjoint(step.words)
            or any(rule.words[: len(words)] == words for words in _called(step.words))
        )

    def is_let(self, rule: Rule, step: Step, roots: Roots) -> bool:
        """Whether a rule for commands lets a step run: nothing may be about it that the rule does not say, as what the
        shell makes of words, variables set for it, or functions that go by its name."""
        if rule.literal is not None:
            return self.text == rule.literal
        if self.script.doubts:
            return False
        if rule.is_whole:
            return True
        plain = not any(command.assignments or "function" in command.within for command in self.script.commands)
        if not step.words or not plain or not self._dynamic.isdisjoint(step.words):
            return False
        if not _matches(rule, step.words):
            return False
        if rule.shape == "exact" or step.prefix is not None or step.level == "acts":
            return True
        return self._accepts(rule, step, roots)

    def _accepts(self, rule: Rule, step: Step, roots: Roots) -> bool:
        """Whether a rule knows what a step of unknown reach does: its own words say as much, as in `Bash(curl:*)`, and
        the others lead nowhere outside."""
        meant = read(shlex.join(rule.words), roots).steps
        if not any((each.level, each.reason) == (step.level, step.reason) for each in meant):
            return False
        words = tuple(word for word in step.words if not _ADDRESS.fullmatch(word))
        commanding = _COMMANDING.get(os.path.basename(step.words[0]))
        if commanding is not None and any(commanding.fullmatch(word) for word in words[1:]):
            return False
        return all(roots.contains(path) for path in self.mentions(replace(step, words=words, level="acts"), roots))

    def mentions(self, step: Step, roots: Roots) -> Iterator[str]:
        """Resolved paths of files that a step may use although nothing says so: whatever its words could name, and for
        a program that may do anything whatever the line could."""
        if not step.words or step.words[0] in _NAMES_ONLY:
            return
        said = [word for word in step.words[1:] if word not in self._dynamic]
        if step.level == "reaches" and (step.words[0] not in PROGRAMS or step.words[0] in _RUNNING):
            said += _LINES.split(self.text)
        for piece in dict.fromkeys(piece for word in said for piece in pieces(word)):
            yield from _resolved(piece, roots)

    def places(self, roots: Roots) -> Iterator[str]:
        """Resolved paths that any word of the line could name, whatever is done with it."""
        for words in self._said:
            for word in words:
                if word not in self._dynamic:
                    for piece in pieces(word):
                        yield from _resolved(piece, roots)
        for step in self.steps:
            yield from (*step.reads, *step.writes)

    def unclear_words(self, step: Step) -> Iterator[Word]:
        """Words of a step that may name any file."""
        if not step.words or step.words[0] in _NAMES_ONLY:
            return
        for command in self.script.commands:
            yield from (word for word in command.words[1:] if not word.static and word.text in step.words)


def read(text: str, roots: Roots) -> Line:
    """A command line that is to run in the working directory."""
    script = shellparse.parse(text)
    return Line(script, weighing.weigh(script, roots))


def shows_names_only(step: Step) -> bool:
    return bool(step.words) and step.words[0] in _NAMES_ONLY


def matching_files(word: Word, directory: str) -> list[str] | None:
    """What a word with a pattern names right now, in `directory`; None where that cannot be told."""
    if word.kinds != {"glob"} or any(letter in word.text for letter in "\\'\""):
        return None
    found = []
    for path in glob.iglob(word.text, root_dir=directory):
        found.append(os.path.realpath(os.path.join(directory, path)))
        if len(found) > _MATCHES:
            return None
    return found


def _called(words: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The words of a command, and what they are where it is called by its path."""
    return (words, (os.path.basename(words[0]), *words[1:])) if "/" in words[0] else (words,)


def _matches(rule: Rule, words: tuple[str, ...]) -> bool:
    wanted = rule.words
    if rule.shape == "glob":
        line, shape = " ".join(words), _globbed(wanted)
        return fnmatchcase(line, shape) or (rule.extends and fnmatchcase(line, f"{shape} *"))
    return words[: len(wanted)] == wanted if rule.shape == "prefix" else words == wanted


def _globbed(words: tuple[str, ...]) -> str:
    return " ".join(words).replace("[", "[[]")


def _hides_in(text: str, rule: Rule) -> bool:
    """Whether the words of a rule stand somewhere in a text, quoted or not, as in what is handed to another shell."""
    wanted = r"\s+".join(map(re.escape, rule.words))
    found = re.compile(rf"(?<![\w.-]){wanted}(?![\w-])")
    return bool(wanted) and any(found.search(each) for each in (text, _QUOTES.sub("", text)))


def _resolved(named: str, roots: Roots) -> Iterator[str]:
    try:
        yield roots.resolve(named)
    except (ValueError, OSError):
        return
