"""Predtron: Figure 1, and bounds against losses for every kind of problem."""
