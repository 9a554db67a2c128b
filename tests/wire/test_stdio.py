from __future__ import annotations

import subprocess
import sys

import pytest

CHILD = """
import os, subprocess, sys
{before}
from acpagent.wire.stdio import capture
read_fd, write_fd = capture()
print("stray")
sys.stdout.flush()
subprocess.run(["sh", "-c", "echo child; cat >&2"], check=True)
assert min(read_fd, write_fd) >= 3
assert not os.get_inheritable(read_fd) and not os.get_inheritable(write_fd)
os.write(write_fd, b"got " + os.read(read_fd, 100))
"""


def run(before: str = "") -> subprocess.CompletedProcess[bytes]:
    program = CHILD.format(before=before)
    return subprocess.run([sys.executable, "-c", program], input=b"hello", capture_output=True, timeout=60)


def test_trn_05_trn_06_only_the_connection_has_the_streams() -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"got hello"
    assert done.stderr == b"stray\nchild\n"


def test_with_stderr_closed_nothing_reaches_stdout() -> None:
    done = run("os.close(2)")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"got hello", b"")


@pytest.mark.parametrize("fd", [0, 1])
def test_a_closed_stream_is_an_error(fd: int) -> None:
    done = run(f"os.close({fd})")
    assert done.returncode == 1
    assert b"OSError" in done.stderr
