"""Unpacking archives of strangers."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

from rankwright.exceptions import DataError


def unpack_archive(path: Path, folder: Path) -> None:
    """Unpack a zip or tar archive into a folder; leave other files as they are.

    Members appear in the folder when all are unpacked; names that lead out of it are refused.
    """
    is_zip = path.suffix == ".zip"
    if not (is_zip or path.name.endswith((".tar.gz", ".tar.bz2"))):
        return
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpacking-") as place:
        try:
            if is_zip:
                with zipfile.ZipFile(path) as zipped:
                    zipped.extractall(place)
            else:
                with tarfile.open(path) as tar:
                    _extract(tar, Path(place))
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
            raise DataError(f"cannot be unpacked: {error}.", path=path) from None
        for item in Path(place).iterdir():
            target = folder / item.name
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(item, target)


def _extract(tar: tarfile.TarFile, place: Path) -> None:
    """Unpack a tar archive inside of a folder."""
    if hasattr(tarfile, "data_filter"):
        tar.extractall(place, filter="data")
        return
    # Python before 3.11.4 would follow links and leave the folder: plain files only.
    for member in tar:
        parts = Path(member.name).parts
        if member.name.startswith("/") or ".." in parts or not (member.isfile() or member.isdir()):
            raise tarfile.ExtractError(f"{member.name!r} is no file inside of the archive")
        target = place / member.name
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        content = tar.extractfile(member)
        assert content is not None  # it is a file
        with content, open(target, "wb") as out:
            shutil.copyfileobj(content, out)
