"""What all tests share."""

from __future__ import annotations

import pytest
import scipy.linalg  # noqa: F401  loads all of BLAS that is limited below
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# Under ``python -O`` the assertions of what tests import would count for nothing.
pytest.register_assert_rewrite(
    "tests.reference", "tests.soak", "tests.comparison_sample", "tests.store_contract"
)

# How long an example takes is for benchmarks: tests must not depend on what else a machine does.
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", untimed)  # CI's
settings.register_profile("quick", untimed, max_examples=50)
settings.load_profile("quick")

# Threads of BLAS spin while they wait for each other, beside as many processes as there are cores.
threadpool_limits(1, user_api="blas")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no process works alone at the end."""
    items.sort(key=lambda item: "test_console_blocks" not in item.nodeid)


@pytest.fixture
def quick_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out engines that take seconds to begin: they are for tests/systems."""
    monkeypatch.setattr("rankwright.exports.targets.java.first_line", lambda _: None)
    monkeypatch.setattr("rankwright.exports.targets.databases._postgres_programs", lambda: None)
