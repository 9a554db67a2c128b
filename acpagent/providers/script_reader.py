"""Reads scripts: checks their YAML and turns it into steps."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any, NoReturn

from acpagent.config import document
from acpagent.config.document import Document, Path
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.core.events import Usage
from acpagent.providers.script import (
    ALWAYS,
    Count,
    Drop,
    Fail,
    Finish,
    MakeCall,
    Say,
    Script,
    Stall,
    Step,
    Turn,
    Wait,
)
from acpagent.providers.surrogates import repair

SHIPPED = os.path.join(os.path.dirname(__file__), "scripts")

_REASONS = ("stop", "length", "refusal", "calls")
_DROPS = ("close", "reset", "end")
_EXAMPLES = {
    "text": "text: Hello",
    "thought": "thought: Let me see.",
    "call": "call: {tool: read_file, args: {path: a.txt}}",
    "usage": "usage: {input: 100, output: 20}",
    "wait": "wait: 0.5",
    "repeat": "repeat: {times: 3, text: tick, every: 0.1}",
    "error": "error: {status: 500, message: out of order}",
    "drop": "drop: close",
    "stall": "stall: true",
    "finish": "finish: length",
}
_BARE = ("drop", "stall")


def load(name: str) -> Script:
    """A shipped script by its bare file name, or the one at a path.

    Raises `ConfigError` with file, line and remedy.
    """
    path = name if os.path.basename(name) != name else os.path.join(SHIPPED, name)
    try:
        page = document.read(path)
    except FileNotFoundError:
        raise ConfigError(ConfigProblem(path, None, "there is no such script", _where(name))) from None
    return _Reader(page).script()


def from_value(value: Any, name: str = "script") -> Script:
    """A script from plain data, as YAML would give it. Raises `ConfigError`."""
    return _Reader(Document(name, value, {})).script()


def _repaired(value: Any) -> Any:
    """A script may be written in JSON, whose pairs of escapes YAML does not join."""
    if isinstance(value, dict):
        return {key: _repaired(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_repaired(item) for item in value]
    return repair(value) if isinstance(value, str) else value


def _where(name: str) -> str:
    if os.path.basename(name) != name:
        return "write the path of a script, or the bare name of a shipped one"
    shipped = sorted(entry for entry in os.listdir(SHIPPED) if entry.endswith(".yaml"))
    return "shipped scripts are " + ", ".join(shipped)


class _Reader:
    """Reads one page, stopping at the first mistake."""

    def __init__(self, page: Document) -> None:
        self._page = page
        self._value = _repaired(page.value)
        self._steps: dict[str, Callable[[Any, dict[str, Any], Path], Step]] = {
            "text": self._say,
            "thought": self._say,
            "call": self._call,
            "usage": self._usage,
            "wait": self._wait,
            "repeat": self._repeat,
            "error": self._error,
            "drop": self._drop,
            "stall": self._stall,
            "finish": self._finish,
        }

    def script(self) -> Script:
        top = self._mapping(self._value, (), {"turns"}, "write `turns:` with a list of turns")
        turns = self._list(top.get("turns"), ("turns",), "a turn", "- replies: [[text: Hello]]")
        read = tuple(self._turn(turn, ("turns", place)) for place, turn in enumerate(turns))
        return Script(os.path.basename(self._page.file), read)

    def _turn(self, value: Any, path: Path) -> Turn:
        remedy = "a turn has `replies`, and may have `prompt` and `loop`"
        turn = self._mapping(value, path, {"prompt", "replies", "loop"}, remedy)
        replies = self._list(turn.get("replies"), (*path, "replies"), "a reply", "- [text: Hello]")
        loop = turn.get("loop", False)
        if not isinstance(loop, bool):
            self._wrong((*path, "loop"), "must be true or false", "write `loop: true` or leave it out")
        read = tuple(self._reply(reply, (*path, "replies", place)) for place, reply in enumerate(replies))
        return Turn(self._prompt(turn.get("prompt"), (*path, "prompt")), read, loop)

    def _prompt(self, value: Any, path: Path) -> re.Pattern[str] | None:
        if value is None:
            return None
        try:
            return re.compile(self._text(value, path))
        except re.error as error:
            self._wrong(path, f"is not a regular expression ({error.msg})", "put a `\\` before special characters")

    def _reply(self, value: Any, path: Path) -> tuple[Step, ...]:
        if not isinstance(value, list):
            self._wrong(path, "a reply must be a list of steps", "write `- [text: Hello]`")
        return tuple(self._step(step, (*path, place)) for place, step in enumerate(value))

    def _step(self, value: Any, path: Path) -> Step:
        if value in _BARE:
            value = {value: True}
        remedy = "a step is one of " + ", ".join(self._steps)
        if not isinstance(value, dict) or not value:
            self._wrong(path, "is not a step", remedy)
        kinds = [key for key in value if key in self._steps]
        if len(kinds) != 1:
            self._wrong(path, "must name exactly one step" if kinds else f"unknown step {next(iter(value))!r}", remedy)
        kind = kinds[0]
        more = {"chunk"} if kind in ("text", "thought", "call") else set()
        self._mapping(value, path, {kind} | more, f"write `{_EXAMPLES[kind]}`")
        return self._steps[kind](value[kind], value, (*path, kind))

    def _say(self, value: Any, step: dict[str, Any], path: Path) -> Step:
        return Say(self._text(value, path), path[-1] == "thought", chunk=self._chunk(step, path))

    def _call(self, value: Any, step: dict[str, Any], path: Path) -> Step:
        call = self._mapping(value, path, {"tool", "args"}, f"write `{_EXAMPLES['call']}`")
        args = call.get("args", {})
        if not isinstance(args, dict | str):
            self._wrong((*path, "args"), "must be a mapping, or the raw text", f"write `{_EXAMPLES['call']}`")
        raw = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, separators=(",", ":"))
        return MakeCall(self._text(call.get("tool"), (*path, "tool")), raw, self._chunk(step, path))

    def _usage(self, value: Any, step: dict[str, Any], path: Path) -> Step:
        names = ("input", "cached", "output", "thought")
        counts = self._mapping(value, path, set(names), f"write `{_EXAMPLES['usage']}`")
        return Count(Usage(**{name: int(self._number(counts.get(name, 0), (*path, name), int)) for name in names}))

    def _wait(self, value: Any, step: dict[str, Any], path: Path) -> Step:
        return Wait(self._number(value, path))

    def _repeat(self, value: Any, step: dict[str, Any], path: Path) -> Step:
        example = f"write `{_EXAMPLES['repeat']}`"
        repeat = self._mapping(value, path, {"times", "text", "thought", "every"}, example)
        said = [name for name in ("text", "thought") if name in repeat]
        if len(said) != 1:
            self._wrong(path, "needs either `text` or `thought`", example)
        times = int(self._number(repeat.get("times"), (*path, "times"), int))
        every = self._number(repeat.get("every", 0), (*path, "every"))
        return Say(self._text(repeat[said[0]], (*path, said[0])), said[0] == "thought", times=times, every=every)

    def _error(self, value: Any, step: dict[str, Any], path: Path) -> Step:
        names = {"status", "message", "retry_after", "after_output", "times"}
        error = self._mapping(value, path, names, f"write `{_EXAMPLES['error']}`")
        status = int(self._number(error.get("status"), (*path, "status"), int))
        if not 300 <= status <= 599:
            self._wrong((*path, "status"), "must be an HTTP status from 300 to 599", "write `status: 500`")
        after = error.get("retry_after")
        return Fail(
            status,
            self._text(error.get("message", ""), (*path, "message")),
            None if after is None else self._number(after, (*path, "retry_after")),
            error.get("after_output", False) is True,
            self._times(error, path),
        )

    def _drop(self, value: Any, step: dict[str, Any], path: Path) -> Step:
        example = f"write `{_EXAMPLES['drop']}`, or `drop: {{how: close, times: 1}}`"
        drop = {} if value is True else value if isinstance(value, dict) else {"how": value}
        self._mapping(drop, path, {"how", "times"}, example)
        how = drop.get("how", "close")
        if how not in _DROPS:
            self._wrong(path, f"must be one of {', '.join(_DROPS)}", example)
        return Drop(how, self._times(drop, path))

    def _stall(self, value: Any, step: dict[str, Any], path: Path) -> Step:
        example = f"write `{_EXAMPLES['stall']}`, or `stall: {{times: 1}}`"
        return Stall(self._times(self._mapping({} if value is True else value, path, {"times"}, example), path))

    def _finish(self, value: Any, step: dict[str, Any], path: Path) -> Step:
        if value not in _REASONS:
            self._wrong(path, f"must be one of {', '.join(_REASONS)}", f"write `{_EXAMPLES['finish']}`")
        return Finish(value)

    def _times(self, value: dict[str, Any], path: Path) -> int:
        return int(self._number(value.get("times", ALWAYS), (*path, "times"), int))

    def _chunk(self, step: dict[str, Any], path: Path) -> int:
        return int(self._number(step.get("chunk", 0), (*path[:-1], "chunk"), int))

    def _number(self, value: Any, path: Path, kind: type[int] | type[float] = float) -> float:
        if isinstance(value, bool) or not isinstance(value, int | kind) or value < 0:
            whole = "a whole number" if kind is int else "a number"
            self._wrong(path, f"must be {whole} of at least 0", f"write `{path[-1]}: 1`")
        return value

    def _text(self, value: Any, path: Path) -> str:
        if not isinstance(value, str):
            self._wrong(path, "must be a text", "put it in quotes")
        return value

    def _list(self, value: Any, path: Path, item: str, example: str) -> list[Any]:
        if not isinstance(value, list) or not value:
            self._wrong(path, f"must be a list with at least {item}", f"write `{example}`")
        return value

    def _mapping(self, value: Any, path: Path, names: set[str], remedy: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._wrong(path, "must hold keys and values", remedy)
        for key in value:
            if key not in names:
                self._wrong((*path, key), "is unknown here", remedy)
        return value

    def _wrong(self, path: Path, what: str, remedy: str) -> NoReturn:
        raise ConfigError(self._page.problem(path, what, remedy))
