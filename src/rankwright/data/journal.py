"""Lines that are added one by one, each of which lasts once it was added."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from rankwright.data import disk
from rankwright.data.files import PathLike
from rankwright.exceptions import DataError


def read_lines(path: PathLike) -> list[bytes]:
    """Return the lines of a journal, without one at its end that was not written to its end."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", path=path) from error
    lines = content.split(b"\n")[:-1]
    # After a power cut, space that was not filled reads as zeros.
    while lines and b"\0" in lines[-1]:
        lines.pop()
    return lines


class Journal:
    r"""A file of lines, open to add more; it is made if it is not there.

    Each line is one write to the end of the file, and is on the disk itself when :meth:`add`
    returns. A rest of a line that a crash left is dropped with the first :meth:`add`: until then
    nothing is changed, so that :attr:`lines` can be looked at first. Two processes must not add at
    a time: hold a :class:`~rankwright.data.lock.Lock`.

    Attributes
    ----------
    lines : list of bytes
        The lines, without their ends.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(f"{folder.name}/a.jsonl") as journal:
    ...     journal.add(b"1")
    >>> with Journal(f"{folder.name}/a.jsonl") as journal:
    ...     journal.lines
    [b'1']
    >>> folder.cleanup()
    """

    def __init__(self, path: PathLike) -> None:
        self.path = path
        place = os.path.realpath(path)
        new = not os.path.exists(place)
        try:
            self._file = disk.open_file(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            if new:
                disk.sync_folder(os.path.dirname(place))
        except OSError as error:
            raise self._error(error) from error
        self.lines = read_lines(place)
        self._end = sum(len(line) + 1 for line in self.lines)

    def add(self, line: bytes) -> None:
        """Add a line, for good."""
        if b"\n" in line or b"\0" in line:
            raise ValueError(f"a line must hold neither line ends nor zeros, but is {line!r}.")
        try:
            if os.fstat(self._file.fileno()).st_size != self._end:
                disk.truncate(self._file, self._end)
            self._file.write(line + b"\n")
            disk.sync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):  # half a line would be dropped by the next to read
                disk.truncate(self._file, self._end)
            raise self._error(error) from error
        self._end += len(line) + 1
        self.lines.append(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _error(self, error: OSError) -> DataError:
        return DataError(f"cannot be written: {error.strerror}.", path=self.path)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
