"""The providers: whether each can be reached, takes its key, and has the models that are configured."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

from acpagent.cli.checks.finding import Case, Finding, fail, ok, warn
from acpagent.cli.checks.house import is_default
from acpagent.cli.spoken import say, spoken
from acpagent.config import credentials
from acpagent.config.problems import ConfigError
from acpagent.config.settings import ProviderSettings
from acpagent.core.model import ProviderFault
from acpagent.core.phrases import told
from acpagent.providers import base, probe
from acpagent.providers.failures import cause


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
    subject = say("check_provider", name=provider.name)
    if provider.base_url is None:
        yield _local(subject, provider)
        return
    if case.offline:
        yield ok(subject, say("check_not_asked", address=provider.base_url))
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
        advice = "remedy_setup" if fault.kind == "auth" else f"check_advice_{fault.kind}"
        yield make(subject, spoken(cause(fault.message)), say(advice))
        return
    if probe.tidy(listing.base_url) != probe.tidy(provider.base_url):
        advice = say("check_write_address", name=provider.name)
        yield make(subject, say("check_api_at", address=listing.base_url), advice)
        return
    yield ok(subject, say("check_answers_key" if key else "check_answers", address=provider.base_url))
    yield from _known(provider, {offer.name for offer in listing.offers})


def _known(provider: ProviderSettings, listed: set[str]) -> Iterator[Finding]:
    if not listed:
        return
    for name, model in provider.models.items():
        if name in listed or f"{name}:latest" in listed:
            yield ok(say("check_model", name=model.id), say("check_offered"))
        else:
            near = ", ".join(sorted(listed)[:5]) + (", ..." if len(listed) > 5 else "")
            yield warn(say("check_model", name=model.id), say("check_unlisted"), say("check_lists", names=near))


def _local(subject: str, provider: ProviderSettings) -> Finding:
    """A provider that needs no network: a script, or a model in a file."""
    path = provider.model_file
    if path is not None and not os.path.isfile(path):
        return fail(subject, say("check_no_file", path=path), say("check_file_remedy"))
    try:
        base.build(provider, next(iter(provider.models.values()))).close()
    except ConfigError as error:
        return fail(subject, error.problems[0].what, error.problems[0].remedy)
    except (ImportError, ProviderFault) as error:
        return fail(subject, say("check_unusable", cause=spoken(told(error))), say("check_install_local"))
    return ok(subject, path or say("check_script", name=provider.script))
