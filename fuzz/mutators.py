"""Inputs that keep their structure: what has a valid shell is looked at inside."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import zstandard

from rankwright.comparison.keys import hashed

Basic: TypeAlias = Callable[[bytes], bytes]  # changes some bytes
Mutator: TypeAlias = Callable[[bytes, Random, Basic], bytes]

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_WORDS = (
    b"0 1 -1 2 7 00 -0 1.5 .5 1e5 1e39 1e309 -1e-400 nan inf NaN null true 2147483647 2147483648 "
    b"-2147483649 4294967296 9223372036854775808 99999999999999999999 16777217 1e-45 0x1 1_0 qid: "
    b"qid:1 qid:a # : , ; \" ' \\ [ ] { } = \t \r \n \r\n \0 \xff \xe2\x82\xac \xef\xbb\xbf"
).split(b" ")
_WORD = re.compile(rb"[^\s,:;=\[\]{}\"]+")
_NUMBERS: list[Any] = [0, 1, -1, 2, 3, 1 << 31, 1 << 63, 1 << 64, -(1 << 63), 0.5, 1e308, -0.0]
_VALUES: list[Any] = [*_NUMBERS, None, True, "", "a", "inf", "x" * 300, [], {}, [0], [[]], [1, "a"]]


def plain(data: bytes, random: Random) -> bytes:
    """Change some bytes."""
    place = random.randrange(len(data) + 1)
    match random.randrange(4):
        case 0:
            return data[:place] + random.randbytes(1) + data[place + 1 :]
        case 1:
            return data[:place] + random.randbytes(random.randrange(1, 5)) + data[place:]
        case 2:
            return data[:place] + data[place + random.randrange(1, 5) :]
        case _:
            end = random.randrange(place, len(data) + 1)
            return data[:end] + data[place:end] + data[end:]


def lines(data: bytes, random: Random, basic: Basic) -> bytes:
    """Change a word for another, repeat, drop or join lines, or change some bytes."""
    kind = random.randrange(6)
    if kind < 3:
        words = list(_WORD.finditer(data))
        if words:
            word = random.choice(words)
            return data[: word.start()] + random.choice(_WORDS) + data[word.end() :]
    if kind == 3:
        rows = data.splitlines(keepends=True)
        if rows:
            row = random.randrange(len(rows))
            rows[row : row + 1] = rows[row : row + 1] * random.choice([0, 2])
            return b"".join(rows)
    if kind == 4:
        place = random.randrange(len(data) + 1)
        return data[:place] + random.choice(_WORDS) + data[place:]
    return basic(data)


def compressed(data: bytes, random: Random, basic: Basic) -> bytes:
    """Change the text and compress it again, or change its shell, or change the shell's bytes."""
    kind = random.randrange(8)
    if kind == 0:
        return basic(data)
    text = _decompressed(data)
    if kind > 1:
        text = lines(text, random, basic)
    shell = random.choice(["plain", "gzip", "zstd"]) if kind == 1 else _shell(data)
    match shell:
        case "gzip":
            return gzip.compress(text, 1, mtime=0)
        case "zstd":
            return zstandard.compress(text, 1)
    return text


def _shell(data: bytes) -> str:
    return "gzip" if data.startswith(_GZIP) else "zstd" if data.startswith(_ZSTD) else "plain"


def _decompressed(data: bytes) -> bytes:
    try:
        if data.startswith(_GZIP):
            return zlib.decompressobj(31).decompress(data, 1 << 16)
        if data.startswith(_ZSTD):
            return zstandard.ZstdDecompressor().stream_reader(data).read(1 << 16)
    except (zlib.error, zstandard.ZstdError, MemoryError):
        pass
    return data


def archive(data: bytes, random: Random, basic: Basic) -> bytes:
    """Change an entry of a ZIP archive, which keeps its checksums, or some bytes of the archive."""
    if random.randrange(5) == 0:
        return basic(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as source:
            entries = [(info.filename, source.read(info)) for info in source.infolist()]
    except Exception:  # zipfile lets through what its decompressors raise
        return basic(data)
    if not entries:
        return basic(data)
    place = random.randrange(len(entries)) if random.randrange(2) else 0
    name, content = entries[place]
    match random.randrange(10):
        case 0:
            entries[place] = (basic(name.encode()).decode("latin-1"), content)
        case 1:
            del entries[place]
        case 2:
            entries.append((name, content))
        case _ if name.endswith(".json"):
            entries[place] = (name, json_text(content, random, basic))
        case _ if name.endswith(".txt"):
            entries[place] = (name, trees(content, random, basic))
        case _:
            entries[place] = (name, basic(content))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        for name, content in entries:
            target.writestr(zipfile.ZipInfo(name.replace("\0", "") or "x"), content)
    return packed.getvalue()


def json_text(data: bytes, random: Random, basic: Basic) -> bytes:
    """Change one value or key of a JSON text, or some bytes of it."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return basic(data)
    if random.randrange(6) == 0:
        return lines(data, random, basic)
    try:
        changed = _other_value(value, random)
        return json.dumps(changed).encode()
    except (RecursionError, ValueError):
        return basic(data)


def _other_value(value: Any, random: Random) -> Any:
    if not isinstance(value, dict | list) or not value or random.randrange(8) == 0:
        kind = random.randrange(4)
        if kind == 0:
            return [value]
        if kind == 1:
            return {random.choice(["float", "tuple", "array", "texts", "dict", "metric"]): value}
        return random.choice(_VALUES)
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = random.choice(list(keys))
    if random.randrange(5):
        value[key] = _other_value(value[key], random)
    elif isinstance(value, list):
        value.insert(key, value[key]) if random.randrange(2) else value.pop(key)
    else:
        moved = value.pop(key)
        if random.randrange(2):
            value[random.choice([*value, "a", f"{key}_"])] = moved
    return value


def result(data: bytes, random: Random, basic: Basic) -> bytes:
    """Change a stored result, and mostly seal it again."""
    data = json_text(data, random, basic)
    try:
        found = json.loads(data)
        content = {name: item for name, item in found.items() if name not in ("key", "check")}
        seal = hashed(json.dumps(content, sort_keys=True).encode())[:8]
        sealed = json.dumps({**found, "check": seal})
    except (ValueError, AttributeError, RecursionError):
        return data
    return data if random.randrange(6) == 0 else sealed.encode()


def study(data: bytes, random: Random, basic: Basic) -> bytes:
    """Change one line of a file of results, or the lines."""
    rows = data.split(b"\n")
    if random.randrange(3) == 0 or len(rows) < 2:
        return lines(data, random, basic)
    place = random.randrange(len(rows) - 1)
    rows[place] = result(rows[place], random, basic).replace(b"\n", b" ")
    return b"\n".join(rows)


_TREE = re.compile(rb"(?=^Tree=)", re.M)


def trees(data: bytes, random: Random, basic: Basic) -> bytes:
    """Change LightGBM's text of trees, and mostly state their sizes as they then are."""
    data = lines(data, random, basic)
    if random.randrange(8) == 0:
        return data
    head, *parts = _TREE.split(data)
    if not parts:
        return data
    parts[-1], end, rest = parts[-1].partition(b"end of trees\n")
    sizes = b" ".join(str(len(part)).encode() for part in parts)
    head = re.sub(rb"^tree_sizes=.*$", lambda _: b"tree_sizes=" + sizes, head, flags=re.M)
    return head + b"".join(parts) + end + rest
