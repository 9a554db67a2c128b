#!/usr/bin/env python3
"""Write the pages of docs/ that are made from the code.

python tools/generate_docs.py            write them
python tools/generate_docs.py --check    exit with 1 if one differs from what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from statemachine.transition import Transition  # noqa: E402

from acpagent.runtime.session.machine import REFUSALS, SessionMachine  # noqa: E402

INTRODUCTION = """\
# The session machine

A session is one conversation between a person and acpagent, and at every moment it is in exactly one of the six states
below. Whatever happens next, such as a new prompt, a cancel or the end of a piece of work, is an event, and this page
says for every event in every state what acpagent does, which state follows, and which requests are refused with which
error code.

This page is written by `tools/generate_docs.py` from `acpagent/runtime/session/machine.py`; change it there.

Words used below: an *axis* is a setting that a session's *loadout* (model, tools, instructions) is built from, so that
changing it takes a *rebuild*, which makes a new loadout and swaps it for the old one. A response is *held* when the
rebuild that the end of a turn causes has to be over before the prompt is answered. *Guidance* is what a person adds
while a turn runs; a turn that is *sealed* takes no more of it. *Teardown* is the last work of every session.
"""

STATES = {
    "idle": "Nothing runs, and nothing waits.",
    "prompting": "A turn runs: a prompt is being worked on.",
    "rebuilding": "The session is being opened, or a new loadout is made beside the one in use.",
    "reload_queued": "A turn or a rebuild runs, and a reload waits for its end.",
    "closing": "The session was closed; what still runs ends, then everything is let go of.",
    "closed": "The session is gone; opening it again makes a new one of the same name.",
}

EVENTS = {
    "prompt": "A client sends a prompt.",
    "steer": "A client sends guidance for the turn that runs.",
    "cancel": "A client cancels what it prompted.",
    "configure": "A client sets an axis: model, effort or work mode.",
    "adjust": "A client sets a control that needs no rebuild: mode or tool approval.",
    "reload": "A client asks for configuration, tools and instructions to be read anew.",
    "reopen": "A client loads or resumes the session while it is live; one that is closed is opened anew instead.",
    "work_done": "The work that ran has ended, well or not.",
    "withdraw": "A client cancels one request by its id.",
    "close": "A client closes or deletes the session, or the process ends.",
}


def session_machine() -> str:
    """docs/session-machine.md"""
    return "\n".join([INTRODUCTION, *_states(), *_diagram(), *_at_a_glance(), *_in_words()])


def _states() -> Iterator[str]:
    yield "## States\n"
    yield "| state | meaning |"
    yield "| --- | --- |"
    yield from (f"| `{state.id}` | {STATES[state.id]} |" for state in SessionMachine.states)
    yield ""


def _diagram() -> Iterator[str]:
    """Edges for what changes the state; what happens inside a state stands in the state itself."""
    yield "## Diagram\n"
    yield "In brackets stands the condition, after the slash what is done, inside a state what does not change it.\n"
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {SessionMachine.initial_state.id}"
    for state in SessionMachine.states:
        for one in state.transitions:
            if one.internal:
                yield f"    {state.id} : {_label(one)}"
            else:
                yield f"    {state.id} --> {one.target.id} : {_label(one)}"
    yield "    closed --> [*]"
    yield "```\n"


def _label(one: Transition) -> str:
    guards = "".join(f" [{_plain(name)}]" for name in _names(one.cond))
    actions = ", ".join(map(_plain, _actions(one)))
    return f"{one.event}{guards} / {actions}" if actions else f"{one.event}{guards}"


def _at_a_glance() -> Iterator[str]:
    names = [state.id for state in SessionMachine.states]
    yield "## Table\n"
    yield "The next states an event can lead to, and the error code where it is refused.\n"
    yield f"| event | {' | '.join(f'`{name}`' for name in names)} |"
    yield "| --- " * (len(names) + 1) + "|"
    for event in SessionMachine.events:
        yield f"| `{event.id}` | {' | '.join(_cell(event.id, name) for name in names)} |"
    yield ""


def _cell(event: str, state: str) -> str:
    ways = ["stays" if one.internal else f"`{one.target.id}`" for one in _ways(event, state)]
    if (event, state) in REFUSALS:
        ways.append(str(REFUSALS[event, state]))
    return ", or ".join(dict.fromkeys(ways)) or "cannot happen"


def _in_words() -> Iterator[str]:
    yield "## In words\n"
    yield "Conditions are tried from the top down.\n"
    for event in SessionMachine.events:
        yield f"### {event.id}\n"
        yield f"{EVENTS[event.id]}\n"
        yield "| in | if | what happens | then |"
        yield "| --- | --- | --- | --- |"
        yield from _event_rows(event.id)
        yield ""


def _event_rows(event: str) -> Iterator[str]:
    """The rows of one event; neighbouring states where the same happens share theirs."""
    for rows, states in groupby(SessionMachine.states, key=lambda state: _outcomes(event, state.id)):
        names = ", ".join(f"`{state.id}`" for state in states)
        yield from (f"| {names} | {row} |" for row in rows)


def _outcomes(event: str, state: str) -> list[str]:
    rows = []
    for one in _ways(event, state):
        condition = " ".join(_said(name) for name in _names(one.cond)) or ("Otherwise." if rows else "")
        deeds = " ".join(_said(name) for name in _actions(one)) or "Nothing."
        rows.append(f"{condition} | {deeds} | {'stays' if one.internal else f'`{one.target.id}`'}")
    if (event, state) in REFUSALS:
        rows.append(f"{'Otherwise.' if rows else ''} | Refused with {REFUSALS[event, state]}. | stays")
    return rows or [" | Cannot happen: no work runs. | "]


def _ways(event: str, state: str) -> list[Transition]:
    return [one for one in getattr(SessionMachine, state).transitions if one.event == event]


def _names(specs: Sequence[object]) -> list[str]:
    return [str(spec.func) for spec in specs]  # type: ignore[attr-defined]


def _actions(one: Transition) -> list[str]:
    """What a transition does; the library also lists names that nobody has defined."""
    return [name for name in _names(one.on) if hasattr(SessionMachine, name)]


def _said(name: str) -> str:
    """A condition or an action in the words of its docstring."""
    words = " ".join((getattr(SessionMachine, name).__doc__ or "").split())
    if not words:
        raise ValueError(f"{name} has no docstring to say what it means")
    return words


def _plain(name: str) -> str:
    return name.replace("_", " ")


PAGES: dict[str, Callable[[], str]] = {"docs/session-machine.md": session_machine}


def main(arguments: Sequence[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    stale = [name for name, make in PAGES.items() if _read(ROOT / name) != make()]
    for name in stale:
        if arguments:
            print(f"{name} is stale: run python tools/generate_docs.py", file=sys.stderr)
        else:
            (ROOT / name).parent.mkdir(exist_ok=True)
            (ROOT / name).write_text(PAGES[name](), encoding="utf-8")
            print(f"wrote {name}")
    return 1 if stale and arguments else 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
