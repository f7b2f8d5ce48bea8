"""How the compiled module is built: what ends the process should a kernel overrun a buffer."""

from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rankwright import _kernels

MODULE = Path(str(_kernels.__file__)).read_bytes()
PT_LOAD, PT_DYNAMIC, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 0x6474E551, 0x6474E552
DT_STRTAB, DT_STRSZ, DT_FLAGS, DT_FLAGS_1 = 5, 10, 30, 0x6FFFFFFB
DF_BIND_NOW, DF_1_NOW, PF_X = 8, 1, 1

pytestmark = [
    pytest.mark.skipif(MODULE[:6] != b"\x7fELF\x02\x01", reason="no 64-bit ELF file"),
    pytest.mark.skipif(b"__asan" in MODULE or b"__tsan" in MODULE, reason="with a sanitizer"),
]


@dataclass
class Segment:
    kind: int
    flags: int
    offset: int
    address: int
    size: int


def segments() -> list[Segment]:
    (start,) = struct.unpack_from("<Q", MODULE, 32)
    entry_size, count = struct.unpack_from("<HH", MODULE, 54)
    found = []
    for i in range(count):
        kind, flags, offset, address, _, size = struct.unpack_from(
            "<IIQQQQ", MODULE, start + i * entry_size
        )
        found.append(Segment(kind, flags, offset, address, size))
    return found


def dynamic() -> dict[int, int]:
    (part,) = (segment for segment in segments() if segment.kind == PT_DYNAMIC)
    table = MODULE[part.offset : part.offset + part.size]
    return dict(struct.iter_unpack("<qQ", table[: len(table) // 16 * 16]))


def symbols() -> set[bytes]:
    address, size = dynamic()[DT_STRTAB], dynamic()[DT_STRSZ]
    for part in segments():
        if part.kind == PT_LOAD and part.address <= address < part.address + part.size:
            begin = part.offset + address - part.address
            return set(MODULE[begin : begin + size].split(b"\0"))
    raise AssertionError("no segment holds the names")


def test_the_stack_is_not_executable() -> None:
    (stack,) = (segment for segment in segments() if segment.kind == PT_GNU_STACK)
    assert not stack.flags & PF_X


def test_what_the_loader_has_filled_in_is_read_only() -> None:
    assert PT_GNU_RELRO in {segment.kind for segment in segments()}
    assert dynamic().get(DT_FLAGS, 0) & DF_BIND_NOW or dynamic().get(DT_FLAGS_1, 0) & DF_1_NOW


def test_functions_with_buffers_look_at_the_stack_before_they_return() -> None:
    assert b"__stack_chk_fail" in symbols()


@pytest.mark.skipif(b"ld-musl" in MODULE or b"libc.musl" in MODULE, reason="of glibc only")
def test_copies_of_known_size_are_checked() -> None:
    assert {name for name in symbols() if name.endswith(b"_chk")}


def test_objects_that_outlive_the_interpreter_are_not_reported() -> None:
    code = (
        "import ctypes; from rankwright import _kernels; "
        "options = _kernels.LetorOptions(1, 1, False, False, False, 1); "
        "ctypes.pythonapi.Py_IncRef(ctypes.py_object(options))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=True)
    assert done.stderr == ""
