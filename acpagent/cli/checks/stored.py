"""The stored sessions: whether they can be read, and who has them open."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from acpagent.cli.checks.finding import Case, Finding, fail, ok
from acpagent.cli.terminal import short_path
from acpagent.config import locate
from acpagent.store.faults import StoreFault
from acpagent.store.inspection import inspect

_UNITS = ("bytes", "KiB", "MiB", "GiB")


def store(case: Case) -> Iterator[Finding]:
    path = locate.store_file(case.home)
    try:
        found = inspect(path, case.home)
    except StoreFault as fault:
        what, _, advice = fault.message.rpartition("; ")
        yield fail("store", what, advice) if what else fail("store", advice, "look at the message, and at the disk")
        return
    if found is None:
        yield ok("store", f"{short_path(path)} (not there yet; no session was stored)")
        return
    whole = "" if found.checked else ", too large to be searched for damage here"
    about = f"{found.sessions} sessions, {_size(found.size)}, version {found.version}{whole}"
    yield ok("store", f"{short_path(path)}: {about}")
    living = [lease for lease in found.leases if lease.alive]
    for (pid, host), leases in groupby(living, key=lambda lease: (lease.pid, lease.host)):
        count = len(list(leases))
        yield ok("leases", f"{count} session{'s' * (count != 1)} open in process {pid} on {host}")
    if dead := len(found.leases) - len(living):
        yield ok("leases", f"{dead} left by processes that were killed; they keep nobody out")


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} {_UNITS[-1]}"
