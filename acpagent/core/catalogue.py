"""Everything acpagent says to a person: one sentence per code and language, filled with parameters; nothing for the
model. The sentences are in `core.catalogues`; a code is in all of them, with the same parameters."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

ENGLISH = "en"
# What each language calls itself.
LANGUAGES: dict[str, str] = {"en": "English", "ru": "Русский", "zh": "简体中文"}


def say(code: str, params: Mapping[str, Any], language: str = ENGLISH) -> str:
    """The sentence for a code; a parameter that is a list holds codes of its own, said one after the other. A language
    that is not known is spoken in English. Raises KeyError for a code that is in no catalogue: our own mistake."""
    return _sentence(code, language).format_map({name: _said(value, language) for name, value in params.items()})


def knows(code: str) -> bool:
    """Whether there is anything to say for a code."""
    return code in sentences(ENGLISH)


@cache
def sentences(language: str) -> Mapping[str, str]:
    """All sentences of a language, loaded when it is first spoken."""
    found: Mapping[str, str] = importlib.import_module(f"acpagent.core.catalogues.{language}").SENTENCES
    return found


def _sentence(code: str, language: str) -> str:
    if language in LANGUAGES and code in (spoken := sentences(language)):
        return spoken[code]
    return sentences(ENGLISH)[code]


def _said(value: Any, language: str) -> Any:
    if not isinstance(value, list):
        return value
    return _sentence("between", language).join(_sentence(code, language) for code in value)
