"""What opening a session does without is imported later, and `mcp` only by who connects to a server."""

from __future__ import annotations

import importlib
import subprocess
import sys

from acpagent.cli import acp

OPENING = (
    "acpagent.acp.v1.host",
    "acpagent.acp.v1.methods",
    "acpagent.assembly",
    "acpagent.providers.openai_chat",
    "acpagent.wire.validation",
)
LATER = ("requests", "urllib3", "pathspec", "mcp", "acpagent.mcp_client.server", "acpagent.permission.commands")


def test_opening_a_session_imports_none_of_it() -> None:
    code = f"import sys, {', '.join(OPENING)}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(LATER) & set(done.stdout.split())


def test_what_is_imported_ahead_is_there() -> None:
    for name in acp._FIRST_TURN:
        importlib.import_module(name)
