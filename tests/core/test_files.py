from __future__ import annotations

import errno
import os
import stat
import threading

import pytest

from acpagent.core import files
from acpagent.core.files import NotText
from tests.settling import descriptors

SAMPLES = {
    "empty": b"",
    "plain": b"a\nb\n",
    "no final newline": b"a\nb",
    "crlf": b"a\r\nb\r\n",
    "mixed": b"a\r\nb\nc\r\nd",
    "lone cr": b"a\rb\nc",
    "utf-8": "grüße €\n".encode(),
    "utf-8 bom": b"\xef\xbb\xbf" + b"a\r\n",
    "utf-16-le": b"\xff\xfe" + "gr\u00fc\u00dfe\r\n".encode("utf-16-le"),
    "utf-16-be": b"\xfe\xff" + "x\n".encode("utf-16-be"),
    "utf-32": b"\xff\xfe\x00\x00" + "x\n".encode("utf-32-le"),
    "cp1252": b"caf\xe9 \x80\n",
    "latin-1": b"caf\xe9 \x81\n",
    "escapes": b"\x1b[31mred\x1b[0m\x0c\n",
}


@pytest.mark.parametrize("data", SAMPLES.values(), ids=SAMPLES.keys())
def test_what_is_read_is_written_back_byte_for_byte(data):
    file = files.decode(data)
    assert files.encode(file.raw, file) == data
    assert files.encode(file.replaced((), "unused"), file) == data


@pytest.mark.parametrize(
    ("data", "encoding", "newline"),
    [
        (SAMPLES["crlf"], "utf-8", "\r\n"),
        (SAMPLES["mixed"], "utf-8", "\r\n"),
        (SAMPLES["lone cr"], "utf-8", "\n"),
        (SAMPLES["empty"], "utf-8", "\n"),
        (SAMPLES["utf-16-le"], "utf-16-le", "\r\n"),
        (SAMPLES["utf-32"], "utf-32-le", "\n"),
        (SAMPLES["cp1252"], "cp1252", "\n"),
        (SAMPLES["latin-1"], "latin-1", "\n"),
    ],
)
def test_encoding_and_line_ends_are_found(data, encoding, newline):
    file = files.decode(data)
    assert (file.encoding, file.newline) == (encoding, newline)


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x00\x01",
        b"text\x00more",
        b"\xff\xfe\x00",
        b"\x89PNG\r\n\x1a\n\x00\x00",
        bytes(range(256)),
        b"\x01\xff" * 50,
    ],
)
def test_binary_is_refused(data):
    with pytest.raises(NotText, match=f"binary \\({len(data)} bytes\\)"):
        files.decode(data)


def test_a_change_keeps_the_line_ends_of_all_other_lines():
    file = files.decode(b"a\r\nb\nc\r\nd\nb\n")
    assert file.text == "a\nb\nc\nd\nb\n"
    spans = tuple((at, at + 1) for at in (2, 8))
    assert file.replaced(spans, "x\ny").encode() == b"a\r\nx\ny\nc\r\nd\nx\ny\n"
    crlf = files.decode(b"a\r\nb\r\nc\r\n")
    assert crlf.replaced(((2, 4),), "x\ny\r\nz\n") == "a\r\nx\r\ny\r\nz\r\nc\r\n"


def test_a_character_the_encoding_lacks_is_an_error():
    with pytest.raises(UnicodeEncodeError):
        files.encode("→", files.decode(b"caf\xe9"))


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    before = descriptors()
    for path, fault in ((tmp_path / "pipe", NotText), ("/dev/zero", NotText), (tmp_path, IsADirectoryError)):
        with pytest.raises(fault):
            files.read_text(str(path))
    with pytest.raises(FileNotFoundError):
        files.read_text(str(tmp_path / "none"))
    assert descriptors() <= before


def test_size_is_bounded(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 2_000_000)
    assert len(files.read_bytes(str(path), 2_000_000)) == 2_000_000
    with pytest.raises(NotText, match="larger than 1 MiB"):
        files.read_bytes(str(path), 1_999_999)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755])
def test_the_mode_is_kept(tmp_path, mode):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    files.write_bytes(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert os.listdir(tmp_path) == ["file"]


def test_a_new_file_has_the_mode_that_any_program_gives_it(tmp_path):
    files.write_bytes(str(tmp_path / "ours"), b"")
    (tmp_path / "theirs").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_readers_see_old_or_new_never_half(tmp_path):
    path = tmp_path / "file"
    old, new = b"o" * 300_000, b"n" * 300_000
    path.write_bytes(old)
    done, seen = threading.Event(), set()

    def read():
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(50):
        files.write_bytes(str(path), (old, new)[number % 2])
    done.set()
    reader.join()
    assert seen <= {old, new}


@pytest.mark.parametrize("call", ["_write_new", "replace"])
@pytest.mark.parametrize("number", [errno.EBUSY, errno.EACCES])
def test_what_may_not_be_replaced_is_written_in_place(tmp_path, monkeypatch, call, number):
    """Stands in for a file that is a bind mount, or lies in a directory that is closed."""
    path = tmp_path / "file"
    path.write_bytes(b"old and longer")
    inode = path.stat().st_ino

    def refuse(*_):
        raise OSError(number, "no")

    monkeypatch.setattr(files if call == "_write_new" else files.os, call, refuse)
    files.write_bytes(str(path), b"new")
    assert (path.read_bytes(), path.stat().st_ino) == (b"new", inode)
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_write_all", full)
    with pytest.raises(OSError, match="No space"):
        files.write_bytes(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_what_is_no_writable_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, fault in (
        (tmp_path, IsADirectoryError),
        (tmp_path / "pipe", OSError),
        (tmp_path / "no" / "x", OSError),
    ):
        with pytest.raises(fault):
            files.write_bytes(str(path), b"new")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_is_not_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        files.write_bytes(str(path), b"new")


def test_read_modify_write_is_one_step(tmp_path):
    path = str(tmp_path / "count")
    files.write_bytes(path, b"0")

    def add():
        for _ in range(50):
            with files.exclusive(path):
                files.write_bytes(path, str(int(files.read_bytes(path)) + 1).encode())

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert files.read_bytes(path) == b"400"
    assert path not in files._locks


def test_two_paths_can_be_held_in_any_order(tmp_path):
    paths, count = [str(tmp_path / name) for name in "ab"], []

    def swap(one, other):
        for _ in range(50):
            with files.exclusive(one, other, one):
                count.append(len(count))

    threads = [threading.Thread(target=swap, args=order) for order in (paths, paths[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert count == list(range(100))
