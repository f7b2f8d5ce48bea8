"""``verify``: an export proved again, later and elsewhere, from its certificate and the files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from rankwright.exceptions import DataError
from rankwright.exports.certificate import Certificate


@dataclass(frozen=True)
class Verification:
    """What was found.

    Attributes
    ----------
    passed : bool
        Whether all is as the certificate says.
    lines : tuple of str
        What was looked at, and what was found.
    """

    passed: bool
    lines: tuple[str, ...]


def verify(
    certificate: str | PathLike[str], path: str | PathLike[str] | None = None
) -> Verification:
    """Prove an export again.

    Parameters
    ----------
    certificate : str or path-like
        The certificate, ``*.cert.json``; the files that it names lie beside it.
    path : str or path-like, optional
        The export, if it lies elsewhere.
    """
    said, folder = Certificate.load(certificate), Path(certificate).parent
    lines, passed = [], True
    for key, facts in said.files.items():
        if "name" not in facts:
            continue
        file = Path(path) if key == "export" and path is not None else folder / facts["name"]
        try:
            same = hashlib.sha256(file.read_bytes()).hexdigest() == facts["sha256"]
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}.", path=file) from None
        lines.append(f"{file.name}: {'as certified' if same else 'not the certified file'}")
        passed &= same
    return Verification(passed, tuple(lines))
