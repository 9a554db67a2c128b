"""Files through the client: its unsaved buffers win over the disk."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

from acpagent.acp.v1.asking import Asking, Unanswered
from acpagent.core.host import InDoubt
from acpagent.core.scope import Cancelled, Scope
from acpagent.wire import codes
from acpagent.wire.pending import Answer

# An editor reads from memory; one that is silent for so long will not answer at all.
READ_SECONDS = 30.0
# Before it writes, an editor may format, and some ask the person first.
WRITE_SECONDS = 120.0

_WORDS = 200

Read = Callable[[str, int | None, int | None, Scope], str]
Write = Callable[[str, str, Scope], None]


class ClientFiles:
    """The two abilities are independent: each is None where the client does not offer it (FS-01)."""

    def __init__(self, asking: Asking, reads: bool, writes: bool) -> None:
        self._asking = asking
        self.read: Read | None = self._read if reads else None
        self.write: Write | None = self._write if writes else None

    def _read(self, path: str, line: int | None, limit: int | None, scope: Scope) -> str:
        """The text of a file as the editor has it; `line` is 1-based (FS-03). Raises FileNotFoundError where the
        client says there is none (FS-06), OSError for any other refusal, `Cancelled`."""
        params = {"path": path, "line": line, "limit": limit}
        present = {name: value for name, value in params.items() if value is not None}
        answer = self._answer("fs/read_text_file", present, scope, READ_SECONDS)
        content = answer.result.get("content") if isinstance(answer.result, dict) else None
        if not isinstance(content, str):
            raise OSError("the editor's answer has no text")
        return content

    def _write(self, path: str, text: str, scope: Scope) -> None:
        """Replace a file's text through the editor. Raises OSError where that failed, `InDoubt`, `Cancelled`. Both
        null and an object mean success; some editors say in a string what went wrong (FS-07)."""
        answer = self._answer("fs/write_text_file", {"path": path, "content": text}, scope, WRITE_SECONDS)
        if isinstance(answer.result, str):
            raise OSError(f"the editor refused: {_sentence(answer.result)}")
        if answer.result is not None and not isinstance(answer.result, dict):
            raise InDoubt("the editor's answer makes no sense")

    def _answer(self, method: str, params: Mapping[str, object], scope: Scope, seconds: float) -> Answer:
        try:
            answer = self._asking.ask(method, params, scope, seconds)
        except Unanswered:
            raise InDoubt(f"the editor did not answer within {seconds:g} s") from None
        if answer.lost:
            raise Cancelled
        if answer.error is not None:
            raise refusal(answer.error)
        return answer


def refusal(error: object) -> OSError:
    """A client's error as the OSError it stands for; its words are kept, cut to a sentence."""
    code = error.get("code") if isinstance(error, dict) else None
    if code == codes.NOT_FOUND:
        return FileNotFoundError(errno.ENOENT, "the editor has no such file")
    if code == codes.METHOD_NOT_FOUND:
        return OSError(errno.ENOSYS, "the editor offers this but cannot do it")
    return OSError(f"the editor refused: {_sentence(_said(error))}")


def _said(error: object) -> object:
    """What it says went wrong. Several SDKs say no more than "Internal error", and the cause in `data.details`."""
    words, data = (error.get("message"), error.get("data")) if isinstance(error, dict) else (None, None)
    details = data.get("details") if isinstance(data, dict) else data
    if not (isinstance(details, str) and details.strip()):
        return words
    return f"{words}: {details}" if isinstance(words, str) and words.strip() else details


def _sentence(words: object) -> str:
    text = " ".join(words.split())[:_WORDS].rstrip(".") if isinstance(words, str) else ""
    return text or "no reason given"
