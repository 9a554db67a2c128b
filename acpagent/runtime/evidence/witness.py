"""The witness: what a session keeps to give evidence of its turns."""

from __future__ import annotations

from dataclasses import dataclass, field

from acpagent.core.evidence import Bundle
from acpagent.core.paths import Roots
from acpagent.runtime.evidence import receipts
from acpagent.runtime.evidence.account import Account
from acpagent.runtime.evidence.receipts import Receipt
from acpagent.runtime.evidence.watch import Watch


@dataclass(slots=True)
class Witness:
    """Owned by the session worker, but for `watch`, which the helper thread of a call uses. `_last` is the newest
    receipt, looked for when the first one is made."""

    watch: Watch
    account: Account = field(default_factory=Account)
    _last: Receipt | None = None
    _looked: bool = False

    @classmethod
    def of(cls, roots: Roots) -> Witness:
        return cls(Watch(roots))

    def seal(self, found: Bundle, home: str) -> Receipt:
        """The next receipt of the session."""
        if not self._looked:
            self._last, self._looked = receipts.last(home, found.session_id), True
        self._last = receipts.sealed(found, self._last)
        return self._last
