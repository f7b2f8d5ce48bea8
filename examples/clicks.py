"""Learn from biased clicks: with propensities nearly as well as from judgements.

Run it with ``python examples/clicks.py``; it takes a few seconds.
"""

# ruff: noqa: T201 (printing is the point)

import numpy as np

import rankwright as rw
from rankwright.data import PositionBased, make_mslr_like, simulate_clicks
from rankwright.evaluation import compare_pairs

train, test = make_mslr_like(n_queries=800, n_features=24, mean_docs=20).split((0.5, 0.5))

# Documents are shown in the order of one weak feature; rank r is seen with probability 1/r.
log = simulate_clicks(train, PositionBased(), scores=train.X[:, 4], impressions=20)
print(f"{log.n_impressions} impressions, {int(log.clicked.sum())} clicks")

# With gamma = 1 the target of XE-NDCG is proportional to 2^y - 1, here to the rate of clicks.
loss = rw.losses.XENDCG(gamma=1.0)


def learn(labels):
    """Return NDCG@10 of each test query."""
    ranker = rw.LinearRanker(loss, standardize=True).fit(train.X, labels, train.qid)
    return rw.metrics.NDCG(k=10).per_query(test.y, ranker.predict(test.X), test.groups)


values = {
    "judgements": learn(train.y),
    "propensities": learn(np.log2(1 + log.click_rates())),
    "ignored": learn(np.log2(1 + log.click_rates(weighted=False))),
}
for name, column in values.items():
    print(f"{name:13} NDCG@10 {np.nanmean(column):.4f}")
for pair in compare_pairs(values):
    print(pair)
