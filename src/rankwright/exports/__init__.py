"""Models in search engines, databases and programs, with a certificate of the same scores."""

from rankwright.exports.certificate import Certificate, Judgement
from rankwright.exports.exporting import export
from rankwright.exports.refusals import Refusal
from rankwright.exports.targets.missing_values import MissingProbe, missing_probe
from rankwright.exports.targets.registry import TARGETS
from rankwright.exports.targets.target import Gap, Options
from rankwright.exports.verification import Verification
from rankwright.exports.verifying import verify

__all__ = [
    "TARGETS",
    "Certificate",
    "Gap",
    "Judgement",
    "MissingProbe",
    "Options",
    "Refusal",
    "Verification",
    "export",
    "missing_probe",
    "verify",
]
