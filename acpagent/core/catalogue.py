"""Everything acpagent says to a person: one sentence per code and language, filled with parameters; nothing for the
model. The sentences are in `core.catalogues`; a code is in all of them, with the same parameters.

On the path to `initialize`, so nothing here imports much."""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Plain = str | float | list[str] | None  # what can be stored

ENGLISH = "en"
# What each language calls itself.
LANGUAGES: dict[str, str] = {"en": "English", "ru": "Русский", "zh": "简体中文"}
# The files of a language, each loaded when one of its codes, or of a file behind it, is first said: sessions and
# commands, calls and questions, what goes wrong, what is wrong with files, the terminal.
_PARTS = ("", "_calls", "_faults", "_files", "_terminal")


class Phrase(str):
    """A sentence for a person on its way, as its code and parameters. Whoever handles it as the text that it is gets
    English, such as the model and the log; whoever shows it to a person says it anew with `spoken`."""

    __slots__ = ("code", "params")
    code: str
    params: dict[str, Any]

    def __new__(cls, code: str, /, **params: Plain) -> Phrase:
        made = super().__new__(cls, say(code, params))
        made.code, made.params = code, params
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.code,), self.params


def spoken(text: str, language: str) -> str:
    """A phrase in a language; any other text as it is."""
    return say(text.code, text.params, language) if isinstance(text, Phrase) else text


def say(code: str, params: Mapping[str, Any], language: str = ENGLISH) -> str:
    """The sentence for a code; a parameter that is a list holds phrases or codes, said one after the other. A language
    that is not known is spoken in English. Raises KeyError for a code that is in no catalogue: our own mistake."""
    return _sentence(code, language).format_map({name: _said(value, language) for name, value in params.items()})


def knows(code: str) -> bool:
    """Whether there is anything to say for a code."""
    return _found(code, ENGLISH) is not None


def sentences(language: str) -> dict[str, str]:
    """All sentences of a language."""
    return {code: text for name in _PARTS for code, text in part(language, name).items()}


@cache
def part(language: str, name: str) -> Mapping[str, str]:
    """One file of a language, loaded when it is first needed."""
    found: Mapping[str, str] = __import__(f"acpagent.core.catalogues.{language}{name}", fromlist=["x"]).SENTENCES
    return found


def _found(code: str, language: str) -> str | None:
    return next((part(language, name)[code] for name in _PARTS if code in part(language, name)), None)


def _sentence(code: str, language: str) -> str:
    found = _found(code, language if language in LANGUAGES else ENGLISH) or _found(code, ENGLISH)
    if found is None:
        raise KeyError(code)
    return found


def _said(value: Any, language: str) -> Any:
    if isinstance(value, Phrase):
        return say(value.code, value.params, language)
    if not isinstance(value, list):
        return value
    said = (spoken(one, language) if isinstance(one, Phrase) else _sentence(one, language) for one in value)
    return _sentence("between", language).join(said)
