"""The home folder and what the person wrote there: configuration and keys."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator

from acpagent.cli.checks.finding import Case, Finding, fail, ok, warn
from acpagent.cli.spoken import say, spoken
from acpagent.cli.terminal import short_path
from acpagent.config import credentials, locate, settings
from acpagent.config.problems import ConfigError
from acpagent.config.settings import ProviderSettings
from acpagent.core.phrases import told


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
            yield fail("home", say("check_no_locks", path=shown), say("check_local_folder"))
        else:
            yield fail("home", say("check_unwritable", path=shown, cause=spoken(told(error))), say("check_elsewhere"))
        return
    if place != case.home:
        yield ok("home", say("check_home_later", path=shown))
    elif os.stat(case.home).st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield warn("home", say("check_open", path=shown), say("check_chmod", path=case.home))
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
            yield fail("config", f"{place}: {spoken(problem.what)}", problem.remedy)
        return
    if not found.models:
        there = say("check_no_models") if os.path.exists(path) else say("check_not_there")
        yield fail("config", f"{short_path(path)} {there}", say("remedy_setup"))
        return
    models, providers = len(found.models), len(found.providers)
    counts = say("check_counts", models=models, providers=providers)
    yield ok("config", say("check_start", path=short_path(path), counts=counts, model=found.model().id))


def keys(case: Case) -> Iterator[Finding]:
    """The credentials file, and each provider's key."""
    path = locate.credentials_file(case.home)
    try:
        stored = credentials.read_file(path)
    except ConfigError as error:
        yield from (fail("credentials", problem.what, problem.remedy) for problem in error.problems)
        return
    if stored:
        yield ok("credentials", say("check_private", path=short_path(path)))
    if case.settings is None:
        return
    for name in stored:
        if name not in case.settings.providers:
            text = say("check_stray_key", path=short_path(path), name=name)
            names = ", ".join(case.settings.providers) or say("check_none")
            yield warn("credentials", text, say("check_stray_remedy", names=names))
    for provider in case.settings.providers.values():
        yield from _key(case, provider, provider.name in stored)


def _key(case: Case, provider: ProviderSettings, stored: bool) -> Iterator[Finding]:
    subject, variable = say("check_key", name=provider.name), provider.api_key_env
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
        yield make(subject, say("check_no_key", name=variable), say("remedy_setup"))
    elif in_variable and stored and credentials.read_file(locate.credentials_file(case.home))[provider.name] != key:
        text = say("check_other_key", name=variable)
        yield warn(subject, text, say("check_unset", name=variable, remedy=say("remedy_setup")))
    elif in_variable and not stored:
        yield ok(subject, say("check_key_from", name=variable, remedy=say("remedy_setup")))
    else:
        yield ok(subject, say("check_stored"))


def is_default(case: Case, provider: ProviderSettings) -> bool:
    """Whether sessions start with a model of this provider."""
    return case.settings is not None and case.settings.model().provider == provider.name
