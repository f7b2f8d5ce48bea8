"""Lines of LETOR text, dealt out to parts by the hash of their query."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from rankwright.data.files import display_name, open_binary
from rankwright.data.hashing import hash_ids
from rankwright.data.letor_stream import stream_blocks
from rankwright.data.letor_text import LetorFormat
from rankwright.data.lines import BLOCK_BYTES
from rankwright.data.part_files import letor_form
from rankwright.data.validation import NoDocuments
from rankwright.exceptions import DataError

_MARK = b"qid:"
_BOM = b"\xef\xbb\xbf"
_MOST_KNOWN = 1 << 20  # queries whose part is remembered


class DealtLines:
    """Files of LETOR text, cut into parts.

    Parameters
    ----------
    paths : list of str
        The files.
    n_parts : int
        How many parts.
    """

    ending = ".txt"

    def __init__(self, paths: list[str], n_parts: int) -> None:
        self.paths, self.n_parts = paths, n_parts
        self.letor: dict[str, Any] = {}
        self._known: dict[bytes, int] = {}

    def check(self) -> None:
        """Parse every line; an error names the file and the line."""
        self.letor = letor_form(self.paths, {"allow_nan": True})
        self.letor.pop("dtype")
        for path in self.paths:
            how = LetorFormat(display_name(path), allow_nan=True, **self.letor)
            with contextlib.suppress(NoDocuments):  # other files may have some
                for block in stream_blocks(path, how, BLOCK_BYTES):
                    del block

    def deal(self, path: str, waiting: Path) -> None:
        """Append the lines of a file to those that wait for their parts."""
        with contextlib.ExitStack() as stack, open_binary(path) as (stream, _):
            files: dict[int, IO[bytes]] = {}
            for query, line in _documents(stream, path):
                number = self._part_of(query)
                if number not in files:
                    files[number] = stack.enter_context(open(waiting / str(number), "ab"))
                files[number].write(line)

    def gather(self, number: int, waiting: Path, out: str) -> tuple[int, int] | None:
        """Write a part; return how many documents and queries it has, None without any."""
        source = waiting / str(number)
        if not source.exists():
            return None
        queries: dict[bytes, list[bytes]] = {}
        with open(source, "rb") as stream:
            for query, line in _documents(stream, str(source)):
                queries.setdefault(query, []).append(line)
        source.unlink()
        with open(out, "wb") as file:
            for lines in queries.values():
                file.writelines(lines)
        return sum(map(len, queries.values())), len(queries)

    def _part_of(self, query: bytes) -> int:
        if query not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            text = np.array([query.decode(errors="backslashreplace")], dtype=object)
            self._known[query] = int(hash_ids(text)[0] % np.uint64(self.n_parts))
        return self._known[query]


def _documents(stream: Any, path: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield query and line of each document, without blank lines and comments."""
    first = True
    for raw in stream:
        line = raw.removeprefix(_BOM) if first else raw
        first = False
        fields = line.split(None, 2)
        if not fields or fields[0].startswith(b"#"):
            continue
        if len(fields) < 2 or not fields[1].startswith(_MARK):
            raise DataError(
                "parts need query ids, but there is none. Give each line qid:ID after the label.",
                path=display_name(path),
                field="qid",
            )
        # A comment may follow the id at once.
        query = fields[1][len(_MARK) :].partition(b"#")[0]
        yield query, line if line.endswith(b"\n") else line + b"\n"
