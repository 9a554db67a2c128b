"""Files with hooks, in two forms: acpagent's flat one, and the nested one of Claude Code's settings.

A file is all or nothing: who wrote a guard that cannot be read must not go on with half of the others. Only what could
never run here is left out with a remark.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from acpagent.config.document import Document, Path
from acpagent.config.problems import ConfigError
from acpagent.core import files
from acpagent.core.bounds import one_line, printable
from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import told
from acpagent.extensions import jsonlines
from acpagent.extensions.hooks import EVENTS, MAX_SECONDS, Hook, HookSet, Origin, arranged
from acpagent.extensions.problems import Problem, of_config

HOME_FILES = ("settings.json", "hooks.json")
MAX_BYTES = 1024 * 1024
MAX_HOOKS = 200  # in one file

_FLAT = frozenset({"match", "command", "description", "timeout", "cwd", "env", "contextFile"})
_GROUP = frozenset({"matcher", "hooks", "description"})
_NESTED = frozenset({"type", "command", "timeout", "description", "statusMessage"})
# What would make a nested hook run otherwise, but never less often than it does here.
_UNHEARD = frozenset({"async", "asyncRewake", "once"})
_FORM = Phrase("remedy_hooks_form")
_EVERYTHING = ("", "*")


def of_home(home: str) -> HookSet:
    """The person's own hooks, from acpagent's home. Never raises for what is on the disk."""
    return arranged(read(os.path.join(home, name), "user") for name in HOME_FILES)


def read(path: str, origin: Origin, root: str = "") -> HookSet:
    """The hooks in a file on the disk; none if there is no file."""
    try:
        data = files.read_bytes(path, MAX_BYTES)
    except FileNotFoundError:
        return HookSet()
    except files.NotText as error:
        what, remedy = told(error), Phrase("remedy_short_text")
        return HookSet((), (Problem("hook", printable(path), None, what, remedy),))
    except OSError as error:
        what = Phrase("what_unreadable", cause=told(error))
        return HookSet((), (Problem("hook", printable(path), None, what, Phrase("remedy_readable_you")),))
    return parse(path, data, origin, root)


def parse(
    path: str,
    data: bytes,
    origin: Origin,
    root: str = "",
    stands: Callable[[], bool] | None = None,
    has_lines: bool = True,
) -> HookSet:
    """The hooks in the content of a file. `root` is the directory of the plugin it belongs to; `stands` is asked right
    before each of them runs, for what is trusted only as it was. `has_lines`: the lines of `data` are those of the
    file."""
    try:
        reader = _Reader(jsonlines.parse(printable(path), data), origin, root, stands)
        hooks = tuple(reader.hooks())
        found = HookSet((), tuple(reader.fatal)) if reader.fatal else HookSet(hooks, tuple(reader.problems))
    except ConfigError as error:
        found = HookSet((), of_config("hook", error))
    if has_lines:
        return found
    return HookSet(found.hooks, tuple(replace(problem, line=None) for problem in found.problems))


class _Reader:
    """Reads one file. `fatal` are mistakes that make it useless, `problems` what could be left out."""

    def __init__(self, page: Document, origin: Origin, root: str, stands: Callable[[], bool] | None) -> None:
        self._page = page
        self._common: dict[str, Any] = {"file": page.file, "origin": origin, "root": root}
        if stands is not None:
            self._common["stands"] = stands
        self.fatal: list[Problem] = []
        self.problems: list[Problem] = []

    def hooks(self) -> Iterator[Hook]:
        value = self._page.value
        if not isinstance(value, dict):
            self._wrong((), Phrase("what_one_object"), _FORM)
            return
        if "hooks" not in value:
            if not EVENTS.keys().isdisjoint(value):
                self._wrong((), Phrase("what_events_outside"), _FORM)
            return
        listed = value["hooks"]
        if not isinstance(listed, dict):
            self._wrong(("hooks",), Phrase("what_hooks_object"), _FORM)
            return
        if value.get("disableAllHooks") is True:
            return
        number = 0
        for event, entries in listed.items():
            for hook in self._of_event(event, entries):
                number += 1
                if number > MAX_HOOKS:
                    self._wrong(("hooks",), Phrase("what_many_hooks", most=MAX_HOOKS), Phrase("remedy_fewer_hooks"))
                    return
                yield hook

    def _of_event(self, event: str, entries: Any) -> Iterator[Hook]:
        at: Path = ("hooks", event)
        if event not in EVENTS:
            close = difflib.get_close_matches(event, EVENTS, 1)
            remedy = Phrase("remedy_did_you_mean", name=close[0]) if close else Phrase("remedy_events_listed")
            self._wrong(("hooks", event), Phrase("what_no_event"), remedy)
            return
        if not isinstance(entries, list):
            self._wrong(at, Phrase("what_hook_list"), _FORM)
            return
        if EVENTS[event].absent:
            if entries:
                self._remark(at, EVENTS[event].absent, Phrase("remedy_other_agent"))
            return
        for place, entry in enumerate(entries):
            if not isinstance(entry, dict):
                self._wrong((*at, place), Phrase("what_object"), _FORM)
            elif "hooks" in entry:
                yield from self._nested(event, entry, (*at, place))
            else:
                yield from self._flat(event, entry, (*at, place))

    def _flat(self, event: str, entry: dict[str, Any], at: Path) -> Iterator[Hook]:
        self._check_keys(entry, _FLAT, at)
        matcher = self._matcher(event, entry, "match", at)
        more = {
            "description": self._text(entry, "description", at),
            "cwd": self._text(entry, "cwd", at),
            "context_file": self._text(entry, "contextFile", at),
            "env": self._env(entry, at),
        }
        yield from self._hook(event, entry, matcher, at, 1000, more)

    def _nested(self, event: str, group: dict[str, Any], at: Path) -> Iterator[Hook]:
        self._check_keys(group, _GROUP, at)
        matcher = self._matcher(event, group, "matcher", at)
        if not isinstance(group["hooks"], list):
            self._wrong((*at, "hooks"), Phrase("what_list"), Phrase("remedy_hook_list"))
            return
        for place, entry in enumerate(group["hooks"]):
            inner = (*at, "hooks", place)
            if not isinstance(entry, dict):
                self._wrong(inner, Phrase("what_object"), Phrase("remedy_hook_object"))
            elif entry.get("type") != "command":
                self._other_type(event, entry.get("type"), inner)
            else:
                self._check_keys(entry, _NESTED | _UNHEARD, inner)
                for key in sorted(_UNHEARD & {key for key, value in entry.items() if value is not False}):
                    self._remark((*inner, key), Phrase("what_always_waited"))
                description = self._text(entry, "description", inner) or self._text(entry, "statusMessage", inner)
                yield from self._hook(event, entry, matcher, inner, 1, {"description": description})

    def _other_type(self, event: str, kind: Any, at: Path) -> None:
        """A hook that is no command. Without one that only looks on nothing is less safe."""
        if not isinstance(kind, str):
            self._wrong((*at, "type"), Phrase("what_not_given"), Phrase("remedy_type_command"))
        elif EVENTS[event].blocks:
            self._wrong((*at, "type"), Phrase("what_hook_type", kind=one_line(kind, 40)), Phrase("remedy_a_command"))
        else:
            self._remark((*at, "type"), Phrase("what_hook_type", kind=one_line(kind, 40)), Phrase("remedy_a_command"))

    def _hook(
        self,
        event: str,
        entry: dict[str, Any],
        matcher: re.Pattern[str] | None,
        at: Path,
        units: int,
        more: Mapping[str, Any],
    ) -> Iterator[Hook]:
        """`units` of the time make a second."""
        command = entry.get("command")
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            self._wrong((*at, "command"), Phrase("what_command_line"), Phrase("remedy_command_line"))
            return
        seconds = self._seconds(event, entry, at, units)
        yield Hook(event, command, matcher=matcher, seconds=seconds, **self._common, **more)

    def _seconds(self, event: str, entry: dict[str, Any], at: Path, units: int) -> float:
        """How long it may take; null and 0 leave it to us."""
        value = entry.get("timeout")
        if value is None or (value == 0 and value is not False):
            return EVENTS[event].seconds
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value / units <= MAX_SECONDS:
            unit = "what_milliseconds" if units > 1 else "what_seconds"
            what = Phrase(unit, most=f"{MAX_SECONDS * units:g}")
            self._wrong((*at, "timeout"), what, Phrase("remedy_timeout", value=5 * units))
            return EVENTS[event].seconds
        return value / units

    def _matcher(self, event: str, entry: dict[str, Any], key: str, at: Path) -> re.Pattern[str] | None:
        """None for everything."""
        text = entry.get(key)
        if text is None or text in _EVERYTHING:
            return None
        if not isinstance(text, str):
            self._wrong((*at, key), Phrase("what_text"), Phrase("remedy_matcher", key=key))
            return None
        if not EVENTS[event].matched:
            self._remark((*at, key), Phrase("what_unmatched", event=event))
            return None
        try:
            return re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            self._wrong((*at, key), Phrase("what_no_pattern", error=str(error)), Phrase("remedy_matcher", key=key))
            return None

    def _text(self, entry: dict[str, Any], key: str, at: Path) -> str:
        value = entry.get(key)
        if value is None:
            return ""
        if not isinstance(value, str) or "\0" in value:
            self._wrong((*at, key), Phrase("what_text"), Phrase("remedy_in_quotes"))
            return ""
        return value

    def _env(self, entry: dict[str, Any], at: Path) -> dict[str, str]:
        value = entry.get("env")
        if value is None:
            return {}
        fits = isinstance(value, dict) and all(
            name and "=" not in name and isinstance(text, str) and "\0" not in name + text
            for name, text in value.items()
        )
        if not fits:
            self._wrong((*at, "env"), Phrase("what_env_texts"), Phrase("remedy_env"))
            return {}
        return dict(value)

    def _check_keys(self, entry: dict[str, Any], known: frozenset[str], at: Path) -> None:
        for key in entry:
            if key not in known:
                close = difflib.get_close_matches(key, known, 1)
                remedy = (
                    Phrase("remedy_did_you_mean", name=close[0])
                    if close
                    else Phrase("remedy_there_are", names=", ".join(sorted(known - _UNHEARD)))
                )
                self._wrong((*at, key), Phrase("what_unknown"), remedy)

    def _wrong(self, at: Path, what: str, remedy: str) -> None:
        self.fatal.append(self._problem(at, what, remedy, True))

    def _remark(self, at: Path, what: str, remedy: str = "") -> None:
        self.problems.append(self._problem(at, what, remedy or Phrase("remedy_remove"), False))

    def _problem(self, at: Path, what: str, remedy: str, fatal: bool) -> Problem:
        name = one_line(".".join(map(str, at)), 120)
        told_of = Phrase("problem_field", name=name, what=what) if name else what
        return Problem("hook", self._page.file, self._page.line(at), told_of, remedy, fatal)
