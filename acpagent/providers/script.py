"""Scripts: what a pretended model answers, written in YAML.

```yaml
turns:
  - prompt: "(?i)list"            # a regular expression searched in the person's message; absent: any message
    replies:                      # one for each model call of the turn, in order
      - - thought: Let me look.
        - call: {tool: list_dir, args: {path: .}}
      - - text: Those are the files.
          chunk: 4                # letters per piece; absent: in one piece
  - replies: [[text: Hello!]]
    loop: false                   # true: the last reply answers every further model call as well
```

**Which reply.** Nothing is remembered, so that a restarted or reloaded session goes on. Of the person's
messages the last one that fits some turn's `prompt` counts, with the first turn that fits it; the number of
the reply is the number of the model's messages since. Past the last reply the answer is empty and ends
normally. In a script without any `prompt` the n-th message of the person plays the n-th turn, and the last
turn is for all further ones.

**Steps.**

* `text`, `thought`: a text, with `chunk`.
* `call: {tool, args}`: a call; `args` is a mapping, or the raw text of the arguments; with `chunk`.
* `usage: {input, cached, output, thought}`: tokens.
* `wait`: seconds.
* `repeat: {times, text or thought, every}`: a piece again and again, `every` seconds apart.
* `error: {status, message, retry_after, after_output, times}`: an HTTP error; with `after_output`,
  and always after a text, thought or call, an error told inside the answer.
* `drop`: the connection is lost: `close`, `reset`, or `end` (it ends in good order, but too early).
* `stall`: silence until the call is given up.
* `finish`: `stop`, `length`, `refusal` or `calls`.

`error`, `drop` and `stall` may have `times: n`, to happen only in the first n tries of a call
(`drop: {how: reset, times: 1}`, `stall: {times: 1}`).

A reply that does not say so finishes with `calls` if it made any, else `stop`; usage is estimated from sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from acpagent.core.events import Usage
from acpagent.providers.chat_messages import text_of

Reason = Literal["stop", "length", "refusal", "calls"]
ALWAYS = 1 << 62


@dataclass(frozen=True, slots=True)
class Say:
    """`text` in pieces of `chunk` letters (0: in one), `times` over, `every` seconds apart."""

    text: str
    thought: bool = False
    chunk: int = 0
    times: int = 1
    every: float = 0


@dataclass(frozen=True, slots=True)
class MakeCall:
    tool: str
    arguments: str
    chunk: int = 0


@dataclass(frozen=True, slots=True)
class Count:
    usage: Usage


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """An HTTP error, or an error told inside the answer if that began or `after_output` says so."""

    status: int
    message: str
    retry_after: float | None = None
    after_output: bool = False
    times: int = ALWAYS


@dataclass(frozen=True, slots=True)
class Drop:
    how: Literal["close", "reset", "end"] = "close"
    times: int = ALWAYS


@dataclass(frozen=True, slots=True)
class Stall:
    times: int = ALWAYS


@dataclass(frozen=True, slots=True)
class Finish:
    reason: Reason


Step = Say | MakeCall | Count | Wait | Fail | Drop | Stall | Finish


@dataclass(frozen=True, slots=True)
class Turn:
    prompt: re.Pattern[str] | None
    replies: tuple[tuple[Step, ...], ...]
    loop: bool = False

    def reply(self, number: int) -> tuple[Step, ...]:
        if number < len(self.replies):
            return self.replies[number]
        return self.replies[-1] if self.loop else ()

    def fits(self, text: str) -> bool:
        return self.prompt is None or self.prompt.search(text) is not None


@dataclass(frozen=True, slots=True)
class Script:
    name: str
    turns: tuple[Turn, ...]

    def choose(self, newest_first: Iterable[Mapping[str, Any]]) -> tuple[int, int] | None:
        """The numbers of the turn, and of the reply in it, that answer a conversation. None if no turn fits.

        The conversation comes as chat messages from the last one back; no more are read than needed.
        """
        if all(turn.prompt is None for turn in self.turns):
            return self._counted(newest_first)
        replies = 0
        for message in newest_first:
            if message["role"] == "assistant":
                replies += 1
            elif message["role"] == "user":
                text = text_of(message["content"])
                for number, turn in enumerate(self.turns):
                    if turn.fits(text):
                        return number, replies
        return None

    def _counted(self, newest_first: Iterable[Mapping[str, Any]]) -> tuple[int, int] | None:
        people = replies = 0
        for message in newest_first:
            replies += message["role"] == "assistant" and not people
            people += message["role"] == "user"
        return (min(people, len(self.turns)) - 1, replies) if people else None
