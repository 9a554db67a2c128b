"""Which language acpagent speaks where no session says.

This file lies on the path to `initialize`.
"""

from __future__ import annotations

from acpagent.core.catalogue import ENGLISH, LANGUAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

AUTO = "auto"
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set counts


def chosen(configured: str, environ: Mapping[str, str]) -> str:
    """The language for a `language` of config.yaml: `auto` is that of the environment, or English."""
    if configured in LANGUAGES:
        return configured
    locale = next((environ[name] for name in _VARIABLES if environ.get(name)), "")
    language = locale.replace("-", "_").partition("_")[0].partition(".")[0].lower()
    return language if language in LANGUAGES else ENGLISH
