"""Data in an object store: a server that speaks S3, on this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw

pytest.importorskip("s3fs")
server = pytest.importorskip("moto.server")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    import s3fs

    port = free_port()
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    running.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("bucket")
    yield "s3://bucket"
    s3fs.S3FileSystem.clear_instance_cache()
    running.stop()


@pytest.mark.filterwarnings("ignore")  # of the client's own libraries
def test_parts_in_a_bucket_are_those_of_the_disk(tmp_path: Path, bucket: str) -> None:
    import s3fs

    data = rw.data.make_mslr_like(n_queries=60, n_features=6, mean_docs=7)
    rw.write(data, tmp_path / "all.parquet")
    rw.data.partition(tmp_path / "all.parquet", tmp_path / "parts", 3)
    s3fs.S3FileSystem().put(f"{tmp_path / 'parts'}/", f"{bucket}/web/", recursive=True)
    here = rw.read_parts(tmp_path / "parts")
    for name in (f"{bucket}/web", f"{bucket}/web/*.parquet"):
        there = rw.read_parts(name)
        assert [part.fingerprint for part in there.facts.parts] == [
            part.fingerprint for part in here.facts.parts
        ]
    a, b = (rw.LinearRanker().fit_parts(parts) for parts in (here, there))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    with pytest.raises(rw.DataError, match="there is no such file"):
        rw.read(f"{bucket}/nothing.parquet")
    with pytest.raises(rw.DataError, match=r"s3://nowhere/\*\.parquet: "):
        rw.read_parts("s3://nowhere/*.parquet")
    rw.write(data, tmp_path / "all.txt")
    s3fs.S3FileSystem().put(str(tmp_path / "all.txt"), f"{bucket}/all.txt")
    np.testing.assert_array_equal(rw.read(f"{bucket}/all.txt").X, data.X)
