"""What the package shows: settings, the store, and what it holds."""

from rankwright.serve.settings import Limits, Log, Settings
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import Store, StoreError, StoreUnavailableError

__all__ = [
    "Limits",
    "Log",
    "Settings",
    "Store",
    "StoreError",
    "StoreUnavailableError",
    "open_store",
]
