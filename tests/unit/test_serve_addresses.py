"""Addresses of PostgreSQL, and what its errors mean; without a server."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from rankwright.serve.store import open_store
from rankwright.serve.store.backend import first_words, last_words
from rankwright.serve.store.interface import StoreError
from rankwright.serve.store.postgresql import _name, _parse, why_postgresql


@pytest.mark.parametrize(
    ("url", "name", "socket"),
    [
        ("postgresql://u@h/d", "postgresql://u@h:5432/d", None),
        ("postgres://u:secret@h:77/d", "postgresql://u@h:77/d", None),
        (
            "postgresql://u:secret@/d?host=/run/pg",
            "postgresql://u@/run/pg/d",
            "/run/pg/.s.PGSQL.5432",
        ),
        ("postgresql://u@/d?host=/run&port=7", "postgresql://u@/run/d", "/run/.s.PGSQL.7"),
        ("postgresql://u@/d?host=db.example", "postgresql://u@db.example:5432/d", None),
    ],
)
def test_addresses(url: str, name: str, socket: str | None) -> None:
    parsed, options = _parse(url)
    assert _name(parsed, options) == name
    assert options.get("unix_sock") == socket
    assert parsed.drivername == "postgresql+pg8000"


def test_what_an_address_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGUSER", "me")
    monkeypatch.setenv("PGPASSWORD", "secret")
    parsed, options = _parse("postgresql://h/d")
    assert (parsed.username, parsed.password) == ("me", "secret")
    assert _name(parsed, options) == "postgresql://me@h:5432/d"
    assert _parse("postgresql://h/d?sslmode=disable")[1]["ssl_context"] is False
    for mode, verify in (("require", ssl.CERT_NONE), ("verify-full", ssl.CERT_REQUIRED)):
        context = _parse(f"postgresql://h/d?sslmode={mode}")[1]["ssl_context"]
        assert context.verify_mode == verify


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret@h:port/d",
        "postgresql://u:secret@h",
        "postgresql://u:secret@h/",
        "postgresql://u:secret@h/d?color=blue",
        "postgresql://u:secret@h/d?host=a&host=b",
        "postgresql://u:secret@h/d?port=x",
        "postgresql://u:secret@h/d?sslmode=maybe",
        "postgresql://u:secret@h/d?sslmode=disable&sslmode=require",
    ],
)
def test_addresses_that_cannot_be_used(url: str) -> None:
    with pytest.raises(StoreError, match="--store") as refusal:
        open_store(url)
    text = "".join(map(repr, (refusal.value, refusal.value.__cause__)))
    assert "secret" not in text
    assert "\n" not in str(refusal.value)


class InterfaceError(Exception):
    """As pg8000 names it."""


def of_server(state: str) -> Exception:
    return Exception({"C": state, "M": "it said\nso"})


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (of_server("53100"), "the disk is full"),
        (of_server("53300"), "the server has no resources left"),
        (of_server("57P01"), "the server is being stopped or started"),
        (of_server("08006"), "the connection was lost"),
        (of_server("25006"), "it is read-only"),
        (of_server("25P03"), "the connection was lost"),
        (of_server("40P01"), "the server gave the transaction up"),
        (of_server("55P03"), "another process has kept it locked"),
        (of_server("58030"), "the server's disk reports an error"),
        (of_server("42P01"), None),
        (of_server("28P01"), None),
        (InterfaceError("network error"), "the connection was lost or refused (network error)"),
        (ConnectionRefusedError(111, "refused"), "the connection was lost or refused (refused)"),
        (ValueError("x"), None),
    ],
)
def test_what_errors_mean(error: Exception, reason: str | None) -> None:
    assert why_postgresql(error) == reason


def test_errors_are_one_line() -> None:
    def words(*args: Any) -> str:
        return first_words(Exception(*args))

    assert first_words(of_server("1")) == "it said so"
    assert words("two\nlines.") == "two lines"
    assert words() == "Exception"
    assert len(words("x" * 10_000)) == 300


def test_the_reason_is_what_the_server_said_before_it_hung_up() -> None:
    said, pipe = of_server("3D000"), BrokenPipeError(32, "Broken pipe")
    lost = InterfaceError("network error")
    lost.__cause__, pipe.__context__ = pipe, said
    assert last_words(lost) is said
    assert last_words(pipe) is said
    alone = InterfaceError("network error")
    assert last_words(alone) is alone
