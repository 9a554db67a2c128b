"""What evidence comes to: the status, which checks stand, and the words of runners that ran nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from acpagent.core import evidence
from acpagent.core.evidence import Bundle, ChangedFile, CheckRun, CheckStatus, Claim, Risk
from acpagent.core.history import EvidenceSet, pack, unpack
from acpagent.runtime.evidence import outcomes, status
from acpagent.runtime.evidence.checks import Check, CheckKind
from acpagent.runtime.evidence.ledger import Ran

SEEN, UNSEEN = ChangedFile("a", "modified", "shell", 1, 1, verified=True), ChangedFile("b", "created", "shell", 1, 0)


def check(went: CheckStatus) -> CheckRun:
    return CheckRun(f"check_{went}", "Tests", went, "test", "cmd_1", "make test")


PASSED, FAILED, SKIPPED, NOT_RUN = check("passed"), check("failed"), check("skipped"), check("not_run")
ERROR, WARNING = Risk("r", "k", "error", "m"), Risk("r", "k", "warning", "m")
YES, NO, MAYBE = Claim("1", "c", "supported"), Claim("2", "c", "unsupported"), Claim("3", "c", "unverified")


@pytest.mark.parametrize(
    ("files", "checks", "risks", "claims", "ran", "expected"),
    [
        ([], [], [], [], False, "verified"),
        ([], [PASSED], [WARNING], [], False, "verified"),
        ([], [FAILED], [ERROR], [], False, "partially_verified"),
        ([SEEN], [PASSED], [], [], True, "verified"),
        ([SEEN], [], [], [], False, "verified"),
        ([SEEN], [PASSED, SKIPPED], [WARNING], [], True, "verified"),
        ([SEEN], [PASSED, FAILED], [ERROR], [], True, "partially_verified"),
        ([SEEN], [PASSED, NOT_RUN], [WARNING], [], True, "partially_verified"),
        ([SEEN], [FAILED], [ERROR], [], False, "unverified"),
        ([SEEN, UNSEEN], [PASSED], [WARNING], [], True, "partially_verified"),
        ([UNSEEN], [FAILED], [ERROR], [], True, "partially_verified"),
        ([UNSEEN], [PASSED], [WARNING], [], False, "unverified"),
        ([UNSEEN], [SKIPPED], [WARNING], [], False, "unverified"),
        ([UNSEEN], [NOT_RUN], [WARNING], [], False, "unverified"),
        ([SEEN], [PASSED], [], [YES, YES], True, "verified"),
        ([SEEN], [PASSED], [], [YES, NO], True, "partially_verified"),
        ([SEEN], [PASSED], [], [MAYBE], True, "unverified"),
        ([UNSEEN], [NOT_RUN], [], [YES], False, "unverified"),
        ([], [], [], [NO], False, "unverified"),
    ],
)
def test_the_rule(files: Any, checks: Any, risks: Any, claims: Any, ran: bool, expected: str) -> None:
    assert status.status(files, checks, risks, claims, ran) == expected
    assert status.status(files, checks, risks, claims, ran, blocked=True) == "blocked"


@pytest.mark.parametrize(
    ("files", "ran", "expected"),
    [([], False, "unverified"), ([], True, "partially_verified"), ([SEEN], True, "partially_verified")],
)
def test_what_nobody_has_seen_is_not_verified(files: Any, ran: bool, expected: str) -> None:
    assert status.status(files, [], [], [], ran, blind=True) == expected
    assert status.status([UNSEEN], [], [], [], False, blind=True) == "unverified"


def run(number: int, command: str, went: CheckStatus, kind: CheckKind = "test") -> Ran:
    return Ran(number, number, f"c{number}", Check(kind, command), command, went)


@pytest.mark.parametrize(
    ("history", "standing"),
    [
        ([("pytest", "failed"), ("pytest", "passed")], [2]),
        ([("pytest", "passed"), ("pytest", "failed")], [2]),
        ([("pytest a", "failed"), ("pytest b", "passed")], [2]),
        ([("pytest a", "passed"), ("pytest b", "failed")], [1, 2]),
        ([("pytest", "skipped"), ("tox", "passed")], [2]),
        ([("pytest", "not_run"), ("tox", "failed")], [1, 2]),
        ([("pytest", "failed"), ("pytest", "skipped")], [2]),
    ],
)
def test_what_a_later_check_takes_the_place_of(history: list[tuple[str, CheckStatus]], standing: list[int]) -> None:
    """Something is changed before each."""
    runs = [run(number, *one) for number, one in enumerate(history, 1)]
    assert [one.at for one in status.standing(runs, {1, 2})] == standing


def test_a_failure_stands_while_nothing_was_changed() -> None:
    """Another check of its kind that passes does not show that this one would pass now; the same one does."""
    failed, other, again = run(1, "pytest", "failed"), run(3, "pytest a", "passed"), run(5, "pytest", "passed")
    elsewhere = replace(again, check=replace(again.check, place="sub/"))
    assert status.standing([failed, other], {1}) == [failed, other]
    assert status.standing([failed, other], {2}) == [other]
    assert status.standing([failed, again]) == [again]
    assert status.standing([failed, elsewhere]) == [failed, elsewhere]
    assert status.standing([replace(failed, status="not_run"), other]) == [other]


def test_a_check_of_another_kind_takes_no_place() -> None:
    runs = [run(1, "pytest", "failed"), run(2, "ruff check", "passed", "lint")]
    assert status.standing(runs) == runs


@pytest.mark.parametrize(
    ("facts", "masked", "expected"),
    [
        ({"exit_code": 0}, "", ("passed", None)),
        ({"exit_code": 1}, "", ("failed", None)),
        ({"exit_code": 0}, "a pipe", ("skipped", "check_masked")),
        ({"exit_code": 1}, "a pipe", ("skipped", "check_masked")),
        ({"exit_code": None, "timed_out": True}, "", ("failed", "check_timed_out")),
        ({"exit_code": None, "signal": "SIGSEGV"}, "", ("failed", None)),
        ({"exit_code": None, "aborted": True}, "", ("skipped", "check_aborted")),
        ({}, "", ("skipped", "check_aborted")),
        ({"exit_code": 127}, "", ("not_run", "check_not_found")),
        ({"job_id": "job_1"}, "", ("skipped", "check_in_background")),
    ],
)
def test_how_a_check_went(facts: dict[str, Any], masked: str, expected: tuple[str, str | None]) -> None:
    assert outcomes.of(Check("test", "pytest", masked), facts, "") == expected


def test_of_two_checks_in_a_line_it_is_not_known_which_failed() -> None:
    assert outcomes.of(Check("lint", "ruff check"), {"exit_code": 1}, "", 2) == ("failed", "check_failed_together")


NOTHING_RAN = """\
==== no tests ran in 0.01s ====
collected 0 items
Ran 0 tests in 0.000s
?   \tx/y\t[no test files]
ok  \tx\t0.01s [no tests to run]
test result: ok. 0 passed; 0 failed; 0 ignored
No tests found, exiting with code 0
  0 passing (1ms)
0 examples, 0 failures
No tests executed!
No tests were found!!!
1..0 # SKIP
3 skipped in 0.02s
==== 3 skipped in 0.02s ====
5 deselected in 0.1s
Tests run: 0, Failures: 0
ok | 0 passed | 0 failed (2ms)
> Task :test NO-SOURCE
ss [100%]
Tests:       1 skipped, 1 total"""
SOME_RAN = """\
3 passed, 1 skipped in 0.1s
10 passed
Ran 3 tests in 0.1s
ok  \tx\t0.01s
2 examples, 0 failures
1..3
all good
Tests run: 3, Failures: 0
Tests:       2 passed, 2 total
1 failed, 2 passed in 1s
..s. [100%]
collected 0 items / 1 error
OK (3 tests, 5 assertions)"""


@pytest.mark.parametrize("output", NOTHING_RAN.splitlines())
def test_runners_that_ran_nothing(output: str) -> None:
    assert outcomes.ran_nothing(f"before\n{output}\n[exit 0]")
    assert not outcomes.ran_nothing(f"{output}\n2 passed in 0.1s\n")


@pytest.mark.parametrize("output", SOME_RAN.splitlines())
def test_runners_that_ran_something(output: str) -> None:
    assert not outcomes.ran_nothing(output)


def test_all_of_them_skipped() -> None:
    assert outcomes.ran_nothing("ss\n---\nRan 2 tests in 0.000s\n\nOK (skipped=2)\n")
    assert not outcomes.ran_nothing("s.\n---\nRan 2 tests in 0.000s\n\nOK (skipped=1)\n")


@pytest.mark.parametrize(
    ("command", "code", "output", "expected"),
    [
        ("pytest -qq", 5, "", "not_run"),
        ("pytest a", 4, "ERROR: file or directory not found: a", "not_run"),
        ("pytest", 2, "", "failed"),
        ("make test", 5, "", "failed"),
        ("unittest", 5, "", "not_run"),
        ("pytest", 1, "/usr/bin/python3: No module named pytest", "not_run"),
        ("pytest", 1, "E  ModuleNotFoundError: No module named 'x'\n1 failed in 0.1s", "failed"),
        ("npm test", 1, 'npm error Missing script: "test"', "not_run"),
        ("make test", 2, "make: *** No rule to make target 'test'.  Stop.", "not_run"),
        ("make test", 2, "make: *** No rule to make target 'x.h', needed by 'x.o'.  Stop.", "failed"),
    ],
)
def test_a_runner_that_does_not_come_to_it(command: str, code: int, output: str, expected: str) -> None:
    assert outcomes.of(Check("test", command), {"exit_code": code}, output)[0] == expected


def test_of_two_checks_in_a_line_a_status_says_nothing_of_one() -> None:
    assert outcomes.of(Check("test", "pytest"), {"exit_code": 5}, "", 2)[0] == "failed"


@pytest.mark.parametrize(("output", "expected"), [("Tests: 1 passed, 1 total", "passed"), ("", "not_run")])
def test_what_passes_without_tests_has_to_name_some(output: str, expected: str) -> None:
    assert outcomes.of(Check("test", "jest", lenient=True), {"exit_code": 0}, output)[0] == expected


def test_a_bundle_is_stored_and_read_again() -> None:
    bundle = Bundle("s", "t", "verified", "now", changed_files=(SEEN,), checks=(PASSED,), risks=(ERROR,), claims=(YES,))
    entry = EvidenceSet("t", "m", bundle, "sha256:x")
    assert unpack(*pack(entry)) == entry
    assert "changedFiles" in evidence.to_data(bundle)


CHECKS = '{"turn":"t","message":"m","seal":"s","evidence":{"checks":[1]}}'


@pytest.mark.parametrize("damage", ["[]", '{"turn":"t"}', CHECKS])
def test_damaged_evidence_makes_no_session_unreadable(damage: str) -> None:
    assert unpack("evidence", 1, damage) is None
