"""A real session under several threads: random events, and the few races worth naming.

A failing case prints its seed and all that was seen. `ACPAGENT_TEST_SEED=n` begins at another seed than 0.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from acpagent.core.events import Controls, ControlsChanged
from acpagent.core.faults import TheirFault
from acpagent.runtime.session.session import Session
from acpagent.runtime.session.works import Opened, Opening, Outcome, Teardown, Turn, Work
from tests.runtime.stage import DEADLINE, Answered, OnPurpose, Stage

FIRST_SEED = int(os.environ.get("ACPAGENT_TEST_SEED", "0"))
CASES = 200
EVENTS_PER_THREAD = 20

# What a request of a kind may be answered with.
ANSWERS = {
    "prompt": {"end_turn", "cancelled", "-32600", "-32002", "-32603"},
    "steer": {"done", "-32600", "-32602"},
    "configure": {"-32002", "-32603", "-32800"},  # or the values
    "adjust": {"-32002"},  # or the values
    "reload": {"queued", "reloaded", "-32602", "-32603", "-32800"},
    "open": {"-32600", "-32002", "-32603", "-32800"},
    "close": {"done", "-32002", "-32603"},
}


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Threads take turns as often as Python can make them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Player:
    """One thread's random events, from a seed."""

    EVENTS = (
        ["prompt"] * 6 + ["steer"] * 3 + ["cancel"] * 3 + ["configure"] * 4 + ["adjust"] + ["reload"] * 2
        + ["reopen"] * 2 + ["withdraw"] * 2 + ["cue"] * 12
    )  # fmt: skip

    def __init__(self, stage: Stage, seed: str, closes: bool) -> None:
        self.stage, self.session = stage, stage.session
        self.random = random.Random(seed)
        self.events = self.random.choices(self.EVENTS, k=EVENTS_PER_THREAD)
        if closes:
            self.events[self.random.randrange(EVENTS_PER_THREAD)] = self.random.choice(["close", "delete"])

    def play(self) -> None:
        try:
            for event in self.events:
                getattr(self, event)()
        except BaseException as error:
            self.stage.problem(f"a verb raised {error!r}")

    def prompt(self) -> None:
        self.stage.prompt()

    def steer(self) -> None:
        self.stage.steer()

    def cue(self) -> None:
        self.stage.cue(self.random.choice(["ok", "ok", "ok", "fault", "raise", "bow"]))

    def configure(self) -> None:
        axis, values = self.random.choice([("model", "abc"), ("effort", ("low", "high"))])
        value = self.random.choice(values)
        self.send("configure", lambda reply: self.session.configure(axis, value, reply))

    def adjust(self) -> None:
        self.send("adjust", lambda reply: self.session.adjust({}, reply))

    def reload(self) -> None:
        self.send("reload", self.session.reload)

    def reopen(self) -> None:
        kind = self.random.choice(["load", "resume"])
        self.send("open", lambda reply: self.session.reopen(Opening(kind, "/", (), (), reply)))

    def send(self, kind: str, verb: Callable[[Answered], None]) -> None:
        reply = self.stage.reply(kind)
        verb(reply)
        reply.sent = True

    def cancel(self) -> None:
        earlier = self.unanswered("prompt")
        self.session.cancel()
        want_cancelled(earlier)

    def withdraw(self) -> None:
        waiting = self.unanswered("prompt", "configure", "reload", "open")
        if waiting:
            reply = self.random.choice(waiting)
            self.session.withdraw(reply)
            want_cancelled([reply])

    def close(self) -> None:
        earlier = self.unanswered("prompt")
        self.session.close(self.stage.reply("close"))
        want_cancelled(earlier)

    def delete(self) -> None:
        reply = self.stage.reply("close")
        if not self.session.delete(reply):
            with self.session.lock:
                reply.done(None)  # what is closed is erased as a stored session

    def unanswered(self, *kinds: str) -> list[Answered]:
        """Requests that the session has taken and not answered."""
        replies = list(self.stage.replies)
        return [reply for reply in replies if reply.kind in kinds and reply.sent and reply.answer is None]


def want_cancelled(replies: list[Answered]) -> None:
    """A cancel was read. A prompt that is not answered yet has only one right answer from now on (CAN-01); other
    requests that can be withdrawn are answered by then."""
    for reply in replies:
        if reply.answer is None:
            reply.wanted = "cancelled" if reply.kind == "prompt" else "by now"


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + CASES))
def test_random_events(seed: int) -> None:
    chance = random.Random(seed)
    stage = Stage(chance.choice(["new", "load", "resume"]))
    closer = chance.choice([None, None, 0, 1])
    players = [Player(stage, f"{seed}.{n}", n == closer) for n in range(chance.choice([3, 4]))]
    ready = threading.Barrier(len(players) + 1)

    def play(player: Player) -> None:
        ready.wait(DEADLINE)
        player.play()

    threads = [threading.Thread(target=play, args=(player,), daemon=True) for player in players]
    for thread in threads:
        thread.start()
    ready.wait(DEADLINE)
    stage.session.start()
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive(), f"a verb is stuck\n{stage}"
    stage.finale()
    stage.rest()
    check_at_rest(stage)
    stage.session.close(stage.reply("close"))
    stage.rest()
    check_at_end(stage)


def check_at_rest(stage: Stage) -> None:
    record = stage.session.machine.record
    assert stage.session.machine.state_id in ("idle", "closed"), str(stage)
    assert (record.work, record.waiting, record.axes, record.reload) == (None, None, {}, False), str(stage)
    if stage.shown is not None and stage.session.is_open:
        assert stage.shown == record.active, str(stage)


def check_at_end(stage: Stage) -> None:
    stage.check()
    assert stage.session.machine.state_id == "closed"
    assert not stage.session.machine.record.closers
    for reply in stage.replies:
        assert reply.answer is not None, f"{reply.name} was never answered\n{stage}"
        assert reply.answer in ANSWERS[reply.kind] or "=" in reply.answer, f"{reply.name}: {reply.answer}\n{stage}"
        assert reply.wanted in (None, reply.answer), f"{reply.name} had to be {reply.wanted}\n{stage}"
        assert reply.answer != "-32603" or reply.kind != "prompt" or reply.name in stage.broken, str(stage)
    accepted = sorted(reply.name for reply in stage.replies if reply.kind == "steer" and reply.answer == "done")
    assert sorted(stage.taken + stage.unused) == accepted, f"guidance was lost or used twice\n{stage}"


# The races and breaks worth naming.


def opened(stage: Stage) -> Stage:
    """Its opening done, and whatever comes done at once."""
    stage.finale()
    stage.session.start()
    stage.rest()
    return stage


def test_an_idle_session_has_no_thread() -> None:
    stage = opened(Stage())
    for _ in range(3):
        assert stage.prompt().wait() == "end_turn"
        stage.rest()
    stage.check()


def test_what_is_said_and_seen_of_a_session() -> None:
    stage = opened(Stage())
    stage.session.configure("model", "b", stage.reply("configure"))
    stage.rest()
    stage.steer()
    assert stage.seen == [
        "  begin Opening",
        "  end Opening",
        "work_done -> idle",
        "open0: effort=low model=a",
        "  TitleChanged(title=None, updated_at='')",
        "  CommandsChanged(commands=())",
        "configure -> rebuilding",
        "  begin Rebuild",
        "  end Rebuild",
        "work_done -> idle",
        f"  {ControlsChanged(Controls({'model': 'b', 'effort': 'low'}))}",
        "configure1: effort=low model=b",
        "  CommandsChanged(commands=())",
        "steer (refused) -> idle",
        "steer2: -32600",
    ]


@pytest.mark.parametrize("how", ["cancel", "withdraw", "close"])
def test_a_cancel_wakes_the_turn_that_waits(how: str) -> None:
    stage = Stage()
    stage.cue()
    stage.session.start()
    reply = stage.prompt()
    stage.await_work(Turn)
    if how == "withdraw":
        stage.session.withdraw(reply)
    else:
        stage.session.cancel() if how == "cancel" else stage.session.close(None)
    assert reply.wait() == "cancelled"
    stage.finale()
    stage.rest()
    stage.check()


def test_a_close_wakes_an_opening_that_waits() -> None:
    stage = Stage()
    stage.session.start()
    stage.await_work(Opening)
    stage.session.close(None)
    assert stage.replies[0].wait() == "-32800"
    stage.await_work(Teardown)
    stage.finale()
    stage.rest()
    stage.check()


def test_a_cancel_right_behind_a_prompt_still_cancels_it() -> None:
    stage = opened(Stage())
    for _ in range(200):
        with stage.session.lock:  # both lines were read before any work began (CAN-12)
            reply = stage.prompt()
            stage.session.cancel()
        assert reply.wait() == "cancelled"
    stage.check()


def test_no_prompt_is_lost_between_two_threads() -> None:
    stage = opened(Stage())
    over = threading.Event()

    def cancel() -> None:
        while not over.is_set():
            stage.session.cancel()

    canceller = threading.Thread(target=cancel, daemon=True)
    canceller.start()
    answers = {stage.prompt().wait() for _ in range(300)}
    over.set()
    canceller.join(DEADLINE)
    assert answers <= {"end_turn", "cancelled"}
    stage.rest()
    stage.check()


def test_everybody_who_closes_is_answered_once() -> None:
    stage = opened(Stage())
    closers = [stage.reply("close") for _ in range(8)]
    threads = [threading.Thread(target=stage.session.close, args=(reply,), daemon=True) for reply in closers]
    for thread in threads:
        thread.start()
    answers = [reply.wait() for reply in closers]
    assert "done" in answers
    assert set(answers) <= {"done", "-32002"}
    stage.rest()
    check_at_end(stage)


def test_a_delete_while_teardown_runs_erases() -> None:
    stage = Stage()
    stage.cue()
    stage.session.start()
    assert stage.replies[0].wait() == "effort=low model=a"
    stage.rest()
    first, second = stage.reply("close"), stage.reply("close")
    stage.session.close(first)
    stage.await_work(Teardown)
    assert stage.session.delete(second)
    stage.finale()
    assert [first.wait(), second.wait()] == ["done", "done"]
    stage.rest()
    assert stage.erased == [False, True]
    assert not stage.session.delete(stage.reply("close")), "what is closed has nothing left to erase here"


def test_a_fault_of_the_crew_is_the_answer() -> None:
    class Refuses(Stage):
        def act(self, work: Work) -> Outcome:
            if isinstance(work, Turn):
                raise TheirFault(-32000, "no key")
            return super().act(work)

    stage = opened(Refuses())
    assert stage.prompt().wait() == "-32000"
    stage.rest()
    assert not stage.reported
    stage.check()


def test_a_crew_that_breaks_is_reported_and_the_session_goes_on() -> None:
    stage = opened(Stage())
    stage.cue("ok")
    stage.cue("raise")
    assert stage.prompt().wait() == "-32603"
    assert stage.reported == ["a session's turn"]
    assert stage.prompt().wait() == "end_turn"
    stage.rest()
    stage.check()


def test_an_installation_that_breaks_its_promise_wedges_nothing() -> None:
    class Breaks(Stage):
        def act(self, work: Work) -> Outcome:
            return Opened(install=break_promise) if isinstance(work, Opening) else super().act(work)

    def break_promise() -> None:
        raise OnPurpose

    stage = opened(Breaks())
    assert stage.reported == ["a session's answer"]
    assert stage.replies[0].answer == "effort=low model=a"
    assert stage.prompt().wait() == "end_turn"
    stage.rest()
    stage.check()


class Starved(Session):
    """A session for which no thread can be started while `starving`; `meanwhile` happens just before it fails."""

    starving = False
    meanwhile: Callable[[], None] | None = None

    def _claim_worker(self) -> threading.Thread | None:
        worker = super()._claim_worker()
        if worker is not None and self.starving:
            self._worker = worker = Unstartable(self.meanwhile)
        return worker


class Unstartable(threading.Thread):
    """A thread that the system has no room for."""

    def __init__(self, meanwhile: Callable[[], None] | None) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    def start(self) -> None:
        if self._meanwhile is not None:
            self._meanwhile()
        raise RuntimeError("can't start new thread")


class StarvedStage(Stage):
    make = Starved


def test_a_thread_that_cannot_start_is_work_that_failed() -> None:
    stage = opened(StarvedStage())
    assert isinstance(stage.session, Starved)
    stage.session.starving = True
    assert stage.prompt().answer == "-32603"
    configured, reloaded = stage.reply("configure"), stage.reply("reload")
    stage.session.configure("model", "b", configured)
    stage.session.reload(reloaded)
    assert [configured.answer, reloaded.answer] == ["-32603", "-32603"]
    stage.session.starving = False
    assert stage.prompt().wait() == "end_turn"
    stage.rest()
    stage.session.starving = True
    closed = stage.reply("close")
    stage.session.close(closed)
    assert (closed.answer, stage.session.machine.state_id) == ("-32603", "closed")
    stage.check()


def test_an_opening_whose_thread_cannot_start_fails() -> None:
    stage = StarvedStage()
    assert isinstance(stage.session, Starved)
    waiting: list[Answered] = []
    stage.session.starving, stage.session.meanwhile = True, lambda: waiting.append(stage.prompt())
    stage.session.start()
    assert [stage.replies[0].answer, waiting[0].answer] == ["-32603", "-32002"]
    assert not stage.session.is_open
    stage.check()


def test_what_waits_for_a_thread_that_cannot_start_gets_another() -> None:
    stage = opened(StarvedStage())
    session, waiting, configured = stage.session, list[Answered](), stage.reply("configure")
    assert isinstance(session, Starved)

    def meanwhile() -> None:
        waiting.append(stage.prompt())
        session.starving = False

    session.starving, session.meanwhile = True, meanwhile
    session.configure("model", "b", configured)
    assert configured.answer == "-32603"
    assert waiting[0].wait() == "end_turn"
    stage.rest()
    stage.check()
