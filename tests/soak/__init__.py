"""Tests that take long: ``python -m tests.soak NAME``."""
