"""The grammar of the command line as completion scripts for bash, zsh and fish."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from acpagent.cli.grammar import Command, Value, general

_BASH = """\
# Completion of acpagent for bash. Written by `acpagent completion bash`.
_acpagent() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" at="" words="" word IFS=$' \\t\\n'
    COMPREPLY=()
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$at/$word" in
            {paths}) at="$at/$word" ;;
        esac
    done
    case "$at $prev" in
{values}
    esac
    case "$at" in
{places}
    esac
    case "$cur" in
        -*) ;;
        *) words="${{words%%--*}}" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
_acpagent_paths() {{
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen "$1" -- "$cur"))
}}
complete -F _acpagent acpagent
"""

_ZSH = """\
#compdef acpagent
# Completion of acpagent for zsh. Written by `acpagent completion zsh`.
_acpagent() {{
    local at="" word
    local -a found
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$at/$word" in
            {paths}) at="$at/$word" ;;
        esac
    done
    case "$at $words[CURRENT-1]" in
{values}
    esac
    case "$at" in
{places}
    esac
    [[ "$words[CURRENT]" == -* ]] || found=("${{(@)found:#-*}}")
    _describe acpagent found
}}
if [[ "$funcstack[1]" == _acpagent ]]; then
    _acpagent "$@"
else
    compdef _acpagent acpagent
fi
"""


def bash(commands: Sequence[Command]) -> str:
    """The script for bash 3.2 and newer."""
    return _BASH.format(
        paths=_paths(commands),
        values="\n".join(_bash_values(commands)),
        places="\n".join(_bash_places(commands)),
    )


def _paths(commands: Sequence[Command]) -> str:
    return "|".join(_place(command) for command in _every(commands))


def _every(commands: Sequence[Command]) -> Iterator[Command]:
    for command in commands:
        yield command
        yield from command.commands


def _place(command: Command) -> str:
    return "/" + "/".join(command.path)


def _bash_values(commands: Sequence[Command]) -> Iterator[str]:
    """What follows an option."""
    for command in _every(commands):
        for option in command.options:
            if option.value is not None:
                yield f'        "{_place(command)} {option.flag}") {_bash_value(option.value)}; return ;;'


def _bash_value(value: Value) -> str:
    if value.kind in ("folders", "files"):
        return f"_acpagent_paths {'-d' if value.kind == 'folders' else '-f'}"
    words = " ".join(value.words) if value.words else _asked(value.kind)
    return f'COMPREPLY=($(compgen -W "{words}" -- "$cur"))' if words else ":"


def _asked(kind: str) -> str:
    """The command that prints what only this machine knows."""
    return (
        f"$(acpagent completion bash --words {kind} 2>/dev/null)" if kind in ("models", "sessions", "plugins") else ""
    )


def _bash_places(commands: Sequence[Command]) -> Iterator[str]:
    """What stands behind a command: words first, options after them."""
    words = [command.path[-1] for command in commands] + [option.flag for option in general()]
    yield f'        "") words="{" ".join(words)}" ;;'
    for command in _every(commands):
        words = [one.path[-1] for one in command.commands] + list(command.value.words)
        words += [_asked(command.value.kind)] if _asked(command.value.kind) else []
        words += [option.flag for option in command.options]
        yield f'        "{_place(command)}") words="{" ".join(words)}" ;;'


def zsh(commands: Sequence[Command]) -> str:
    """The script for zsh, to be sourced or to lie in a folder of $fpath as `_acpagent`."""
    return _ZSH.format(
        paths=_paths(commands),
        values="\n".join(_zsh_values(commands)),
        places="\n".join(_zsh_places(commands)),
    )


def _zsh_values(commands: Sequence[Command]) -> Iterator[str]:
    for command in _every(commands):
        for option in command.options:
            if option.value is not None:
                yield f'        "{_place(command)} {option.flag}") {_zsh_value(option.value)}; return ;;'


def _zsh_value(value: Value) -> str:
    if value.kind in ("folders", "files"):
        return "_files -/" if value.kind == "folders" else "_files"
    words = shlex.join(value.words) if value.words else f'${{(f)"{_asked(value.kind)}"}}'
    return f"compadd -- {words}" if value.words or _asked(value.kind) else ":"


def _zsh_places(commands: Sequence[Command]) -> Iterator[str]:
    rows = [(command.path[-1], command.about) for command in commands]
    rows += [(option.flag, option.about) for option in general()]
    yield f'        "") found=({_described(rows)}) ;;'
    for command in _every(commands):
        rows = [(one.path[-1], one.about) for one in command.commands] + [(word, "") for word in command.value.words]
        rows += [(option.flag, option.about) for option in command.options]
        asked = _asked(command.value.kind)
        more = f' ${{(f)"{asked}"}}' if asked else ""
        yield f'        "{_place(command)}") found=({_described(rows)}{more}) ;;'


def _described(rows: Sequence[tuple[str, str]]) -> str:
    return " ".join(shlex.quote(f"{word}:{about}" if about else word) for word, about in rows)


def fish(commands: Sequence[Command]) -> str:
    """The script for fish."""
    lines = ["# Completion of acpagent for fish. Written by `acpagent completion fish`.", "complete -c acpagent -f"]
    for command in commands:
        lines.append(_fish_line("__fish_use_subcommand", f"-a {command.path[-1]}", command.about))
    for option in general():
        lines.append(_fish_line("__fish_use_subcommand", f"-l {option.flag[2:]}", option.about))
    for command in _every(commands):
        lines += _fish_command(command)
    return "\n".join(lines) + "\n"


def _fish_command(command: Command) -> Iterator[str]:
    here = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.path)
    if command.commands:
        names = " ".join(one.path[-1] for one in command.commands)
        here = f"{here}; and not __fish_seen_subcommand_from {names}"
    for one in command.commands:
        yield _fish_line(here, f"-a {one.path[-1]}", one.about)
    if words := _fish_words(command.value):
        yield _fish_line(here, f"-a {words}", "")
    for option in command.options:
        yield _fish_line(here, f"-l {option.flag[2:]}{_fish_value(option.value)}", option.about)


def _fish_words(value: Value) -> str:
    asked = _asked(value.kind)
    return _fish_text(" ".join(value.words)) if value.words else _fish_text(f"({asked[2:-1]})") if asked else ""


def _fish_value(value: Value | None) -> str:
    if value is None:
        return ""
    if value.kind == "folders":
        return " -x -a '(__fish_complete_directories)'"
    if value.kind == "files":
        return " -r -F"
    words = _fish_words(value)
    return f" -x -a {words}" if words else " -x"


def _fish_line(condition: str, what: str, about: str) -> str:
    described = f" -d {_fish_text(about)}" if about else ""
    return f"complete -c acpagent -n {_fish_text(condition)} {what}{described}"


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SCRIPTS: dict[str, Callable[[Sequence[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
