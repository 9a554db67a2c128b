"""The secrets that this machine's acpagent could know, and taking them out of text: by value, and by shape."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from acpagent.config import credentials, document, locate
from acpagent.config.problems import ConfigError

HIDDEN = "[hidden]"
# Settings whose texts are never needed to understand a problem.
SECRET_SETTINGS = frozenset({"headers", "env", "args"})
_SHORTEST = 6  # a shorter secret is a word like any other
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|PRIVATE", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|ghp|gho|ghu|ghs|github_pat|glpat|hf|AKIA|AIza)[-_]?[A-Za-z0-9][A-Za-z0-9._-]{12,}"
    r"|(?<=Bearer )[!-~]{6,}|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*"
)
# What is given a name that says it is secret: `API_KEY=...`, `"token": "..."`, `--password ...`.
_CALLED = r"(?:[\w-]*[_-])?(?:api_?key|key|token|secret|passw(?:or)?d|pwd|credentials?|authorization|cookie)"
_GIVEN = re.compile(
    rf"((?<![\w-])[\"']?{_CALLED}(?:[_-](?:id|key|value))?[\"']?\s*[=:]\s*(?:(?:bearer|basic|token)\s+)?[\"']?"
    rf"|--{_CALLED}\s+[\"']?)(?!\[hidden)([^\s\"'&;|,}}\]]{{6,}})",
    re.IGNORECASE,
)


class Secrets:
    """Hides every secret it was made with, and what looks like one."""

    def __init__(self, texts: Iterable[str]) -> None:
        found = {text for text in texts if len(text) >= _SHORTEST}
        spelled = found | {json.dumps(text)[1:-1] for text in found}
        self._secrets = sorted(spelled, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return _SHAPES.sub(HIDDEN, text)

    def strictly(self, text: str) -> str:
        """The same, without whatever is called a key, token or password, either."""
        return _GIVEN.sub(rf"\1{HIDDEN}", self(text))


def known(home: str, named: bool = False) -> Iterator[str]:
    """Every text that may be secret: keys in the credentials file, variables that look like secrets, headers and
    environments in the configuration. `named`: of the last two only what is called a secret, and no paths, so that
    what is left can still be understood."""
    variables = (text.strip() for name, text in os.environ.items() if _NAMES.search(name))
    yield from (text for text in variables if not (named and os.path.exists(text)))
    try:
        yield from (key.reveal() for key in credentials.read_file(locate.credentials_file(home)).values())
    except ConfigError:
        yield from _anything_in(locate.credentials_file(home))
    try:
        settings = document.read(locate.config_file(home)).value
    except (ConfigError, OSError):
        yield from _anything_in(locate.config_file(home), r"[!-~]{16,}")
        return
    yield from _texts(settings, named=named)
    for provider in _mappings(settings, "providers"):
        name = provider.get("api_key_env")
        if isinstance(name, str):
            yield os.environ.get(name, "").strip()


def _texts(settings: Any, key: str = "", named: bool = False) -> Iterator[str]:
    """Everything in the configuration that is to be hidden."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if key not in SECRET_SETTINGS:
                yield from _texts(value, name, named)
            elif not named or _NAMES.search(str(name)):
                yield str(value)
                yield from str(value).split()  # `Bearer KEY` without its first word
    elif isinstance(settings, list):
        for item in settings:
            if key not in SECRET_SETTINGS:
                yield from _texts(item, named=named)
            elif not named:
                yield str(item)


def _mappings(settings: Any, key: str) -> list[Mapping[str, Any]]:
    found = settings.get(key) if isinstance(settings, Mapping) else None
    return [one for one in found.values() if isinstance(one, Mapping)] if isinstance(found, Mapping) else []


def _anything_in(path: str, shape: str = r"[!-~]{6,}") -> Iterator[str]:
    """Every word of a file that cannot be read as what it should be: any could be a secret."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from (word.strip("'\",:[]{}") for word in re.findall(shape, file.read()))
    except OSError:
        return
