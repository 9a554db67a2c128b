"""A server's tools as tools of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from acpagent.core import bounds
from acpagent.core.blocks import Text
from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import told
from acpagent.core.toolcalls import Effect, Kind, Proposal, Tool, ToolContext, ToolRefusal, ToolResult
from acpagent.mcp_client import names
from acpagent.mcp_client.exchange import Exchange
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.offers import ResourceOffer, ToolOffer
from acpagent.mcp_client.results import Outcome
from acpagent.mcp_client.server import Server

TITLE_LETTERS = 120
SHOWN_BYTES = 16_384  # of arguments that are asked about
READ_RESOURCE = "read_resource"
_LISTED = 200

# A server that says that a tool only reads is taken at its word: whoever let it be started trusts it, and it is
# looking at what the session started. What does not say so may do anything, so it names what is asked for and barred.
_LOOKS: tuple[Effect, ...] = (Effect("job"),)
_ANYTHING: tuple[Effect, ...] = (Effect("network"),)


def tools(server: Server) -> list[Tool]:
    """The tools of a server that is there, by name."""
    offers = server.offers
    called = names.offered(server.slug, [offer.name for offer in offers.tools])
    made: list[Tool] = [ServerTool(server, offer, called[offer.name]) for offer in offers.tools]
    if offers.has_resources:
        own = names.offered(server.slug, [READ_RESOURCE])[READ_RESOURCE]
        if own not in called.values():
            made.append(ReadResource(server, own))
    return sorted(made, key=lambda tool: tool.name)


class ServerTool:
    """One tool of one server. Its schema is the server's own, which checks the arguments itself."""

    checks_arguments = True

    def __init__(self, server: Server, offer: ToolOffer, name: str) -> None:
        self._server = server
        self._offer = offer
        self.name = name
        self.description = offer.description or f"{offer.title} (of {server.spec.name})"
        self.schema: Mapping[str, Any] = offer.schema
        self.reads_only = offer.reads_only
        self.kind: Kind = "fetch" if offer.reads_only else "other"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        server = self._server.spec.name
        return Proposal(
            title=bounds.asked_line(f"{server}: {self._offer.title}", TITLE_LETTERS),
            kind=self.kind,
            effects=_LOOKS if self.reads_only else _ANYTHING,
            subject=self._offer.name,
            detail=dict(args),
            facts={"server": server, "tool": self._offer.name},
            note="" if self.reads_only else _note(args, self._offer.destroys),
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        ctx.scope.check()
        exchange = Exchange(ctx.scope, ctx.live, ctx.question)
        try:
            outcome = self._server.call(self._offer.name, proposal.detail, ctx.output_bytes, exchange)
        except ServerFault as fault:
            raise ToolRefusal(told(fault)) from None
        return _result(outcome, proposal)


class ReadResource:
    """What a server has to read. Without an address it tells what there is."""

    reads_only = True
    checks_arguments = True
    kind: Kind = "fetch"
    schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {"uri": {"type": "string", "description": "its address; leave out to list what there is"}},
        "required": [],
        "additionalProperties": False,
    }

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self.name = name
        self.description = f"Read a resource of the MCP server {server.spec.name}, or list them."

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        uri = str(args.get("uri") or "")
        server = self._server.spec.name
        address = bounds.asked_line(uri, TITLE_LETTERS)
        title = Phrase("title_server_read" if uri else "title_server_list", server=server, what=address)
        facts = {"server": server, "tool": READ_RESOURCE}
        return Proposal(title, self.kind, _LOOKS, uri, detail=uri, facts=facts)

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        if not proposal.detail:
            lines = [_listed(offer) for offer in self._server.offers.resources]
            text = "\n".join(lines[:_LISTED]) or "The server lists no resources."
            return ToolResult(bounds.cut(text, ctx.output_bytes).text, raw={"count": len(lines)}, facts=proposal.facts)
        ctx.scope.check()
        try:
            outcome = self._server.read(proposal.detail, ctx.output_bytes, Exchange(ctx.scope, ctx.live, ctx.question))
        except ServerFault as fault:
            raise ToolRefusal(told(fault)) from None
        return _result(outcome, proposal)


def _listed(offer: ResourceOffer) -> str:
    kind = "template" if offer.is_template else offer.media_type or ""
    return " - ".join(part for part in (offer.uri, offer.name, kind, offer.description) if part)


def _result(outcome: Outcome, proposal: Proposal) -> ToolResult:
    facts: dict[str, Any] = {**proposal.facts, "is_error": outcome.failed, "truncated": outcome.left_out > 0}
    if outcome.left_out:
        facts["original_characters"] = outcome.size
    raw = dict(facts) if outcome.structured is None else {**facts, "structured": outcome.structured}
    content = (Text(outcome.text), *outcome.others) if outcome.others else ()
    return ToolResult(outcome.text, outcome.failed, content, raw, facts)


def _note(args: Mapping[str, Any], destroys: bool) -> str:
    """What the person sees before they are asked: what the tool would be given, all of it."""
    given = bounds.cut(bounds.visible(json.dumps(dict(args), ensure_ascii=False, indent=1)), SHOWN_BYTES).text
    return Phrase("note_destroys", given=given) if destroys else given
