"""`acpagent plugin`: install packages that extend acpagent, and say what they can do."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence

from acpagent.cli import agent, plugin_words
from acpagent.cli.agent import UsageError
from acpagent.cli.main import FAILED, OK
from acpagent.cli.terminal import Terminal, columns, fitted, short_path
from acpagent.config import locate
from acpagent.core.bounds import asked_line
from acpagent.extensions import installing, plugins
from acpagent.extensions.installing import Staged
from acpagent.extensions.manifest import Manifest, ManifestError
from acpagent.extensions.plugins import Installed, PluginError, UnknownPlugin

_EPILOG = """\
A package is a directory with an acpagent-plugin.json; docs/plugins.md tells of it. Nothing of it runs while it is
installed. What is installed counts from the next session or reload on.

exit codes: 0 done (of `doctor`: all well), 1 failed, 2 wrong usage
"""
_HEADER = ("NAME", "VERSION", "IN USE", "FROM")
_SHOWN = 300


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = make_parser().parse_args(words)
    command: Callable[[argparse.Namespace], int] = options.command
    return agent.guarded(lambda: _told(lambda: command(options)))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent plugin",
        description="Install packages that extend acpagent, and say what they can do.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, about: str, command: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        one: argparse.ArgumentParser = commands.add_parser(name, help=about, allow_abbrev=False)
        one.set_defaults(command=command)
        return one

    install = add("install", "install a package, after showing what it will be able to do", _install)
    install.add_argument(
        "source", metavar="DIR", help="a directory, or the https:// or file:// address of a repository"
    )
    install.add_argument("--yes", action="store_true", help="install it without asking")
    install.add_argument("--dry-run", action="store_true", help="show what it will be able to do, and stop there")
    install.add_argument("--link", action="store_true", help="use the directory where it is, instead of a copy")
    install.add_argument("--replace", action="store_true", help="take the place of the one that is installed")
    listing = add("list", "the installed plugins", _list)
    listing.add_argument("--json", action="store_true", help="as JSON")
    named = [add("show", "what a plugin can do", _show)]
    doctor = add("doctor", "whether plugins work: all in use, or one", _doctor)
    doctor.add_argument("name", metavar="PLUGIN", nargs="?", help="its name (default: all that are in use)")
    named.append(add("enable", "use a plugin again", lambda options: _use(options, True)))
    named.append(add("disable", "keep a plugin, but do not use it", lambda options: _use(options, False)))
    removal = add("remove", "delete a plugin for good", _remove)
    removal.add_argument("--yes", action="store_true", help="remove it without asking")
    for one in (*named, removal):
        one.add_argument("name", metavar="PLUGIN", help="its name, as `acpagent plugin list` shows it")
    return parser


def _told(command: Callable[[], int]) -> int:
    """What goes wrong with plugins, as messages and exit codes."""
    try:
        return command()
    except UnknownPlugin as error:
        raise UsageError(str(error)) from None
    except ManifestError as error:
        return agent.complain("the package cannot be used:\n" + "\n".join(map(str, error.problems)), FAILED)
    except PluginError as error:
        return agent.complain(str(error), FAILED)


def _install(options: argparse.Namespace) -> int:
    home, terminal = locate.home(), Terminal(sys.stdout)
    with installing.staged(home, options.source, options.link) as package:
        old = plugins.read_records(home).get(package.manifest.name)
        if old is not None and not options.replace:
            raise PluginError(f"{old.name} {old.version} is installed already; add --replace")
        _describe(terminal, package.manifest)
        if old is not None:
            terminal.line(f"It takes the place of version {old.version}, from {asked_line(old.source, _SHOWN)}.")
        if options.dry_run:
            return OK
        if not (options.yes or _agreed(terminal, "Install it?")):
            terminal.line("Nothing was installed.")
            return FAILED
        record = installing.commit(home, package, options.replace)
    terminal.line(_installed(package, record.enabled))
    return OK


def _installed(package: Staged, enabled: bool) -> str:
    where = "linked" if package.linked else "installed"
    when = "from the next session or reload on" if enabled else "once you enable it"
    return f"{package.manifest.name} {package.manifest.version} is {where}, and in use {when}."


def _describe(terminal: Terminal, manifest: Manifest) -> None:
    terminal.line(f"{manifest.name} {manifest.version}", "bold")
    terminal.line(asked_line(manifest.description, _SHOWN))
    terminal.gap(1)
    abilities = list(plugin_words.abilities(manifest))
    terminal.line("It can" if abilities else "It adds nothing.")
    for ability in abilities:
        terminal.line(f"  {terminal.sign('·')} {ability}")
    terminal.gap(1)


def _agreed(terminal: Terminal, question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("stdin is no terminal, so nobody can be asked; add --yes if you have seen what it does")
    terminal.write(f"{question} [y/N]: ", "yellow")
    answer = sys.stdin.readline()
    terminal.entered()
    return answer.strip().lower() in ("y", "yes")


def _list(options: argparse.Namespace) -> int:
    found, terminal = plugins.installed(locate.home()), Terminal(sys.stdout)
    if options.json:
        sys.stdout.write(json.dumps([_as_json(one) for one in found], indent=2) + "\n")
        return OK
    if not found:
        terminal.line("No plugins are installed.")
        return OK
    rows = [_HEADER, *map(_row, found)]
    widths = [max(columns(row[place]) for row in rows) for place in range(len(_HEADER) - 1)]
    for number, row in enumerate(rows):
        cells = [cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=False)]
        line = "  ".join((*cells, row[-1])).rstrip()
        terminal.line(fitted(line, terminal.width) if terminal.live else line, None if number else "bold")
    return OK


def _row(one: Installed) -> tuple[str, ...]:
    record = one.record
    use = "broken" if one.record.enabled and one.manifest is None else "yes" if record.enabled else "no"
    return record.name, asked_line(record.version, 40), use, _source(one)


def _source(one: Installed) -> str:
    path = short_path(one.record.source) if os.path.isabs(one.record.source) else asked_line(one.record.source, _SHOWN)
    return f"{path} (linked)" if one.record.linked else path


def _as_json(one: Installed) -> dict[str, object]:
    record = one.record
    return {
        "name": record.name,
        "version": one.manifest.version if one.manifest else record.version,
        "description": one.manifest.description if one.manifest else None,
        "source": record.source,
        "linked": record.linked,
        "enabled": record.enabled,
        "root": one.root,
        "problems": [str(problem) for problem in one.problems],
    }


def _show(options: argparse.Namespace) -> int:
    one, terminal = plugins.find(locate.home(), options.name), Terminal(sys.stdout)
    if one.manifest is None:
        raise ManifestError(*one.problems)
    _describe(terminal, one.manifest)
    terminal.line(f"from    {_source(one)}")
    terminal.line(f"in      {short_path(one.root)}")
    terminal.line(f"in use  {'yes' if one.record.enabled else 'no'}")
    return OK


def _doctor(options: argparse.Namespace) -> int:
    from acpagent.cli import plugin_doctor

    return plugin_doctor.look(locate.home(), options.name)


def _use(options: argparse.Namespace, use: bool) -> int:
    changed = plugins.set_enabled(locate.home(), options.name, use)
    state = (
        "in use from the next session or reload on" if use else "not used any more, from the next session or reload on"
    )
    Terminal(sys.stdout).line(f"{options.name} is {state if changed else 'in use' if use else 'not in use'}.")
    return OK


def _remove(options: argparse.Namespace) -> int:
    home, terminal = locate.home(), Terminal(sys.stdout)
    one = plugins.find(home, options.name)
    what = "the link to" if one.record.linked else "its directory"
    if not (options.yes or _agreed(terminal, f"Remove {options.name} and {what} {short_path(one.root)}?")):
        terminal.line("Nothing was removed.")
        return FAILED
    plugins.remove(home, options.name)
    terminal.line(f"{options.name} is removed.")
    return OK
