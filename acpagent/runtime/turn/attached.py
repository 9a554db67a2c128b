"""The files that a prompt links to, as the person sees them: unsaved changes included, whatever the encoding."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from acpagent.core.host import InDoubt
from acpagent.core.scope import Scope
from acpagent.core.toolcalls import ToolContext, ToolRefusal
from acpagent.toolbox import large
from acpagent.toolbox.texts import Texts

OpenText = Callable[[str, int, Scope], str]


def opener(make_context: Callable[[Scope], ToolContext]) -> OpenText:
    """`open_text(path, limit, scope)`: the start of a text file at a resolved path, at most `limit` bytes of it and a
    mark where it was cut. It raises OSError for one that is not text or cannot be read, and `Cancelled`.

    Of an editor that did not answer once nothing more is asked: a prompt with many links would wait for each."""
    silent = False

    def open_text(path: str, limit: int, scope: Scope) -> str:
        nonlocal silent
        scope.check()
        if large.is_large(path):
            return _cut(_start_of(path, limit), limit, whole=False)
        if silent:
            raise OSError("the editor does not answer")
        try:
            file = Texts(make_context(scope)).look(path)
        except ToolRefusal as refusal:
            silent = isinstance(refusal.__cause__, InDoubt)
            raise OSError(str(refusal)) from None
        if file is None:
            raise FileNotFoundError(path)
        return _cut(file.raw, limit, whole=True)

    return open_text


def may_be_text(path: str) -> bool:
    """Whether there is a regular file at a resolved path, or nothing yet."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False


def _start_of(path: str, limit: int) -> str:
    with open(path, "rb") as stream:
        data = stream.read(limit)
    if b"\0" in data:
        raise OSError("not a text file")
    return data.decode("utf-8-sig", "replace")


def _cut(text: str, limit: int, whole: bool) -> str:
    data = text.encode("utf-8", "replace")
    if whole and len(data) <= limit:
        return text
    return f"{data[:limit].decode('utf-8', 'ignore')}\n[... cut after {limit} bytes]"
