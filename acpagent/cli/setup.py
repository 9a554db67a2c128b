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
from acpagent.cli.terminal import Terminal, short_path
from acpagent.cli.trial import Trial
from acpagent.cli.wizard import Wizard
from acpagent.config import locate, saving, settings
from acpagent.config.credentials import Secret
from acpagent.config.edit import Unchangeable
from acpagent.config.settings import Settings
from acpagent.core.model import ProviderFault

_NOTHING = "nothing was changed"
_EPILOG = """\
Asks for everything that no option says. What is in config.yaml stays there, comments included. The key goes into
credentials.yaml, which nobody but you can read; it is never an option itself, as others can see those.

In a script: acpagent setup --provider openai --model MODEL --key-env OPENAI_API_KEY --yes

exit codes: 0 all is written, 1 the provider cannot be used or nothing was wanted, 2 wrong usage or configuration,
130 interrupted; nothing was changed in all but the first case
"""


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = make_parser().parse_args(words)
    return agent.guarded(lambda: _run(options))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent setup",
        description="Choose a provider and a model, store the key, and see whether they work.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--provider", metavar="NAME", help="a known provider, or a name of yours for one at --base-url")
    add("--base-url", metavar="URL", help="where the provider's API is, such as http://127.0.0.1:8080/v1")
    add("--api", choices=("openai-chat", "anthropic-messages"), help="what it speaks (default: openai-chat)")
    add("--model-file", metavar="FILE", help="a model in a GGUF file, which acpagent runs itself")
    add("--model", metavar="MODEL", help="the model to start sessions with, by the provider's name for it")
    keys = parser.add_mutually_exclusive_group()
    keys.add_argument("--key-env", metavar="VARIABLE", help="store the key that is in this environment variable")
    keys.add_argument("--key-stdin", action="store_true", help="store the key that comes on stdin; asks nothing then")
    add("--no-check", action="store_true", help="do not try it out")
    add("--yes", action="store_true", help="ask nothing; take the default where there is one")
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
            terminal.line(f"! Other users could read {path}. Now only you can.", "yellow")
        choice = _choice(options, known)
        if asks:
            Wizard(Asker(terminal), known, choice, options.no_check).run()
        else:
            _decide(choice, home, Trial(terminal, options.no_check))
    except (GaveUp, CannotHide, ProviderFault, Unchangeable) as reason:
        return _not_done(reason)
    except KeyboardInterrupt:
        terminal.gap(0)
        return complain(f"interrupted; {_NOTHING}", CANCELLED)
    try:
        _write(home, choice)
    except Unchangeable as reason:
        return _not_done(reason)
    _say_what_is_done(terminal, home, choice)
    return OK


def _not_done(reason: Exception) -> int:
    if isinstance(reason, CannotHide):
        text = "this terminal cannot hide what is typed; give the key with --key-env or --key-stdin"
        return complain(f"{text}; {_NOTHING}", USAGE)
    if isinstance(reason, Unchangeable):
        files = "config.yaml or credentials.yaml cannot be changed safely"
        return complain(f"{files}: {reason}; write the provider into it yourself, see docs/configuration.md", USAGE)
    if isinstance(reason, ProviderFault):
        return complain(f"{reason.message}; {_NOTHING} (--no-check writes it untried)", FAILED)
    return complain(f"given up; {_NOTHING}", FAILED)


def _choice(options: argparse.Namespace, known: Settings) -> Choice:
    """What the options say. Raises `UsageError`."""
    choice = Choice()
    if options.model_file is not None:
        if options.base_url or options.api or options.model or options.key_env or options.key_stdin:
            raise UsageError("a --model-file takes no address, API, model or key")
        choose_file(choice, options.provider or "pocket", options.model_file, known)
        return choice
    if options.provider is not None or options.base_url is not None:
        choose_provider(choice, options.provider or "custom", known, options.base_url, options.api)
    elif options.api is not None or options.model is not None:
        raise UsageError("--api and --model need --provider")
    choice.model = options.model
    if options.key_env:
        choice.key = _given_key(os.environ.get(options.key_env, ""), f"${options.key_env}")
        choice.variable = choice.variable or options.key_env
    elif options.key_stdin and sys.stdin.isatty():
        raise UsageError("--key-stdin is for a pipe; what you type here could be seen. Leave it out to be asked")
    elif options.key_stdin:
        choice.key = _given_key(sys.stdin.readline(), "what came on stdin")
    return choice


def _given_key(text: str, where: str) -> Secret:
    key = saving.as_key(text)
    if key is None:
        what = "no key, which is printable ASCII without spaces" if text.strip() else "empty"
        raise UsageError(f"{where} is {what}")
    return key


def _decide(choice: Choice, home: str, trial: Trial) -> None:
    """Everything without asking. Raises `UsageError`, `ProviderFault`."""
    if not choice.name:
        raise UsageError("nobody can be asked here: name a --provider, its --model, and where the key is")
    if choice.model_file is not None:
        trial.read_file(choice)
        return
    key = choice.find_key(home)
    if choice.needs_key and key is None:
        raise UsageError(f"{choice.name} needs a key: say where it is with --key-env or --key-stdin")
    trial.list_models(choice, key)
    if choice.model is None:
        names = choice.ranked()
        if not names or (len(names) > 1 and names[0] not in choice.suggested):
            raise UsageError(f"name a --model{', such as ' + ', '.join(names[:10]) if names else ''}")
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
        _done(terminal, f"The key is in {short_path(locate.credentials_file(home))}, which only you can read.")
    elif key is not None and os.environ.get(choice.variable or "", "").strip() == key.reveal():
        _done(terminal, f"The key comes from ${choice.variable}, which your editor must have, too.")
    what = "is what sessions start with" if choice.is_default else "can be used"
    config = short_path(locate.config_file(home))
    _done(terminal, f"{choice.name}/{choice.model} {what}; the settings are in {config}")
    if choice.key is not None and other_key_in(choice.variable, choice.key):
        text = f"! ${choice.variable} holds another key here, and wins over the stored one wherever it is set."
        terminal.say(text, "yellow")
    terminal.gap(1)
    terminal.line('Try it:          acpagent run "What is this project about?"')
    terminal.line("In your editor:  acpagent editors")


def _done(terminal: Terminal, text: str) -> None:
    terminal.write(terminal.sign("✓"), "green")
    terminal.say(f" {text}")
    terminal.line()
