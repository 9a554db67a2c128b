"""Which commands check a project, and whether their exit status says how the check went.

Known commands are data. What is not known is no check: a wrong yes would let work pass that nobody looked at.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from acpagent.core import shellparse
from acpagent.core.shellparse import Command, Script
from acpagent.runtime.evidence import check_table as table
from acpagent.runtime.evidence.check_table import CheckKind


@dataclass(frozen=True, slots=True)
class Check:
    """A check that a command line runs. `command` is the check itself, without what wraps it. `masked` says why the
    line's exit status is not the check's, in words; empty where it is: exit 0 then means that it passed. `last`:
    nothing behind it in the line does anything but check. `place`: the directories that the line goes to before it.
    `lenient`: it passes without any test as well, so that only its own words say that there were some."""

    kind: CheckKind
    command: str
    masked: str = ""
    last: bool = field(default=True, compare=False)
    place: str = field(default="", compare=False)
    lenient: bool = field(default=False, compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """The same for checks that are the same."""
        return self.command, self.place


# What may stand around a command without a word in its exit status.
_TRANSPARENT = frozenset({"subshell", "group"})
_VERSIONED = re.compile(r"(python|pypy)[0-9.]+")
_ERREXIT, _PIPEFAIL = re.compile(r"-[a-z]*e[a-z]*"), "pipefail"
# What keeps a failure a failure, behind a check or at the end of what stands behind `||`.
_STILL_FAILS = re.compile(r"\|\|\s*(?:exit\s+[1-9]\d{0,2}|false)\s*$")
_FAILING = frozenset({"exit", "false"})


def recognise(script: Script) -> tuple[Check, ...]:
    """Every check that a command line runs, in order."""
    found = list(_found(script))
    checking = {position for position, _ in found}
    checking |= {at for at, command in enumerate(script.commands) if any(_named(command, name) for name in _FAILING)}
    last_other = max((at for at in range(len(script.commands)) if at not in checking), default=-1)
    return tuple(replace(check, last=position > last_other) for position, check in found)


def rewrites(script: Script) -> bool:
    """Whether a command line is known to change files that it does not name, as formatters do."""
    return any(_rewrites(unwrapped([word.text for word in command.words])) for command in script.commands)


def _rewrites(words: Sequence[str]) -> bool:
    return bool(words) and bool(_begins(words, _phrases(table.REWRITES))) and table.HARMLESS.isdisjoint(words)


def unwrapped(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command that matter: its program by name, without `timeout 60`, `uv run`, `python -m` and the
    like."""
    left = list(words)
    while (inner := _unwrapped_once(left)) is not None:
        left = inner
    return (_program(left[0]), *left[1:]) if left else ()


def _found(script: Script) -> Iterator[tuple[int, Check]]:
    """Each check, with the place of its command in the line."""
    for position, command in enumerate(script.commands):
        if not command.words or not command.words[0].static:
            continue
        plain = [word.text for word in command.words]
        words = unwrapped(plain)
        if not words:
            continue
        masked, place = _masked(script, position), _place(script, position)
        if words[0] in table.SHELLS and (inner := _behind_c(words)) is not None:
            for check in recognise(shellparse.parse(inner)):
                yield position, replace(check, masked=check.masked or masked, place=place + check.place)
        elif (kind := _kind(words, plain)) is not None:
            forgives = "it forgives failures" if _has(table.FORGIVING, words) else ""
            lenient = _has(table.LENIENT, words)
            yield position, Check(kind, " ".join(words), forgives or masked, place=place, lenient=lenient)


def _place(script: Script, position: int) -> str:
    """Where the commands before one lead, in words that differ wherever the directories may."""
    steps = [command.words for command in script.commands[:position] if _named(command, "cd")]
    return "".join(f"{' '.join(word.text for word in words[1:])}/" for words in steps)


def _masked(script: Script, position: int) -> str:
    """Why a command's failure may not be the line's."""
    command = script.commands[position]
    if script.doubts:
        return "the command line cannot be read for sure"
    stops, pipefail = _settings(script)
    text, leaves = _STILL_FAILS.subn("", script.text.replace("\\\n", " ").strip().rstrip(";").rstrip())
    if "||" in text or "negation" in command.within or any(_named(other, "trap") for other in script.commands):
        return "its failure may count as success"
    if command.background:
        return "it runs in the background"
    if command.piped_to and not pipefail:
        return "a pipe hides its exit status"
    if not _TRANSPARENT.issuperset(command.within) or any("function" in other.within for other in script.commands):
        return "it may not run at all, or not decide how the line ends"
    after = [other for other in script.commands[position + 1 :] if "substitution" not in other.within]
    if leaves and after and any(_named(after[-1], name) for name in _FAILING):
        after.pop()
    if re.search(r"[;\n]", text.rstrip()) and not stops and any(not other.piped_from for other in after):
        return "what follows it decides how the line ends"
    return ""


def _settings(script: Script) -> tuple[bool, bool]:
    """Whether the line begins with `set -e` and with `set -o pipefail`."""
    stops = pipefail = False
    for command in script.commands:
        if not _named(command, "set"):
            break
        words = [word.text for word in command.words[1:]]
        pipefail |= _PIPEFAIL in words
        stops |= "errexit" in words or any(_ERREXIT.fullmatch(word) for word in words)
    return stops, pipefail


def _named(command: Command, name: str) -> bool:
    return bool(command.words) and command.words[0].text == name


def _program(word: str) -> str:
    """A program by its own name: `.venv/bin/pytest` is pytest."""
    name = os.path.basename(word.rstrip("/"))
    name = _VERSIONED.sub(r"\1", name) if _VERSIONED.fullmatch(name) else name
    return table.ALIASES.get(name, name)


def _unwrapped_once(words: list[str]) -> list[str] | None:
    """What the outermost wrapper runs; None where there is none."""
    if not words:
        return None
    program = _program(words[0])
    if program == "python":
        return _module(words[1:])
    for wrapper in (" ".join([program, *words[1:2]]), program):
        if wrapper == "coverage run":
            return ["python", *_behind_options(wrapper, words[2:], "-m")]
        if wrapper in table.WRAPPERS:
            rest = _behind_options(wrapper, words[len(wrapper.split()) :])[table.WRAPPERS[wrapper] :]
            while rest and re.match(r"[A-Za-z_]\w*=", rest[0]):
                rest = rest[1:]
            return rest
    return None


def _module(words: list[str]) -> list[str] | None:
    """What `python -m` runs; None for a file, which stands for itself."""
    for position, word in enumerate(words):
        if word == "-m":
            return words[position + 1 :]
        if not word.startswith("-") and words[position - 1 : position] not in (["-W"], ["-X"]):
            break
    return None


def _behind_options(program: str, words: list[str], kept: str = "") -> list[str]:
    """The words from the first one on that is neither an option, but for the one `kept`, nor the value of one."""
    valued = table.VALUED.get(program, frozenset())
    while words and words[0].startswith("-") and words[0] != kept:
        if words[0] == "--":
            return words[1:]
        words = words[2:] if words[0] in valued else words[1:]
    return words


def _behind_c(words: Sequence[str]) -> str | None:
    """The command line that a shell is given, with the options that decide how it ends as a command of its own."""
    options = list[str]()
    for position, word in enumerate(words[1:-1], 1):
        if not word.startswith("-") and not (options and options[-1].endswith("o")):
            return None
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            kept = [*options, word[:-1]] if len(word) > 2 else options
            return f"set {shlex.join(kept)}; {words[position + 1]}" if kept else words[position + 1]
        options.append(word)
    return None


def _kind(words: tuple[str, ...], plain: Sequence[str]) -> CheckKind | None:
    """`plain` are the words as written, paths included."""
    program, plainly = words[0], _plain_words(words)
    if _has(table.IDLE, words):
        return None
    if program in table.TARGETED:
        kinds = [kind for word in plainly if "=" not in word and (kind := _kind_of_name(word)) is not None]
        return kinds[0] if kinds else None if plainly else table.TARGETED[program]
    if program in table.SCRIPTED and plainly:
        if plainly[0] in table.SCRIPT_WORDS:
            return _kind_of_name(plainly[1]) if len(plainly) > 1 else None
        if program in table.DIRECT and (inner := _kind_of_name(plainly[0]) or _known(plainly)) is not None:
            return inner
    return _known(words) or _project_file(words, plain)


def _known(words: Sequence[str]) -> CheckKind | None:
    """The longest known beginning decides: `zig build test` tests, `zig build` builds."""
    found = [(len(phrase), kind) for kind, phrases in _checking().items() if (phrase := _begins(words, phrases))]
    return max(found)[1] if found else None


_Phrases = Mapping[str, Sequence[tuple[str, ...]]]  # by program, longest first


def _begins(words: Sequence[str], phrases: _Phrases) -> tuple[str, ...]:
    """The longest of the phrases that a command begins with, or none. Options may stand anywhere."""
    plainly = _plain_words(words)
    for phrase in phrases.get(words[0], ()):
        needed = [word for word in phrase[1:] if not word.startswith("-")]
        options = {word for word in phrase[1:] if word.startswith("-")}
        if plainly[: len(needed)] == needed and options.issubset(words):
            return phrase
    return ()


@functools.cache
def _checking() -> Mapping[CheckKind, _Phrases]:
    return {kind: _phrases(text) for kind, text in table.COMMANDS.items()}


@functools.cache
def _phrases(text: str) -> _Phrases:
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted((tuple(phrase.split()) for phrase in text.split(";")), key=len, reverse=True):
        found.setdefault(phrase[0], []).append(phrase)
    return found


def _project_file(words: tuple[str, ...], plain: Sequence[str]) -> CheckKind | None:
    """The kind of a script of the project: by its first word, as in `tools/dev.py test`, or by its own name."""
    if words[0] in table.INTERPRETERS:
        rest = _behind_options(words[0], list(words[1:]))
    else:
        rest = list(words) if any("/" in word and _program(word) == words[0] for word in plain) else []
    if not rest:
        return None
    named = next((kind for word in _plain_words(rest)[:1] if (kind := _kind_of_name(word)) is not None), None)
    stem = os.path.splitext(os.path.basename(rest[0]))[0].lower()
    return named or _kind_of_name(stem.removeprefix("run_").removeprefix("run-"))


def _kind_of_name(name: str) -> CheckKind | None:
    """The kind of a target or script by its name: `test:unit`, `:app:test`."""
    segments = [part for part in name.lower().split(":") if part]
    for segment in (segments[0], segments[-1]) if segments else ():
        if (kind := table.NAMES.get(re.split(r"[-_.]", segment)[0])) is not None:
            return kind
    return None


def _plain_words(words: Sequence[str]) -> list[str]:
    """The words behind the program that are neither options nor their values, nor numbers."""
    valued, found, skip = table.VALUED.get(words[0], frozenset()), list[str](), False
    for word in words[1:]:
        if not skip and not word.startswith(("-", "+")) and not word.isdigit():
            found.append(word)
        skip = word in valued and not skip
    return found


def _has(rows: Mapping[str, Iterable[str]], words: Sequence[str]) -> bool:
    """Whether a command has one of the words that a table lists for it, or for all."""
    listed = {*rows[""], *rows.get(words[0], ())}
    return any(word in listed or _option(word) in listed for word in words[1:])


def _option(word: str) -> str:
    """The name of an option that is written with its value; nothing where the value takes it back."""
    name, equals, value = word.partition("=")
    return name if equals and word.startswith("-") and value.lower() not in _NO else ""


_NO = frozenset({"no", "false", "0", "off"})
