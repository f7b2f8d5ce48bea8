"""Tokens: who may do what. Read from a file or the environment, and never shown."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

SCOPES = ("rank", "feedback", "admin")
VARIABLE = "RANKWRIGHT_TOKENS"
_SHORTEST = 16
_FORM = re.compile(r"[A-Za-z0-9\-._~+/]+=*", re.ASCII)  # RFC 6750


@dataclass(frozen=True)
class Token:
    """A token by its digest: its value is not kept."""

    number: int
    digest: bytes = field(repr=False)
    scopes: frozenset[str]


@dataclass(frozen=True)
class Tokens:
    """All tokens of a service; without any, everybody on this machine may do everything."""

    known: tuple[Token, ...] = ()

    def find(self, value: bytes) -> Token | None:
        """Return the token of this value, in a time that does not depend on it."""
        digest, found = hashlib.sha256(value).digest(), None
        for token in self.known:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found


def read_tokens(path: str | None) -> Tokens:
    """Return the tokens of a file, or else those of the environment.

    One to a line: scopes separated by commas, a space, the token. Empty lines and lines that begin
    with ``#`` do not count.
    """
    if path is None:
        return parse_tokens(os.environ.get(VARIABLE, ""), VARIABLE)
    try:
        with open(path, encoding="utf-8") as file:
            # A group may: systemd's credentials and Kubernetes' secrets are given to one.
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o027:
                raise ValueError(f"{path} can be read by others: run chmod 600 {Path(path).name}.")
            found = parse_tokens(file.read(1 << 20), path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be a text in UTF-8.") from None
    if not found.known:
        raise ValueError(f"{path} has no token: write lines such as 'rank,feedback TOKEN'.")
    return found


def parse_tokens(text: str, source: str) -> Tokens:
    """Return the tokens of a text; messages name lines and never tokens."""
    known: list[Token] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"{source}, line {number}"
        if len(words) != 2:
            raise ValueError(f"{where} must be scopes and a token, with a space between them.")
        scopes = frozenset(words[0].split(","))
        if not scopes <= set(SCOPES):
            raise ValueError(f"{where}: scopes must be of {', '.join(SCOPES)}.")
        if len(words[1]) < _SHORTEST or not _FORM.fullmatch(words[1]):
            raise ValueError(
                f"{where}: a token must have at least {_SHORTEST} characters, letters, digits and "
                "-._~+/ only. Make one with: openssl rand -hex 24."
            )
        digest = hashlib.sha256(words[1].encode()).digest()
        if any(token.digest == digest for token in known):
            raise ValueError(f"{where}: this token was there before; name all its scopes once.")
        known.append(Token(len(known) + 1, digest, scopes))
    return Tokens(tuple(known))
