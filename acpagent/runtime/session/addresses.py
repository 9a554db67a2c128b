"""What the client's ids stand for: most for the session with that very id, some for another one."""

from __future__ import annotations

import threading
import uuid

from acpagent.core.faults import Fault
from acpagent.store import aliases
from acpagent.store.database import Store


def mint_id() -> str:
    """An id that nobody has: of a session, which nobody knows before its opening is answered (SESS-01, SESS-17), or for
    one that has lost its own."""
    return str(uuid.uuid4())


# What ids come to stand for, None for the session with that very id; and what they stood for.
Move = tuple[dict[str, str | None], dict[str, str]]


class Addresses:
    """Kept in the store, for the editor that opens a thread again after a restart; what other processes change
    meanwhile is not looked for. Owns the table, under one leaf lock. A session whose own id stands for another one has
    an id more, so that each can be listed and opened."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        try:
            self._stands_for = aliases.read(store)
        except Fault:  # whatever needs the store will say so
            self._stands_for = {}

    def resolve(self, address: str) -> str:
        """The id of the session that a client's id stands for, which may be its own."""
        with self._lock:
            return self._stands_for.get(address, address)

    def of(self, session_id: str) -> str:
        """An id by which a client can open a session."""
        with self._lock:
            if session_id not in self._stands_for:
                return session_id
            return next((address for address, one in self._stands_for.items() if one == session_id), session_id)

    def bind(self, address: str, session_id: str) -> None:
        """`move` and `keep` in one."""
        self.keep(self.move(address, session_id))

    def move(self, address: str, session_id: str) -> Move:
        """From here on a client's id stands for this session, in this process. Never blocks."""
        with self._lock:
            before = self._stands_for
            after = {known: one for known, one in before.items() if known != address}
            if address != session_id:
                after[address] = session_id
            for one in {before.get(address, address), address}:
                if one in after and one not in after.values():
                    after[mint_id()] = one
            self._stands_for = after
        return {known: after.get(known) for known in {*before, *after} if before.get(known) != after.get(known)}, before

    def keep(self, move: Move) -> None:
        """Store what was moved; waits for the disk. Raises `Fault`, and then it is as it was."""
        changes, before = move
        try:
            self._store.apply(aliases.change(changes))
        except BaseException:
            self._take_back(changes, before)
            raise

    def _take_back(self, changes: dict[str, str | None], before: dict[str, str]) -> None:
        with self._lock:
            kept = {known: one for known, one in self._stands_for.items() if known not in changes}
            self._stands_for = kept | {known: before[known] for known in changes if known in before}
