"""LambdaRank with ranks that are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.hashing import Keys
from rankwright.data.streams import check_seed, stream_keys
from rankwright.data.validation import check_count
from rankwright.losses.lambdarank import LambdaRank
from rankwright.parameters import NOT_NEGATIVE


@dataclass(frozen=True)
class StochasticLambdaRank(LambdaRank):
    r"""LambdaRank whose weights come from ranks of scores with noise.

    For each tree, and for each of ``draws`` draws :math:`d`, documents are ranked by

    .. math:: s_i + c\, \varepsilon_{id}, \qquad \varepsilon_{id} = -\log(-\log u_{id}),

    with :math:`u` uniform in [0, 1): Gumbel's noise, with which :math:`c = 1` draws orders from the
    Plackett-Luce model whose strengths are :math:`e^{s_i}`. Each pair with :math:`y_i > y_j`, one
    of them among the first ``k`` of these ranks, weighs :math:`|\Delta \mathrm{NDCG}_{ij}|_d`, what
    a swap would change there. The push is that of the scores without noise; directions are means
    over the draws:

    .. math::
        \lambda_{ij} = \frac{1}{D} \sum_{d=1}^D
            \frac{\sigma\, |\Delta \mathrm{NDCG}_{ij}|_d}{1 + e^{\sigma (s_i - s_j)}}.

    So documents below the first ranks, and pairs that happen to lie far apart, are learned from
    too, and no tree is fitted to one order that a little less luck would have changed. CatBoost's
    YetiRank draws ranks in this way, for another weight of pairs.

    Parameters
    ----------
    sigma, k, norm
        As :class:`LambdaRank` has them.
    noise : float, default 1.0
        :math:`c \ge 0`; 0 is LambdaRank.
    draws : int, default 2
        :math:`D`, for each tree.
    random_state : int, default 0
        Seed. Noise depends on it, the tree's number, the draw, the query's id and the document's
        position only.

    References
    ----------
    .. [1] Gulin, Kuralenok & Pavlov, "Winning the transfer learning track of Yahoo!'s Learning to
       Rank challenge with YetiRank", 2011.
    """

    noise: float = 1.0
    draws: int = 2
    random_state: int = 0

    name: ClassVar[str] = "stochastic-lambdarank"

    def __post_init__(self) -> None:
        super().__post_init__()
        NOT_NEGATIVE.check("noise", self.noise)
        check_count("draws", self.draws)
        check_seed(self.random_state)

    def noise_of(self, groups: Groups, draw: int) -> tuple[Keys, float]:
        """Return keys of the noise on ranks, by draw and query, and its scale."""
        keys = [stream_keys(groups, self.random_state, draw, d) for d in range(self.draws)]
        return np.concatenate(keys), float(self.noise)
