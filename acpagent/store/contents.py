"""What files of a session held before they were changed: by digest, on disk, readable by the person alone."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import uuid

FOLDER = "contents"
# Of one session; beyond it the oldest contents go, and what they were of can no longer be brought back.
MOST_BYTES = 128 * 1024 * 1024
_ROOM_AFTER = 0.75


class Contents:
    """Those of one session. Used on its worker; needs no lock. Nothing is made before something is kept."""

    def __init__(self, home: str, session_id: str) -> None:
        self._folder = _folder(home, session_id)
        self._size: int | None = None

    def put(self, data: bytes) -> str:
        """Keep some bytes; their digest. Raises OSError."""
        digest = hashlib.sha256(data).hexdigest()
        path = os.path.join(self._folder, digest)
        if os.path.exists(path):
            os.utime(path)
            return digest
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        temporary = os.path.join(self._folder, f".{uuid.uuid4().hex}.tmp")
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(handle, "wb") as stream:
                stream.write(data)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        self._bound(len(data))
        return digest

    def get(self, digest: str) -> bytes | None:
        """The bytes of that digest, None if they are gone or damaged."""
        try:
            with open(os.path.join(self._folder, os.path.basename(digest)), "rb") as stream:
                data = stream.read()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def _bound(self, added: int) -> None:
        if self._size is not None:
            self._size += added
        if self._size is not None and self._size <= MOST_BYTES:
            return
        found = sorted(_listed(self._folder))
        self._size = sum(size for _, size, _ in found)
        if self._size <= MOST_BYTES:
            return
        for _, size, path in found[:-1]:  # the newest was put right now
            if self._size <= MOST_BYTES * _ROOM_AFTER:
                break
            os.unlink(path)
            self._size -= size


def erase(home: str, session_id: str) -> None:
    """Forget what was kept of a session."""
    shutil.rmtree(_folder(home, session_id), ignore_errors=True)


def _folder(home: str, session_id: str) -> str:
    """No id is a path."""
    return os.path.join(home, FOLDER, hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32])


def _listed(folder: str) -> list[tuple[float, int, str]]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime, status.st_size, entry.path))
    return found
