"""What tells two runs apart: what is known, and what computed it."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import zipfile
from functools import cache

from rankwright import __version__, _kernels


def content_digest(content: bytes) -> bytes:
    """Return SHA-256 of what a model file holds, whichever version of the library wrote it."""
    found = hashlib.sha256()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            part = archive.read(name)
            if name == "header.json":
                header = json.loads(part)
                header.pop("library", None)
                part = json.dumps(header, sort_keys=True).encode()
            found.update(f"{name}\n{len(part)}\n".encode() + part)
    return found.digest()


@cache
def processor_name() -> str:
    """Return the family of the processor, and the vector instructions that kernels take."""
    facts: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                name, colon, value = line.partition(":")
                if not colon and facts:
                    break  # all processors of a machine are of a kind
                facts[name.strip()] = value.strip()
    except OSError:
        pass
    words = [facts.get("vendor_id", ""), platform.machine()]
    if "cpu family" in facts and "model" in facts:
        words.append(f"family {facts['cpu family']} model {facts['model']}")
    words.append(_kernels.instruction_sets()[0])
    return " ".join(word for word in words if word)


def processor() -> dict[str, str]:
    """Return what computes here, as a learner's record has it."""
    return {"library": __version__, "cpu": processor_name()}
