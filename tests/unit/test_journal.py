"""Lines that last once they were added, whatever happens to the next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rankwright.data import disk
from rankwright.data.journal import Journal, read_lines
from rankwright.exceptions import DataError


def test_lines_are_on_the_disk_when_add_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    synced: list[bytes] = []
    folders: list[str] = []
    monkeypatch.setattr(disk, "sync", lambda file: synced.append(path.read_bytes()))
    monkeypatch.setattr(disk, "sync_folder", folders.append)
    with Journal(path) as journal:
        journal.add(b"one")
        journal.add(b"two")
    assert synced == [b"one\n", b"one\ntwo\n"]
    assert folders == [str(tmp_path)]
    assert read_lines(path) == [b"one", b"two"]


@pytest.mark.parametrize("rest", [b"thr", b"\0" * 5000, b"\0\0\0ee\n", b"\0\n\0\n", b"th\0ee\n\0"])
def test_what_a_crash_left_is_dropped_by_the_first_add(rest: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntwo\n" + rest)
    with Journal(path) as journal:
        assert journal.lines == [b"one", b"two"]
        assert path.read_bytes() == b"one\ntwo\n" + rest  # until something is added
        journal.add(b"three")
        journal.add(b"four")
        assert journal.lines == [b"one", b"two", b"three", b"four"]
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\n"


def test_a_full_disk_names_the_file_and_leaves_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.add(b"one")
        with monkeypatch.context() as patch:

            def sync(file: disk.File) -> None:
                raise OSError(28, "No space left on device")

            patch.setattr(disk, "sync", sync)
            with pytest.raises(DataError, match=r"a\.jsonl: cannot be written: No space left on"):
                journal.add(b"two")
        assert path.read_bytes() == b"one\n"
        assert journal.lines == [b"one"]
        journal.add(b"two")
    assert path.read_bytes() == b"one\ntwo\n"


def test_lines_are_lines(tmp_path: Path) -> None:
    with Journal(tmp_path / "a") as journal:
        for line in (b"a\nb", b"a\0b"):
            with pytest.raises(ValueError, match="must hold neither line ends nor zeros"):
                journal.add(line)
    assert (tmp_path / "a").read_bytes() == b""


def test_places_where_no_journal_can_be(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=": cannot be written: Is a directory"):
        Journal(tmp_path)
    with pytest.raises(DataError, match="no/a: cannot be written: No such file or directory"):
        Journal(tmp_path / "no/a")
    with pytest.raises(DataError, match="a: cannot be read: No such file or directory"):
        read_lines(tmp_path / "a")


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    with Journal(tmp_path / "link") as journal:
        journal.add(b"one")
    assert os.path.islink(tmp_path / "link")
    assert read_lines(tmp_path / "real") == [b"one"]
