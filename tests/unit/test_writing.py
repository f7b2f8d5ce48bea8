"""Writing: old or new and nothing else, modes and links kept, errors that name the file."""

from __future__ import annotations

import fcntl
import gzip
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from rankwright.data import disk
from rankwright.data.writing import (
    check_writable,
    check_writable_folder,
    make_folder,
    make_held_folder,
    remove_leftovers,
    replace_folder,
    write_atomically,
)
from rankwright.exceptions import DataError


def write(path: Path, content: bytes, error: BaseException | None = None) -> None:
    with write_atomically(path) as out:
        out.write(content)
        if error is not None:
            raise error


def write_folder(path: Path, content: bytes, error: BaseException | None = None) -> None:
    with replace_folder(path) as part:
        (part / "x").write_bytes(content)
        if error is not None:
            raise error


# ---- files ----


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with write_atomically(path) as out:
        out.write(b"new")
        out.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_what_fails_changes_nothing_and_leaves_nothing(
    error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises((error, DataError)):
        write(path, b"new", error("stop"))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_content_then_name_then_folder_reach_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def noted(name: str) -> None:
        original = getattr(disk, name)

        def call(*arguments: object) -> None:
            done.append(name)
            original(*arguments)

        monkeypatch.setattr(disk, name, call)

    for name in ("sync", "rename", "sync_folder"):
        noted(name)
    write(tmp_path / "a.txt", b"new")
    assert done == ["sync", "rename", "sync_folder"]


def test_all_of_an_array_is_written(tmp_path: Path) -> None:
    array = np.arange(12.0).reshape(3, 4)
    with write_atomically(tmp_path / "a.bin") as out:
        assert out.write(array.data) == 96
        assert out.write(array[:0].data) == 0
        assert out.write(b"") == 0
    assert (tmp_path / "a.bin").read_bytes() == array.tobytes()


def test_a_short_write_is_continued(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    got: list[bytes] = []

    def drain() -> None:
        while piece := os.read(reader, 1000):
            got.append(piece)

    thread = threading.Thread(target=drain)
    thread.start()
    with disk.File(writer, "wb") as file:
        assert file.write(b"x" * 300_000) == 300_000
    thread.join()
    os.close(reader)
    assert sum(map(len, got)) == 300_000


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_of_a_file_is_kept(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(mode)
    with write_atomically(path) as out:
        (part,) = tmp_path.glob(".a.txt.*.part")
        assert stat.S_IMODE(part.stat().st_mode) & ~mode == 0  # not even for a while
        out.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    os.chown(path, 65534, 65534)
    write(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_a_link_goes_on_to_point_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link, dangling = tmp_path / "real/m.rw", tmp_path / "m.rw", tmp_path / "next.rw"
    real.write_bytes(b"old")
    link.symlink_to("again.rw")
    (tmp_path / "again.rw").symlink_to("real/m.rw")
    dangling.symlink_to("real/next.rw")
    write(link, b"new")
    write(dangling, b"next")
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert real.read_bytes() == b"new"
    assert (tmp_path / "real/next.rw").read_bytes() == b"next"
    assert sorted(os.listdir(tmp_path / "real")) == ["m.rw", "next.rw"]


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    link = tmp_path / "a"
    link.symlink_to("a")
    with pytest.raises(DataError, match="a: cannot be written: it is a link that leads back to"):
        write(link, b"")


def test_the_name_that_was_given_tells_the_compression(tmp_path: Path) -> None:
    (tmp_path / "link.gz").symlink_to("plain")
    write(tmp_path / "link.gz", b"text")
    assert gzip.decompress((tmp_path / "plain").read_bytes()) == b"text"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_writable(tmp_path / "pipe")  # must not wait for a reader
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        write(tmp_path / "pipe", b"text")
        assert reader.communicate()[0] == b"text"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_redirected_descriptor_is_added_to(tmp_path: Path) -> None:
    code = "from rankwright.data.writing import write_atomically as w\n"
    code += "with w('/dev/stdout') as out: out.write(b'new')"
    (tmp_path / "log").write_bytes(b"old ")
    with (tmp_path / "log").open("ab") as log:
        subprocess.run([sys.executable, "-c", code], stdout=log, check=True)
    assert (tmp_path / "log").read_bytes() == b"old new"


# ---- leftovers ----


def test_parts_of_killed_runs_are_removed_by_the_next_write(tmp_path: Path) -> None:
    code = "import os, sys, signal\nfrom rankwright.data.writing import write_atomically as w\n"
    code += "with w(sys.argv[1]) as out:\n    out.write(b'x'); os.kill(os.getpid(), signal.SIGKILL)"
    for name in ("a.txt", "a.txt.gz"):
        subprocess.run([sys.executable, "-c", code, tmp_path / name])
    assert len(os.listdir(tmp_path)) == 2
    (tmp_path / ".a.txt.0123abcd.part").mkdir()
    (tmp_path / ".a.txt.notours.part").write_bytes(b"")
    write(tmp_path / "a.txt", b"new")
    left = sorted(os.listdir(tmp_path))
    assert left[:-2] == [next(n for n in left if n.startswith(".a.txt.gz."))]
    assert left[-2:] == [".a.txt.notours.part", "a.txt"]
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".a.txt.notours.part", "a.txt"]


def test_a_part_that_is_being_written_stays(tmp_path: Path) -> None:
    with write_atomically(tmp_path / "a.txt") as first:
        first.write(b"first")
        write(tmp_path / "a.txt", b"second")
        assert len(list(tmp_path.glob(".a.txt.*.part"))) == 1
    assert (tmp_path / "a.txt").read_bytes() == b"first"
    with replace_folder(tmp_path / "f") as part:
        remove_leftovers(tmp_path)
        assert part.is_dir()


def test_a_part_that_is_taken_for_a_leftover_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = fcntl.flock
    calls = 0

    def flock(descriptor: int, how: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:  # another run came between, and removed it
            (part,) = tmp_path.glob(".a.*.part")
            part.rmdir() if part.is_dir() else part.unlink()
        elif calls == 2:  # or it has the lock, and is about to
            raise BlockingIOError
        original(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    write(tmp_path / "a", b"new")
    assert calls == 3
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_file_system_without_locks_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(descriptor: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    (tmp_path / ".a.01234567.part").write_bytes(b"")  # whose, nobody can tell
    write(tmp_path / "a", b"new")
    with replace_folder(tmp_path / "b") as part:
        (part / "c").write_bytes(b"")
    assert sorted(os.listdir(tmp_path)) == [".a.01234567.part", "a", "b"]


# ---- errors ----


def test_a_full_disk_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.rw"
    path.write_bytes(b"old")

    def sync(file: disk.File) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "sync", sync)
    with pytest.raises(DataError, match=r"model\.rw: cannot be written: No space left on device\."):
        write(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.rw"]


def test_a_full_device_names_itself() -> None:
    with pytest.raises(DataError, match=r"/dev/full: cannot be written: No space left on device\."):
        write(Path("/dev/full"), b"x")


def test_errors_of_other_files_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "a", b"", FileNotFoundError(2, "No such file", "/no/such/file"))


@pytest.mark.parametrize("check", [check_writable, write])
def test_where_nothing_can_be_written(check: object, tmp_path: Path) -> None:
    def act(path: Path) -> None:
        write(path, b"") if check is write else check_writable(path)

    with pytest.raises(DataError, match=": cannot be written: Is a directory"):
        act(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match="file/a: cannot be written: Not a directory"):
        act(tmp_path / "file/a")
    with pytest.raises(DataError, match=r"file(/no)?: (must be a folder|cannot be written)"):
        act(tmp_path / "file/no/a")
    with pytest.raises(DataError, match="cannot be written: "):
        act(Path("/proc/a"))
    assert os.listdir(tmp_path) == ["file"]
    check_writable(tmp_path / "no/such/a")
    assert os.listdir(tmp_path) == ["file"]  # folders are made when there is something to write
    write(tmp_path / "no/such/a", b"1")
    assert (tmp_path / "no/such/a").read_bytes() == b"1"


def test_what_can_be_written_is_not_touched_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "a"
    check_writable(path)
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"old")
    check_writable(path)
    check_writable("-")
    check_writable("/dev/null")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_looking_removes_what_a_killed_look_left(tmp_path: Path) -> None:
    (tmp_path / ".rankwright.0123abcd.part").write_bytes(b"")
    (tmp_path / ".a.0123abcd.part").write_bytes(b"")
    check_writable_folder(tmp_path / "new")
    check_writable(tmp_path / "a")
    assert os.listdir(tmp_path) == []


def test_looking_at_folders(tmp_path: Path) -> None:
    check_writable_folder(tmp_path)
    check_writable_folder(tmp_path / "a/b/c")
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file", tmp_path / "file/a"):
        with pytest.raises(DataError, match="file: must be a folder, but is a file"):
            check_writable_folder(path)
    with pytest.raises(DataError, match="/proc/a/b: cannot be written: "):
        check_writable_folder("/proc/a/b")
    assert os.listdir(tmp_path) == ["file"]
    check_writable(tmp_path / "no/such/a")
    assert os.listdir(tmp_path) == ["file"]  # folders are made when there is something to write
    write(tmp_path / "no/such/a", b"1")
    assert (tmp_path / "no/such/a").read_bytes() == b"1"


def test_without_permission() -> None:
    """As nobody, since root may write anywhere."""
    code = "import os, sys\nfrom rankwright.data.writing import *\n"
    code += "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
    code += "def write(path):\n    with write_atomically(path): pass\n"
    code += "for act in (check_writable, check_writable_folder, write):\n"
    code += "    try: act(sys.argv[1])\n    except ValueError as error: print(error)"
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        command = [sys.executable, "-c", code, f"{folder}/a"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.stderr == ""
    assert done.stdout == f"{folder}/a: cannot be written: Permission denied.\n" * 3


# ---- standard output ----


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_output_stays_open_and_in_order(unbuffered: str) -> None:
    code = "import gc\nfrom rankwright.data.writing import write_atomically\nprint('a')\n"
    code += "for _ in range(2):\n    with write_atomically('-') as out: out.write(b'b' * 200_000)\n"
    code += "    del out; gc.collect()\nprint('c')"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert done.stdout == b"a\n" + b"b" * 400_000 + b"c\n"
    assert done.stderr == b""


def test_standard_output_that_is_closed_or_full() -> None:
    code = "from rankwright.data.writing import *\nimport sys\n"
    code += 'for act in (check_writable, lambda p: exec("with write_atomically(p) as o: '
    code += "o.write(b'x')\")):\n    try: act('-')\n"
    code += "    except ValueError as error: print(error, file=sys.stderr)\n"
    environment = {**os.environ, "CODE": code}
    command = f'exec "{sys.executable}" -c "$CODE" '
    closed, full = (
        subprocess.run(["sh", "-c", command + to], capture_output=True, env=environment).stderr
        for to in (">&-", "> /dev/full")
    )
    assert closed.decode() == "standard output: cannot be written: it is closed.\n" * 2
    assert full.startswith(b"standard output: cannot be written: No space left on device.\n")


# ---- folders ----


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "a/b"
    with replace_folder(target) as part:
        (part / "x").write_bytes(b"1")
        (part / "deep").mkdir()
        (part / "deep/y").write_bytes(b"2")
        assert not target.exists()
    assert (target / "x").read_bytes() == b"1"
    assert (target / "deep/y").read_bytes() == b"2"
    with replace_folder(target) as part:
        (part / "x").write_bytes(b"3")
        assert (target / "deep/y").exists()
    assert os.listdir(target) == ["x"]
    assert os.listdir(tmp_path / "a") == ["b"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    write_folder(tmp_path / "a", b"1")
    with pytest.raises(ZeroDivisionError):
        write_folder(tmp_path / "a", b"2", ZeroDivisionError())
    assert (tmp_path / "a/x").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_whose_name_cannot_be_given_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "a", b"1")
    original = disk.rename
    calls = 0

    def rename(old: str, new: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(5, "Input/output error", old)
        original(old, new)

    monkeypatch.setattr(disk, "rename", rename)
    with pytest.raises(DataError, match="/a: cannot be written: Input/output error"):
        write_folder(tmp_path / "a", b"2")
    assert (tmp_path / "a/x").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_on_a_full_disk_names_itself(tmp_path: Path) -> None:
    full = OSError(28, "No space left on device", str(tmp_path / ".a.01234567.part/scores.npy"))
    with pytest.raises(DataError, match=r"/a: cannot be written: No space left on device\."):
        write_folder(tmp_path / "a", b"1", full)
    assert os.listdir(tmp_path) == []


def test_every_file_and_folder_reaches_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    names: dict[int, str] = {}
    open_file = disk.open_file

    def opened(path: str, flags: int, mode: int = 0o666) -> disk.File:
        file = open_file(path, flags, mode)
        names[id(file)] = path
        return file

    monkeypatch.setattr(disk, "open_file", opened)
    monkeypatch.setattr(disk, "sync", lambda file: synced.append(Path(names[id(file)]).name))
    monkeypatch.setattr(disk, "sync_folder", lambda path: synced.append(Path(path).name + "/"))
    rename = disk.rename

    def renamed(old: str, new: str) -> None:
        synced.append("rename")
        rename(old, new)

    monkeypatch.setattr(disk, "rename", renamed)
    (tmp_path / "top").mkdir()
    with replace_folder(tmp_path / "top/a") as part:
        (part / "deep").mkdir()
        (part / "x").write_bytes(b"1")
        (part / "deep/y").write_bytes(b"2")
    assert synced == ["y", "deep/", "x", f"{part.name}/", "rename", "top/"]


def test_folders_are_made_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(disk, "sync_folder", lambda path: synced.append(path))
    make_folder(tmp_path / "a/b")
    make_folder(tmp_path / "a/b")
    assert (tmp_path / "a/b").is_dir()
    assert synced == [str(tmp_path), str(tmp_path / "a")]
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match="file/c: cannot be written: File exists"):
        make_folder(tmp_path / "file/c")


@pytest.mark.parametrize("when", ["before it is open", "before it is held"])
def test_a_new_folder_that_is_taken_for_a_leftover(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process looks for leftovers at the moment when a folder is made."""
    make, hold = disk.make_one_folder, fcntl.flock
    taken: list[str] = []

    def take(path: str) -> None:
        if not taken:
            taken.append(path)
            os.rmdir(path)

    def made(path: str) -> None:
        make(path)
        if when == "before it is open":
            take(path)

    def held(descriptor: int, how: int) -> None:
        if when == "before it is held":
            take(os.readlink(f"/proc/self/fd/{descriptor}"))
        hold(descriptor, how)

    monkeypatch.setattr(disk, "make_one_folder", made)
    monkeypatch.setattr(fcntl, "flock", held)
    folder, descriptor = make_held_folder(str(tmp_path / "x"))
    assert os.path.isdir(folder)
    assert folder not in taken
    assert len(taken) == 1
    os.close(descriptor)
