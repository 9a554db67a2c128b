"""Writing `config.yaml` and `credentials.yaml` for the person who uses acpagent.

Both are the person's own files: what they say already stays as it is written, and a file that cannot be used is never
touched, only reported.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any

from acpagent.config import check, credentials, document, edit, locate
from acpagent.config.credentials import Secret
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.core import files
from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import told

if TYPE_CHECKING:
    from collections.abc import Mapping

_PRIVATE = 0o600
_ANY = "some-provider"
_ANY_SETTINGS: dict[str, Any] = {"default_model": _ANY, "providers": {_ANY: {"models": {_ANY: {}}}}}
_KEYS = "# Keys by the name of the provider in config.yaml. Nobody but you may read this file.\n"
_SETTINGS = "# Settings of acpagent. `acpagent setup` adds to them, and leaves alone what you write here.\n"


def save_settings(home: str, changes: Mapping[str, Any]) -> None:
    """Merge `changes` into config.yaml, and see to it that the outcome is a valid configuration.

    Raises `ConfigError`, also for a file that is wrong already or cannot be written; `Unchangeable`.
    """
    path = locate.config_file(home)
    resolved = _prepare(home, path)
    old = _read(resolved, path)
    if old is not None:
        check.check(document.read(path))
    data = files.encode(edit.merge(_SETTINGS if old is None else old.raw, changes), old)
    check.check(document.parse(path, data))
    _write(resolved, data, path, 0o666)


def rehearse(home: str) -> None:
    """See whether `save_settings` and `save_key` can work at all, before anybody is asked for what they take.

    Changes nothing. Raises `ConfigError`, `Unchangeable`.
    """
    place = home
    while not os.path.lexists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise _unwritable(home, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    if not os.access(place, os.W_OK | os.X_OK):
        raise _unwritable(home, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    for path, changes in ((locate.config_file(home), _ANY_SETTINGS), (locate.credentials_file(home), {_ANY: ""})):
        old = _read(os.path.realpath(path), path)
        if old is not None:
            document.read(path)
            edit.merge(old.raw, changes)


def as_key(text: str) -> Secret | None:
    """A key as it was typed or pasted; None if it cannot be one, as it could not be sent."""
    text = text.strip()
    return Secret(text) if text and all("!" <= letter <= "~" for letter in text) else None


def save_key(home: str, provider: str, key: Secret) -> None:
    """Store a provider's key in credentials.yaml, which is then readable by its owner alone.

    Raises `ConfigError`, which never holds the key; `Unchangeable`.
    """
    path = locate.credentials_file(home)
    resolved = _prepare(home, path)
    make_private(home)
    credentials.read_file(path)
    old = _read(resolved, path)
    text = edit.merge(_KEYS if old is None else old.raw, {provider: key.reveal()})
    _write(resolved, files.encode(text, old), path, _PRIVATE)


def make_private(home: str) -> bool:
    """Take from others what rights they have to the credentials file. Whether they had any. Raises `ConfigError`."""
    path = locate.credentials_file(home)
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) or not mode & (stat.S_IRWXG | stat.S_IRWXO):
            return False
        os.chmod(path, _PRIVATE)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unwritable(path, error) from None
    return True


def _prepare(home: str, path: str) -> str:
    """The file to write, its folder made. A link stays one: what it leads to changes."""
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
    except OSError as error:
        raise _unwritable(home, error) from None
    return os.path.realpath(path)


def _read(resolved: str, shown: str) -> files.TextFile | None:
    try:
        return files.read_text(resolved)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(document.unreadable(shown, error)) from None
    except files.NotText as problem:
        raise ConfigError(
            ConfigProblem(shown, None, Phrase("what_unreadable_said", cause=told(problem)), Phrase("remedy_text_file"))
        ) from None


def _write(resolved: str, data: bytes, shown: str, mode: int) -> None:
    try:
        files.write_bytes(resolved, data, mode)
    except OSError as error:
        raise _unwritable(shown, error) from None


def _unwritable(path: str, error: OSError) -> ConfigError:
    remedy = Phrase("remedy_writable")
    return ConfigError(ConfigProblem(path, None, Phrase("what_unwritable", cause=told(error)), remedy))
