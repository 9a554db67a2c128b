"""The stored sessions: whether they can be read, and who has them open."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from acpagent.cli.checks.finding import Case, Finding, fail, ok
from acpagent.cli.spoken import say
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
        yield fail("store", fault.message, say("check_store_remedy"))
        return
    if found is None:
        yield ok("store", say("check_store_later", path=short_path(path)))
        return
    whole = "" if found.checked else say("check_store_large")
    about = say("check_store", count=found.sessions, size=_size(found.size), version=found.version, more=whole)
    yield ok("store", f"{short_path(path)}: {about}")
    living = [lease for lease in found.leases if lease.alive]
    for (pid, host), leases in groupby(living, key=lambda lease: (lease.pid, lease.host)):
        count = len(list(leases))
        yield ok("leases", say("check_leases_one" if count == 1 else "check_leases", count=count, pid=pid, host=host))
    if dead := len(found.leases) - len(living):
        yield ok("leases", say("check_dead_leases", count=dead))


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} {_UNITS[-1]}"
