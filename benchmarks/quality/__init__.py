"""The laboratory: which ranker is best, by one protocol for ours and for others.

Every contender has the same number of trials on the same training and validation queries: first its
best known setting, then draws from a space of like width. Trees stop when the validation queries
have not improved for the same number of trees. The trial that is best on the validation queries, by
our NDCG@10, scores the test queries once.

Nobody chooses by test figures. What runs a search is :func:`rankwright.compare`, and it is given
folds whose test labels are not there (:mod:`benchmarks.quality.blind`). Only when every contender
has written its choice and its scores, on every fold of a set, are the labels joined to the scores.
"""
