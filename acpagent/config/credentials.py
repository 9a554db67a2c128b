"""Keys of providers: where they come from, and how they are kept out of sight.

A key is looked up when it is needed and not kept, so that a corrected one is found by the next prompt.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from acpagent.config import document, locate
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.core.catalogue import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acpagent.config.settings import ProviderSettings


class Secret:
    """A text that no repr, str, format, log, traceback or pickle shows. `reveal()` gives it to its sender."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(...)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")


def find_key(home: str, provider: ProviderSettings, environ: Mapping[str, str] = os.environ) -> Secret | None:
    """The key of a provider: from the environment variable it names, else from the credentials file.

    None if there is no key, which is an error only if `provider.api_key_env` is set: a server of one's own
    needs none. Raises `ConfigError` if the credentials file cannot be used or the key cannot be sent.
    """
    if provider.base_url is None:
        return None
    variable = provider.api_key_env
    text = environ.get(variable, "").strip() if variable else ""
    if text:
        remedy = Phrase("remedy_key_alone")
        return _sendable(text, ConfigProblem(f"${variable}", None, Phrase("what_key_unsendable"), remedy))
    return read_file(locate.credentials_file(home)).get(provider.name)


def has_key(home: str, provider: ProviderSettings, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a call to the provider can be tried: it has its key, or asks for none. Raises as `find_key`."""
    needs_key = provider.base_url is not None and provider.api_key_env is not None
    return not needs_key or find_key(home, provider, environ) is not None


def read_file(path: str) -> dict[str, Secret]:
    """The credentials file as `{provider: key}`; empty if there is none. Raises `ConfigError`."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(document.unreadable(path, error)) from None
    if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        what = Phrase("what_open_mode", mode=f"{stat.S_IMODE(mode):04o}")
        raise ConfigError(ConfigProblem(path, None, what, Phrase("remedy_chmod", path=path)))
    page = document.read(path)
    keys: dict[str, Secret] = {}
    for provider, text in page.mapping().items():
        remedy = Phrase("remedy_credentials")
        wrong = page.problem((provider,), Phrase("what_key_unsendable"), remedy)
        if not isinstance(text, str):
            raise ConfigError(wrong)
        keys[provider] = _sendable(text.strip(), wrong)
    return keys


def _sendable(text: str, wrong: ConfigProblem) -> Secret:
    """A key goes into a header; a library that refuses the header would quote the key in its error."""
    if not text or not all("!" <= letter <= "~" for letter in text):
        raise ConfigError(wrong)
    return Secret(text)
