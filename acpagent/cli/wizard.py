"""The questions of `acpagent setup`, in the order in which their answers are needed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from acpagent.cli.agent import UsageError
from acpagent.cli.asker import Asker, GaveUp
from acpagent.cli.choice import Choice, choose_file, choose_provider, is_local, known_providers, move, valid_address
from acpagent.cli.trial import Trial
from acpagent.config import saving
from acpagent.config.credentials import Secret
from acpagent.config.settings import Settings
from acpagent.core.model import ProviderFault

_SHOWN = 20  # models listed at once
_APIS = (
    ("openai-chat", "chat completions, as nearly all do"),
    ("anthropic-messages", "messages as Anthropic does"),
)
_FILE_NAME = "pocket"  # of the provider
_AGAIN, _KEY, _ADDRESS, _MODEL, _FILE, _UNTRIED, _STOP = "again", "key", "address", "model", "file", "untried", "stop"
_WAYS = {
    _AGAIN: "try again",
    _KEY: "type the key",
    _ADDRESS: "change the address",
    _MODEL: "choose another model",
    _FILE: "choose another file",
    _UNTRIED: "write it down all the same",
    _STOP: "give up, and change nothing",
}


class Wizard:
    """Completes a choice at the terminal. Raises `GaveUp`, `CannotHide`, `ConfigError`."""

    def __init__(self, asker: Asker, known: Settings, choice: Choice, untried: bool) -> None:
        self._asker = asker
        self._terminal = asker.terminal
        self._known = known
        self._choice = choice
        self._trial = Trial(self._terminal, untried)

    def run(self) -> None:
        """Ask until everything is known and works, or the person wants it as it is."""
        choice = self._choice
        if not choice.name:
            self._provider()
        if choice.model_file is not None:
            while not self._read():
                pass
            self._default()
            return
        if choice.key is None and (choice.variable or not self._is_keyless(choice.name)):
            self._key()
        while not self._listed():
            pass
        while choice.model is None or not self._spoken():
            if choice.model is None:
                self._model()
        self._default()

    # -- the provider

    def _provider(self) -> None:
        self._terminal.gap(1)
        self._terminal.line("Where does the model come from?", "bold")
        self._terminal.line()
        presets = known_providers()
        rows = [(name, self._about(name, preset)) for name, preset in presets.items()]
        rows += [(name, self._about(name, {})) for name in self._known.providers if self._is_own(name, presets)]
        others = {
            "other": ("any other server with an API like OpenAI's or Anthropic's", self._other),
            "file": ("a model in a GGUF file on this machine, which acpagent runs itself", self._file),
        }
        rows += [(name, about) for name, (about, _) in others.items()]
        place = self._asker.choose(rows, "Number or name")
        if place >= len(rows) - len(others):
            others[rows[place][0]][1]()
        else:
            choose_provider(self._choice, rows[place][0], self._known)
            if is_local(self._choice.host):
                self._address()

    def _is_own(self, name: str, presets: Mapping[str, Any]) -> bool:
        return name not in presets and self._known.providers[name].base_url is not None

    def _is_keyless(self, name: str) -> bool:
        """Whether it is known of a server that it usually takes no key."""
        preset = known_providers().get(name)
        return preset is not None and "api_key_env" not in preset

    def _about(self, name: str, preset: Mapping[str, Any]) -> str:
        there = self._known.providers.get(name)
        address: str = (there.base_url if there else None) or preset.get("base_url", "")
        host = address.partition("://")[2].partition("/")[0]
        title = f"{preset['title']}, " if preset.get("title", name) != name else ""
        keyless = "" if preset.get("api_key_env") or (there and there.api_key_env) else ", no key"
        return f"{title}{host}{keyless if is_local(host) else ''}{', configured' if there else ''}"

    def _other(self) -> None:
        """A server of the person's own, or one that nobody here has heard of."""
        address = self._ask_address("Address of its API, such as http://127.0.0.1:8080/v1")
        api = _APIS[self._asker.choose(_APIS, "What does it speak? Number", 0)][0]
        while True:
            name = self._asker.line("A name for it", _name_of(address))
            try:
                choose_provider(self._choice, name, self._known, address, api)
                return
            except UsageError as wrong:
                self._terminal.line(f"  {wrong}", "yellow")

    def _file(self) -> None:
        """A model without any server."""
        while True:
            path = self._asker.line("The model's GGUF file", self._choice.model_file or "")
            try:
                choose_file(self._choice, self._choice.name or _FILE_NAME, path, self._known)
                return
            except UsageError as wrong:
                self._terminal.line(f"  {wrong}", "yellow")

    def _address(self) -> None:
        move(self._choice, self._ask_address("Address", self._choice.base_url), self._known)

    def _ask_address(self, question: str, default: str = "") -> str:
        while True:
            try:
                return valid_address(self._asker.line(question, default))
            except UsageError as wrong:
                self._terminal.line(f"  {wrong}", "yellow")

    # -- the key

    def _key(self) -> None:
        """Ask for a key where one is needed, or may be. One that is there may be kept, but what comes from a variable
        is stored: an editor may not have that variable."""
        choice = self._choice
        there = choice.find_key(self._known.home)
        in_variable = there is not None and os.environ.get(choice.variable or "", "").strip() == there.reveal()
        hint = "what you type is not shown"
        if there is not None:
            hint = f"Enter takes the one in ${choice.variable}" if in_variable else "Enter keeps the stored one"
        elif not choice.needs_key:
            hint += "; Enter for none"
        choice.key = self._ask_key(hint, there is None and choice.needs_key) or (there if in_variable else None)

    def _ask_key(self, hint: str, must: bool = True) -> Secret | None:
        while True:
            typed = self._asker.hidden(f"Key for {self._choice.name} ({hint})")
            key = saving.as_key(typed)
            if typed and key is None:
                self._terminal.line("  That is no key: it must be printable ASCII without spaces.", "yellow")
            elif key is not None or not must:
                return key
            else:
                self._terminal.line("  Nothing came. Ctrl-D gives up.", "yellow")

    # -- trying it out

    def _read(self) -> bool:
        try:
            self._trial.read_file(self._choice)
            return True
        except ProviderFault:
            return self._way_out((_AGAIN, _FILE, _UNTRIED, _STOP))

    def _listed(self) -> bool:
        """Whether it is known what models there are, or nobody minds."""
        try:
            self._trial.list_models(self._choice, self._choice.find_key(self._known.home))
            return True
        except ProviderFault as fault:
            ways = (_KEY, _ADDRESS) if fault.kind == "auth" else (_AGAIN, _ADDRESS)
            return self._way_out((*ways, _UNTRIED, _STOP))

    def _spoken(self) -> bool:
        try:
            self._trial.speak(self._choice, self._choice.find_key(self._known.home))
            return True
        except ProviderFault as fault:
            ways = (_KEY, _MODEL) if fault.kind == "auth" else (_AGAIN, _MODEL)
            return self._way_out((*ways, _UNTRIED, _STOP))

    def _way_out(self, ways: tuple[str, ...]) -> bool:
        """What to do about a failure; True if nothing."""
        way = ways[self._asker.choose([(_WAYS[way], "") for way in ways])]
        if way == _STOP:
            raise GaveUp
        if way == _KEY:
            self._choice.key = self._ask_key("what you type is not shown")
        elif way == _ADDRESS:
            self._address()
        elif way == _FILE:
            self._file()
        elif way == _MODEL:
            self._choice.model = None
        elif way == _UNTRIED:
            self._trial = Trial(self._terminal, skip=True)
        return way == _UNTRIED

    # -- the model

    def _model(self) -> None:
        """A number or a name; a part of names narrows the list."""
        names = self._choice.ranked()
        if not names:
            self._choice.model = self._asker.line("Model, by the name that the server knows it under")
            return
        shown, listed = names, [offer.name for offer in self._choice.listing.offers]
        while self._choice.model is None:
            self._show(shown, len(names))
            answer = self._asker.line("Model: number, name, or part of a name", "1")
            place = int(answer) - 1 if answer.isascii() and answer.isdigit() and len(answer) < 6 else -1
            narrower = [name for name in names if answer.lower() in name.lower()]
            if 0 <= place < len(shown):
                self._choice.model = shown[place]
            elif answer in names or answer in listed:
                self._choice.model = answer
            elif narrower:
                shown = narrower
            elif not listed or self._asker.yes(f"The server lists no {answer}. Take it all the same?", False):
                self._choice.model = answer

    def _show(self, names: list[str], of: int) -> None:
        self._terminal.gap(0)
        for number, name in enumerate(names[:_SHOWN], 1):
            self._terminal.line(f"  {number:>3}  {name}")
        if len(names) > _SHOWN:
            self._terminal.line(f"       and {len(names) - _SHOWN} more", "dim")
        elif len(names) < of:
            self._terminal.line(f"       {len(names)} of {of}", "dim")

    def _default(self) -> None:
        now = self._known.default_model
        name = f"{self._choice.name}/{self._choice.model}"
        if now and now != name:
            self._choice.is_default = self._asker.yes(f"Start sessions with {name} from now on, instead of {now}?")


def _name_of(address: str) -> str:
    """A short name for a server."""
    host = address.partition("://")[2].partition("/")[0]
    labels = re.sub(r":\d+$", "", host).split(".")
    if is_local(host):
        return "local"
    return labels[-2] if len(labels) > 1 and not labels[-1].isdigit() else "custom"
