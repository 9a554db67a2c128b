"""Text files read and written so that nothing but the change changes: encoding, BOM, line ends, mode."""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import stat
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

from acpagent.core.catalogue import Phrase

MAX_BYTES = 32 * 1024 * 1024

# BOM -> how the rest is encoded. The UTF-32 BOM begins with the UTF-16 one, so it comes first.
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LEGACY = ("cp1252", "latin-1")  # tried in turn for what is text, but not UTF-8; the last one takes anything
_TEXT_CONTROLS = frozenset(b"\t\n\f\r\x08\x1b")
_IN_PLACE = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS, errno.EXDEV})

# Owner: this module. One lock per resolved path, gone when unused; `_locks_guard`, a leaf, guards the table. A path's
# lock is not one: it is taken with no other lock held but those of paths that sort before it, and the editor may be
# asked under it.
_locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
_locks_guard = threading.Lock()


class NotText(Exception):
    """The path holds no text that could be read; the message says what it holds instead."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file as read. `raw` is its text with the line ends it has and no BOM; `text` has `\\n` only.

    `newline` is the line end most lines have, `digest` the SHA-256 of the bytes.
    """

    raw: str
    encoding: str
    bom: bytes
    newline: str
    digest: str

    @property
    def text(self) -> str:
        return self.raw.replace("\r\n", "\n")

    def with_newlines(self, new: str) -> str:
        """`new` with the line ends of this file."""
        return new.replace("\r\n", "\n").replace("\n", self.newline)

    def replaced(self, spans: tuple[tuple[int, int], ...], new: str) -> str:
        """`raw` with each of `spans` of `text`, in order and apart, replaced by `new`. Lines outside keep the
        line ends they have, even where the file mixes them (DIFF-04)."""
        offsets = _Offsets(self.raw)
        new = self.with_newlines(new)
        parts, at = [], 0
        for start, end in spans:
            first, last = offsets.raw(start), offsets.raw(end)
            parts += [self.raw[at:first], new]
            at = last
        return "".join((*parts, self.raw[at:]))


class _Offsets:
    """Maps positions in text with `\\n` to positions in the raw text. Asked in rising order."""

    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._found = 0  # line ends \r\n that lie before `_scanned`
        self._scanned = 0

    def raw(self, position: int) -> int:
        while True:
            pair = self._raw.find("\r\n", self._scanned)
            if pair < 0 or pair - self._found >= position:
                return position + self._found
            self._found += 1
            self._scanned = pair + 2


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def at_once(path: str, flags: int) -> int:
    """An opener for `open` that waits for nobody at a pipe. Where `open` gives up, as at a directory, it closes what
    its opener opened; a descriptor that it was given would stay."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_bytes(path: str, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file. Raises `NotText` for anything else (pipes block, devices never end),
    and for more than `limit` bytes; OSError as usual."""
    with open(path, "rb", buffering=0, opener=at_once) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise NotText(Phrase("file_irregular"))
        data = bytearray()
        while len(data) <= limit:
            piece = stream.read(min(1 << 20, limit + 1 - len(data)))
            if not piece:
                return bytes(data)
            data += piece
    raise NotText(Phrase("file_large", size=limit // (1 << 20)))


def read_text(path: str, limit: int = MAX_BYTES) -> TextFile:
    """Read a text file. Raises `NotText` if it is binary, too large or no regular file; OSError as usual."""
    return decode(read_bytes(path, limit))


def decode(data: bytes) -> TextFile:
    """Bytes as a text file. Raises `NotText` if they are binary."""
    bom, encoding = next(((bom, name) for bom, name in _BOMS if data.startswith(bom)), (b"", "utf-8"))
    body = data[len(bom) :]
    try:
        raw = body.decode(encoding)
    except UnicodeDecodeError:
        raw, encoding, bom = _decode_legacy(data)
    if "\0" in raw:
        raise NotText(Phrase("file_binary", size=len(data)))
    pairs = raw.count("\r\n")
    newline = "\r\n" if pairs * 2 > raw.count("\n") else "\n"
    return TextFile(raw, encoding, bom, newline, digest(data))


def encode(raw: str, like: TextFile | None) -> bytes:
    """The bytes for text whose line ends are final, in the encoding of `like` (None: UTF-8).

    Raises UnicodeEncodeError if that encoding lacks a character.
    """
    return raw.encode("utf-8") if like is None else like.bom + raw.encode(like.encoding)


def write_bytes(path: str, data: bytes, mode: int = 0o666) -> None:
    """Replace or create the file at `path`, which is resolved, in one step: readers see old bytes or new.

    Keeps the mode, and the owner where the system lets us; a new file gets `mode` less the umask. A file that may
    not be replaced but may be written (a bind mount, a closed directory) is written in place. Raises OSError.
    """
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    if old is not None:
        _check_writable(path, old)
    temporary = os.path.join(os.path.dirname(path), f".acpagent-{uuid.uuid4().hex[:12]}.tmp")
    try:
        _write_new(temporary, data, old, mode)
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        if old is None or error.errno not in _IN_PLACE:
            raise
        _write_in_place(path, data)
    except BaseException:
        _remove(temporary)
        raise


@contextmanager
def exclusive(*paths: str) -> Iterator[None]:
    """Hold the one lock there is for each of some resolved paths: read, compare and write as one step (FS-09)."""
    with ExitStack() as held:
        for path in sorted(set(paths)):
            held.enter_context(_lock_of(path))
        yield


def _lock_of(path: str) -> threading.Lock:
    with _locks_guard:
        lock = _locks.get(path)
        if lock is None:
            lock = _locks[path] = threading.Lock()
        return lock


def _decode_legacy(data: bytes) -> tuple[str, str, bytes]:
    if any(data.startswith(bom) for bom, _ in _BOMS[1:]) or _looks_binary(data):
        raise NotText(Phrase("file_binary", size=len(data)))
    for name in _LEGACY:
        try:
            return data.decode(name), name, b""
        except UnicodeDecodeError:
            continue
    raise AssertionError("the last of the legacy encodings takes any byte")


def _looks_binary(data: bytes) -> bool:
    sample = data[:65_536]
    controls = sum(1 for byte in sample if byte < 32 and byte not in _TEXT_CONTROLS)
    return b"\0" in data or controls * 20 > len(sample)


def _check_writable(path: str, status: os.stat_result) -> None:
    """Replacing a file needs no right to write it, so that right is checked apart."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _write_new(path: str, data: bytes, old: os.stat_result | None, mode: int) -> None:
    """What replaces a private file is private from the start."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(path, flags, mode if old is None else 0o600)
    with open(handle, "wb", buffering=0) as stream:
        _write_all(stream.fileno(), data)
        if old is not None:
            if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                _try_owner(handle, old)
            os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _try_owner(handle: int, old: os.stat_result) -> None:
    try:
        os.fchown(handle, old.st_uid, old.st_gid)
    except PermissionError:
        return


def _write_in_place(path: str, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(handle, "wb", buffering=0) as stream:
        _write_all(stream.fileno(), data)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
