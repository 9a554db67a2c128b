"""A server's prompts as slash commands: `/mcp__server__prompt first second`, or `name=value`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping

from acpagent.core.blocks import Block
from acpagent.core.forms import Answer, Form
from acpagent.core.scope import Scope
from acpagent.mcp_client import names
from acpagent.mcp_client.exchange import Exchange
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.offers import PromptOffer
from acpagent.mcp_client.server import Server

_NAMED = re.compile(r"([\w.-]+)=(.*)", re.DOTALL)


def commands(server: Server) -> list[PromptCommand]:
    """The prompts of a server that is there, by name."""
    called = names.offered(server.slug, [offer.name for offer in server.offers.prompts])
    made = [PromptCommand(server, offer, called[offer.name]) for offer in server.offers.prompts]
    return sorted(made, key=lambda command: command.name)


class PromptCommand:
    """One prompt of one server. `hint` names its arguments, those that may be left out in brackets."""

    def __init__(self, server: Server, offer: PromptOffer, name: str) -> None:
        self._server = server
        self._offer = offer
        self.name = name
        self.description = offer.description
        self.hint = " ".join(one.name if one.required else f"[{one.name}]" for one in offer.arguments) or None

    def get(
        self, words: str, limit: int, scope: Scope, question: Callable[[Form], Answer] | None = None
    ) -> tuple[Block, ...]:
        """The prompt with the arguments that were typed after the command; at most `limit` bytes of text. Waits for
        the server. Raises `ServerFault`, `Cancelled`."""
        return self._server.prompt(self._offer.name, self.arguments(words), limit, Exchange(scope, None, question))

    def arguments(self, words: str) -> Mapping[str, str]:
        """What was typed, by argument: `name=value` wherever it stands, the others in their order; the last takes all
        that is left. Raises `ServerFault` where one is missing or too many."""
        known = [one.name for one in self._offer.arguments]
        given: dict[str, str] = {}
        free: list[str] = []
        for word in _split(words):
            named = _NAMED.fullmatch(word)
            if named and named[1] in known:
                given[named[1]] = named[2]
            else:
                free.append(word)
        open_names = [name for name in known if name not in given]
        if free and not open_names:
            raise ServerFault(f"/{self.name} takes {self.hint or 'no arguments'}.")
        given.update(zip(open_names, _shared(free, len(open_names)), strict=False))
        missing = [one.name for one in self._offer.arguments if one.required and one.name not in given]
        if missing:
            raise ServerFault(f"/{self.name} needs {', '.join(missing)}: /{self.name} {self.hint}")
        return given


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError:  # an apostrophe is no open quote
        return words.split()


def _shared(words: list[str], places: int) -> list[str]:
    """The words for so many places, the last of which takes the rest."""
    if len(words) <= places or not places:
        return words
    return [*words[: places - 1], " ".join(words[places - 1 :])]
