"""Solvers: functions from an objective to a Solution."""
