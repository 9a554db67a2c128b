"""`acpagent setup`: a provider, its key and a model, asked for or taken from flags, tried out and written down."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from acpagent.cli import agent
from acpagent.cli.agent import CANCELLED, UsageError, complain
from acpagent.cli.asker import Asker, CannotHide, GaveUp
from acpagent.cli.choice import Choice, choose_file, choose_provider, other_key_in
from acpagent.cli.main import FAILED, OK, USAGE
from acpagent.cli.spoken import say, spoken
from acpagent.cli.terminal import Terminal, short_path
from acpagent.cli.trial import Trial
from acpagent.cli.wizard import Wizard
from acpagent.config import locate, saving, settings
from acpagent.config.credentials import Secret
from acpagent.config.edit import Unchangeable
from acpagent.config.settings import Settings
from acpagent.core.model import ProviderFault
from acpagent.core.phrases import told


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = make_parser().parse_args(words)
    return agent.guarded(lambda: _run(options))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent setup",
        description=say("setup_about"),
        epilog=say("epilog_setup"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--provider", metavar="NAME", help=say("setup_provider"))
    add("--base-url", metavar="URL", help=say("setup_base_url"))
    add("--api", choices=("openai-chat", "anthropic-messages"), help=say("setup_api"))
    add("--model-file", metavar="FILE", help=say("setup_model_file"))
    add("--model", metavar="MODEL", help=say("setup_model"))
    keys = parser.add_mutually_exclusive_group()
    keys.add_argument("--key-env", metavar="VARIABLE", help=say("setup_key_env"))
    keys.add_argument("--key-stdin", action="store_true", help=say("setup_key_stdin"))
    add("--no-check", action="store_true", help=say("setup_no_check"))
    add("--yes", action="store_true", help=say("setup_yes"))
    return parser


def _run(options: argparse.Namespace) -> int:
    home = locate.home()
    known = settings.load(home)
    asks = not options.yes and not options.key_stdin and sys.stdin.isatty()
    # Where stdout goes to a file, questions must not.
    terminal = Terminal(sys.stdout if sys.stdout.isatty() or not asks else sys.stderr)
    try:
        saving.rehearse(home)
        if saving.make_private(home):
            path = short_path(locate.credentials_file(home))
            terminal.line(say("setup_was_open", path=path), "yellow")
        choice = _choice(options, known)
        if asks:
            Wizard(Asker(terminal), known, choice, options.no_check).run()
        else:
            _decide(choice, home, Trial(terminal, options.no_check))
    except (GaveUp, CannotHide, ProviderFault, Unchangeable) as reason:
        return _not_done(reason)
    except KeyboardInterrupt:
        terminal.gap(0)
        return complain(say("setup_interrupted"), CANCELLED)
    try:
        _write(home, choice)
    except Unchangeable as reason:
        return _not_done(reason)
    _say_what_is_done(terminal, home, choice)
    return OK


def _not_done(reason: Exception) -> int:
    if isinstance(reason, CannotHide):
        text = say("setup_no_hiding")
        return complain(say("setup_hides", text=text), USAGE)
    if isinstance(reason, Unchangeable):
        files = say("setup_unsafe")
        return complain(say("setup_by_hand", files=files, reason=spoken(told(reason))), USAGE)
    if isinstance(reason, ProviderFault):
        return complain(say("setup_untried", reason=spoken(reason.message)), FAILED)
    return complain(say("setup_given_up"), FAILED)


def _choice(options: argparse.Namespace, known: Settings) -> Choice:
    """What the options say. Raises `UsageError`."""
    choice = Choice()
    if options.model_file is not None:
        if options.base_url or options.api or options.model or options.key_env or options.key_stdin:
            raise UsageError(say("setup_alone"))
        choose_file(choice, options.provider or "pocket", options.model_file, known)
        return choice
    if options.provider is not None or options.base_url is not None:
        choose_provider(choice, options.provider or "custom", known, options.base_url, options.api)
    elif options.api is not None or options.model is not None:
        raise UsageError(say("setup_need_provider"))
    choice.model = options.model
    if options.key_env:
        choice.key = _given_key(os.environ.get(options.key_env, ""), f"${options.key_env}")
        choice.variable = choice.variable or options.key_env
    elif options.key_stdin and sys.stdin.isatty():
        raise UsageError(say("setup_pipe"))
    elif options.key_stdin:
        choice.key = _given_key(sys.stdin.readline(), say("setup_what_came"))
    return choice


def _given_key(text: str, where: str) -> Secret:
    key = saving.as_key(text)
    if key is None:
        code = "setup_no_key_there" if text.strip() else "setup_empty_key"
        raise UsageError(say(code, where=where))
    return key


def _decide(choice: Choice, home: str, trial: Trial) -> None:
    """Everything without asking. Raises `UsageError`, `ProviderFault`."""
    if not choice.name:
        raise UsageError(say("setup_nobody"))
    if choice.model_file is not None:
        trial.read_file(choice)
        return
    key = choice.find_key(home)
    if choice.needs_key and key is None:
        raise UsageError(say("setup_needs_key", name=choice.name))
    trial.list_models(choice, key)
    if choice.model is None:
        names = choice.ranked()
        if not names or (len(names) > 1 and names[0] not in choice.suggested):
            code = "setup_name_model_such" if names else "setup_name_model"
            raise UsageError(say(code, names=", ".join(names[:10])))
        choice.model = names[0]
    trial.speak(choice, key)


def _write(home: str, choice: Choice) -> None:
    """The key first: an agent that finds the new provider finds its key too."""
    if choice.key is not None:
        saving.save_key(home, choice.name, choice.key)
    saving.save_settings(home, choice.changes())


def _say_what_is_done(terminal: Terminal, home: str, choice: Choice) -> None:
    key = choice.find_key(home)
    terminal.gap(1)
    if choice.key is not None:
        _done(terminal, say("setup_key_in", path=short_path(locate.credentials_file(home))))
    elif key is not None and os.environ.get(choice.variable or "", "").strip() == key.reveal():
        _done(terminal, say("setup_key_from", name=choice.variable))
    what = say("setup_start") if choice.is_default else say("setup_usable")
    config = short_path(locate.config_file(home))
    _done(terminal, say("setup_done", model=f"{choice.name}/{choice.model}", what=what, path=config))
    if choice.key is not None and other_key_in(choice.variable, choice.key):
        text = say("setup_other_key", name=choice.variable)
        terminal.say(text, "yellow")
    terminal.gap(1)
    terminal.line(say("setup_try"))
    terminal.line(say("setup_editor"))


def _done(terminal: Terminal, text: str) -> None:
    terminal.write(terminal.sign("✓"), "green")
    terminal.say(f" {text}")
    terminal.line()
