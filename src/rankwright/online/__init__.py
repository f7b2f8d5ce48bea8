"""Online learners: one query or document at a time, with guarantees."""

from rankwright.online.slam_perceptron import SLAMPerceptron

__all__ = ["SLAMPerceptron"]
