"""Arrays of ids that are texts.

numpy gives every string of an array the room of the longest: one id of a thousand characters among
a million rows would take four gigabytes. Where that gets out of proportion, an array of Python
strings takes its place; equal neighbours then are one object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.exceptions import DataError

LONGEST_ID = 1000  # characters
_SMALL = 64 << 20  # bytes that need no second thought
_OBJECT = 64  # bytes of a Python string beside its characters, about


def text_array(texts: Sequence[str], counts: ArrayLike | None = None) -> NDArray[Any]:
    """Return texts, each repeated, as an array of strings or of Python strings.

    >>> text_array(["a", "bc"], [2, 1])
    array(['a', 'a', 'bc'], dtype='<U2')
    """
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    repeats = np.ones(len(texts), dtype=np.int64) if counts is None else np.asarray(counts)
    longest = int(lengths.max(initial=1))
    fixed = _is_fixed(longest, int(lengths @ repeats), int(repeats.sum()))
    array = np.array(texts, dtype=f"U{longest}" if fixed else object)
    return array if counts is None else np.repeat(array, repeats)


def join_ids(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate ids: to integers if all are, else to texts."""
    numbers = all(array.dtype.kind == "i" for array in arrays)
    return np.concatenate(arrays) if numbers else join_texts(arrays)


def join_texts(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate arrays of texts or integers to texts.

    >>> join_texts([np.array(["a"]), np.array([12])])
    array(['a', '12'], dtype='<U2')
    """
    parts = [_as_text(array) for array in arrays if len(array)]
    if len(parts) == 1:
        return parts[0]
    widths = [_width(part) for part in parts]
    total = sum(len(part) * width for part, width in zip(parts, widths, strict=True))
    fixed = _is_fixed(max(widths, default=1), total, sum(map(len, parts)))
    return np.concatenate([part if fixed else part.astype(object) for part in parts])


def _as_text(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind != "i":
        return array
    return array.astype(f"U{max(len(str(array.min())), len(str(array.max())))}")


def _width(array: NDArray[Any]) -> int:
    return max(map(len, array)) if array.dtype.kind == "O" else array.itemsize // 4


def _is_fixed(longest: int, total: int, n: int) -> bool:
    return 4 * n * longest <= _SMALL or longest * n <= 2 * total + _OBJECT * n


def pack(name: str, ids: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return ids as arrays of plain bytes, to be hashed or written to files."""
    if ids.dtype.kind != "O":
        return {name: ids}
    encoded = [text.encode(errors="surrogatepass") for text in ids.tolist()]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {
        f"{name}_text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}_ends": ends,
    }


def unpack(name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the ids that :func:`pack` packed."""
    if name in arrays:
        return np.asarray(arrays[name])
    text, ends = arrays[f"{name}_text"].tobytes(), arrays[f"{name}_ends"].tolist()
    known: dict[bytes, str] = {}  # rows of a query share one text
    texts = []
    for begin, end in zip([0, *ends], ends, strict=False):
        raw = text[begin:end]
        texts.append(known.setdefault(raw, raw.decode(errors="surrogatepass")))
    return np.array(texts, dtype=object)


def split_texts(ids: bytes) -> list[str]:
    r"""Return the texts of ids that are each ended by a newline; what is not UTF-8 as ``\xNN``.

    >>> split_texts(b"a\n\n\xff\n")
    ['a', '', '\\xff']
    """
    return ids.decode(errors="backslashreplace").split("\n")[:-1]


class QidTexts:
    """Texts of query ids; ids of different bytes are different texts, or an error."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._escaped: set[str] = set()  # from bytes that are not UTF-8
        self._alike: set[str] = set()  # as they stand, but escaped bytes could look so

    def split(self, ids: bytes) -> list[str]:
        """Return the texts of ids that are each ended by a newline."""
        texts = split_texts(ids)
        if rb"\x" in ids or not _is_utf8(ids):
            for text, name in zip(texts, ids.split(b"\n"), strict=False):
                if text.encode() != name:
                    self._escaped.add(text)
                elif r"\x" in text:
                    self._alike.add(text)
        for text in sorted(self._escaped & self._alike):
            raise DataError(
                "ids of different bytes must stay different, but one is not UTF-8 and would read "
                f"as the other, {text!r}. Convert the file to UTF-8.",
                path=self._path,
                field="qid",
            )
        return texts


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
