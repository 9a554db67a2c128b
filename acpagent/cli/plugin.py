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
from acpagent.cli.spoken import say, spoken
from acpagent.cli.terminal import Terminal, columns, fitted, short_path
from acpagent.config import locate
from acpagent.core.bounds import asked_line
from acpagent.core.phrases import told
from acpagent.extensions import installing, plugins
from acpagent.extensions.installing import Staged
from acpagent.extensions.manifest import Manifest, ManifestError
from acpagent.extensions.plugins import Installed, PluginError, UnknownPlugin

_HEADER = ("plugin_name", "plugin_version", "plugin_used", "plugin_source")
_SHOWN = 300


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = make_parser().parse_args(words)
    command: Callable[[argparse.Namespace], int] = options.command
    return agent.guarded(lambda: _told(lambda: command(options)))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent plugin",
        description=say("plugin_about"),
        epilog=say("epilog_plugin"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, about: str, command: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        one: argparse.ArgumentParser = commands.add_parser(name, help=about, allow_abbrev=False)
        one.set_defaults(command=command)
        return one

    install = add("install", say("plugin_help_install"), _install)
    install.add_argument("source", metavar="DIR", help=say("plugin_help_source"))
    install.add_argument("--yes", action="store_true", help=say("plugin_help_yes"))
    install.add_argument("--dry-run", action="store_true", help=say("plugin_help_dry"))
    install.add_argument("--link", action="store_true", help=say("plugin_help_link"))
    install.add_argument("--replace", action="store_true", help=say("plugin_help_replace"))
    listing = add("list", say("plugin_help_list"), _list)
    listing.add_argument("--json", action="store_true", help=say("help_json"))
    named = [add("show", say("plugin_help_show"), _show)]
    doctor = add("doctor", say("plugin_help_doctor"), _doctor)
    doctor.add_argument("name", metavar="PLUGIN", nargs="?", help=say("plugin_help_which"))
    named.append(add("enable", say("plugin_help_enable"), lambda options: _use(options, True)))
    named.append(add("disable", say("plugin_help_disable"), lambda options: _use(options, False)))
    removal = add("remove", say("plugin_help_remove"), _remove)
    removal.add_argument("--yes", action="store_true", help=say("plugin_help_remove_yes"))
    for one in (*named, removal):
        one.add_argument("name", metavar="PLUGIN", help=say("plugin_help_name"))
    return parser


def _told(command: Callable[[], int]) -> int:
    """What goes wrong with plugins, as messages and exit codes."""
    try:
        return command()
    except UnknownPlugin as error:
        raise UsageError(told(error)) from None
    except ManifestError as error:
        return agent.complain(
            "\n".join([say("plugin_unusable"), *(spoken(problem.told) for problem in error.problems)]), FAILED
        )
    except PluginError as error:
        return agent.complain(told(error), FAILED)


def _install(options: argparse.Namespace) -> int:
    home, terminal = locate.home(), Terminal(sys.stdout)
    with installing.staged(home, options.source, options.link) as package:
        old = plugins.read_records(home).get(package.manifest.name)
        if old is not None and not options.replace:
            raise PluginError(say("install_there", name=old.name, version=old.version))
        _describe(terminal, package.manifest)
        if old is not None:
            terminal.line(say("plugin_replaces", version=old.version, source=asked_line(old.source, _SHOWN)))
        if options.dry_run:
            return OK
        if not (options.yes or _agreed(terminal, say("plugin_install"))):
            terminal.line(say("plugin_not_installed"))
            return FAILED
        record = installing.commit(home, package, options.replace)
    terminal.line(_installed(package, record.enabled))
    return OK


def _installed(package: Staged, enabled: bool) -> str:
    where = say("plugin_linked_now" if package.linked else "plugin_installed_now")
    when = say("plugin_from_next") if enabled else say("plugin_once_enabled")
    return say("plugin_now", name=package.manifest.name, version=package.manifest.version, where=where, when=when)


def _describe(terminal: Terminal, manifest: Manifest) -> None:
    terminal.line(f"{manifest.name} {manifest.version}", "bold")
    terminal.line(asked_line(manifest.description, _SHOWN))
    terminal.gap(1)
    abilities = list(plugin_words.abilities(manifest))
    terminal.line(say("plugin_can") if abilities else say("plugin_adds_nothing"))
    for ability in abilities:
        terminal.line(f"  {terminal.sign('·')} {ability}")
    terminal.gap(1)


def _agreed(terminal: Terminal, question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(say("plugin_no_terminal"))
    terminal.write(say("ask_no_default", question=question), "yellow")
    answer = sys.stdin.readline()
    terminal.entered()
    return answer.strip().lower() in say("ask_yes_words").split()


def _list(options: argparse.Namespace) -> int:
    found, terminal = plugins.installed(locate.home()), Terminal(sys.stdout)
    if options.json:
        sys.stdout.write(json.dumps([_as_json(one) for one in found], indent=2) + "\n")
        return OK
    if not found:
        terminal.line(say("plugin_none"))
        return OK
    rows = [tuple(say(code) for code in _HEADER), *map(_row, found)]
    widths = [max(columns(row[place]) for row in rows) for place in range(len(_HEADER) - 1)]
    for number, row in enumerate(rows):
        cells = [cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=False)]
        line = "  ".join((*cells, row[-1])).rstrip()
        terminal.line(fitted(line, terminal.width) if terminal.live else line, None if number else "bold")
    return OK


def _row(one: Installed) -> tuple[str, ...]:
    record = one.record
    use = "plugin_broken" if record.enabled and one.manifest is None else "form_yes" if record.enabled else "form_no"
    return record.name, asked_line(record.version, 40), say(use), _source(one)


def _source(one: Installed) -> str:
    path = short_path(one.record.source) if os.path.isabs(one.record.source) else asked_line(one.record.source, _SHOWN)
    return say("plugin_linked", path=path) if one.record.linked else path


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
    terminal.line(say("plugin_shown_from", source=_source(one)))
    terminal.line(say("plugin_shown_in", path=short_path(one.root)))
    terminal.line(say("plugin_shown_used", used=say("form_yes" if one.record.enabled else "form_no")))
    return OK


def _doctor(options: argparse.Namespace) -> int:
    from acpagent.cli import plugin_doctor

    return plugin_doctor.look(locate.home(), options.name)


def _use(options: argparse.Namespace, use: bool) -> int:
    changed = plugins.set_enabled(locate.home(), options.name, use)
    state = "used" if use else "unused"
    code = f"plugin_is_{state}_from_now" if changed else f"plugin_is_{state}"
    Terminal(sys.stdout).line(say(code, name=options.name))
    return OK


def _remove(options: argparse.Namespace) -> int:
    home, terminal = locate.home(), Terminal(sys.stdout)
    one = plugins.find(home, options.name)
    code = "plugin_remove_link" if one.record.linked else "plugin_remove_folder"
    if not (options.yes or _agreed(terminal, say(code, name=options.name, path=short_path(one.root)))):
        terminal.line(say("plugin_not_removed"))
        return FAILED
    plugins.remove(home, options.name)
    terminal.line(say("plugin_removed", name=options.name))
    return OK
