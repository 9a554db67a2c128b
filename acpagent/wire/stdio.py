"""Taking the standard streams away from everybody but the connection."""

from __future__ import annotations

import fcntl
import os


def capture() -> tuple[int, int]:
    """Move stdin and stdout to private descriptors and return them as (read_fd, write_fd).

    Afterwards descriptor 1 is stderr, so that a stray `print` or a child's output cannot spoil the
    protocol (TRN-05), and descriptor 0 is the null device, so that no child eats the peer's bytes
    (TRN-06). The returned ones are 3 or above and not inherited. Raises `OSError` if stdin or stdout
    is closed.
    """
    read_fd = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    write_fd = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDWR)
    if null == 2:
        os.set_inheritable(2, True)  # stderr was closed: what is written there goes nowhere
    os.dup2(2, 1)
    os.dup2(null, 0)
    if null > 2:
        os.close(null)
    return read_fd, write_fd
