"""The home folder and what the person wrote there: configuration and keys."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator

from acpagent.cli.checks.finding import Case, Finding, fail, ok, warn
from acpagent.cli.terminal import short_path
from acpagent.config import credentials, locate, settings
from acpagent.config.problems import ConfigError
from acpagent.config.settings import ProviderSettings

SETUP = "run `acpagent setup`"
_ELSEWHERE = "make it writable for you, or choose another folder with ACPAGENT_HOME"


def home(case: Case) -> Iterator[Finding]:
    shown = short_path(case.home)
    place = case.home
    while not os.path.lexists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            _lock(file.fileno())
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            yield fail("home", f"{shown}: files cannot be locked there", "choose a local folder with ACPAGENT_HOME")
        else:
            yield fail("home", f"{shown} cannot be written ({error.strerror})", _ELSEWHERE)
        return
    if place != case.home:
        yield ok("home", f"{shown} (not there yet; it is made when needed)")
    elif os.stat(case.home).st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield warn("home", f"{shown} can be changed by other users", f"run: chmod go-w '{case.home}'")
    else:
        yield ok("home", shown)


def _lock(descriptor: int) -> None:
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def config(case: Case) -> Iterator[Finding]:
    path = locate.config_file(case.home)
    try:
        case.settings = found = settings.load(case.home)
    except ConfigError as error:
        for problem in error.problems:
            place = f"{short_path(path)}{'' if problem.line is None else f':{problem.line}'}"
            yield fail("config", f"{place}: {problem.what}", problem.remedy)
        return
    if not found.models:
        there = "names no model" if os.path.exists(path) else "is not there"
        yield fail("config", f"{short_path(path)} {there}", SETUP)
        return
    models, providers = len(found.models), len(found.providers)
    counts = f"{models} model{'s' * (models != 1)} of {providers} provider{'s' * (providers != 1)}"
    yield ok("config", f"{short_path(path)}: {counts}; sessions start with {found.model().id}")


def keys(case: Case) -> Iterator[Finding]:
    """The credentials file, and each provider's key."""
    path = locate.credentials_file(case.home)
    try:
        stored = credentials.read_file(path)
    except ConfigError as error:
        yield from (fail("credentials", problem.what, problem.remedy) for problem in error.problems)
        return
    if stored:
        yield ok("credentials", f"{short_path(path)}, which only you can read")
    if case.settings is None:
        return
    for name in stored:
        if name not in case.settings.providers:
            text = f"{short_path(path)} has a key for {name}, which config.yaml does not know"
            names = ", ".join(case.settings.providers) or "none"
            yield warn("credentials", text, f"correct the name, or remove the line; providers are {names}")
    for provider in case.settings.providers.values():
        yield from _key(case, provider, provider.name in stored)


def _key(case: Case, provider: ProviderSettings, stored: bool) -> Iterator[Finding]:
    subject, variable = f"key {provider.name}", provider.api_key_env
    if provider.base_url is None or (variable is None and not stored):
        return
    try:
        key = credentials.find_key(case.home, provider)
    except ConfigError as error:
        yield fail(subject, error.problems[0].what, error.problems[0].remedy)
        return
    in_variable = bool(variable and os.environ.get(variable, "").strip())
    if key is None:
        make = fail if is_default(case, provider) else warn
        yield make(subject, f"there is none: ${variable} is not set, and none is stored", SETUP)
    elif in_variable and stored and credentials.read_file(locate.credentials_file(case.home))[provider.name] != key:
        text = f"${variable} holds another key than the one that is stored, and wins"
        yield warn(subject, text, f"unset {variable}, or {SETUP}")
    elif in_variable and not stored:
        yield ok(subject, f"from ${variable}; an editor needs that variable too, or {SETUP} to store the key")
    else:
        yield ok(subject, "stored")


def is_default(case: Case, provider: ProviderSettings) -> bool:
    """Whether sessions start with a model of this provider."""
    return case.settings is not None and case.settings.model().provider == provider.name
