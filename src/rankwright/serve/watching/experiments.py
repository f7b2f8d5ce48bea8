r"""Two models that share the queries: who gets which, and which is better.

A query belongs to one arm, by a hash of the experiment's number and the query's id: the same on
every host, for ever. Its value is the mean NDCG@10 of its judged rankings; queries count alike,
however often they are asked.

The interval may be looked at after every event. With :math:`n_a, n_b` queries, means
:math:`m_a, m_b` and variances :math:`s_a^2, s_b^2` of their values,

.. math::
    m_b - m_a \pm \sqrt{V} \sqrt{2\, \frac{r + 1}{r} \log\frac{\sqrt{r + 1}}{\alpha}}, \qquad
    V = \max\Bigl(\frac{s_a^2}{n_a} + \frac{s_b^2}{n_b},\;
        \frac{s^2}{n_a} + \frac{s^2}{n_b}\Bigr), \quad r = \frac{\tau^2}{V}

holds for all moments at once with probability :math:`1 - \alpha`, asymptotically [1]_: it is their
confidence sequence with :math:`\hat\sigma^2 = n V`, :math:`n = n_a + n_b` and
:math:`\rho = \tau/\hat\sigma`. Time is measured by what is known, :math:`1/V`, and not by the
number of queries: a query that is asked again tells something too. The variance within both arms
together, :math:`s^2`, guards a small arm that has not met its rare values yet. The sequence is
sharpest for differences of about :math:`\tau`, which is 0.05; any choice that is made beforehand is
valid.

References
----------
.. [1] Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, "Time-uniform central limit theory and
   asymptotic confidence sequences", Annals of Statistics 2024 (arXiv 2103.06476), theorem 2.2.
"""

from __future__ import annotations

import math
from hashlib import blake2b

from rankwright.evaluation.verdicts import FEW_QUERIES, interval_text
from rankwright.serve.bodies import Arm, ExperimentResult
from rankwright.serve.records import ArmSums, ExperimentRecord, RankingRecord

METRIC = "NDCG@10"
_LEVEL = 0.05
_ROUNDING = 1e-9  # means of equal values differ by less
_TYPICAL = 0.05  # the difference that the interval is sharpest for


def arm_of(experiment: ExperimentRecord, query: str) -> str:
    """Return the arm of a query: b for ``share`` of all queries, else a.

    >>> experiment = ExperimentRecord(number=1, name="new", a=1, b=2, share=0.5, begun=1)
    >>> [arm_of(experiment, query) for query in ("red shoes", "tent", "lamp")]
    ['a', 'a', 'b']
    """
    content = f"{experiment.number} {query}".encode()
    key = int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
    return "b" if key < int(experiment.share * 2.0**64) else "a"


def model_of(experiment: ExperimentRecord, arm: str) -> int:
    """Return the model of an arm."""
    return experiment.b if arm == "b" else experiment.a


def judged_arm(experiment: ExperimentRecord | None, ranking: RankingRecord) -> str | None:
    """Return the arm that a judgement of a ranking counts for; None if it counts for none.

    Feedback may be late: the ranking may be of an experiment that has ended, or of before. It
    counts if this experiment would have the same model rank this query.
    """
    if experiment is None or ranking.arm is None:
        return None
    arm = arm_of(experiment, ranking.query)
    model = ranking.version.partition("+")[0]
    return arm if model == str(model_of(experiment, arm)) else None


def difference_interval(a: ArmSums, b: ArmSums) -> tuple[float, float]:
    """Return the ends of the interval of b's mean less a's, which hold at every moment at once.

    Infinite below 30 queries an arm. Where no value differs from the others of its arm, both ends
    are the difference, but for rounding.
    """
    if min(a.queries, b.queries) < FEW_QUERIES:
        return -math.inf, math.inf
    difference = b.total / b.queries - a.total / a.queries
    pooled = (a.spread + b.spread) / (a.queries + b.queries - 2)
    variance = max(
        sum(arm.spread / (arm.queries - 1) / arm.queries for arm in (a, b)),
        sum(pooled / arm.queries for arm in (a, b)),
    )
    if variance == 0:
        return difference - _ROUNDING, difference + _ROUNDING
    r = _TYPICAL**2 / variance
    factor = math.sqrt(2 * (r + 1) / r * math.log(math.sqrt(r + 1) / _LEVEL))
    half = max(math.sqrt(variance) * factor, _ROUNDING)
    return difference - half, difference + half


def judge(experiment: ExperimentRecord, a: ArmSums, b: ArmSums) -> ExperimentResult:
    """Say which model is better, and whether that is certain."""
    low, high = difference_interval(a, b)
    known = math.isfinite(low)
    certain = known and not low <= 0 <= high
    difference = b.mean - a.mean if a.mean is not None and b.mean is not None else None
    return ExperimentResult(
        experiment=experiment.number,
        name=experiment.name,
        running=experiment.ended is None,
        share=experiment.share,
        a=Arm(experiment.a, a.queries, a.rankings, a.mean),
        b=Arm(experiment.b, b.queries, b.rankings, b.mean),
        difference=difference,
        low=low if known else None,
        high=high if known else None,
        certain=certain,
        verdict=_verdict(experiment, a, b, low, high),
    )


def _verdict(experiment: ExperimentRecord, a: ArmSums, b: ArmSums, low: float, high: float) -> str:
    fewest = min(a.queries, b.queries)
    if fewest < FEW_QUERIES or a.mean is None or b.mean is None:
        return (
            f"Too few queries to tell: {a.queries} of model {experiment.a} and {b.queries} of "
            f"model {experiment.b} with a defined {METRIC}, where {FEW_QUERIES} each are the least."
        )
    size = (
        f"{METRIC} {b.mean:.4f} against {a.mean:.4f}, {b.mean - a.mean:+.4f} "
        f"{interval_text(low, high)}"
    )
    found = "not shown to differ from" if low <= 0 <= high else "better than"
    if high < 0:
        found = "worse than"
    return f"Model {experiment.b} is {found} model {experiment.a}: {size}."
