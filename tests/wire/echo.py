"""The subject behind a driver in the connection tests: answers what it is sent."""

from __future__ import annotations

import threading
from typing import Any

from acpagent.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND
from acpagent.wire.driver import Driver
from acpagent.wire.messages import Notification, Request
from acpagent.wire.pending import Answer


class Echo:
    """A receiver with one method per thing that a connection must get right."""

    def __init__(self) -> None:
        self.driver: Driver
        self.held: list[Any] = []
        self.notified: list[Notification] = []
        self.reasons: list[str] = []
        self.noticed = threading.Condition()

    def on_request(self, request: Request) -> None:
        handler = getattr(self, f"do_{request.method}", None)
        if handler is None:
            self.driver.refuse(request.id, METHOD_NOT_FOUND, "no such method")
        else:
            handler(request)

    def on_notification(self, notification: Notification) -> None:
        if notification.method == "release":
            held, self.held = self.held, []
            for id in held:
                self.driver.respond(id, "released")
        if notification.method == "stumble":
            raise KeyError(notification.params)
        with self.noticed:
            self.notified.append(notification)
            self.noticed.notify_all()

    def on_end(self, reason: str) -> None:
        self.reasons.append(reason)

    def do_echo(self, request: Request) -> None:
        self.driver.respond(request.id, request.params)

    def do_hold(self, request: Request) -> None:
        self.held.append(request.id)

    def do_burst(self, request: Request) -> None:
        for number in range(request.params["count"]):
            self.driver.notify("n", {"number": number})
        self.driver.respond(request.id, "done")

    def do_crash(self, request: Request) -> None:
        raise KeyError(request.params["token"])

    def do_ask(self, request: Request) -> None:
        def answered(answer: Answer) -> None:
            if answer.lost:
                self.driver.refuse(request.id, INTERNAL_ERROR, "lost")
            else:
                self.driver.respond(request.id, {"answer": answer.result, "error": answer.error})

        self.driver.call("question", {"for": request.id}, answered)
