"""What `$/cancel_request` finds: every request until its answer is queued, and none after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acpagent.acp.connection import Connection
from acpagent.config.startup import Startup
from acpagent.core.faults import OurFault
from acpagent.wire.messages import Notification


class Moment:
    """A driver at which something happens right before an answer is queued."""

    def __init__(self, happen: Callable[[], None]) -> None:
        self.happen = happen

    def respond(self, id: Any, result: Any) -> None:
        self.happen()

    def refuse(self, id: Any, code: int, message: str, data: Any = None) -> None:
        self.happen()


def connected(happen: Callable[[], None]) -> Connection:
    unused: Any = None
    made, driver = Connection(Startup(None, False, "en"), unused, unused), Moment(happen)
    made.attach(driver)  # type: ignore[arg-type]
    return made


def withdraw(connection: Connection, id: Any) -> None:
    connection.on_notification(Notification("$/cancel_request", {"requestId": id}))


def test_a_request_can_be_withdrawn_until_its_answer_is_queued() -> None:
    withdrawn: list[str] = []
    one = connected(lambda: withdraw(one, 1))
    for answer in (lambda: one.respond(1, {}), lambda: one.refuse(1, OurFault("no"))):
        one.in_work(1, lambda: withdrawn.append("in time"))
        answer()
        withdraw(one, 1)
    assert withdrawn == ["in time", "in time"]


def test_an_id_that_is_used_again_names_the_new_request() -> None:
    withdrawn: list[str] = []
    one = connected(lambda: one.in_work("a", lambda: withdrawn.append("the second")))
    one.in_work("a", lambda: withdrawn.append("the first"))
    one.respond("a", {})
    withdraw(one, "a")
    assert withdrawn == ["the second"]
