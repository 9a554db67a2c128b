"""The language that the commands of the terminal speak: that of config.yaml, or of the environment."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from acpagent.config import language, locate, startup
from acpagent.config.problems import ConfigError
from acpagent.core import catalogue


def say(code: str, /, **params: Any) -> str:
    """The sentence for a code."""
    return catalogue.say(code, params, speaks())


def spoken(text: str) -> str:
    """A phrase in the language of the terminal; any other text as it is."""
    return catalogue.spoken(text, speaks())


def speaks() -> str:
    return _speaks(locate.home())


@cache
def _speaks(home: str) -> str:
    try:
        return startup.read(home).language
    except ConfigError:  # which will be told
        return language.chosen(language.AUTO, os.environ)
