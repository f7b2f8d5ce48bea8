"""Data in parts on a Dask cluster: the same bits on any number of workers.

The cluster is the user's, who hands over a ``distributed.Client``. Parts are read by tasks where
they are worked on, and everything is a task: a pure function of a part. What is lost with a worker
Dask computes again elsewhere, from the same file by the same functions in the same order; hence the
result is the same.

This package needs the extra ``dask``; nothing else of the library needs this package.
"""

from rankwright.dask.cluster import check_versions, jobs_executor
from rankwright.dask.parts import DaskParts

__all__ = ["DaskParts", "check_versions", "jobs_executor"]
