"""English: what is wrong with files that people write."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # A mistake in a file.
    "problem": "{place}: {what}; {remedy}",
    "problem_plain": "{place}: {what}",
    "problem_field": "{name}: {what}",
    "correct_server": "correct mcp_servers.{name}",
    "correct_or_remove": "correct it, or take it out",
}
