"""`acpagent doctor`: looks at what commonly breaks, says what to do, and packs a file for a bug report."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence

from acpagent.cli import agent, bundle
from acpagent.cli.agent import UsageError
from acpagent.cli.checks import extensions, house, machine, models, process, stored
from acpagent.cli.checks.finding import Case, Check, Finding, Level, fail
from acpagent.cli.main import FAILED, OK
from acpagent.cli.secrets import Redactor
from acpagent.cli.spoken import say
from acpagent.cli.terminal import Terminal, columns, short_path
from acpagent.config import locate

CHECKS: tuple[Check, ...] = (
    machine.python,
    machine.installation,
    house.home,
    house.config,
    house.keys,
    models.providers,
    extensions.plugins,
    extensions.servers,
    stored.store,
    process.agent,
    machine.commands,
)
_STYLES: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "red"}
_SUBJECT = 17  # columns


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = make_parser().parse_args(words)
    return agent.guarded(lambda: _run(options))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent doctor",
        description=say("doctor_about"),
        epilog=say("epilog_doctor"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--offline", action="store_true", help=say("doctor_offline"))
    parser.add_argument("--bundle", metavar="FILE", help=say("doctor_bundle"))
    return parser


def _run(options: argparse.Namespace) -> int:
    if options.bundle is not None:
        _check_bundle(options.bundle)
    terminal, findings = Terminal(sys.stdout), []
    with tempfile.TemporaryDirectory(prefix="acpagent-doctor-") as folder:
        trace = os.path.join(folder, "trace") if options.bundle else None
        case = Case(locate.home(), options.offline, trace)
        redactor = Redactor(case.home)
        for check in CHECKS:
            _say_what_is_looked_at(check, terminal)
            for finding in _found(check, case):
                findings.append(finding)
                _show(finding, terminal, redactor)
        _sum_up(findings, terminal)
        if options.bundle is not None:
            bundle.write(options.bundle, case, findings, redactor)
            terminal.line(say("doctor_wrote", path=short_path(os.path.abspath(options.bundle))))
    return FAILED if any(finding.level == "fail" for finding in findings) else OK


def _check_bundle(path: str) -> None:
    if not path.endswith(bundle.ENDINGS):
        raise UsageError(say("doctor_ending", endings=", ".join(bundle.ENDINGS)))
    if os.path.lexists(path):
        raise UsageError(say("doctor_there", path=path))
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise UsageError(say("doctor_no_folder", path=os.path.dirname(path)))


def _found(check: Check, case: Case) -> Iterator[Finding]:
    """What a check finds. One that breaks is a finding itself, and keeps none of the others from running."""
    try:
        yield from check(case)
    except Exception as error:
        yield fail("doctor", say("doctor_broke", name=_name(check), kind=type(error).__name__), say("doctor_report"))


def _name(check: Check) -> str:
    return check.__name__  # type: ignore[attr-defined]


def _say_what_is_looked_at(check: Check, terminal: Terminal) -> None:
    """Some checks take seconds; the next line is written over this one."""
    if terminal.live:
        terminal.rewrite(0, terminal.paint(say("doctor_looking", name=_name(check)), "dim"))


def _show(finding: Finding, terminal: Terminal, redactor: Redactor) -> None:
    if terminal.live:
        terminal.rewrite(0, "")
    level = terminal.paint(f"{finding.level:<5}", _STYLES[finding.level])
    space = " " * max(2, _SUBJECT - columns(finding.subject))
    terminal.line(f"{level} {finding.subject}{space}{redactor(finding.text)}")
    if finding.advice:
        terminal.line(f"      {terminal.sign('→')} {redactor(finding.advice)}")


def _sum_up(findings: Sequence[Finding], terminal: Terminal) -> None:
    failed, warned = (sum(finding.level == level for finding in findings) for level in ("fail", "warn"))
    if terminal.live:
        terminal.rewrite(0, "")
    terminal.gap(1)
    if failed:
        terminal.line(say("doctor_failed", failed=failed, warned=warned), "red")
    elif warned:
        terminal.line(say("doctor_warned", warned=warned), "yellow")
    else:
        terminal.line(say("doctor_well"), "green")
