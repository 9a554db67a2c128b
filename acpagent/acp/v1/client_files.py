"""Files through the client: its unsaved buffers win over the disk."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

from acpagent.acp.v1.asking import Asking, Unanswered
from acpagent.core.scope import Cancelled, Scope
from acpagent.wire import codes
from acpagent.wire.pending import Answer

# An editor answers from memory; one that is silent for so long will not answer at all.
SECONDS = 30.0

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
        answer = self._answer("fs/read_text_file", present, scope)
        content = answer.result.get("content") if isinstance(answer.result, dict) else None
        if not isinstance(content, str):
            raise OSError("the editor's answer has no text")
        return content

    def _write(self, path: str, text: str, scope: Scope) -> None:
        """Replace a file's text through the editor. Raises OSError where that failed, `Cancelled`. Both null and
        an object mean success (FS-07)."""
        answer = self._answer("fs/write_text_file", {"path": path, "content": text}, scope)
        if answer.result is not None and not isinstance(answer.result, dict):
            raise OSError("the editor did not write the file")

    def _answer(self, method: str, params: Mapping[str, object], scope: Scope) -> Answer:
        try:
            answer = self._asking.ask(method, params, scope, SECONDS)
        except Unanswered:
            raise OSError(f"the editor did not answer within {SECONDS:.0f} s") from None
        if answer.lost:
            raise Cancelled
        if answer.error is not None:
            raise refusal(answer.error)
        return answer


def refusal(error: object) -> OSError:
    """A client's error as the OSError it stands for; its words are kept, cut to a sentence."""
    code = error.get("code") if isinstance(error, dict) else None
    words = error.get("message") if isinstance(error, dict) else None
    text = " ".join(words.split())[:200] if isinstance(words, str) else "no reason given"
    if code == codes.NOT_FOUND:
        return FileNotFoundError(errno.ENOENT, "the editor has no such file")
    return OSError(f"the editor refused: {text}")
