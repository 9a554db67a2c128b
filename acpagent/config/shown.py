"""The settings in force as a person may see them: plain values, and nothing that could be secret."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from acpagent.config.redaction import HIDDEN, SECRET_SETTINGS
from acpagent.config.settings import Settings

# Where the key of the model in use is from.
Key = Literal["set", "missing", "unneeded"]
_SECRET_PARTS = re.compile(r"(?<=://)[^/@]*@|[?#].*")
# Said apart, for the model in use alone, or what is no setting.
_APART = frozenset({"home", "providers"})


@dataclass(frozen=True, slots=True)
class Shown:
    """`values` by their place in the file. `key_name` is the variable that the key is looked for in."""

    file: str
    values: tuple[tuple[str, str], ...]
    key: Key
    key_name: str = ""


def values(settings: Settings, model: str) -> tuple[tuple[str, str], ...]:
    """Everything that is set, and of the providers what belongs to `model` (`provider/model`)."""
    provider, _, name = model.partition("/")
    found = [
        pair for field in dataclasses.fields(settings) if field.name not in _APART for pair in _field(settings, field)
    ]
    used = settings.providers.get(provider)
    if used is not None:
        place = f"providers.{provider}"
        fields = [field for field in dataclasses.fields(used) if field.name not in ("name", "models")]
        found += [(f"{place}.{key}", text) for field in fields for key, text in _field(used, field)]
        if name in used.models:
            found += _walk(f"{place}.models.{name}", used.models[name])
    return tuple(found)


def _field(owner: Any, field: dataclasses.Field[Any]) -> Iterator[tuple[str, str]]:
    value = getattr(owner, field.name)
    if not field.repr or field.name in SECRET_SETTINGS:
        if value:
            yield field.name, HIDDEN
    else:
        yield from _walk(field.name, value)


def _walk(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            for name, text in _field(value, field):
                yield f"{place}.{name}", text
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _walk(f"{place}.{name}", inner)
    elif isinstance(value, list | tuple):
        if value:
            yield place, ", ".join(_plain(item) for item in value)
    elif value not in (None, ""):
        yield place, _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _SECRET_PARTS.sub("", str(value)) if "://" in str(value) else str(value)
