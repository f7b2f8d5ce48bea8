"""What all tests share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# Under ``python -O`` the assertions of what tests import would count for nothing.
pytest.register_assert_rewrite("tests.reference", "tests.soak", "tests.comparison_sample")

# How long an example takes is for benchmarks: tests must not depend on what else a machine does.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
