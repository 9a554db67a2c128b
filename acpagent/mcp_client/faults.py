"""What can go wrong with a server, as people and models are told."""

from __future__ import annotations


class ServerFault(Exception):
    """A server that cannot be used, or a request that it did not fulfil. One sentence, without secrets."""


class SpecError(ValueError):
    """Settings of a server that make no sense: what is wrong, by the server's name; repeats no other value."""
