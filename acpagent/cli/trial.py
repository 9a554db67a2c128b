"""Trying out what was chosen, with a line on the terminal for each step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from acpagent.cli.choice import Choice, is_local
from acpagent.cli.spoken import say, spoken
from acpagent.cli.terminal import Terminal, short_path
from acpagent.config.credentials import Secret
from acpagent.config.problems import ConfigError
from acpagent.config.settings import ModelSettings
from acpagent.core.model import ProviderFault
from acpagent.providers import base, probe
from acpagent.providers.failures import cause
from acpagent.providers.probe import Listing

T = TypeVar("T")

# Failures of a call that only happen to somebody whose key and model are right.
_PASSABLE = ("payment", "rate")


class Trial:
    """Asks the provider; both steps raise `ProviderFault`, told on the terminal already. `skip`: asks nothing."""

    def __init__(self, terminal: Terminal, skip: bool = False) -> None:
        self._terminal = terminal
        self._skip = skip

    def list_models(self, choice: Choice, key: Secret | None) -> None:
        """Find out what models there are. An address that lacks its usual end is completed."""
        choice.listing = Listing(choice.base_url)
        if self._skip:
            return
        listing = self._step(
            say("setup_asking", host=choice.host), choice, key, lambda: probe.list_models(choice.settings(), key)
        )
        if listing.base_url != choice.base_url:
            self._terminal.line(say("setup_api_at", address=listing.base_url))
            choice.base_url = listing.base_url
        choice.listing = listing

    def read_file(self, choice: Choice) -> None:
        """Look at a model file, and whether what runs it is there."""
        if not self._skip:
            model = ModelSettings(choice.name, choice.model or "")
            self._step(
                say("setup_reading", path=short_path(choice.model_file or "")),
                choice,
                None,
                lambda: _read(choice, model),
            )

    def speak(self, choice: Choice, key: Secret | None) -> None:
        """Call the model, where the list has not shown already that all is well."""
        listed = any(offer.name == choice.model for offer in choice.listing.offers)
        if self._skip or (listed and (key is None or choice.listing.proves_key)):
            return
        model = ModelSettings(choice.name, choice.model or "")
        try:
            self._step(
                say("setup_trying", model=choice.model), choice, key, lambda: probe.speak(choice.settings(), model, key)
            )
        except ProviderFault as fault:
            if fault.kind not in _PASSABLE:
                raise

    def _step(self, what: str, choice: Choice, key: Secret | None, work: Callable[[], T]) -> T:
        terminal, began = self._terminal, time.monotonic()
        terminal.write(f"{what} ... ")
        try:
            result = work()
        except ProviderFault as fault:
            said = told(fault, choice, key)
            passable = fault.kind in _PASSABLE
            terminal.line("!" if passable else terminal.sign("✗"), "yellow" if passable else "red")
            end = "" if said.message.endswith("?") else "."
            terminal.say(f"{said.message[:1].upper()}{said.message[1:]}{end}", "yellow" if passable else "red")
            terminal.gap(1)
            raise said from None
        except BaseException:
            terminal.line()
            raise
        count = len(result.offers) if isinstance(result, Listing) else 0
        about = say("trial_models", count=count) if count else ""
        terminal.line(f"{terminal.sign('✓')} {about}{time.monotonic() - began:.1f} s", "green")
        return result


def _read(choice: Choice, model: ModelSettings) -> None:
    try:
        base.build(choice.settings(), model).close()
    except ConfigError as error:
        problem = error.problems[0]
        said = say("trial_problem", what=spoken(problem.what), remedy=spoken(problem.remedy))
        raise ProviderFault("broken", said) from None


def told(fault: ProviderFault, choice: Choice, key: Secret | None) -> ProviderFault:
    """A failure in words that fit here: what to do about a key is what `setup` is about to ask."""
    if fault.kind == "auth":
        text = say("setup_key_refused", host=choice.host) if key else say("setup_key_wanted", host=choice.host)
    else:
        text = spoken(cause(fault.message))
    if fault.kind == "unavailable":
        online = say("setup_online")
        text = say("trial_advice", text=text, advice=say("setup_running") if is_local(choice.host) else online)
    return ProviderFault(fault.kind, text)
