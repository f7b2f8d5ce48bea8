"""A disk that can lose its power: what may be on it after a cut at any moment.

:class:`Recorder` takes the place of :mod:`rankwright.data.disk` and notes every operation, as well
as what was said meanwhile. :meth:`Recorder.cut` builds what the disk may hold if the power went
after the first ``k`` of them:

- the content of a file is as of its last sync; of what was written since then there may be all,
  some, or as many zeros;
- of the names that were given, changed and removed in a folder since its last sync, any may be
  there or not.

That is less than file systems promise, and what programs may rely on.
"""

from __future__ import annotations

import copy
import io
import os
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from rankwright.data import disk

_PATCHED = [
    *("open_file", "truncate", "sync", "sync_folder"),
    *("rename", "make_one_folder", "remove", "remove_folder"),
]
_ROOT = 0


@dataclass(frozen=True)
class Data:
    """A file gets other content."""

    node: int
    content: bytes


@dataclass(frozen=True)
class Names:
    """In a folder, names get other nodes, or none; all of them or none of them."""

    node: int
    changes: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class Sync:
    """All that happened to a file, or to the names in a folder, is on the disk."""

    node: int


@dataclass(frozen=True)
class Said:
    """The program told something."""

    text: str


@dataclass
class State:
    """Files and folders, numbered as inodes are."""

    contents: dict[int, bytes] = field(default_factory=dict)
    entries: dict[int, dict[str, int]] = field(default_factory=lambda: {_ROOT: {}})

    def find(self, path: str) -> int | None:
        """Return the node of a path below the root."""
        node: int | None = _ROOT
        for name in Path(path).parts:
            node = None if node is None else self.entries.get(node, {}).get(name)
        return node

    def do(self, change: Data | Names) -> None:
        """Let something happen."""
        if isinstance(change, Data):
            self.contents[change.node] = change.content
            return
        entries = self.entries.setdefault(change.node, {})
        for name, node in change.changes:
            entries.pop(name, None)
            if node is not None:
                entries[name] = node

    def files(self, node: int = _ROOT, path: str = "") -> Iterator[tuple[str, bytes]]:
        """Yield paths and contents below a node."""
        for name, child in self.entries.get(node, {}).items():
            below = os.path.join(path, name)
            if child in self.contents:
                yield below, self.contents[child]
            else:
                yield from self.files(child, below)

    def write(self, place: Path, node: int = _ROOT) -> None:
        """Write it all to a folder."""
        place.mkdir(exist_ok=True)
        for name, child in self.entries.get(node, {}).items():
            if child in self.contents:
                (place / name).write_bytes(self.contents[child])
            else:
                self.write(place / name, child)


class Recorder:
    """Notes what a program does below a folder.

    Attributes
    ----------
    operations : list
        What happened, in order.
    versions : dict
        For each path below the folder, every content that was to be seen there: those that may be
        found after a cut. Hidden names promise nothing.
    """

    def __init__(self, root: Path) -> None:
        self.root = str(root.resolve())
        self.operations: list[Data | Names | Sync | Said] = []
        self.versions: dict[str, set[bytes]] = {}
        self.now = State()
        self._n_nodes = 1
        for place, _, names in os.walk(self.root):
            for name in names:
                self._look(os.path.join(place, name))
            self._find(place)
        self.operations.clear()
        self.start = copy.deepcopy(self.now)  # what is there at the start lasts
        self._see("", _ROOT)

    # ---- recording ----

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record what is done within."""
        self._real = {name: getattr(disk, name) for name in _PATCHED}
        said = io.TextIOWrapper(io.BufferedWriter(_Ear(self)), "utf-8", write_through=True)
        recorded = {name: getattr(self, name) for name in _PATCHED}
        with redirect_stdout(said), redirect_stderr(said), mock.patch.multiple(disk, **recorded):
            yield

    def open_file(self, path: str, flags: int, mode: int = 0o666) -> disk.File:
        self._real["open_file"](path, flags, mode).close()
        self._look(path)
        modes = {os.O_RDONLY: "rb", os.O_WRONLY: "wb", os.O_RDWR: "r+b"}
        descriptor = os.open(path, flags & ~(os.O_CREAT | os.O_EXCL))
        return _File(self, path, descriptor, modes[flags & os.O_ACCMODE])

    def truncate(self, file: _File, size: int) -> None:
        self._real["truncate"](file, size)
        self._look(file.path)

    def sync(self, file: _File) -> None:
        self._real["sync"](file)
        self._look(file.path)
        self._add(Sync, file.path)

    def sync_folder(self, path: str) -> None:
        self._add(Sync, path)

    def rename(self, old: str, new: str) -> None:
        if not self._is_here(new):
            self._real["rename"](old, new)
            return
        node = self._find(old)
        self._real["rename"](old, new)
        assert os.path.dirname(old) == os.path.dirname(new)
        self._add(Names, os.path.dirname(new), _change(old, None), _change(new, node))
        self._see(os.path.relpath(new, self.root), node)

    def make_one_folder(self, path: str) -> None:
        self._real["make_one_folder"](path)
        if self._is_here(path):
            self._find(path)

    def remove(self, path: str) -> None:
        self._real["remove"](path)
        self._add(Names, os.path.dirname(path), _change(path, None))

    def remove_folder(self, path: str) -> None:
        for place, folders, files in os.walk(path, topdown=False):
            for name in (*files, *folders):
                self._add(Names, place, (name, None))
        if os.path.isdir(path):
            self._add(Names, os.path.dirname(path), _change(path, None))
        self._real["remove_folder"](path)

    def said(self, k: int | None = None) -> str:
        """Return what the program told within its first operations."""
        return "".join(op.text for op in self.operations[:k] if isinstance(op, Said))

    def _find(self, path: str) -> int:
        """Return the node of a path; what came to be unseen is noted now."""
        path = os.path.abspath(path)
        here = os.path.relpath(path, self.root)
        node = self.now.find("" if here == "." else here)
        if node is None:
            node, self._n_nodes = self._n_nodes, self._n_nodes + 1
            self._add(Names, os.path.dirname(path), _change(path, node))
        return node

    def _look(self, path: str) -> None:
        """Note what is in a file, in whatever way it got there."""
        if self._is_here(path):
            content = Path(path).read_bytes()
            if content != self.now.contents.get(self._find(path)):
                self._add(Data, path, content)

    def _add(self, kind: Any, path: str, *what: Any) -> None:
        if not self._is_here(path):
            return
        op = kind(self._find(path), what) if kind is Names else kind(self._find(path), *what)
        self.operations.append(op)
        if not isinstance(op, Sync):
            self.now.do(op)

    def _is_here(self, path: str) -> bool:
        return f"{os.path.realpath(path)}/".startswith(f"{self.root}/")

    def _see(self, path: str, node: int) -> None:
        """Keep what can be seen under a name from now on."""
        seen = dict(self.now.files(node, path))
        if node in self.now.contents:
            seen = {path: self.now.contents[node]}
        for name, content in seen.items():
            self.versions.setdefault(name, set()).add(content)

    # ---- cuts ----

    def moment(self, chance: random.Random) -> int:
        """Return a moment for a cut: the end, just before a sync, or any."""
        syncs = [i for i, op in enumerate(self.operations) if isinstance(op, Sync)]
        end = len(self.operations)
        return chance.choice([end, *chance.choices(syncs, k=4), *chance.choices(range(end), k=5)])

    def cut(self, k: int, chance: random.Random) -> State:
        """Return what the disk may hold if the power went after ``k`` operations."""
        state = copy.deepcopy(self.start)
        pending: dict[int, list[Data | Names]] = {}
        for op in self.operations[:k]:
            if isinstance(op, Sync):
                for change in pending.pop(op.node, []):
                    state.do(change)
            elif not isinstance(op, Said):
                pending.setdefault(op.node, []).append(op)
        for changes in pending.values():
            for change in _some(changes, chance):
                state.do(change)
        for node in self.now.contents:
            state.contents.setdefault(node, b"")  # it came to be, and nothing of it
            last = pending[node][-1] if node in pending else None
            if isinstance(last, Data) and chance.random() < 0.5:
                state.contents[node] = _torn(state.contents[node], last.content, chance)
        return state


class _File(disk.File):
    """A file that tells what is written to it."""

    def __init__(self, recorder: Recorder, path: str, descriptor: int, mode: str) -> None:
        super().__init__(descriptor, mode)
        self.recorder, self.path = recorder, path

    def write(self, data: Any) -> int:
        size = super().write(data)
        self.recorder._look(self.path)
        return size


class _Ear(io.RawIOBase):
    """Hears what a program tells."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.recorder.operations.append(Said(bytes(data).decode("utf-8", "replace")))
        return len(data)


def _change(path: str, node: int | None) -> tuple[str, int | None]:
    return os.path.basename(path), node


def _some(changes: list[Data | Names], chance: random.Random) -> Iterable[Data | Names]:
    """Return what of it reached the disk."""
    how = chance.choice(("none", "all", "first", "any"))
    if how == "first":
        return changes[: chance.randint(0, len(changes))]
    if how == "any":
        return [change for change in changes if chance.random() < 0.5]
    return changes if how == "all" else []


def _torn(old: bytes, new: bytes, chance: random.Random) -> bytes:
    """Return the old content with some of what came to it, and zeros where blocks are missing."""
    same = (a == b for a, b in zip(old, new, strict=False))
    kept = next((i for i, equal in enumerate(same) if not equal), min(len(old), len(new)))
    end = chance.choice((len(new), chance.randint(kept, len(new))))
    first, last = sorted((chance.randint(kept, end), chance.randint(kept, end)))
    if chance.random() < 0.5:
        first, last = chance.choice(((kept, end), (end, end)))
    return new[:first] + bytes(last - first) + new[last:end]
