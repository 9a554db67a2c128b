"""How a check went: by the exit status of its command line, and by the runner's own words that it ran no test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from acpagent.core.evidence import CheckStatus
from acpagent.runtime.evidence.checks import Check

# What runners print when they ran no test at all; what they print when they ran some wins.
_NONE_RAN = re.compile(
    r"no tests? ran|no tests? (?:were )?(?:found|executed|collected)|no test files|no test modules? found"
    r"|no tests? to run|no test is available|collected 0 items|\bran 0 tests\b|running 0 tests|tests run: 0\b"
    r"|\b0 passing\b|\b0 examples, 0 failures|\b0 tests?, 0 (?:assertions|failures)|^1\.\.0\b|^[#ℹ] tests 0$"
    r"|\b0 passed\b|\b0 tests? (?:passed|completed|run)\b|^=* ?\d+ (?:skipped|deselected)\b.* in [\d.]+ ?s"
    r"|^s+ +\[ *\d+%\]$|^Tests: +\d+ (?:skipped|todo), \d+ total"
    r"|executed 0 (?:out of 0 )?tests|test NO-SOURCE|testsuites? 0\b",
    re.IGNORECASE | re.MULTILINE,
)
_SOME_RAN = re.compile(
    r"\b[1-9]\d* (?:passed|failed|passing|failing|errors?\b)|\bran [1-9]\d* tests?\b"
    r"|tests run: [1-9]|\b[1-9]\d* examples?,|\b[1-9]\d* tests?, [1-9]\d* assertions|^1\.\.[1-9]|^[#ℹ] tests [1-9]"
    r"|^ok  ?\t(?!.*\[no tests to run\])|^--- (?:PASS|FAIL)|executed [1-9]\d* (?:out of|tests)"
    r"|\b[1-9]\d* tests? (?:passed|completed)\b|^[.sxX]*[.xXFE][.sxXFE]* +\[ *\d+%\]$",
    re.IGNORECASE | re.MULTILINE,
)
_ALL_SKIPPED = re.compile(r"^Ran (\d+) tests?( in .*\s+OK \(skipped=\1\)$)", re.MULTILINE)
_NOT_FOUND = (126, 127)
# By program: the exit statuses that say that it ran no test, or was called wrongly and did nothing.
_NOTHING_CODES: Mapping[str, tuple[int, ...]] = {"pytest": (4, 5), "py.test": (4, 5), "unittest": (5,)}
# What is said where there is no such check.
_NO_SUCH = re.compile(
    r"^\S*\bpython[\d.]*(?:\.exe)?: No module named|missing script:"
    r"|^make: \*\*\* no rule to make target '[^']*'\. +stop",
    re.IGNORECASE | re.MULTILINE,
)


def of(check: Check, facts: Mapping[str, Any], output: str, checks_in_line: int = 1) -> tuple[CheckStatus, str | None]:
    """How a check went, and the code of a reason why it counts for no more; `facts` are those of its call."""
    code, timed_out = facts.get("exit_code"), facts.get("timed_out", False)
    if "job_id" in facts:
        return "skipped", "check_in_background"
    if code is None and not timed_out and not facts.get("signal"):
        return "skipped", "check_aborted"
    if check.masked:
        return "skipped", "check_masked"
    if timed_out:
        return "failed", "check_timed_out"
    if code in _NOT_FOUND or (code != 0 and _NO_SUCH.search(output) and not _SOME_RAN.search(output)):
        return "not_run", "check_not_found"
    if check.kind == "test" and _ran_none(check, code, output, checks_in_line):
        return "not_run", "check_ran_nothing"
    if code == 0:
        return "passed", None
    return "failed", "check_failed_together" if checks_in_line > 1 else None


def _ran_none(check: Check, code: int | None, output: str, checks_in_line: int) -> bool:
    """Whether no test was run. An exit status of a line with several checks may be that of another one."""
    if check.lenient and code == 0:
        return _SOME_RAN.search(output) is None
    program = check.command.partition(" ")[0]
    return ran_nothing(output) or (checks_in_line == 1 and code in _NOTHING_CODES.get(program, ()))


def ran_nothing(output: str) -> bool:
    """Whether a test runner says that it ran no test. One that says nothing of it is believed."""
    output = _ALL_SKIPPED.sub(r"Ran 0 tests\2", output)
    return _NONE_RAN.search(output) is not None and _SOME_RAN.search(output) is None
