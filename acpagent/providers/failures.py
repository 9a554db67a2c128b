"""How a provider's failures are told: which may pass, what to do about the others, never a secret."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

from acpagent.config.redaction import Secrets
from acpagent.core.catalogue import Phrase
from acpagent.core.model import ProviderFault

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal["auth", "payment", "too_long", "rate", "unavailable", "rejected", "broken"]

PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
SHOWN = 300  # letters of a server's own words

# Each server has words of its own for a conversation that is too long.
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum (context|prompt length)|maximum model length|exceeds? context limit|"
    r"(prompt|input|request) (is )?too (long|large)|prompt exceeds max length|prompt 超长|range of input length should|"
    r"too many (input )?tokens|reduce the length|exceed(s|ed) model token limit|"
    r"token count.{0,24} exceeds the (limit|maximum)|`inputs` (tokens|must have less than)|"
    r"max_tokens must be at least 1, got -",
    re.IGNORECASE,
)
_TOO_LARGE_AT_ONCE = re.compile(r"request too large", re.IGNORECASE)  # for what may be sent in a minute, ever
_NO_CREDIT = re.compile(
    r"insufficient[ _](quota|balance|credit|funds)|billing[ _]hard[ _]limit|credit balance is too low|billing_error",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(not|n't) support (tools|tool use|tool calling|function calling)|support tool use|tool choice requires|"
    r"tools? (is|are) not (supported|enabled)",
    re.IGNORECASE,
)
_SPACE = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]+")
_SHORTEST_SECRET = 6


class FailedTry(Exception):
    """A try of a call that failed on the way.

    `cause` says in a few words what happened, `fault` is raised if it was the last try, `after` is how many
    seconds the server asked to wait. `again`: another try may do better, as long as nothing was shown.
    """

    def __init__(self, kind: Kind, who: str, cause: str, *, after: float | None = None, again: bool = True) -> None:
        super().__init__(cause)
        self.again = again
        self.who = who
        self.cause = cause
        self.after = after
        self.fault = ProviderFault(kind, says(who, cause))


def says(who: str, cause: str) -> Phrase:
    """What went wrong with a model, called `who`."""
    return Phrase("model_says", who=who, cause=cause)


_SHAPES = Secrets(())  # servers quote what they were sent, be it a proxy's and not ours


def cause(message: str) -> str:
    """What went wrong with a model, without who says so."""
    if not isinstance(message, Phrase) or message.code != "model_says":
        return message
    found: str = message.params["cause"]
    return found


class Scrubber:
    """Takes secrets out of other people's words, and bounds them."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        known |= {json.dumps(secret)[1:-1] for secret in known}
        self._secrets = sorted(known, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """`text` in one line of at most `SHOWN` letters, `***` for each secret."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        text = _SPACE.sub(" ", _SHAPES.strictly(text)).strip()
        return text if len(text) <= SHOWN else text[: SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"


def from_status(
    who: str, status: int, said: str, *, code: str = "", after: float | None = None, key_from: str = ""
) -> FailedTry | ProviderFault:
    """The exception for an answer with an HTTP status other than 200.

    `said` is what the server says, already scrubbed; `code` its word for the error; `after` its Retry-After
    in seconds; `key_from` the variable that holds the key.
    """

    def refused(code: str) -> Phrase:
        told = Phrase(code, status=status)
        return Phrase("model_said", cause=told, said=said) if said else told

    if status == 402 or (status in (400, 403, 429) and _NO_CREDIT.search(f"{code} {said}")):
        return ProviderFault("payment", says(who, refused("model_no_credit")))
    if status in (401, 403):  # never the server's words: they may quote the key
        unaccepted = Phrase("model_key_refused", status=status, remedy=_key_remedy(key_from))
        return ProviderFault("auth", says(who, unaccepted))
    if status == 413 or (status == 429 and _TOO_LARGE_AT_ONCE.search(said)) or is_too_long(status, code, said):
        return ProviderFault("too_long", says(who, refused("model_too_long")))
    if status == 429:
        return FailedTry("rate", who, refused("model_too_many"), after=after)
    if status in PASSING_STATUSES:
        return FailedTry("unavailable", who, refused("model_server_failed"), after=after)
    if status >= 500:
        return ProviderFault("unavailable", says(who, refused("model_server_failed")))
    rejected = refused("model_rejected")
    if _NO_TOOLS.search(said):
        rejected = Phrase("model_no_tools", cause=rejected)
    return ProviderFault("rejected", says(who, rejected))


def is_too_long(status: int, code: str, said: str) -> bool:
    """Whether a server's words, with a status that can mean so, are about a conversation that is too long."""
    return status in (400, 422, 500) and _TOO_LONG.search(f"{code} {said}") is not None


def retry_after(header: str | None) -> float | None:
    """Seconds from a Retry-After header, which holds seconds or a date. None for anything else."""
    if not header:
        return None
    try:
        seconds = float(header)
        return seconds if 0 <= seconds < math.inf else None
    except ValueError:
        pass
    try:
        then = parsedate_to_datetime(header)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max((then - datetime.now(UTC)).total_seconds(), 0.0)


def no_key(who: str, key_from: str) -> ProviderFault:
    return ProviderFault("auth", says(who, Phrase("model_no_key", remedy=_key_remedy(key_from))))


def _key_remedy(key_from: str) -> Phrase:
    return Phrase("remedy_key", name=key_from) if key_from else Phrase("remedy_setup")
