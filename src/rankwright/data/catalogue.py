"""The catalogue of public benchmarks: what each entry tells, and where its files go."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rankwright.data.files import PathLike
from rankwright.showing import Brief

FOLDER_VARIABLE = "RANKWRIGHT_DATA"
_COMPRESSED = ("", ".gz", ".zst")


@dataclass(frozen=True)
class Archive:
    """A file that the publisher offers."""

    name: str
    sha256: str | None = None
    url: str | None = None  # None: its page says where, once its terms are accepted
    size: int | None = None  # bytes


@dataclass(frozen=True, repr=False)
class Benchmark(Brief):
    """One public data set.

    Attributes
    ----------
    name : str
        What ``rankwright datasets get`` calls it, and the name of its folder.
    title : str
        Its own name.
    contents : str
        Queries, documents, features.
    terms : str
        Licence, in short; ``page`` has the text.
    page : str
        The publisher's page.
    files : tuple of str
        Files that are in the folder when the set is complete, plain, ``.gz`` or ``.zst``.
    archives : tuple of Archive
        Files to fetch.
    must_accept : bool
        Whether a person has to accept the terms before the download.
    steps : str
        What to do by hand, where the set may not be downloaded or its archive not be unpacked.
    """

    name: str
    title: str
    contents: str
    terms: str
    page: str
    files: tuple[str, ...]
    archives: tuple[Archive, ...]
    must_accept: bool = False
    steps: str = ""

    @property
    def downloadable(self) -> bool:
        """Whether all its archives have an address."""
        return all(archive.url is not None for archive in self.archives)

    @property
    def size(self) -> int | None:
        """Bytes to download, if known."""
        sizes = [archive.size for archive in self.archives]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def folder(self, root: PathLike | None = None) -> Path:
        """Return where its files go, below ``root`` or :func:`data_folder`."""
        return data_folder(root) / self.name

    def missing(self, root: PathLike | None = None) -> list[str]:
        """Return the files that are not there."""
        folder = self.folder(root)
        return [
            file
            for file in self.files
            if not any((folder / f"{file}{suffix}").is_file() for suffix in _COMPRESSED)
        ]

    def is_present(self, root: PathLike | None = None) -> bool:
        """Whether all its files are there."""
        return not self.missing(root)

    def instructions(self, root: PathLike | None = None) -> str:
        """Say what a person has to do to have it."""
        folder = self.folder(root)
        lines = [f"{self.title}: {self.contents}.", f"Terms: {self.terms}."]
        if self.downloadable:
            option = " --accept-terms" if self.must_accept else ""
            lines.append(f"Page: {self.page}")
            lines.append(f"Run: rankwright datasets get {self.name}{option}")
        else:
            names = " and ".join(archive.name for archive in self.archives)
            lines.append(f"1. Accept the terms at {self.page} and fetch {names}.")
            lines.append(f"2. {self.steps.format(folder=folder, name=self.name)}")
        shown = [*self.files[:2], "..."] if len(self.files) > 3 else [*self.files]
        lines.append(f"Then these are in {folder}: {', '.join(shown)}")
        for archive in self.archives:
            if archive.sha256 is not None:
                lines.append(f"sha256 {archive.sha256}  {archive.name}")
        return "\n".join(lines)


def data_folder(root: PathLike | None = None) -> Path:
    """Return the folder of all benchmarks.

    ``root`` if given, else the environment variable ``RANKWRIGHT_DATA``, else ``rankwright`` in the
    user's cache folder (``XDG_CACHE_HOME`` or ``~/.cache``).
    """
    if root is not None:
        return Path(root)
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankwright"
