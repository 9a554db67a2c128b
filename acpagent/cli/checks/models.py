"""The providers: whether each can be reached, takes its key, and has the models that are configured."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

from acpagent.cli.checks.finding import Case, Finding, fail, ok, warn
from acpagent.cli.checks.house import SETUP, is_default
from acpagent.config import credentials
from acpagent.config.problems import ConfigError
from acpagent.config.settings import ProviderSettings
from acpagent.core.model import ProviderFault
from acpagent.providers import base, probe

_ADVICE = {
    "auth": SETUP,
    "payment": "look at the account at the provider",
    "rate": "wait a little",
    "unavailable": "is the server running, and this machine online? A proxy is set with HTTPS_PROXY",
    "rejected": "check base_url in config.yaml",
    "broken": "check base_url in config.yaml",
    "too_long": "check the model in config.yaml",
}


def providers(case: Case) -> Iterator[Finding]:
    """Each provider, all at the same time: the slowest decides how long it takes."""
    if case.settings is None or not case.settings.models:
        return
    asked = [_Asked(case, provider) for provider in case.settings.providers.values()]
    for one in asked:
        yield from one.found()


class _Asked:
    """One provider, on a daemon thread of its own: an interrupt waits for none of them."""

    def __init__(self, case: Case, provider: ProviderSettings) -> None:
        self._found: list[Finding] = []
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(case, provider), daemon=True)
        self._thread.start()

    def _run(self, case: Case, provider: ProviderSettings) -> None:
        try:
            self._found.extend(_provider(case, provider))
        except Exception as error:
            self._fault = error

    def found(self) -> list[Finding]:
        self._thread.join()
        if self._fault is not None:
            raise self._fault
        return self._found


def _provider(case: Case, provider: ProviderSettings) -> Iterator[Finding]:
    subject = f"provider {provider.name}"
    if provider.base_url is None:
        yield _local(subject, provider)
        return
    if case.offline:
        yield ok(subject, f"not asked (--offline): {provider.base_url}")
        return
    make = fail if is_default(case, provider) else warn
    try:
        key = credentials.find_key(case.home, provider)
        if key is None and provider.api_key_env:
            return  # told already, and not worth a call
        listing = probe.list_models(provider, key)
        if key is not None and not listing.proves_key and is_default(case, provider):
            probe.speak(provider, case.settings.model(), key)  # type: ignore[union-attr]
    except ConfigError:
        return  # told already
    except ProviderFault as fault:
        text, _, _ = fault.message.removeprefix(f"{provider.name}: ").partition("; ")
        yield make(subject, text, _ADVICE[fault.kind])
        return
    if probe.tidy(listing.base_url) != probe.tidy(provider.base_url):
        advice = f"write that as base_url of {provider.name} in config.yaml"
        yield make(subject, f"its API is at {listing.base_url}", advice)
        return
    yield ok(subject, f"{provider.base_url} answers{' and takes the key' if key else ''}")
    yield from _known(provider, {offer.name for offer in listing.offers})


def _known(provider: ProviderSettings, listed: set[str]) -> Iterator[Finding]:
    if not listed:
        return
    for name, model in provider.models.items():
        if name in listed or f"{name}:latest" in listed:
            yield ok(f"model {model.id}", "is offered")
        else:
            near = ", ".join(sorted(listed)[:5]) + (", ..." if len(listed) > 5 else "")
            yield warn(f"model {model.id}", "is not among those that the server lists", f"it lists {near}")


def _local(subject: str, provider: ProviderSettings) -> Finding:
    """A provider that needs no network: a script, or a model in a file."""
    path = provider.model_file
    if path is not None and not os.path.isfile(path):
        return fail(subject, f"there is no file {path}", "correct model_file in config.yaml")
    try:
        base.build(provider, next(iter(provider.models.values()))).close()
    except ConfigError as error:
        return fail(subject, error.problems[0].what, error.problems[0].remedy)
    except (ImportError, ProviderFault) as error:
        return fail(subject, f"cannot be used: {error}", "install what it needs: pip install 'acpagent[local]'")
    return ok(subject, path or f"plays the script {provider.script}; needs no network")
