"""Both directions of a connection, checked line by line against the strict schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acpagent.wire.codes import INVALID_REQUEST
from acpagent.wire.pending import id_key
from acpagent.wire.schema import Bundle, Problem, bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

OTHER_SIDE = {"agent": "client", "client": "agent"}

# Envelope by what it must have and may have; the first whose own key is there decides.
_REQUEST = ({"jsonrpc", "id", "method"}, {"params"})
_NOTIFICATION = ({"jsonrpc", "method"}, {"params"})
_RESULT = ({"jsonrpc", "id", "result"}, set[str]())
_ERROR = ({"jsonrpc", "id", "error"}, set[str]())


class InvalidMessage(ValueError):
    """We were about to send what the schema does not allow. A fault of ours."""


class Conversation:
    """Knows which request each response answers, so that every line of either side can be checked.

    `see` takes a line's message without judging it; `check` judges it as well. Not for two threads.
    """

    def __init__(self, schemas: Bundle | None = None) -> None:
        self._schemas = schemas or bundle()
        self._pending: dict[str, dict[Hashable, list[str]]] = {"agent": {}, "client": {}}

    def see(self, sender: str, message: Any) -> str | None:
        """Note a message; for a response, the method of the request it answers."""
        if not isinstance(message, dict):
            return None
        if isinstance(message.get("method"), str):
            if "id" in message:
                self._pending[sender].setdefault(id_key(message["id"]), []).append(message["method"])
            return None
        asked = self._pending[OTHER_SIDE[sender]].get(id_key(message.get("id")), [])
        if not asked:
            return None
        # RPC-27: of two requests with one id the refusal is for the newer.
        error = message.get("error")
        refused = isinstance(error, dict) and error.get("code") == INVALID_REQUEST
        return asked.pop() if refused else asked.pop(0)

    def check(self, sender: str, message: Any) -> list[Problem]:
        """What is wrong with a message that `sender` ("agent" or "client") sends."""
        return check_message(self._schemas, sender, message, self.see(sender, message))


def check_message(schemas: Bundle, sender: str, message: Any, answered: str | None) -> list[Problem]:
    """What is wrong with one message; `answered` is the method that a response is about."""
    if not isinstance(message, dict):
        return [Problem((), "must be an object")]
    needed, allowed = _shape(message)
    problems = [Problem((name,), "is required") for name in sorted(needed - message.keys())]
    problems += [Problem((name,), "is not a known key") for name in message if name not in needed | allowed]
    if message.get("jsonrpc") != "2.0":
        problems.append(Problem(("jsonrpc",), "must be 2.0"))
    if "id" in message:
        problems += _below("id", schemas.check_definition("RequestId", message["id"]))
    return problems or _payload(schemas, sender, message, answered)


def outgoing_check(sender: str) -> Callable[[dict[str, Any], str | None], None]:
    """A `check` for `Driver`: raises `InvalidMessage` where a message that breaks the schema is made."""

    def check(message: dict[str, Any], method: str | None) -> None:
        problems = check_message(bundle(), sender, message, method)
        if problems:
            listed = "; ".join(str(problem) for problem in problems)
            raise InvalidMessage(f"{method or 'response'}: {listed}")

    return check


def _shape(message: dict[str, Any]) -> tuple[set[str], set[str]]:
    if "method" in message:
        return _REQUEST if "id" in message else _NOTIFICATION
    return _ERROR if "error" in message else _RESULT


def _payload(schemas: Bundle, sender: str, message: dict[str, Any], answered: str | None) -> list[Problem]:
    if "error" in message:
        return _below("error", schemas.check_definition("Error", message["error"]))
    if "result" in message:
        if answered is None:
            return [Problem(("id",), "answers no request")]
        try:
            return schemas.check_result(sender, answered, message["result"])
        except LookupError:
            return [Problem(("result",), "answers a method that the schema does not have")]
    return _call(schemas, OTHER_SIDE[sender], message)


def _call(schemas: Bundle, receiver: str, message: dict[str, Any]) -> list[Problem]:
    method = message["method"]
    if not isinstance(method, str) or method not in schemas.methods(receiver):
        return [Problem(("method",), f"is none that the {receiver} has")]
    if ("id" in message) == (method in schemas.notifications(receiver)):
        return [Problem(("id",), "a request has one, a notification has none")]
    if message.get("params", {}) is None:
        return [Problem(("params",), "must be left out rather than null")]
    return schemas.check_params(receiver, method, message.get("params", {}))


def _below(name: str, problems: list[Problem]) -> list[Problem]:
    return [Problem((name, *problem.path), problem.text) for problem in problems]
