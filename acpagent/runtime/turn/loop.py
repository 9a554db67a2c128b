"""The turn's loop: ask the model, run its calls, until it stops, a limit is hit, or a cancel.

Knows a provider, a tool runner, a history and a host; never a session.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from acpagent.core.blocks import Block, Text
from acpagent.core.events import Event, Notice, UsageChanged
from acpagent.core.faults import Fault
from acpagent.core.history import Entry, HostSaid, ReplyKept, TurnClosed, UsageSet, UserSaid
from acpagent.core.host import Host
from acpagent.core.model import ModelRequest, Provider, ProviderFault, Retrying, UsageReport
from acpagent.core.scope import Cancelled, Scope
from acpagent.runtime.turn.compaction import Compactor
from acpagent.runtime.turn.followup import FollowUp, first_answer
from acpagent.runtime.turn.hooking import TurnHooks
from acpagent.runtime.turn.modelcall import ModelReply, call_model
from acpagent.runtime.turn.prompt import PromptReader
from acpagent.runtime.turn.speaker import Speaker, new_id
from acpagent.runtime.turn.spending import Ceiling
from acpagent.runtime.turn.stop import STOPS, End, provider_fault
from acpagent.runtime.turn.toolrun import ToolRunner
from acpagent.runtime.turn.words import STEER_MARK


@dataclass(slots=True)
class Steering:
    """How the loop takes the guidance that came in while it ran."""

    take: Callable[[], list[tuple[Block, ...]]]
    take_or_seal: Callable[[], list[tuple[Block, ...]]]


@dataclass(frozen=True, slots=True)
class Ended:
    """How the loop ended; `fault` wins over `end`. `unheard`: the model never read the prompt."""

    end: End
    fault: Fault | None = None
    unheard: bool = False


class TurnLoop:
    """One prompt from first model call to last. Runs on the session worker."""

    def __init__(
        self,
        turn_id: str,
        scope: Scope,
        host: Host,
        compactor: Compactor,
        record: Callable[[Entry], None],
        provider: Provider,
        prefix: tuple[str, str],
        tools: ToolRunner,
        speaker: Speaker,
        reader: PromptReader,
        steering: Steering,
        limit: int,
        ceiling: Ceiling,
        hooks: TurnHooks,
        follow_ups: Sequence[FollowUp] = (),
        settle: Callable[[Scope], None] = lambda scope: None,
    ) -> None:
        """`prefix`: the spelled system prompt and tool list. `limit`: model calls in one prompt, `ceiling`: what the
        session may use in all. `follow_ups`: in the order in which they are asked. `settle` gives what was recorded
        time to be stored."""
        self._turn_id, self._scope, self._host = turn_id, scope, host
        self._compactor, self._record, self._provider = compactor, record, provider
        self._conversation, self._spending = compactor.memory.conversation, compactor.memory.spending
        self._prefix, self._tools, self._speaker = prefix, tools, speaker
        self._reader, self._steering, self._limit, self._ceiling = reader, steering, limit, ceiling
        self._hooks = hooks
        self._follow_ups, self._settle = follow_ups, settle
        self._told_of_silence = False
        self._unheard: deque[tuple[Block, ...]] = deque()
        self._last_call = False

    def run(self, blocks: Sequence[Block], meant: Sequence[Block] = ()) -> Ended:
        """Work on the prompt; `meant` is what it stands for, if that is not what it says. Raises `Fault` of ours only;
        every way of ending is in the returned value."""
        try:
            self._hear(blocks, steer=False, meant=meant)
            return Ended(self._rounds())
        except Cancelled:
            return Ended("cancelled")
        except ProviderFault as fault:
            return Ended("finished", provider_fault(fault))
        except Fault as fault:
            return Ended("finished", fault)

    def _rounds(self) -> End:
        for number in range(self._limit):
            if self._is_spent():
                return "budget"
            self._last_call = number + 1 == self._limit
            reply = self._ask_model()
            if reply.reason in ("length", "refusal"):
                return "length" if reply.reason == "length" else "refusal"
            if reply.calls:
                self._tools.run(reply.calls, number)
            stopped = not reply.calls and reply.reason != "paused"
            if not self._hear_steers(self._steering.take) and stopped and not self._go_on(reply.text):
                return "finished"
        return "rounds"

    def _is_spent(self) -> bool:
        """Whether the session's budget allows no further request; then the person is told so."""
        told = self._ceiling.passed(self._spending, self._provider.currency)
        if told is not None:
            self._speaker.tell(told)
        return told is not None

    def _hear_steers(self, take: Callable[[], list[tuple[Block, ...]]]) -> bool:
        """Append what the person said meanwhile, in order. False if that was nothing. After the last call that is
        allowed nobody would read it: it is left over, and told so."""
        self._unheard.extend(take())
        heard = False
        while self._unheard and not self._last_call:
            heard = self._hear_steer(self._unheard.popleft()) or heard
        return heard or bool(self._unheard)

    def _go_on(self, text: str) -> bool:
        """The model stopped, and no guidance waits that it has to hear before what it said can count as its last
        word. Whether the prompt goes on: by what the host says, or by guidance that came while it made up its mind.
        If not, the turn is sealed in the same critical section that found nothing."""
        told = first_answer(self._follow_ups, text)
        if told is None:
            return self._hear_steers(self._steering.take_or_seal)
        self._hear_steers(self._steering.take)
        self._record(HostSaid(self._turn_id, told))
        return True

    def _hear(self, blocks: Sequence[Block], steer: bool, context: str = "", meant: Sequence[Block] = ()) -> None:
        """What the person said, as the model will read it. Steers at one boundary are appended in order. A cancel
        while links are read leaves the person's words (CAN-16)."""
        text = words_of(blocks)
        try:
            heard = self._reader.read(meant or blocks, self._scope)
            text = "\n\n".join(part for part in (heard.text, context) if part)
        finally:
            spelled = f"{STEER_MARK}\n{text}" if steer else text
            self._record(UserSaid(self._turn_id, new_id("msg"), tuple(blocks), spelled, steer))
        for notice in heard.notices:
            self._speaker.tell(notice)
        self._settle(self._scope)  # what the person said outlives us from before the model has an answer

    def _hear_steer(self, blocks: tuple[Block, ...]) -> bool:
        """Guidance, unless a hook refuses it."""
        words = words_of(blocks)
        try:
            answer = self._hooks.admit(words)
        except BaseException:  # whatever it is, what was said is kept
            self._record(UserSaid(self._turn_id, new_id("msg"), blocks, f"{STEER_MARK}\n{words}", steer=True))
            raise
        if answer.refusal is not None:
            self._speaker.tell(Notice("warning", "steer_refused", {"reason": answer.refusal, "text": words}))
            return False
        self._hear(blocks, True, answer.context)
        return True

    def _ask_model(self) -> ModelReply:
        """Ask, with room in the window for an answer. What turns out too long all the same is made shorter, and asked
        once more."""
        self._compactor.make_room()
        try:
            reply = self._call_model()
        except ProviderFault as fault:
            if fault.kind != "too_long" or not self._compactor.recover():
                raise
            reply = self._call_model()
        if reply.kept:
            self._record(ReplyKept(self._turn_id, self._provider.name, reply.kept))
        self._count(reply.usage)
        return reply

    def _call_model(self) -> ModelReply:
        return call_model(
            self._provider,
            ModelRequest(*self._prefix, self._conversation.fragments()),
            self._scope,
            self._speaker,
            self._host.wait_room,
            self._show_retry,
            self._show_silence,
        )

    def _show_retry(self, retry: Retrying) -> None:
        params = {
            "attempt": retry.attempt,
            "limit": retry.limit,
            "seconds": max(1, math.ceil(retry.seconds)),
            "cause": retry.cause,
        }
        self._speaker.tell(Notice("warning", "model_retry", params))

    def _show_silence(self, seconds: float) -> None:
        """Once in a turn: a slow model is slow at each call."""
        if not self._told_of_silence:
            self._told_of_silence = True
            self._speaker.tell(Notice("info", "model_silent", {"seconds": round(seconds, 1)}))

    def _count(self, report: UsageReport) -> None:
        spending, provider, before = self._spending, self._provider, replace(self._spending)
        used = spending.add(provider, report)
        self._compactor.note(report.usage.input)
        size, estimated = provider.context_window, report.estimated
        self._record(UsageSet(self._turn_id, used, size, spending.cost, provider.currency, estimated))
        self.emit(UsageChanged(used, size, spending.cost, provider.currency, estimated))
        if (told := self._ceiling.neared(before, spending, provider.currency)) is not None:
            self._speaker.tell(told)

    def emit(self, event: Event) -> None:
        """Emit after what the model said so far."""
        self._speaker.flush()
        self._host.emit(event)

    def close(self, ended: Ended, leftovers: Sequence[tuple[Block, ...]]) -> TurnClosed:
        """The turn's last entry. Guidance that came too late is shown and kept, never dropped."""
        tell_unused(self._speaker, (*self._unheard, *leftovers))
        stop = None if ended.fault else STOPS[ended.end]
        message = ended.fault.message if ended.fault else None
        return TurnClosed(self._turn_id, stop, self._spending.turn, message)


def words_of(blocks: Sequence[Block]) -> str:
    """What the person wrote, attachments aside."""
    return " ".join(block.text for block in blocks if isinstance(block, Text))


def tell_unused(speaker: Speaker, leftovers: Sequence[tuple[Block, ...]]) -> None:
    """Tell the person of guidance that nobody took."""
    for blocks in leftovers:
        words = " ".join(getattr(block, "text", None) or "[attachment]" for block in blocks)
        speaker.tell(Notice("warning", "steer_unused", {"text": words}))
