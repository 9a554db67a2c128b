"""The plugin on docs/plugins.md, as a session uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from acpagent.core.forms import Answer, Form
from acpagent.core.live import LiveOutput
from acpagent.core.paths import Roots
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import ToolContext
from acpagent.extensions.surface import UnfitForm
from tests.extensions.sidecars import EXAMPLE, Screen, Troupe, example

FILLED: Mapping[str, Any] = {"on": True, "word": "sudo", "tone": "kind", "tools": ("bash", "write_file")}


def context(scope: Scope | None = None) -> ToolContext:
    return ToolContext(Roots("/"), scope or Scope(), LiveOutput(), 10.0, 1000)


def test_it_is_short() -> None:
    assert len((EXAMPLE / "sidecar.py").read_text().splitlines()) <= 60


def test_what_it_declares_is_there_before_it_runs() -> None:
    host = Troupe(example()).host
    (tool,) = host.tools()
    (action,) = host.actions()
    assert (tool.name, tool.reads_only) == ("plugin__tally__count", True)
    assert (action.command, action.hint) == ("tally:setup", "a word")


def test_status_on_an_event() -> None:
    with Troupe(example()) as troupe:
        troupe.host.notify("session.start", {})
        shown = troupe.screen.surface("status")
        assert (shown.plugin, shown.surface, shown.generation) == ("tally", "count", 1)
        assert shown.payload == {"label": "Calls", "detail": "0"}


def test_it_counts_and_blocks() -> None:
    with Troupe(example()) as troupe:
        assert troupe.intercept(tool="bash", arguments={"command": "sudo ls"}).blocked is None
        assert troupe.host.run_action("tally:setup", "sudo", Scope()) == "Calls with 'sudo' are kept away."
        outcome = troupe.intercept(tool="bash", arguments={"command": "sudo ls"})
        assert outcome.blocked == "the plugin tally blocked it: a call must not hold 'sudo'"
        assert outcome.plugin == "tally"
        (tool,) = troupe.host.tools()
        proposal = tool.prepare({}, context())
        assert [effect.kind for effect in proposal.effects] == ["job"]
        assert tool.apply(proposal, context()).text == "2 calls so far"
        card = troupe.screen.surface("card")
        assert card.payload["fields"] == [{"key": "word", "value": "sudo"}, {"key": "on", "value": "True"}]


def test_form_of_a_host_that_asks_in_forms() -> None:
    screen = Screen("form")
    screen.answer = lambda form, scope: Answer("accept", FILLED)
    with Troupe(example(), screen=screen) as troupe:
        assert troupe.host.run_action("tally:setup", "", Scope()) == "Fill in the form."
        (form,) = screen.forms
        assert [(field.name, field.kind) for field in form.fields] == [
            ("on", "boolean"), ("word", "text"), ("tone", "choice"), ("tools", "multi"),
        ]  # fmt: skip
        assert form.call is None
        shown = {one["key"]: one["value"] for one in screen.surface("card").payload["fields"]}
        assert shown == {"word": "sudo", "on": "True", "tone": "kind", "tools": "['bash', 'write_file']"}
        assert all(surface.kind != "form" for surface in screen.surfaces())


def test_form_of_a_host_that_asks_by_choices() -> None:
    """Where nothing can be typed, a field keeps its default; the question is about a call that is settled."""
    screen = Screen("choice")
    screen.answer = lambda form, scope: Answer("accept", {"on": False, "tone": "plain", "tools": ()})
    with Troupe(example(), screen=screen) as troupe:
        troupe.host.run_action("tally:setup", "", Scope())
        (form,) = screen.forms
        assert [field.name for field in form.fields] == ["on", "tone", "tools"]
        shown = {one["key"]: one["value"] for one in screen.surface("card").payload["fields"]}
        assert shown == {"word": "rm", "on": "False", "tone": "plain", "tools": "[]"}
        calls = [event.call for event in screen.events if hasattr(event, "call")]
        assert [call.status for call in calls] == ["pending", "completed"]
        assert form.call == calls[0]


@pytest.mark.parametrize("kind", ["decline", "cancel", "closed", "nobody"])
def test_a_form_that_is_not_filled_in_changes_nothing(kind: Any) -> None:
    screen = Screen("choice")
    screen.answer = lambda form, scope: Answer(kind)
    with Troupe(example(), screen=screen) as troupe:
        assert troupe.host.run_action("tally:setup", "", Scope()) == "Fill in the form."
        assert troupe.intercept(tool="bash", arguments={}).blocked is None
        assert all(surface.kind != "card" for surface in screen.surfaces())


def test_form_of_a_client_that_shows_it() -> None:
    """Never both: it is shown, and not asked."""
    screen = Screen(shows_forms=True)
    with Troupe(example(), screen=screen, generation=3) as troupe:
        troupe.host.run_action("tally:setup", "", Scope())
        shown = screen.surface("form")
        assert (shown.surface, shown.generation) == ("rules", 3)
        assert [field["kind"] for field in shown.payload["fields"]] == ["confirm", "input", "select", "multiselect"]
        with pytest.raises(UnfitForm, match="tone is none of the choices"):
            troupe.host.submit(shown.instance, {"on": True, "word": "x", "tone": "rude"})
        troupe.host.submit(shown.instance, {"on": True, "word": "curl", "tone": "kind", "tools": []})
        assert {"key": "word", "value": "curl"} in screen.surface("card").payload["fields"]
        with pytest.raises(LookupError):
            troupe.host.submit(shown.instance, {"on": True})
        assert screen.forms == []


def test_a_form_shown_anew_takes_the_place_of_the_old_one() -> None:
    screen = Screen(shows_forms=True)
    with Troupe(example(), screen=screen) as troupe:
        troupe.host.run_action("tally:setup", "", Scope())
        troupe.host.run_action("tally:setup", "", Scope())
        first, second = screen.wait_for(lambda: len(screen.surfaces()) == 2 and screen.surfaces())
        assert first.instance != second.instance
        with pytest.raises(LookupError):
            troupe.host.submit(first.instance, {"on": True})


def test_unknown_actions() -> None:
    with Troupe(example()) as troupe:
        for command in ("tally:dance", "other:setup", "tally", ""):
            with pytest.raises(LookupError):
                troupe.host.run_action(command, "", Scope())


def test_nothing_is_shown_before_the_session_is_open() -> None:
    with Troupe(example(), opened=False) as troupe:
        troupe.intercept(tool="bash", arguments={})
        assert troupe.screen.events == []
        troupe.host.open()
        assert troupe.screen.surface("status").payload["detail"] == "1"


def test_cancelling_an_action_takes_its_form_back() -> None:
    screen = Screen("choice")
    asked = Scope()

    def wait(form: Form, scope: Scope) -> Answer:
        run_closers(asked.cancel())
        scope.pause(30)
        raise AssertionError

    screen.answer = wait
    with Troupe(example(), screen=screen) as troupe:
        with pytest.raises(Cancelled):
            troupe.host.run_action("tally:setup", "", asked)
        assert [event.call.status for event in screen.wait_for(lambda: len(screen.events) > 1 and screen.events)] == [
            "pending",
            "failed",
        ]
        assert troupe.intercept(tool="bash", arguments={}).blocked is None


def test_closing_with_a_form_open_settles_it() -> None:
    screen = Screen("choice")
    screen.answer = lambda form, scope: scope.pause(30) or Answer("nobody")  # type: ignore[func-returns-value]
    troupe = Troupe(example(), screen=screen)
    with troupe:
        import threading

        scope = Scope()
        ended: list[BaseException] = []

        def act() -> None:
            try:
                troupe.host.run_action("tally:setup", "", scope)
            except BaseException as error:
                ended.append(error)

        thread = threading.Thread(target=act)
        thread.start()
        screen.wait_for(lambda: screen.forms)
    thread.join(60)
    assert not thread.is_alive()
    assert [event.call.status for event in screen.events] == ["pending", "failed"]
