"""SLAM: large-margin surrogates of listwise metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, check_number
from rankwright.losses.loss import Loss
from rankwright.losses.metric_weights import MetricWeights, Sharing
from rankwright.threads import n_threads


@dataclass(frozen=True)
class SLAM(MetricWeights, Loss):
    r"""Large-margin surrogate of a listwise metric.

    .. math::
        \phi(s, y) = \sum_i v_i \max\Bigl(0,\; \max_{j : y_j < y_i} (\Delta + s_j - s_i)\Bigr)

    where the weights :math:`v_i` depend on the labels. With the documents sorted by decreasing
    label, :math:`G(y) = 2^y - 1`, :math:`D(r) = 1/\log_2(1 + r)`, best DCG :math:`Z` and :math:`r`
    relevant documents the paper has

    - ``"ndcg"``: :math:`v_i = (G(y_i) - G(y_m)) (D(i) - D(m)) / Z`,
    - ``"map"``: :math:`v_i = \frac{1}{r} \frac{m - r}{m - r + i}` for :math:`i \le r`, else 0,
    - ``"ndcg@k"``: :math:`v_i = G(y_i) D(i) / Z_k` for :math:`i \le k`, else 0.

    Which of equal labels comes first is arbitrary, so that the printed weights depend on the order
    of the rows. Here each document has the mean weight of those with its label (S14). For all
    scores :math:`\phi(s, y) \ge \Delta\, (1 - \mathrm{metric})` with pessimistic ties, and
    :math:`\|\nabla_s \phi\|_1 \le 2 \sum_i v_i \le 2`. It is 0 on queries without a pair to order.

    On noisy labels the weights of a linear ranker that minimise it are all 0 (S13): to train one,
    take :class:`SmoothSLAM`, which makes the same promise.

    Parameters
    ----------
    metric : {"ndcg", "map", "ndcg@K"} or callable, default "ndcg"
        The metric to bound, or a function from a query's labels to its weights :math:`v \ge 0`,
        which are taken as they are. ``"map-uniform"`` is an older name of ``"map"`` with
        ``weights="group"`` (S2).
    margin : float, default 1.0
        :math:`\Delta > 0`.
    threshold : float, default 1.0
        For MAP, relevant from this label on; :math:`y` is then 1 or 0.
    weights : {"group", "printed"}, default "group"
        Whether documents of equal labels share their weights, or have those of the paper in the
        order of the rows.

    References
    ----------
    .. [1] Chaudhuri & Tewari, "Perceptron-like algorithms and generalization bounds for learning to
       rank", equations 5 and 10-12, Theorems 2 and 3, Corollary 7.

    Examples
    --------
    >>> value, grad = SLAM("map").value_and_grad([0.0, 1.0], [1, 0])  # v = 1/2, slack 2
    >>> value, grad
    (1.0, array([-0.5,  0.5]))
    """

    metric: str | Callable[[Floats], Floats] = "ndcg"
    margin: float = 1.0
    threshold: float = 1.0
    weights: Sharing = "group"

    name: ClassVar[str] = "slam"
    smooth: ClassVar[bool] = False
    steepness: ClassVar[float] = 2.0
    cost: ClassVar[str] = "O(m log m), O(m) on known labels"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("margin", self.margin, positive=True)

    @property
    def unit(self) -> float:
        """The margin."""
        return self.margin

    def prepare(
        self,
        y: Floats,
        groups: Groups,
        *,
        draw: int = 0,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> PreparedSLAM:
        """Sort the labels and compute the weights."""
        return PreparedSLAM(y, groups, self, n_threads(n_jobs), weights)


class PreparedSLAM:
    """SLAM on given labels."""

    def __init__(
        self,
        y: Floats,
        groups: Groups,
        loss: SLAM,
        threads: int,
        weights: Floats | None = None,
    ) -> None:
        self.y = loss.grades(y)
        self.layers = _kernels.Layers(self.y, groups.indptr, threads)
        self.v = loss.weights_in(self.layers, y, groups)
        if weights is not None:
            self.v = weights * self.v
        self.margin, self.threads = loss.margin, threads

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query and a subgradient."""
        return self.layers.slam(scores, self.v, self.margin, self.threads)
