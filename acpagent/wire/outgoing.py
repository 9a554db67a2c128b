"""Whether what a side sends is what the schema allows it to send: envelope, method and payload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acpagent.core.faults import OurFault
from acpagent.wire.schema import Bundle, Problem, bundle

if TYPE_CHECKING:
    from collections.abc import Callable

_OTHER_SIDE = {"agent": "client", "client": "agent"}

# The keys an envelope must have, and those it may have.
_REQUEST = ({"jsonrpc", "id", "method"}, {"params"})
_NOTIFICATION = ({"jsonrpc", "method"}, {"params"})
_RESULT = ({"jsonrpc", "id", "result"}, set[str]())
_ERROR = ({"jsonrpc", "id", "error"}, set[str]())


class InvalidMessage(OurFault):
    """We were about to send what the schema does not allow."""


def check_message(
    schemas: Bundle, sender: str, message: Any, answered: str | None, variants: bool = False
) -> list[Problem]:
    """What is wrong with a message that `sender` ("agent" or "client") sends; `answered` is the method that a
    response is about, None if it answers no request. `variants`: the other side asked for what goes beyond the
    protocol."""
    if not isinstance(message, dict):
        return [Problem((), "must be an object")]
    needed, allowed = _shape(message)
    problems = [Problem((name,), "is required") for name in sorted(needed - message.keys())]
    problems += [Problem((name,), "is not a known key") for name in message if name not in needed | allowed]
    if message.get("jsonrpc") != "2.0":
        problems.append(Problem(("jsonrpc",), "must be 2.0"))
    if "id" in message:
        problems += _below("id", schemas.check_definition("RequestId", message["id"]))
    return problems or _payload(schemas, sender, message, answered, variants)


def outgoing_check(sender: str) -> Callable[[dict[str, Any], str | None], None]:
    """A `check` for `Driver`: raises `InvalidMessage` where a message that breaks the schema is made."""

    def check(message: dict[str, Any], method: str | None) -> None:
        problems = check_message(bundle(), sender, message, method, variants=True)
        if problems:
            raise InvalidMessage(f"{method or 'a response'} is about to break the schema: {problems[0]}")

    return check


def _shape(message: dict[str, Any]) -> tuple[set[str], set[str]]:
    if "method" in message:
        return _REQUEST if "id" in message else _NOTIFICATION
    return _ERROR if "error" in message else _RESULT


def _payload(
    schemas: Bundle, sender: str, message: dict[str, Any], answered: str | None, variants: bool
) -> list[Problem]:
    if "error" in message:
        return _below("error", schemas.check_definition("Error", message["error"]))
    if "result" in message:
        if answered is None:
            return [Problem(("id",), "answers no request")]
        try:
            return schemas.check_result(sender, answered, message["result"])
        except LookupError:
            return [Problem(("result",), "answers a method that the schema does not have")]
    return _call(schemas, _OTHER_SIDE[sender], message, variants)


def _call(schemas: Bundle, receiver: str, message: dict[str, Any], variants: bool) -> list[Problem]:
    method = message["method"]
    if not isinstance(method, str) or method not in schemas.methods(receiver):
        return [Problem(("method",), f"is none that the {receiver} has")]
    if ("id" in message) == (method in schemas.notifications(receiver)):
        return [Problem(("id",), "a request has one, a notification has none")]
    if message.get("params", {}) is None:
        return [Problem(("params",), "must be left out rather than null")]
    return schemas.check_params(receiver, method, message.get("params", {}), variants)


def _below(name: str, problems: list[Problem]) -> list[Problem]:
    return [Problem((name, *problem.path), problem.text) for problem in problems]
