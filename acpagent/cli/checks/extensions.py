"""What the person installed and configured beyond the models: plugins, and servers of their own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from acpagent.cli.checks.finding import Case, Finding, fail, ok, warn
from acpagent.cli.spoken import say, spoken
from acpagent.config.settings import McpServerSettings
from acpagent.core.phrases import told
from acpagent.extensions import plugins as packages
from acpagent.mcp_client import private, spec
from acpagent.mcp_client.faults import SpecError


def plugins(case: Case) -> Iterator[Finding]:
    """Those in use; nothing of them is started here."""
    used, problems = packages.enabled(case.home)
    for problem in problems:
        yield fail("plugins", f"{problem.place}: {spoken(problem.what)}", problem.remedy)
    if used:
        names = ", ".join(f"{one.name} {one.manifest.version}" for one in used)
        yield ok("plugins", say("check_plugins", names=names))


def servers(case: Case) -> Iterator[Finding]:
    """Those in config.yaml, which are in every session; nothing of them is started or reached here."""
    if case.settings is None:
        return
    right = []
    for server in case.settings.mcp_servers.values():
        found = _server(case, server)
        if found is None:
            right.append(server.name)
        else:
            yield found
    if right:
        yield ok("mcp servers", say("check_servers", names=", ".join(right)))


def _server(case: Case, server: McpServerSettings) -> Finding | None:
    """What is wrong with one."""
    try:
        found = spec.of_settings(server, {**os.environ, **private.secrets_file(case.home).read()})
    except SpecError as error:
        return fail(
            "mcp servers", f"{server.name}: {spoken(told(error))}", say("check_server_remedy", name=server.name)
        )
    path = {**os.environ, **dict(found.env)}.get("PATH")
    if found.command and shutil.which(found.command, path=path) is None:
        what = say("check_server_program", name=server.name, program=found.command)
        return warn("mcp servers", what, say("check_server_install", name=server.name))
    return None
