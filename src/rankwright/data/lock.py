"""A lock between processes, which says who holds it."""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import json
import os
import shlex
import socket
import sys
import warnings
from typing import Any

from rankwright.data.files import PathLike
from rankwright.exceptions import DataError, DataWarning

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
_LONGEST = 200  # characters of a command


class Lock:
    """The right to write to something on disk, for one process at a time and its children.

    It lasts from ``with`` to its end, or until the process ends in any way. A child process that
    writes as well must hold it too, or it would be free while the child still writes for a parent
    that was killed: start it with ``subprocess.Popen(..., pass_fds=[lock.fileno()])`` (a child by
    fork has it by itself), and end it before the ``with`` ends. The descriptor is all the child
    needs; it must not lock or unlock.

    Where a file system has no locks (some network ones), there is a DataWarning, and no lock.

    Parameters
    ----------
    path : str or path-like
        The lock file, in a folder that is there. It is removed when the lock is given up.
    what : str
        What is locked, for the message: "this study".
    of : str or path-like
        The file or folder that the message names.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Lock(f"{folder.name}/.lock", "this folder", folder.name):
    ...     pass
    >>> folder.cleanup()
    """

    def __init__(self, path: PathLike, what: str, of: PathLike) -> None:
        self.path, self.what, self.of = os.fspath(path), what, of
        self._descriptor = -1

    def fileno(self) -> int:
        """Return the descriptor that holds the lock."""
        return self._descriptor

    def __enter__(self) -> Lock:
        while self._descriptor < 0:
            try:
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise DataError(f"cannot be written: {error.strerror}.", path=self.of) from error
            if self._take(descriptor):
                self._descriptor = descriptor
            else:
                os.close(descriptor)
        with contextlib.suppress(OSError):  # a full disk: the lock holds all the same
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(_self()).encode(), 0)
        return self

    def _take(self, descriptor: int) -> bool:
        """Lock the file; return False if it was removed by the one who had it before."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"{_holder(descriptor)} {self.what}. Wait for it, or stop it."
            os.close(descriptor)
            raise DataError(message, path=self.of) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            warnings.warn(
                f"{os.fspath(self.of)}: cannot be locked ({error.strerror}); see to it that "
                f"nothing else uses {self.what}.",
                DataWarning,
                stacklevel=3,
            )
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        return False

    def __exit__(self, *_: object) -> None:
        # Removed while it is held: whoever opened it before sees that it is gone, and opens anew.
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        os.close(self._descriptor)
        self._descriptor = -1


def _self() -> dict[str, Any]:
    command = shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]])
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "command": command[:_LONGEST],
        "since": datetime.datetime.now().isoformat(" ", "seconds"),
    }


def _holder(descriptor: int) -> str:
    """Return who uses what is locked, as the beginning of a sentence."""
    try:
        who = json.loads(os.pread(descriptor, 1 << 16, 0))
        pid, host = int(who["pid"]), str(who["host"])
        about = f"pid {pid} on {host}, `{who['command']}`, since {who['since']}"
    except (ValueError, TypeError, KeyError, OSError):  # it is just being written
        return "another rankwright is using"
    if host == socket.gethostname() and not _is_alive(pid):
        return f"workers of a rankwright that was killed ({about}) are still using"
    return f"another rankwright ({about}) is using"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of someone else
        return True
    return True
