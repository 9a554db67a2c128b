"""Bringing files back: all of them or none, whatever goes wrong on the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from acpagent.core.faults import OurFault
from acpagent.core.history import FileKept
from acpagent.runtime.session import restoring
from acpagent.runtime.turn import keeping
from acpagent.store import contents
from acpagent.store.contents import Contents


class Folder:
    """Files that some calls changed."""

    def __init__(self, path: Path) -> None:
        self.path = path / "work"
        self.path.mkdir()
        self.contents = Contents(str(path / "home"), "session")
        self.entries: list[FileKept] = []

    def change(self, name: str, data: bytes | None, mode: int = 0o644) -> None:
        path = os.path.realpath(self.path / name)
        held = keeping.look(path)
        if data is None:
            os.unlink(path)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Path(path).write_bytes(data)
            os.chmod(path, mode)
        now = keeping.look(path)
        self.entries.append(keeping.kept("t", path, held, now, self.contents.put))

    def files(self) -> dict[str, tuple[bytes, int]]:
        found = [path for path in self.path.rglob("*") if path.is_file()]
        return {str(path): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in found}

    def restore(self) -> None:
        restoring.restore(restoring.targets(self.entries, self.contents.get))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    for number in range(4):
        (made.path / f"{number}.txt").write_bytes(b"%d" % number)
        (made.path / f"{number}.txt").chmod(0o640)
    return made


def changed(folder: Folder) -> dict[str, tuple[bytes, int]]:
    before = folder.files()
    folder.change("0.txt", b"other", 0o600)
    folder.change("1.txt", None)
    folder.change("sub/new.txt", b"new")
    folder.change("2.txt", b"once")
    folder.change("2.txt", b"twice", 0o755)
    return before


def test_bytes_and_modes_are_as_they_were(folder: Folder) -> None:
    before = changed(folder)
    folder.restore()
    assert folder.files() == before


@pytest.mark.parametrize("call", ["replace", "link", "unlink", "open"])
@pytest.mark.parametrize("number", range(1, 5))
def test_a_failure_on_the_way_is_undone(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    changed(folder)
    after = folder.files()
    targets = restoring.targets(folder.entries, folder.contents.get)
    real, calls = getattr(os, call), 0

    def failing(*args: object, **named: object) -> object:
        nonlocal calls
        if ".acpagent-" in f"{args}" or call == "unlink":
            calls += 1
            if calls == number:
                raise OSError(28, "No space left on device")
        return real(*args, **named)

    monkeypatch.setattr(os, call, failing)
    said = ""
    try:
        restoring.restore(targets)
    except OurFault as fault:
        said = fault.message
    monkeypatch.undo()
    if said:
        assert "No space left" in said
        assert folder.files() == after
    else:
        assert calls < number or call in ("link", "unlink")  # without these there are other ways


def test_a_file_that_is_as_it_was_needs_nothing(folder: Folder) -> None:
    folder.change("0.txt", b"other", 0o640)
    folder.change("0.txt", b"0", 0o640)
    assert restoring.targets(folder.entries, folder.contents.get) == []


def test_a_file_that_changes_at_the_last_moment_is_left(folder: Folder) -> None:
    changed(folder)
    targets = restoring.targets(folder.entries, folder.contents.get)
    (folder.path / "2.txt").write_bytes(b"mine")
    after = folder.files()
    with pytest.raises(restoring.Blocked):
        restoring.restore(targets)
    assert folder.files() == after


def test_contents_that_are_damaged_or_gone_are_not_used(folder: Folder, tmp_path: Path) -> None:
    folder.change("0.txt", b"other")
    (kept,) = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.write_bytes(b"1")
    with pytest.raises(restoring.Blocked) as blocked:
        folder.restore()
    assert [one.code for one in blocked.value.obstacles] == ["rewind_lost_not_kept"]


def test_the_oldest_contents_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_BYTES", 1_000)
    kept = Contents(str(tmp_path), "s")
    digests = []
    for number in range(20):
        digests.append(kept.put(b"%03d" % number + b"x" * 97))
        os.utime(next(path for path in tmp_path.rglob(digests[-1])), (number, number))
    held = [kept.get(digest) is not None for digest in digests]
    assert held == sorted(held)
    assert 5 <= sum(held) <= 10
    contents.erase(str(tmp_path), "s")
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
