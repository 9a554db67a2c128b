"""Taking secrets out of what is shown or sent to somebody: by their place in the settings, by value, and by shape."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from acpagent.config import credentials, document, locate
from acpagent.config.problems import ConfigError

HIDDEN = "[hidden]"
_SHORTEST = 6  # a shorter secret is a word like any other
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|PRIVATE", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|ghp|gho|ghu|ghs|github_pat|glpat|hf|AKIA|AIza)[-_]?[A-Za-z0-9][A-Za-z0-9._-]{12,}"
    r"|(?<=Bearer )[!-~]{6,}|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*"
)
# Settings whose texts are never needed to understand a problem.
_SECRET_SETTINGS = frozenset({"headers", "env", "args"})
_ADDRESSES = frozenset({"base_url", "url"})


class Redactor:
    """Hides every secret that this machine's acpagent could know: keys in the credentials file, variables that look
    like secrets, headers and environments in the configuration. The person's name and machine are hidden, too."""

    def __init__(self, home: str) -> None:
        found = {text for text in _known(home) if len(text) >= _SHORTEST}
        spelled = found | {json.dumps(text)[1:-1] for text in found}
        self._secrets = sorted(spelled, key=len, reverse=True)
        self._person = os.path.expanduser("~")
        self._machine = re.compile(rf"\b{re.escape(socket.gethostname())}\b")

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return _SHAPES.sub(HIDDEN, text)

    def anonymous(self, text: str) -> str:
        """The same, without the person's home folder and the machine's name."""
        text = self(text)
        if len(self._person) > 1:
            text = re.sub(rf"{re.escape(self._person)}(?![\w.-])", "~", text)
        return self._machine.sub("HOST", text)


def redacted(settings: Any, key: str = "") -> Any:
    """A copy of the configuration without what may be secret; its form stays."""
    if isinstance(settings, Mapping):
        hide = key in _SECRET_SETTINGS
        return {name: HIDDEN if hide else redacted(value, name) for name, value in settings.items()}
    if isinstance(settings, list):
        return [HIDDEN if key in _SECRET_SETTINGS else redacted(item) for item in settings]
    if key in _ADDRESSES and isinstance(settings, str):
        return re.sub(r"(?<=://)[^/@]*@|[?#].*", "", settings)
    return settings


def _known(home: str) -> Iterator[str]:
    yield from (text.strip() for name, text in os.environ.items() if _NAMES.search(name))
    try:
        yield from (key.reveal() for key in credentials.read_file(locate.credentials_file(home)).values())
    except ConfigError:
        yield from _anything_in(locate.credentials_file(home))
    try:
        settings = document.read(locate.config_file(home)).value
    except (ConfigError, OSError):
        yield from _anything_in(locate.config_file(home), r"[!-~]{16,}")
        return
    yield from _texts(settings)
    for provider in _mappings(settings, "providers"):
        name = provider.get("api_key_env")
        if isinstance(name, str):
            yield os.environ.get(name, "").strip()


def _texts(settings: Any, key: str = "") -> Iterator[str]:
    """Everything in the configuration that `redacted` hides."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if key in _SECRET_SETTINGS:
                yield str(value)
                yield from str(value).split()  # `Bearer KEY` without its first word
            else:
                yield from _texts(value, name)
    elif isinstance(settings, list):
        for item in settings:
            if key in _SECRET_SETTINGS:
                yield str(item)
            else:
                yield from _texts(item)


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
