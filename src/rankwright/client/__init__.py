"""The service's Python client: ask for rankings, give feedback that is never counted twice.

It needs the extra ``serve`` for httpx, and nothing else of the library.
"""

from rankwright.client.calls import ServiceError
from rankwright.client.client import Client
from rankwright.client.results import (
    ArmSummary,
    ExperimentSummary,
    ModelInfo,
    NowServed,
    RankedDocument,
    RankedQuery,
    Receipt,
    ServiceState,
)

__all__ = [
    "ArmSummary",
    "Client",
    "ExperimentSummary",
    "ModelInfo",
    "NowServed",
    "RankedDocument",
    "RankedQuery",
    "Receipt",
    "ServiceError",
    "ServiceState",
]
