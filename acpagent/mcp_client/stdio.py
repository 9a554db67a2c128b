"""A server that is a process of ours, spoken to through its pipes.

The package has a transport like this one. Ours leaves nothing of the server's process group behind, ends it faster,
bounds what it reads, takes garbage on stdout for what it is, and passes stderr on in lines. Imported on the loop's
thread only.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import told
from acpagent.core.process import Group
from acpagent.mcp_client import loop
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.remarks import StderrLines
from acpagent.mcp_client.spec import ServerSpec
from acpagent.wire.framing import LINE_LIMIT, Framer

EXIT_SECONDS = 1.0  # between the end of its input and SIGTERM
FLUSH_SECONDS = 0.3  # for what it has not taken yet when it is to end
LAST_WORDS_SECONDS = 0.2  # for what it wrote before it exited, if a child of it keeps the pipe open
GARBAGE_LIMIT = 1 << 20  # bytes that are no message, before the first one
_READ_BYTES = 65_536
_HEAD_BYTES = 512
_ID = re.compile(rb'^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,18}|"[^"\\]{1,80}")\s*[,}]')

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


class Ended:
    """How the process ended, once it has; for those who hear of it by a connection that is closed."""

    def __init__(self) -> None:
        self.words = ""


@asynccontextmanager
async def connect(
    spec: ServerSpec,
    *,
    cwd: str,
    environ: Mapping[str, str],
    log: Callable[[str], None],
    on_end: Callable[[], None],
    ended: Ended,
) -> AsyncIterator[Streams]:
    """Start the server, and leave nothing of it behind. `on_end` is called on the loop when it has exited or closed
    its stdout. Raises OSError, ServerFault."""
    with anyio.CancelScope(shield=True):  # what is half started would be left behind
        pipes = await _start(spec, cwd, environ, log, on_end)
    incoming_send, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outgoing_receive = anyio.create_memory_object_stream[SessionMessage](0)
    reading = _Reading(pipes.reader, incoming_send, log)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reading.run, on_end)
            tasks.start_soon(_write, pipes.writer, outgoing_receive, on_end)
            try:
                yield incoming, outgoing
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            for stream in (incoming, outgoing, incoming_send, outgoing_receive):
                stream.close()
            how = await pipes.end()
            ended.words = reading.fault or how


class _Pipes:
    """The process with our ends of its pipes."""

    def __init__(self, group: Group, exited: asyncio.Event, reader: asyncio.StreamReader, writer: _Writer) -> None:
        self._group = group
        self._exited = exited
        self.reader = reader
        self.writer = writer
        self.close_reader: Callable[[], None] = lambda: None

    async def end(self) -> str:
        """End its input, which is how a server is told to go, then see to it that nothing is left. Says how it
        ended."""
        if self.reader.at_eof():  # a process that dies closes its pipes a moment before it can be seen to be dead
            await self._wait_exit(LAST_WORDS_SECONDS)
        was_running = not self._exited.is_set()
        await self.writer.finish(FLUSH_SECONDS)
        drain = asyncio.create_task(_drain(self.reader))  # one that cannot write cannot read that it is to go
        await self._wait_exit(EXIT_SECONDS)
        drain.cancel()
        result = await loop.in_thread(self._group.finish)
        self.close_reader()
        if was_running:
            return Phrase("server_closed_output")
        if result.signal is None:
            return Phrase("server_exit", code=result.exit_code)
        return Phrase("server_signal", signal=result.signal)

    async def _wait_exit(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        except TimeoutError:
            return


class _Writer(asyncio.Protocol):
    """Our end of its stdin: `send` waits while the pipe is full."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost.set()
        self._room.set()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    async def send(self, data: bytes) -> None:
        """Raises BrokenPipeError."""
        await self._room.wait()
        if self._transport is None or self._lost.is_set():
            raise BrokenPipeError
        self._transport.write(data)

    async def finish(self, seconds: float) -> None:
        if self._transport is None:
            return
        self._transport.close()
        try:
            async with asyncio.timeout(seconds):
                await self._lost.wait()
        except TimeoutError:
            self._transport.abort()
            await self._lost.wait()


async def _start(
    spec: ServerSpec, cwd: str, environ: Mapping[str, str], log: Callable[[str], None], on_end: Callable[[], None]
) -> _Pipes:
    here, exited = asyncio.get_running_loop(), asyncio.Event()

    def note_exit() -> None:
        exited.set()
        here.call_later(LAST_WORDS_SECONDS, on_end)

    def on_exit() -> None:
        here.call_soon_threadsafe(note_exit)

    group = Group(StderrLines(spec, log), on_exit)
    their_stdin, our_stdin = os.pipe()
    our_stdout, their_stdout = os.pipe()
    try:
        env = {**environ, **dict(spec.env)}
        group.start([spec.command, *spec.args], spec.cwd or cwd, env, their_stdin, their_stdout)
    except BaseException:
        os.close(our_stdin)
        os.close(our_stdout)
        raise
    finally:
        os.close(their_stdin)
        os.close(their_stdout)
    reader = asyncio.StreamReader(limit=_READ_BYTES)
    reading, _ = await here.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(our_stdout, "rb", 0)
    )
    _, writer = await here.connect_write_pipe(_Writer, os.fdopen(our_stdin, "wb", 0))
    pipes = _Pipes(group, exited, reader, writer)
    pipes.close_reader = reading.close
    return pipes


class _Reading:
    """What comes from its stdout, line by line. `fault` says why that came to an end, if it is the server's."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        out: MemoryObjectSendStream[SessionMessage | Exception],
        log: Callable[[str], None],
    ) -> None:
        self._reader = reader
        self._out = out
        self._log = log
        self._framer = Framer(LINE_LIMIT)
        self._head = b""  # of a line that is not complete
        self._garbage = 0
        self._spoke = False
        self.fault = ""

    async def run(self, on_end: Callable[[], None]) -> None:
        try:
            while data := await self._reader.read(_READ_BYTES):
                await self._take(data)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # nobody listens any more
        except (OSError, ServerFault) as fault:
            self.fault = told(fault) if isinstance(fault, ServerFault) else ""
        finally:
            self._out.close()
            on_end()

    async def _take(self, data: bytes) -> None:
        lines = self._framer.feed(data)
        for line in lines:
            if isinstance(line, bytes):
                await self._take_line(line)
            else:
                await self._refuse(self._head or data)
        rest = data.rpartition(b"\n")[2]
        started_anew = b"\n" in data
        if started_anew or len(self._head) < _HEAD_BYTES:
            self._head = ((b"" if started_anew else self._head) + rest[:_HEAD_BYTES])[:_HEAD_BYTES]

    async def _take_line(self, line: bytes) -> None:
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._note_garbage(len(line))
            return
        self._spoke = True
        await self._out.send(SessionMessage(message))

    async def _refuse(self, head: bytes) -> None:
        """A line that is too long was skipped. If it is an answer, whoever waits for it is told."""
        self._log(f"skipped a message of more than {LINE_LIMIT >> 20} MiB")
        if found := _ID.match(head):
            id = int(found[1]) if found[1].isdigit() else found[1][1:-1].decode("utf-8", "replace")
            data = ErrorData(code=INTERNAL_ERROR, message=f"the answer is larger than {LINE_LIMIT >> 20} MiB")
            await self._out.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=data)))

    def _note_garbage(self, size: int) -> None:
        """Its stdout is its own affair, but not for ever."""
        if not self._garbage:
            self._log("prints on stdout what is no message")
        self._garbage += size + 1
        if not self._spoke and self._garbage > GARBAGE_LIMIT:
            raise ServerFault(Phrase("server_garbage"))


async def _write(
    writer: _Writer, messages: MemoryObjectReceiveStream[SessionMessage], on_end: Callable[[], None]
) -> None:
    try:
        async for item in messages:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await writer.send(text.encode() + b"\n")
    except (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        on_end()


async def _drain(reader: asyncio.StreamReader) -> None:
    try:
        while await reader.read(_READ_BYTES):
            pass
    except OSError:
        return
