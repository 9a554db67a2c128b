"""The questions of `acpagent setup`, in the order in which their answers are needed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from acpagent.cli.agent import UsageError
from acpagent.cli.asker import Asker, GaveUp
from acpagent.cli.choice import Choice, choose_file, choose_provider, is_local, known_providers, move, valid_address
from acpagent.cli.spoken import say
from acpagent.cli.trial import Trial
from acpagent.config import saving
from acpagent.config.credentials import Secret
from acpagent.config.settings import Settings
from acpagent.core.model import ProviderFault

_SHOWN = 20  # models listed at once
_APIS = (
    ("openai-chat", "setup_api_chat"),
    ("anthropic-messages", "setup_api_messages"),
)
_FILE_NAME = "pocket"  # of the provider
_AGAIN, _KEY, _ADDRESS, _MODEL, _FILE, _UNTRIED, _STOP = "again", "key", "address", "model", "file", "untried", "stop"


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
        self._terminal.line(say("setup_where"), "bold")
        self._terminal.line()
        presets = known_providers()
        rows = [(name, self._about(name, preset)) for name, preset in presets.items()]
        rows += [(name, self._about(name, {})) for name in self._known.providers if self._is_own(name, presets)]
        others = {
            "other": (say("setup_other"), self._other),
            "file": (say("setup_gguf"), self._file),
        }
        rows += [(name, about) for name, (about, _) in others.items()]
        place = self._asker.choose(rows, say("setup_number"))
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
        about = f"{title}{host}"
        if is_local(host) and not (preset.get("api_key_env") or (there and there.api_key_env)):
            about = say("setup_title_key", about=about)
        return say("setup_title_there", about=about) if there else about

    def _other(self) -> None:
        """A server of the person's own, or one that nobody here has heard of."""
        address = self._ask_address(say("setup_address"))
        api = _APIS[self._asker.choose([(name, say(code)) for name, code in _APIS], say("setup_speaks"), 0)][0]
        while True:
            name = self._asker.line(say("setup_name"), _name_of(address))
            try:
                choose_provider(self._choice, name, self._known, address, api)
                return
            except UsageError as wrong:
                self._terminal.line(f"  {wrong}", "yellow")

    def _file(self) -> None:
        """A model without any server."""
        while True:
            path = self._asker.line(say("setup_file"), self._choice.model_file or "")
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
        hint = say("setup_hidden")
        if there is not None:
            hint = say("setup_takes", name=choice.variable) if in_variable else say("setup_keeps")
        elif not choice.needs_key:
            hint += say("setup_enter_none")
        choice.key = self._ask_key(hint, there is None and choice.needs_key) or (there if in_variable else None)

    def _ask_key(self, hint: str, must: bool = True) -> Secret | None:
        while True:
            typed = self._asker.hidden(say("setup_key", name=self._choice.name, hint=hint))
            key = saving.as_key(typed)
            if typed and key is None:
                self._terminal.line(say("setup_no_key"), "yellow")
            elif key is not None or not must:
                return key
            else:
                self._terminal.line(say("setup_nothing_came"), "yellow")

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
        way = ways[self._asker.choose([(say(f"setup_way_{way}"), "") for way in ways])]
        if way == _STOP:
            raise GaveUp
        if way == _KEY:
            self._choice.key = self._ask_key(say("setup_hidden"))
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
            self._choice.model = self._asker.line(say("setup_model_name"))
            return
        shown, listed = names, [offer.name for offer in self._choice.listing.offers]
        while self._choice.model is None:
            self._show(shown, len(names))
            answer = self._asker.line(say("setup_model_pick"), "1")
            place = int(answer) - 1 if answer.isascii() and answer.isdigit() and len(answer) < 6 else -1
            narrower = [name for name in names if answer.lower() in name.lower()]
            if 0 <= place < len(shown):
                self._choice.model = shown[place]
            elif answer in names or answer in listed:
                self._choice.model = answer
            elif narrower:
                shown = narrower
            elif not listed or self._asker.yes(say("setup_unlisted", name=answer), False):
                self._choice.model = answer

    def _show(self, names: list[str], of: int) -> None:
        self._terminal.gap(0)
        for number, name in enumerate(names[:_SHOWN], 1):
            self._terminal.line(f"  {number:>3}  {name}")
        if len(names) > _SHOWN:
            self._terminal.line(say("setup_more", count=len(names) - _SHOWN), "dim")
        elif len(names) < of:
            self._terminal.line(say("setup_of", count=len(names), of=of), "dim")

    def _default(self) -> None:
        now = self._known.default_model
        name = f"{self._choice.name}/{self._choice.model}"
        if now and now != name:
            self._choice.is_default = self._asker.yes(say("setup_instead", name=name, now=now))


def _name_of(address: str) -> str:
    """A short name for a server."""
    host = address.partition("://")[2].partition("/")[0]
    labels = re.sub(r":\d+$", "", host).split(".")
    if is_local(host):
        return "local"
    return labels[-2] if len(labels) > 1 and not labels[-1].isdigit() else "custom"
