"""Bounds as functions of data and model: what is guaranteed, and what happened."""

from rankwright.theory.certificate import Certificate, certificate
from rankwright.theory.generalization import Generalization, generalization
from rankwright.theory.gradients import radius, score_gradient_norms
from rankwright.theory.table import LossFacts, LossTable, loss_table

__all__ = [
    "Certificate",
    "Generalization",
    "LossFacts",
    "LossTable",
    "certificate",
    "generalization",
    "loss_table",
    "radius",
    "score_gradient_norms",
]
