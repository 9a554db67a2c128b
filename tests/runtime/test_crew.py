"""Sessions with their real crew: opening, rebuilds, teardown, and the doors to the store."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.core.blocks import Text
from acpagent.core.events import Chunk, CommandsChanged, ControlsChanged, Event, Notice, TitleChanged
from acpagent.core.faults import Fault, TheirFault
from acpagent.core.scope import Scope
from acpagent.runtime.session.neighbours import Neighbours
from acpagent.runtime.session.works import Opening, TurnOutcome
from acpagent.store import entries, sessions
from tests.runtime.house import DEADLINE, House, Told, furnish, hold_writer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    furnish(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def house(home: Path) -> Iterator[House]:
    house = House(home)
    yield house
    house.finish()


def configure(house: House, axis: str, value: str) -> Told:
    reply = house.reply("configure")
    house.session().configure(axis, value, reply)
    return reply


def reload(house: House) -> Told:
    reply = house.reply("reload")
    house.session().reload(reply)
    return reply


def kinds(house: House) -> list[str]:
    """The log without what was said."""
    return [item if isinstance(item, str) else type(item).__name__ for item in house.log if not isinstance(item, Chunk)]


def notices(house: House) -> list[tuple[str, dict[str, Any]]]:
    return [(item.code, item.params) for item in house.log if isinstance(item, Notice)]


# Opening.


def test_a_new_session_is_answered_between_its_controls_and_its_commands(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.await_log(lambda: len(house.log) == 4)
    assert kinds(house) == ["ControlsChanged", "new", "TitleChanged", "CommandsChanged"]
    controls = house.log[0]
    assert isinstance(controls, ControlsChanged)
    assert set(controls.controls.values) == {"model", "effort", "work_mode", "mode", "tool_approval", "language"}


def test_a_session_never_prompted_leaves_nothing_behind(house: House, cwd: Path) -> None:  # SESS-21
    house.new(cwd)
    house.set("mode", "plan").wait()
    house.close().wait()
    assert sessions.get(house.store, "s") is None


def test_an_opening_that_fails_leaves_the_name_free(house: House, cwd: Path) -> None:
    assert house.open("load", "s", cwd).wait_fault().code == -32002
    assert house.open("new", "s", cwd / "missing").wait_fault().code == -32602
    house.new(cwd)


def test_a_loaded_session_shows_its_past_and_remembers_its_settings(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt("hi").wait()
    configure(house, "model", "two/two").wait()
    house.set("tool_approval", "yolo").wait()
    house.close().wait()
    live = [item for item in house.log if isinstance(item, Chunk)]
    house.log.clear()
    house.open("load", "s", cwd).wait()
    replayed = [item for item in house.log if isinstance(item, Chunk)]
    assert [chunk for chunk in replayed if chunk.role == "assistant"] == live
    assert [chunk.block for chunk in replayed if chunk.role == "user"] == [Text("hi")]
    controls = next(item for item in house.log if isinstance(item, ControlsChanged))
    assert (controls.controls.values["model"], controls.controls.values["tool_approval"]) == ("two/two", "yolo")
    house.prompt().wait()
    assert house.said().endswith("I am two. ")


def test_a_setting_made_while_the_session_is_first_stored_is_kept(house: House, cwd: Path) -> None:
    house.new(cwd)
    go_on = hold_writer(house.store)
    prompted = house.prompt()
    house.await_log(lambda: house.said() == "I am one. ")
    mode = house.set("mode", "plan")
    go_on.set()
    mode.wait()
    prompted.wait()
    assert house.store.flush(DEADLINE)
    stored = sessions.get(house.store, "s")
    assert stored is not None
    assert (stored.settings["mode"], stored.prompts) == ("plan", 1)


def test_a_live_session_is_opened_again_with_other_roots(house: House, cwd: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    house.new(cwd)
    house.prompt().wait()
    house.open("resume", "s", cwd, (str(tmp_path / "other"),)).wait()
    crew = house.registry.crew("s")
    assert crew is not None
    assert crew.keep is not None
    assert crew.keep.roots.contains(str((tmp_path / "other").resolve()))
    assert house.open("resume", "s", tmp_path).wait_fault().code == -32602
    house.prompt().wait()


def test_a_session_of_another_process_is_refused_until_it_is_closed(house: House, home: Path, cwd: Path) -> None:
    house.new(cwd)
    house.prompt().wait()
    other = House(home)
    assert other.open("load", "s", cwd).wait_fault().code == -32600
    house.close().wait()
    other.open("load", "s", cwd).wait()
    other.finish()


# Rebuilds.


def test_another_model_answers_after_the_swap(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt().wait()
    assert configure(house, "model", "two/two").wait().values["model"] == "two/two"
    house.prompt().wait()
    assert house.said() == "I am one. I am two. "
    stored = sessions.get(house.store, "s")
    assert stored is not None
    assert stored.settings["model"] == "two/two"


def test_a_model_that_cannot_be_had_changes_nothing(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt().wait()
    fault = configure(house, "model", "three/three").wait_fault()
    assert fault.code == -32603
    assert "three" in fault.message
    house.prompt().wait()
    assert house.said() == "I am one. I am one. "


def test_a_change_during_a_turn_is_made_at_its_end_and_before_its_answer(house: House, cwd: Path) -> None:
    session = house.new(cwd)
    house.await_log(lambda: "CommandsChanged" in kinds(house))
    house.log.clear()
    with session.lock:
        prompted = house.prompt()
        assert configure(house, "model", "two/two").answered
    prompted.wait()
    house.await_log(lambda: "CommandsChanged" in kinds(house))
    assert [kind for kind in kinds(house) if kind in ("configure", "prompt", "ControlsChanged", "CommandsChanged")] == [
        "ControlsChanged",
        "configure",
        "ControlsChanged",
        "prompt",
        "CommandsChanged",
    ]
    house.prompt().wait()
    assert house.said() == "I am one. I am two. "


def test_a_reload_goes_through_though_the_axis_it_came_with_does_not(house: House, cwd: Path) -> None:
    session = house.new(cwd)
    crew = house.registry.crew("s")
    assert crew is not None
    assert crew.keep is not None
    before = crew.keep.loadout
    with session.lock:
        prompted = house.prompt()
        assert configure(house, "model", "three/three").answered
        assert reload(house).answered
    assert prompted.wait().stop == "end_turn"
    [(code, params)] = notices(house)
    assert code == "controls_not_changed"
    assert "three" in params["cause"]
    assert crew.keep.loadout is not before
    assert crew.keep.loadout.model == before.model
    assert session.machine.record.active["model"] == before.model


def test_jobs_go_on_through_a_rebuild_and_end_with_the_session(house: House, cwd: Path) -> None:
    house.new(cwd)
    crew = house.registry.crew("s")
    assert crew is not None
    assert crew.keep is not None
    job = crew.keep.jobs.start("sleep", ["/bin/sleep", "300"], cwd=str(cwd), env={})
    configure(house, "model", "two/two").wait()
    reload(house).wait()
    assert job.running
    assert crew.keep.jobs.get(job.id) is job
    house.close().wait()
    assert not job.running


def test_an_idle_reload_is_answered_after_the_swap(house: House, cwd: Path) -> None:
    house.new(cwd)
    assert reload(house).wait().queued is False
    house.prompt().wait()
    assert house.said() == "I am one. "


# Turns.


def test_a_cancel_ends_a_model_that_is_silent(house: House, cwd: Path) -> None:
    house.new(cwd)
    prompted = house.prompt("wait")
    house.await_log(lambda: house.said() == "waiting")
    house.session().cancel()
    assert prompted.wait() == TurnOutcome("cancelled", prompted.outcome.usage)
    assert house.prompt("hi").wait().stop == "end_turn"


def test_guidance_that_comes_too_late_is_shown_and_kept(house: House, cwd: Path) -> None:
    session = house.new(cwd)
    prompted = house.prompt("wait")
    house.await_log(lambda: house.said() == "waiting")
    steered = house.reply("steer")
    session.steer((Text("use tabs"),), steered)
    steered.wait()
    session.cancel()
    prompted.wait()
    assert notices(house) == [("steer_unused", {"text": "use tabs"})]
    assert kinds(house).index("Notice") < kinds(house).index("prompt")
    house.close().wait()
    house.log.clear()
    house.open("load", "s", cwd).wait()
    assert notices(house) == [("steer_unused", {"text": "use tabs"})]


def test_a_local_command_takes_no_guidance(house: House, cwd: Path) -> None:
    session = house.new(cwd)
    steered = house.reply("steer")
    with session.lock:
        prompted = house.prompt("/help")
        session.steer((Text("use tabs"),), steered)
    assert steered.wait_fault().code == -32600
    assert prompted.wait().stop == "end_turn"
    assert "acpagent reads, edits and runs code" in house.said()


def test_closing_cancels_the_turn_and_keeps_what_was_said(house: House, cwd: Path) -> None:
    house.new(cwd)
    prompted = house.prompt("wait")
    house.await_log(lambda: house.said() == "waiting")
    house.close().wait()
    assert prompted.wait().stop == "cancelled"
    house.log.clear()
    house.open("load", "s", cwd).wait()
    assert house.said() == "waiting"


def test_the_first_prompt_names_the_session(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt("Mend\n  the fence " + "x" * 100).wait()
    title = [item for item in house.log if isinstance(item, TitleChanged)][-1].title
    assert title is not None
    assert title.startswith("Mend the fence xxx")
    assert title.endswith("...")
    assert len(title) == 80
    stored = sessions.get(house.store, "s")
    assert stored is not None
    assert (stored.title, stored.prompts) == (title, 1)


class Watched(House):
    """`bare` are the events that came without the session lock."""

    def __init__(self, home: Path) -> None:
        self.bare: list[Event] = []
        super().__init__(home)

    def emit(self, event: Event) -> None:
        if not self.session().lock._is_owned():  # type: ignore[attr-defined]
            self.bare.append(event)
        super().emit(event)


def test_a_replay_cannot_go_on_behind_an_answer_that_ends_it(home: Path, cwd: Path) -> None:
    house = Watched(home)
    house.new(cwd)
    house.prompt().wait()
    house.close().wait()
    house.bare.clear()
    house.open("load", "s", cwd).wait()
    house.open("load", "s", cwd).wait()
    assert not house.bare
    house.finish()


# Teardown and the store.


def test_a_closed_session_is_free_and_can_be_erased(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt().wait()
    house.close().wait()
    assert house.registry.get("s") is None
    assert house.registry.erase("s")
    assert house.registry.erase("s")  # DEL-02
    assert sessions.get(house.store, "s") is None


def test_a_session_that_is_open_again_is_not_erased_below_it(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt().wait()
    house.close().wait()
    house.open("load", "s", cwd).wait()
    assert not house.registry.erase("s")
    house.prompt().wait()
    assert sessions.get(house.store, "s") is not None


def test_a_session_is_not_opened_while_it_is_erased(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt().wait()
    house.close().wait()
    go_on = hold_writer(house.store)
    erasing = threading.Thread(target=house.registry.erase, args=("s",))
    erasing.start()
    try:
        while not house.registry._erasing:
            erasing.join(0.001)
            assert erasing.is_alive()
        with pytest.raises(TheirFault) as refused:
            house.open("load", "s", cwd)
    finally:
        go_on.set()
        erasing.join()
    assert refused.value.code == -32600
    assert house.open("load", "s", cwd).wait_fault().code == -32002


def test_deleting_a_live_session_erases_it_last(house: House, cwd: Path) -> None:
    house.new(cwd)
    prompted = house.prompt("wait")
    house.await_log(lambda: house.said() == "waiting")
    deleted = house.reply("delete")
    assert house.registry.delete("s", deleted)
    deleted.wait()
    assert prompted.wait().stop == "cancelled"
    assert sessions.get(house.store, "s") is None
    assert entries.read(house.store, "s") == []
    assert not house.registry.delete("s", house.reply("delete"))


def test_deleting_a_session_that_is_being_closed_erases_it(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt().wait()
    go_on = hold_writer(house.store)
    closed, deleted = house.close(), house.reply("delete")
    assert house.registry.delete("s", deleted)
    go_on.set()
    closed.wait()
    deleted.wait()
    assert sessions.get(house.store, "s") is None
    house.new(cwd)


def test_everything_is_closed_at_the_end(house: House, cwd: Path) -> None:
    for name in "abc":
        house.new(cwd, name)
        house.prompt("wait", name)
    house.await_log(lambda: house.said() == "waiting" * 3)
    assert house.registry.close_all(lambda: DEADLINE)
    assert all(house.registry.get(name) is None for name in "abc")


def test_a_close_that_takes_too_long_is_not_waited_for(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt().wait()
    go_on = hold_writer(house.store)
    assert not house.registry.close_all(lambda: 0.0)
    go_on.set()
    assert house.registry.close_all(lambda: DEADLINE)


def test_the_list_holds_what_is_live_and_what_is_stored(house: House, cwd: Path) -> None:
    house.new(cwd, "stored")
    house.prompt("hi", "stored").wait()
    house.close("stored").wait()
    house.new(cwd, "fresh")
    house.new(cwd, "gone")
    house.close("gone").wait()
    rows, cursor = house.registry.page(str(cwd), None)
    assert ([row.id for row in rows], cursor) == (["fresh", "stored"], None)
    assert house.registry.page(str(cwd.parent), None) == ([], None)


def test_the_commands_are_told_after_the_answer(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.await_log(lambda: any(isinstance(item, CommandsChanged) for item in house.log))
    assert house.log.index("new") < [isinstance(item, CommandsChanged) for item in house.log].index(True)


def test_a_session_that_was_opened_meanwhile_is_not_closed_to_go_on_with_it(house: House, cwd: Path) -> None:
    mine, other = house.new(cwd, "mine"), house.new(cwd, "other")
    crew = house.registry.crew("other")
    assert crew is not None
    assert crew.keep is not None
    with pytest.raises(TheirFault) as refused:
        Neighbours(house.registry, mine, ()).continue_as(crew.keep.row, Scope())
    assert refused.value.code == -32600
    assert other.is_open


class Looking(Told):
    """A reply that has another thread look for the session, and waits a moment for what that finds."""

    def fail(self, fault: Fault) -> None:
        looking = threading.Thread(target=self._look, daemon=True)
        looking.start()
        looking.join(0.2)
        super().fail(fault)

    def _look(self) -> None:
        if self._house.registry.get("s") is None:
            self._house.note("gone")


def test_a_session_is_not_gone_before_all_are_answered_who_wait_for_it(house: House, cwd: Path) -> None:
    house.new(cwd)
    house.prompt().wait()
    house.close().wait()
    go_on = hold_writer(house.store)
    house.registry.open("s", Opening("load", str(cwd), (), ({},), Looking(house, "load")))
    prompted = house.prompt()
    go_on.set()
    assert prompted.wait_fault().code == -32002
    house.await_log(lambda: "gone" in house.log)
    assert house.log.index("prompt -32002") < house.log.index("gone")
