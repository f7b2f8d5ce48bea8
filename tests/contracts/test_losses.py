"""What holds for every loss, and for directions without one."""

from __future__ import annotations

import inspect
import itertools
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import rankwright.losses as package
from rankwright.data import Groups
from rankwright.data.streams import uniforms
from rankwright.losses import (
    SLAM,
    XENDCG,
    Domination,
    LambdaRank,
    LinearMargin,
    ListNet,
    LogMargin,
    Loss,
    RankHinge,
    RankLogistic,
    SmoothSLAM,
    StochasticLambdaRank,
)
from tests.reference import losses as reference
from tests.reference.losses import Evaluation, Floats, Terms
from tests.strategies import RankingData, ranking_data


def share_of_labels(y: Floats) -> Floats:
    return np.asarray(y / (1 + y.sum()))


def half_label(y: Floats) -> Floats:
    return np.asarray(0.5 * y)


def smaller_for_better(y: Floats) -> Floats:
    return np.asarray(1 / (1 + y))


# By upper and lower label from 0 to 4; what is not below the diagonal must not be looked at.
MARGINS = np.where(np.tri(5, k=-1) > 0, np.arange(25).reshape(5, 5) / 8, 1000.0)

LOSSES: dict[str, Any] = {
    "slam-ndcg": SLAM(),
    "slam-ndcg-margin": SLAM(margin=0.25),
    "slam-ndcg@1": SLAM("ndcg@1"),
    "slam-ndcg@3": SLAM("ndcg@3", margin=2.0),
    "slam-map": SLAM("map"),
    "slam-map-threshold": SLAM("map", threshold=2.0),
    "slam-map-uniform": SLAM("map-uniform"),
    "slam-printed": SLAM(weights="printed"),
    "slam-printed-ndcg@3": SLAM("ndcg@3", weights="printed"),
    "slam-printed-map": SLAM("map", weights="printed"),
    "slam-own-weights": SLAM(share_of_labels),
    "smooth-slam": SmoothSLAM(),
    "smooth-slam-ndcg@3": SmoothSLAM("ndcg@3"),
    "smooth-slam-map": SmoothSLAM("map", threshold=2.0),
    "smooth-slam-printed": SmoothSLAM(weights="printed"),
    "smooth-slam-own-weights": SmoothSLAM(share_of_labels),
    "domination": Domination(),
    "domination-margin": Domination(margin=1.5),
    "domination-negative-margin": Domination(margin=-0.5),
    "domination-separable": Domination(margin=half_label),
    "domination-by-layers": Domination(margin=MARGINS),
    "domination-by-boundaries": Domination(margin=[0.5, 0.25, 1.0, 2.0]),
    "domination-cut": Domination(margin=half_label, layers=[1.0, 2.5]),
    "domination-cut-by-layers": Domination(margin=MARGINS[:3, :3], layers=[1.0, 2.5]),
    "domination-log-margin": Domination(LogMargin(), layers=[1.0]),
    "domination-linear-margin": Domination(LinearMargin(0.5, 0.25)),
    "listnet": ListNet(),
    "listnet-all": ListNet(skip_empty=False),
    "xendcg": XENDCG(),
    "xendcg-all": XENDCG(skip_empty=False),
    "xendcg-other-seed": XENDCG(random_state=7, newton="exact"),
    "xendcg-0": XENDCG(gamma=0.0),
    "xendcg-1": XENDCG(gamma=1.0, newton="exact"),
    "xendcg-neumann": XENDCG(gamma=0.5, newton="neumann"),
    "xendcg-neumann-eps": XENDCG(newton="neumann", eps=0.1, normalize="ideal_dcg"),
    "xendcg-own-gamma": XENDCG(gamma=smaller_for_better),
    "xendcg-eps": XENDCG(eps=0.5),
    "xendcg-normalized": XENDCG(normalize="ideal_dcg"),
    "xendcg-1-normalized": XENDCG(gamma=1.0, normalize="ideal_dcg", newton="neumann"),
    "rank-hinge": RankHinge(),
    "rank-hinge-mean": RankHinge(normalize="pairs"),
    "rank-logistic": RankLogistic(),
    "rank-logistic-mean": RankLogistic(normalize="pairs"),
}
DIRECTIONS: dict[str, Any] = {
    "lambdarank": LambdaRank(),
    "lambdarank-norm": LambdaRank(norm=True),
    "lambdarank-2": LambdaRank(sigma=2.0, k=2),
    "lambdarank-1-norm": LambdaRank(sigma=0.5, k=1, norm=True),
    "stochastic": StochasticLambdaRank(),
    "stochastic-2": StochasticLambdaRank(noise=0.5, draws=3, k=2),
    "stochastic-norm": StochasticLambdaRank(norm=True, sigma=2.0, draws=1, random_state=7),
    "stochastic-without-noise": StochasticLambdaRank(noise=0.0, k=5),
}
MEMBERS: dict[str, Any] = {**LOSSES, **DIRECTIONS}
SECOND_ORDER = {name: loss for name, loss in MEMBERS.items() if hasattr(loss, "grad_and_hess")}
SHIFTABLE = [name for name, loss in LOSSES.items() if getattr(loss, "eps", 0) == 0]
BOUNDING = [name for name, loss in LOSSES.items() if loss.bound is not None]
# The printed weights of documents with equal labels follow the order of the rows (S5).
BY_ROW_ORDER = {n for n, loss in LOSSES.items() if getattr(loss, "weights", "") == "printed"}

every_loss = pytest.mark.parametrize("name", LOSSES)
every_member = pytest.mark.parametrize("name", MEMBERS)
every_second_order = pytest.mark.parametrize("name", SECOND_ORDER)


# --- twins -------------------------------------------------------------------------------------


def printed_weights(loss: Any, y: Floats) -> Floats:
    if loss.metric in ("map", "map-uniform"):
        return reference.map_weights(y, loss.threshold)
    if loss.metric == "ndcg":
        return reference.ndcg_weights(y)
    return reference.ndcg_at_k_weights(y, int(loss.metric.removeprefix("ndcg@")))


def grades_and_weights(loss: Any, y: Floats) -> tuple[Floats, Floats]:
    if callable(loss.metric):
        return y, loss.metric(y)
    labels = (y >= loss.threshold).astype(float) if loss.metric.startswith("map") else y
    v = printed_weights(loss, y)
    return labels, v if loss.weights == "printed" else reference.group_means(v, labels)


def slam_twin(loss: SLAM, scores: Floats, y: Floats, gamma: Floats) -> Evaluation:
    return reference.slam(scores, *grades_and_weights(loss, y), loss.margin)


def smooth_slam_twin(loss: SmoothSLAM, scores: Floats, y: Floats, gamma: Floats) -> Evaluation:
    return reference.smooth_slam(scores, *grades_and_weights(loss, y))


def target(loss: Any, y: Floats, gamma: Floats) -> Floats:
    if loss.skip_empty and reference.is_empty(y.tolist()):
        return np.zeros(len(y))  # no target, no loss
    if isinstance(loss, ListNet):
        return reference.listnet_target(y)
    return reference.xendcg_target(y, gamma)


def ideal(loss: Any, y: Floats) -> float | None:
    return reference.ideal_dcg(y) if getattr(loss, "normalize", None) == "ideal_dcg" else None


def softmax_twin(loss: Any, scores: Floats, y: Floats, gamma: Floats) -> Evaluation:
    eps = getattr(loss, "eps", 0.0)
    return reference.cross_entropy(scores, target(loss, y, gamma), eps, ideal(loss, y))


TWINS: dict[type, Callable[..., Evaluation]] = {
    SLAM: slam_twin,
    SmoothSLAM: smooth_slam_twin,
    Domination: lambda loss, s, y, gamma: reference.domination(s, y, loss.margin, loss.layers),
    ListNet: softmax_twin,
    XENDCG: softmax_twin,
    RankHinge: lambda loss, s, y, gamma: reference.rank_hinge(s, y, loss.normalize),
    RankLogistic: lambda loss, s, y, gamma: reference.rank_logistic(s, y, loss.normalize),
}


def gamma_of(loss: Any, y: Floats, groups: Groups, draw: int = 0) -> Floats:
    """Return XENDCG's gamma, which the twin does not draw; anything for other losses."""
    return loss.draw_gamma(y, groups, draw) if isinstance(loss, XENDCG) else np.zeros_like(y)


def noise_of(loss: Any, groups: Groups, draw: int = 0) -> list[Floats]:
    """Return the noise of StochasticLambdaRank, draw by draw; none for others."""
    if not isinstance(loss, StochasticLambdaRank):
        return []
    shares = [uniforms(groups, loss.random_state, draw, d) for d in range(loss.draws)]
    return [loss.noise * np.array([reference.gumbel(u) for u in row]) for row in shares]


def twin(loss: Any, scores: Floats, y: Floats, groups: Groups) -> tuple[Floats, Floats]:
    gamma = gamma_of(loss, y, groups)
    values, grad = reference.per_query(
        lambda q: TWINS[type(loss)](loss, scores[q], y[q], gamma[q]), groups.indptr
    )
    return np.array(values), grad


def second_order_twin(loss: Any, scores: Floats, y: Floats, groups: Groups, draw: int = 0) -> Terms:
    gamma = gamma_of(loss, y, groups, draw)

    noise = noise_of(loss, groups, draw)

    def one(q: slice) -> Terms:
        if isinstance(loss, StochasticLambdaRank):
            drawn = [row[q] for row in noise]
            return reference.stochastic_lambdarank(
                scores[q], y[q], drawn, loss.sigma, loss.k, loss.norm
            )
        if isinstance(loss, LambdaRank):
            return reference.lambdarank(scores[q], y[q], loss.sigma, loss.k, loss.norm)
        if isinstance(loss, SmoothSLAM):
            return reference.smooth_slam_terms(scores[q], *grades_and_weights(loss, y[q]))
        mode: Any = getattr(loss, "newton", "plain")
        eps = getattr(loss, "eps", 0.0)
        phi = target(loss, y[q], gamma[q])
        return reference.newton_terms(scores[q], phi, mode, eps, ideal(loss, y[q]))

    grads, hess = reference.per_query(one, groups.indptr)
    return np.concatenate(grads), hess


def close(actual: Floats, expected: Floats, scores: Floats | None = None) -> None:
    """Require equality to 1e-10, and to a few units in the last place of the scores."""
    rounding = 0.0 if scores is None else 4 * float(np.spacing(np.abs(scores).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10 + rounding)


# --- members -----------------------------------------------------------------------------------


def subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    children: list[type[Any]] = kind.__subclasses__()
    for child in children:
        yield child
        yield from subclasses(child)


def test_no_loss_escapes() -> None:
    public = {
        child
        for child in subclasses(Loss)
        if child.__module__.startswith("rankwright.losses.") and not child.__name__.startswith("_")
    }
    exported = {
        value
        for name, value in vars(package).items()
        if name in package.__all__ and inspect.isclass(value) and issubclass(value, Loss)
    }
    assert public == exported - {Loss}
    assert public == {type(loss) for loss in LOSSES.values()} == set(TWINS)


def test_no_directions_escape() -> None:
    concrete = {
        value
        for name, value in vars(package).items()
        if name in package.__all__
        and inspect.isclass(value)
        and hasattr(value, "grad_and_hess")
        and not getattr(value, "_is_protocol", False)
    }
    assert concrete == {type(loss) for loss in SECOND_ORDER.values()}


def test_every_option_of_a_literal_is_covered() -> None:
    xendcg = [loss for loss in LOSSES.values() if isinstance(loss, XENDCG)]
    assert {loss.newton for loss in xendcg} == {"plain", "exact", "neumann"}
    assert {loss.normalize for loss in xendcg} == {None, "ideal_dcg"}


@every_loss
def test_says_what_it_is(name: str) -> None:
    loss = LOSSES[name]
    assert loss.name
    assert loss.cost.startswith("O(")
    assert loss.convex
    assert loss.smooth == (loss.name not in ("slam", "rank_hinge"))
    assert loss.bound is None or loss.bound.text
    without = ("slam-own-weights", "smooth-slam-own-weights", "domination-negative-margin")
    unbounded = name in without or name[:7] == "listnet"
    assert (loss.bound is None) == (unbounded or callable(getattr(loss, "margin", None)))


# --- values and gradients ----------------------------------------------------------------------


def labels_for(name: str) -> list[str]:
    by_label = name in ("domination-by-layers", "domination-by-boundaries")
    return ["grades"] if by_label else ["grades", "floats", "large"]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_kernels_equal_their_references(data: st.DataObject) -> None:
    kind: Any = data.draw(st.sampled_from(["grades", "grades", "floats", "large"]))
    ranking = data.draw(ranking_data(labels=kind, max_queries=4))
    groups = Groups(ranking.indptr)
    for name in (name for name in LOSSES if kind in labels_for(name)):
        note(name)
        values, grad = twin(LOSSES[name], ranking.scores, ranking.y, groups)
        close(LOSSES[name].per_query(ranking.scores, ranking.y, groups), values, ranking.scores)
        total, gradient = LOSSES[name].value_and_grad(ranking.scores, ranking.y, groups)
        close(np.array(total), np.array(math.fsum(values)), ranking.scores)
        close(gradient, grad, ranking.scores)


def medium_data(seed: int = 0, grid: bool = False) -> tuple[Floats, Floats, Groups]:
    """Thirty queries of 1 to 30 documents; the grid ties scores and puts gaps on the margins."""
    rng = np.random.default_rng(seed)
    sizes = np.append(1, rng.integers(1, 31, 29))
    n = int(sizes.sum())
    scores = rng.normal(scale=2, size=n)
    if grid:
        scores = np.round(scores * 4) / 4
    y = rng.integers(0, 5, n).astype(float)
    return scores, y, Groups(np.append(0, np.cumsum(sizes)))


@every_loss
@pytest.mark.parametrize("grid", [False, True])
def test_kernel_equals_reference_on_longer_queries(name: str, grid: bool) -> None:
    scores, y, groups = medium_data(1, grid)
    loss = LOSSES[name]
    values, grad = twin(loss, scores, y, groups)
    close(loss.per_query(scores, y, groups), values)
    close(loss.value_and_grad(scores, y, groups)[1], grad)


def differences(loss: Any, scores: Floats, y: Floats, groups: Groups, h: float) -> Any:
    """Return forward and backward difference quotients of all documents."""
    base = loss.value_and_grad(scores, y, groups)[0]
    sides = np.empty((2, len(y)))
    for row, (k, sign) in itertools.product(range(len(y)), enumerate((1.0, -1.0))):
        moved = scores.copy()
        moved[row] += sign * h
        sides[k, row] = sign * (loss.value_and_grad(moved, y, groups)[0] - base) / h
    return sides


@every_loss
def test_gradient_is_the_derivative_of_the_value(name: str) -> None:
    rng = np.random.default_rng(2)
    loss = LOSSES[name]
    n_checked = 0
    for sizes in ([5, 1, 3], [4, 4], [2, 7]):
        groups = Groups(np.append(0, np.cumsum(sizes)))
        scores = rng.normal(size=groups.n_rows)
        y = rng.integers(0, 4, groups.n_rows).astype(float)
        grad = loss.value_and_grad(scores, y, groups)[1]
        forward, backward = differences(loss, scores, y, groups, 1e-5)
        # A kink shows in different slopes to both sides; there is then no derivative.
        smooth = np.abs(forward - backward) < 1e-3
        assert smooth.all() if loss.smooth else smooth.mean() > 0.5
        np.testing.assert_allclose(
            ((forward + backward) / 2)[smooth], grad[smooth], rtol=1e-6, atol=1e-7
        )
        n_checked += int(smooth.sum())
    assert n_checked >= 15


def probes(scores: Floats, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield other scores: near and far, tied, reversed, exactly on the margins."""
    n = len(scores)
    yield np.zeros(n)
    yield -scores
    yield np.round(scores)
    yield scores[rng.permutation(n)]
    for scale in (1e-6, 0.1, 1.0, 10.0, 1e3):
        yield scores + scale * rng.normal(size=n)
    for row in rng.integers(0, n, 4):
        for target_score in (scores[rng.integers(n)], scores[rng.integers(n)] + 1):
            other = scores.copy()
            other[row] = target_score
            yield other


@every_loss
@pytest.mark.parametrize("grid", [False, True])
def test_gradient_is_a_subgradient_everywhere(name: str, grid: bool) -> None:
    scores, y, groups = medium_data(3, grid)
    loss, rng = LOSSES[name], np.random.default_rng(3)
    value, grad = loss.value_and_grad(scores, y, groups)
    for other in probes(scores, rng):
        linear = value + float(grad @ (other - scores))
        there = loss.value_and_grad(other, y, groups)[0]
        assert there >= linear - 1e-9 * (1 + abs(linear))


@every_loss
@pytest.mark.parametrize("grid", [False, True])
def test_is_convex(name: str, grid: bool) -> None:
    scores, y, groups = medium_data(4, grid)
    loss, rng = LOSSES[name], np.random.default_rng(4)
    at_start = loss.per_query(scores, y, groups)
    for other in probes(scores, rng):
        at_end = loss.per_query(other, y, groups)
        for t in (0.5, 0.01, float(rng.uniform())):
            between = loss.per_query((1 - t) * scores + t * other, y, groups)
            chord = (1 - t) * at_start + t * at_end
            assert (between <= chord + 1e-9 * (1 + chord)).all()


# --- queries, rows, threads --------------------------------------------------------------------


def one_by_one(groups: Groups) -> Iterator[tuple[int, slice, Groups]]:
    """Yield each query alone, with its own id."""
    ids = np.arange(groups.n_queries) if groups.ids is None else groups.ids
    for q, rows in enumerate(groups):
        size = np.array([0, rows.stop - rows.start])
        yield q, rows, Groups(size, ids[q : q + 1])


@every_loss
def test_value_of_many_queries_is_the_sum_of_single_ones(name: str) -> None:
    scores, y, groups = medium_data(5)
    loss = LOSSES[name]
    values = loss.per_query(scores, y, groups)
    total, grad = loss.value_and_grad(scores, y, groups)
    assert total == math.fsum(values.tolist())
    for q, rows, alone in one_by_one(groups):
        value, own_grad = loss.value_and_grad(scores[rows], y[rows], alone)
        assert value == values[q]
        np.testing.assert_array_equal(own_grad, grad[rows])


@every_member
def test_order_of_queries_does_not_matter(name: str) -> None:
    scores, y, groups = medium_data(6)
    groups = Groups(groups.indptr, np.arange(100, 100 + groups.n_queries))
    order = np.random.default_rng(6).permutation(groups.n_queries)
    rows = groups.rows_of(order)
    assert groups.ids is not None
    shuffled = Groups(np.append(0, np.cumsum(groups.sizes[order])), groups.ids[order])
    if name in LOSSES:
        loss = LOSSES[name]
        value, grad = loss.value_and_grad(scores, y, groups)
        again, grad_again = loss.value_and_grad(scores[rows], y[rows], shuffled)
        assert again == value
        np.testing.assert_array_equal(grad_again, grad[rows])
    if name in SECOND_ORDER:
        first = SECOND_ORDER[name].grad_and_hess(scores, y, groups)
        second = SECOND_ORDER[name].grad_and_hess(scores[rows], y[rows], shuffled)
        for before, after in zip(first, second, strict=True):
            np.testing.assert_array_equal(after, before[rows])


def permuted_rows(y: Floats, groups: Groups, keep_order: bool, seed: int) -> Any:
    """Return rows permuted within queries, perhaps leaving equal labels in their order."""
    rng = np.random.default_rng(seed)
    rows = [q.start + rng.permutation(q.stop - q.start) for q in groups]
    if keep_order:
        for part in rows:
            for label in np.unique(y[part]):
                part[y[part] == label] = np.sort(part[y[part] == label])
    return np.concatenate(rows)


# XENDCG's random gamma belongs to a position, not to a document.
@pytest.mark.parametrize(
    "name", [n for n, loss in LOSSES.items() if getattr(loss, "gamma", 0) != "random"]
)
@pytest.mark.parametrize("grid", [False, True])
def test_rows_may_be_permuted(name: str, grid: bool) -> None:
    scores, y, groups = medium_data(7, grid)
    loss = LOSSES[name]
    rows = permuted_rows(y, groups, name in BY_ROW_ORDER, 7)
    close(loss.per_query(scores[rows], y[rows], groups), loss.per_query(scores, y, groups))
    if grid and loss.name == "rank_hinge":
        return  # several subgradients
    grad = loss.value_and_grad(scores, y, groups)[1]
    close(loss.value_and_grad(scores[rows], y[rows], groups)[1], grad[rows])


# Nor does StochasticLambdaRank's noise belong to a document.
@pytest.mark.parametrize("name", [n for n, d in DIRECTIONS.items() if not getattr(d, "noise", 0)])
def test_rows_of_directions_may_be_permuted(name: str) -> None:
    scores, y, groups = medium_data(7)
    rows = permuted_rows(y, groups, False, 7)
    before = DIRECTIONS[name].grad_and_hess(scores, y, groups)
    after = DIRECTIONS[name].grad_and_hess(scores[rows], y[rows], groups)
    for first, second in zip(before, after, strict=True):
        close(second, first[rows])


@pytest.mark.parametrize("name", SHIFTABLE)
def test_shifts_do_not_matter(name: str) -> None:
    scores, y, groups = medium_data(8, grid=True)
    loss = LOSSES[name]
    values, grad = loss.per_query(scores, y, groups), loss.value_and_grad(scores, y, groups)[1]
    shift = np.random.default_rng(8).integers(-(2**20), 2**20, groups.n_queries)[
        groups.query_of_rows()
    ]
    shifted = scores + shift
    close(loss.per_query(shifted, y, groups), values, shifted)
    close(loss.value_and_grad(shifted, y, groups)[1], grad, shifted)
    np.testing.assert_allclose(np.add.reduceat(grad, groups.indptr[:-1]), 0, atol=1e-12)


@pytest.mark.parametrize("name", ["xendcg-eps", "xendcg-neumann-eps"])
def test_eps_holds_the_scores_in_place(name: str) -> None:
    scores, y, groups = medium_data(8)
    low, here, high = (LOSSES[name].value_and_grad(scores + c, y, groups)[0] for c in (-2, 0, 2))
    assert low > here > high


def large_data(seed: int = 0) -> tuple[Floats, Floats, Groups]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 300, 200)
    n = int(sizes.sum())
    scores = np.round(rng.normal(size=n), 1)  # many ties
    return scores, rng.integers(0, 5, n).astype(float), Groups(np.append(0, np.cumsum(sizes)))


@every_member
def test_thread_count_does_not_change_a_bit(name: str) -> None:
    scores, y, groups = large_data()
    for method in ("value_and_grad", "per_query", "grad_and_hess"):
        function = getattr(MEMBERS[name], method, None)
        if function is None:
            continue
        one = function(scores, y, groups, n_jobs=1)
        for n_jobs in (2, 8):
            again = function(scores, y, groups, n_jobs=n_jobs)
            for first, second in zip(one, again, strict=True):
                np.testing.assert_array_equal(first, second)


@every_loss
def test_prepared_labels_serve_many_scores(name: str) -> None:
    scores, y, groups = medium_data(9)
    loss = LOSSES[name]
    prepared = loss.prepare(y, groups)
    for factor in (1.0, -2.0, 1.0):
        values, grad = prepared.values_and_grad(factor * scores)
        np.testing.assert_array_equal(values, loss.per_query(factor * scores, y, groups))
        np.testing.assert_array_equal(grad, loss.value_and_grad(factor * scores, y, groups)[1])


@every_loss
def test_input_is_left_alone(name: str) -> None:
    scores, y, groups = medium_data(10)
    copies = scores.copy(), y.copy()
    for array in (scores, y):
        array.setflags(write=False)
    LOSSES[name].value_and_grad(scores, y, groups)
    np.testing.assert_array_equal(scores, copies[0])
    np.testing.assert_array_equal(y, copies[1])


# --- promises ----------------------------------------------------------------------------------


def weak_orders(m: int) -> list[tuple[int, ...]]:
    """All ways to rank `m` documents with ties, as scores 0, 1, ..."""
    return [
        ranks
        for ranks in itertools.product(range(m), repeat=m)
        if set(ranks) == set(range(max(ranks) + 1))
    ]


def all_small_queries() -> tuple[Floats, Floats, Groups]:
    """Every weak order of up to four documents with every labels from 0 to 2."""
    cases = [
        (ranks, labels)
        for m in (1, 2, 3, 4)
        for ranks in weak_orders(m)
        for labels in itertools.product(range(3), repeat=m)
    ]
    sizes = [len(labels) for _, labels in cases]
    scores = np.concatenate([ranks for ranks, _ in cases]).astype(float)
    y = np.concatenate([labels for _, labels in cases]).astype(float)
    return scores, y, Groups(np.append(0, np.cumsum(sizes)))


def excess(loss: Any, scores: Floats, y: Floats, groups: Groups) -> Floats:
    """Return lower bound minus loss by query, which must not be positive."""
    lower = loss.bound.lower(y, scores, groups)
    assert lower.shape == (groups.n_queries,)
    return np.asarray(lower - loss.per_query(scores, y, groups))


def check_lipschitz(loss: Any, scores: Floats, y: Floats, groups: Groups) -> None:
    grad = np.abs(loss.value_and_grad(scores, y, groups)[1])
    norms = np.bincount(groups.query_of_rows(), weights=grad, minlength=groups.n_queries)
    limit = np.array([loss.lipschitz(int(m)) for m in groups.sizes])
    assert (norms <= limit * (1 + 1e-12) + 1e-12).all()


SCALES = (1e-12, 1e-3, 0.25, 1.0, 3.0, 40.0, 1e3, 1e6, 2.0**60)


def test_weak_orders_are_counted_right() -> None:
    assert [len(weak_orders(m)) for m in (1, 2, 3, 4)] == [1, 3, 13, 75]  # Fubini numbers


@pytest.mark.parametrize("name", BOUNDING)
def test_value_bounds_the_metric_on_all_small_queries(name: str) -> None:
    ranks, y, groups = all_small_queries()
    for scale in SCALES:
        assert excess(LOSSES[name], scale * ranks, y, groups).max() <= 1e-9


@pytest.mark.parametrize("name", BOUNDING)
def test_value_bounds_the_metric_on_random_queries(name: str) -> None:
    loss = LOSSES[name]
    for seed, grid in itertools.product(range(4), (False, True)):
        scores, y, groups = medium_data(100 + seed, grid)
        for scale in (1e-9, 0.1, 1.0, 10.0, 1e6):
            assert excess(loss, scale * scores, y, groups).max() <= 1e-9


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_values_bound_the_metric(data: st.DataObject) -> None:
    kind: Any = data.draw(st.sampled_from(["grades", "floats", "large"]))
    ranking = data.draw(ranking_data(labels=kind))
    for name in (name for name in BOUNDING if kind in labels_for(name)):
        note(name)
        found = excess(LOSSES[name], ranking.scores, ranking.y, Groups(ranking.indptr))
        assert found.max() <= 1e-9


@pytest.mark.parametrize("name", BOUNDING)
def test_value_bounds_the_metric_under_adversarial_search(name: str) -> None:
    """Local search for scores of each query that bring the loss below its bound."""
    loss, rng = LOSSES[name], np.random.default_rng(11)
    sizes = rng.integers(2, 9, 200)
    groups = Groups(np.append(0, np.cumsum(sizes)))
    query = groups.query_of_rows()
    y = rng.integers(0, 4, groups.n_rows).astype(float)
    scores = rng.normal(size=groups.n_rows)
    best = excess(loss, scores, y, groups)
    for step in range(120):
        proposal = scores.copy()
        row = groups.indptr[:-1] + rng.integers(0, sizes)
        other = groups.indptr[:-1] + rng.integers(0, sizes)
        if step % 4 == 0:
            proposal[row] = scores[other]
        elif step % 4 == 1:
            proposal[row] = scores[other] + rng.choice([-1, 1], len(row))
        elif step % 4 == 2:
            proposal = scores * np.exp(rng.normal(size=len(sizes)))[query]
        else:
            proposal[row] += rng.normal(size=len(row)) * 10.0 ** rng.integers(-4, 2, len(row))
        found = excess(loss, proposal, y, groups)
        better = found > best
        scores = np.where(better[query], proposal, scores)
        best = np.maximum(best, found)
    assert best.max() <= 1e-9


@every_loss
def test_gradient_is_as_short_as_promised(name: str) -> None:
    loss = LOSSES[name]
    ranks, y, groups = all_small_queries()
    for scale in (0.25, 1.0, 1e3, -1e6):
        check_lipschitz(loss, scale * ranks, y, groups)
    for seed in range(3):
        scores, y, groups = medium_data(200 + seed)
        check_lipschitz(loss, scores, y, groups)
        check_lipschitz(loss, -1e3 * y + scores, y, groups)


# Losses whose promised length is reached; the others promise more than needed, or nothing.
@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("domination", 0.999),
        ("xendcg-0", 0.99),
        ("xendcg-1", 0.99),
        ("listnet", 0.99),
        ("slam-ndcg@1", 0.999),
        ("smooth-slam-ndcg@3", 0.999),
        ("rank-hinge", 0.999),
        ("rank-hinge-mean", 0.999),
        ("rank-logistic", 0.999),
        ("rank-logistic-mean", 0.999),
    ],
)
def test_no_smaller_length_can_be_promised(name: str, share: float) -> None:
    loss = LOSSES[name]
    y = np.repeat([0.0, 20.0], [1, 5] if name == "domination" else [3, 3])
    if loss.name in ("xendcg", "listnet"):
        y = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 40.0])
    grad = loss.value_and_grad(-1e4 * y, y)[1]
    assert np.abs(grad).sum() >= share * loss.lipschitz(6)


# --- edges -------------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("size", [1e6, -1e6])
def test_scores_of_a_million(name: str, size: float) -> None:
    loss, y = LOSSES[name], np.array([3.0, 0.0, 2.0, 2.0, 0.0, 1.0])
    groups = Groups.one_query(6)
    for scores in (
        np.array([1.0, -1.0, 1.0, 0.5, 0.0, -1.0]) * size,
        np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]) * size,
        np.array([0.75, 0.5, 0.25, 0.0, -0.25, -0.5]) + size,
        np.array([0.75, 0.5, 0.25, 0.0, -0.25, size]),
    ):
        values, grad = twin(loss, scores, y, groups)
        close(loss.per_query(scores, y), values, scores)
        close(loss.value_and_grad(scores, y)[1], grad, scores)


@every_loss
@pytest.mark.parametrize("lead", [100.0, 700.0, 1e5])
@pytest.mark.parametrize("leader", range(4))
def test_a_leader_far_ahead(name: str, lead: float, leader: int) -> None:
    loss, y = LOSSES[name], np.array([2.0, 1.0, 0.0, 1.0])
    scores = np.array([0.5, -1.0, 0.25, 1.0])
    scores[leader] += lead
    values, grad = twin(loss, scores, y, Groups.one_query(4))
    np.testing.assert_allclose(loss.per_query(scores, y), values, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(loss.value_and_grad(scores, y)[1], grad, rtol=1e-9, atol=1e-14)
    if name in SECOND_ORDER:
        expected = second_order_twin(loss, scores, y, Groups.one_query(4))
        for actual, wanted in zip(loss.grad_and_hess(scores, y), expected, strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-9, atol=1e-14)


@every_loss
def test_nothing_to_order_costs_nothing(name: str) -> None:
    loss = LOSSES[name]
    for y, scores in (([2.0], [5.0]), ([1.0, 1.0, 1.0], [0.0, 3.0, -2.0])):
        value, grad = loss.value_and_grad(scores, y)
        if loss.name in ("listnet", "xendcg"):
            assert value >= 0
            if len(y) == 1 and loss.name == "listnet":
                assert value == 0
        else:
            assert value == 0
            np.testing.assert_array_equal(grad, 0)


@every_member
def test_bad_scores_are_named(name: str) -> None:
    loss = MEMBERS[name]
    methods = [m for m in ("value_and_grad", "per_query", "grad_and_hess") if hasattr(loss, m)]
    for method in methods:
        function = getattr(loss, method)
        for bad in (np.nan, np.inf, -np.inf):
            with pytest.raises(ValueError, match=f"scores must be finite, but row 1 is {bad}"):
                function([0.0, bad], [1.0, 0.0])
            with pytest.raises(ValueError, match=f"y must be finite, but row 0 is {bad}"):
                function([0.0, 1.0], [bad, 0.0])
        with pytest.raises(ValueError, match="scores must have 2 values, one per row, but has 3"):
            function([0.0, 1.0, 2.0], [1.0, 0.0])
        with pytest.raises(ValueError, match="groups must cover the 2 rows, but cover 3"):
            function([0.0, 1.0], [1.0, 0.0], Groups.one_query(3))


@every_member
@pytest.mark.parametrize("indptr", [[0], [0, 0], [0, 0, 0]])
def test_empty_input(name: str, indptr: list[int]) -> None:
    loss, groups = MEMBERS[name], Groups(np.array(indptr))
    if name in LOSSES:
        value, grad = loss.value_and_grad([], [], groups)
        assert value == 0
        assert grad.shape == (0,)
        np.testing.assert_array_equal(loss.per_query([], [], groups), np.zeros(groups.n_queries))
        if loss.bound is not None:
            lower = loss.bound.lower(np.empty(0), np.empty(0), groups)
            np.testing.assert_array_equal(lower, np.zeros(groups.n_queries))
    if name in SECOND_ORDER:
        grad, hess = loss.grad_and_hess([], [], groups)
        assert grad.shape == hess.shape == (0,)


@every_member
def test_queries_without_documents_do_not_disturb(name: str) -> None:
    loss = MEMBERS[name]
    scores, y = np.array([0.5, 0.0, 1.0, -1.0, 2.0]), np.array([2.0, 0.0, 1.0, 1.0, 0.0])
    plain = Groups(np.array([0, 3, 5]), np.array([1, 3]))
    holes = Groups(np.array([0, 0, 3, 3, 5, 5]), np.arange(5))
    if name in LOSSES:
        values = np.zeros(5)
        values[[1, 3]] = loss.per_query(scores, y, plain)
        np.testing.assert_array_equal(loss.per_query(scores, y, holes), values)
        if loss.bound is not None:
            lower = loss.bound.lower(y, scores, plain)
            np.testing.assert_array_equal(loss.bound.lower(y, scores, holes)[[1, 3]], lower)
    method = "value_and_grad" if name in LOSSES else "grad_and_hess"
    expected = getattr(loss, method)(scores, y, plain)
    for actual, wanted in zip(getattr(loss, method)(scores, y, holes), expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("name", [n for n in LOSSES if not n.startswith("rank-logistic")])
@pytest.mark.parametrize("kind", ["tied", "random"])
def test_query_of_100_000_documents(name: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 100_000).astype(float)
    scores = np.zeros(100_000) if kind == "tied" else rng.normal(size=100_000)
    value, grad = LOSSES[name].value_and_grad(scores, y)
    assert math.isfinite(value)
    assert value > 0
    assert np.isfinite(grad).all()


@every_second_order
@pytest.mark.parametrize("kind", ["tied", "random"])
def test_second_order_of_100_000_documents(name: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 100_000).astype(float)
    scores = np.zeros(100_000) if kind == "tied" else rng.normal(size=100_000)
    grad, hess = SECOND_ORDER[name].grad_and_hess(scores, y)
    assert np.isfinite(grad).all()
    assert np.isfinite(hess).all()
    assert (hess >= 0).all()


@every_member
def test_pickles_and_compares(name: str) -> None:
    loss = MEMBERS[name]
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss
    assert hash(again) == hash(loss)
    assert repr(again) == repr(loss)
    assert [other for other in MEMBERS if MEMBERS[other] == loss] == [name]
    scores, y, groups = medium_data(12)
    method = "value_and_grad" if name in LOSSES else "grad_and_hess"
    expected = getattr(loss, method)(scores, y, groups)
    for actual, wanted in zip(getattr(again, method)(scores, y, groups), expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)


@every_member
def test_is_frozen(name: str) -> None:
    with pytest.raises(AttributeError):
        MEMBERS[name].margin = 3.0


@every_loss
def test_float32_and_lists_are_read(name: str) -> None:
    loss = LOSSES[name]
    expected = loss.value_and_grad(np.array([0.5, -1.0, 0.25]), np.array([2.0, 0.0, 1.0]))[0]
    assert loss.value_and_grad([0.5, -1.0, 0.25], [2, 0, 1])[0] == expected
    scores = np.array([0.5, 9.0, -1.0, 9.0, 0.25, 9.0], dtype=np.float32)[::2]
    assert loss.value_and_grad(scores, np.array([2, 0, 1], dtype=np.int8))[0] == expected


# --- second order ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_second_orders_equal_their_references(data: st.DataObject) -> None:
    kind: Any = data.draw(st.sampled_from(["grades", "floats", "large"]))
    ranking: RankingData = data.draw(ranking_data(labels=kind, max_queries=4))
    groups, draw = Groups(ranking.indptr), data.draw(st.integers(0, 3))
    for name, loss in SECOND_ORDER.items():
        note(name)
        expected = second_order_twin(loss, ranking.scores, ranking.y, groups, draw)
        actual = loss.grad_and_hess(ranking.scores, ranking.y, groups, draw)
        for computed, wanted in zip(actual, expected, strict=True):
            close(computed, wanted, ranking.scores)
        assert (actual[1] >= 0).all()


@every_second_order
@pytest.mark.parametrize("grid", [False, True])
def test_second_order_equals_reference_on_longer_queries(name: str, grid: bool) -> None:
    scores, y, groups = medium_data(13, grid)
    expected = second_order_twin(SECOND_ORDER[name], scores, y, groups)
    for actual, wanted in zip(
        SECOND_ORDER[name].grad_and_hess(scores, y, groups), expected, strict=True
    ):
        close(actual, wanted)


@pytest.mark.parametrize(
    "name", [n for n in SECOND_ORDER if n in LOSSES and "neumann" not in repr(LOSSES[n])]
)
def test_first_order_of_the_pair_is_the_gradient(name: str) -> None:
    scores, y, groups = medium_data(14)
    grad = LOSSES[name].value_and_grad(scores, y, groups)[1]
    np.testing.assert_array_equal(LOSSES[name].grad_and_hess(scores, y, groups)[0], grad)


@pytest.mark.parametrize("name", DIRECTIONS)
def test_directions_add_up_to_nothing(name: str) -> None:
    scores, y, groups = medium_data(15, grid=True)
    grad, _ = DIRECTIONS[name].grad_and_hess(scores, y, groups)
    np.testing.assert_allclose(np.add.reduceat(grad, groups.indptr[:-1]), 0, atol=1e-12)
    again, _ = DIRECTIONS[name].grad_and_hess(scores + 1024, y, groups)
    close(again, grad)


@pytest.mark.parametrize("name", DIRECTIONS)
def test_directions_at_the_extremes(name: str) -> None:
    y = np.array([2.0, 0.0, 1.0, 40.0])
    for scores in ([1e6, -1e6, 0.0, -1e6], [1e300, -1e300, 0.0, 1.0], [0.0] * 4):
        grad, hess = DIRECTIONS[name].grad_and_hess(scores, y)
        assert np.isfinite(grad).all()
        assert (hess >= 0).all()
        assert np.isfinite(hess).all()


# --- random gamma ------------------------------------------------------------------------------


def test_gamma_depends_on_the_query_and_the_position_only() -> None:
    loss = XENDCG(random_state=3)
    sizes = np.array([4, 1, 6, 3])
    groups = Groups(np.append(0, np.cumsum(sizes)), np.array(["a", "b", "17", "d"]))
    gamma = loss.draw_gamma(np.arange(14.0), groups, 2)
    for q, rows, alone in one_by_one(groups):
        own = loss.draw_gamma(np.zeros(sizes[q]), alone, 2)
        np.testing.assert_array_equal(own, gamma[rows])
    longer = Groups(np.array([0, 9]), np.array(["a"]))
    np.testing.assert_array_equal(loss.draw_gamma(np.zeros(9), longer, 2)[:4], gamma[:4])
    as_number = Groups(np.array([0, 6]), np.array([17]))
    np.testing.assert_array_equal(loss.draw_gamma(np.zeros(6), as_number, 2), gamma[5:11])


def test_gamma_differs_between_draws_seeds_queries_and_positions() -> None:
    y, groups = np.zeros(60), Groups(np.arange(0, 61, 6))
    gammas = [
        XENDCG(random_state=seed).draw_gamma(y, groups, draw)
        for seed in (0, 1, -1)
        for draw in (0, 1, 2)
    ]
    everything = np.concatenate(gammas)
    assert len(np.unique(everything)) == len(everything) == 540
    assert ((everything >= 0) & (everything < 1)).all()


def test_gamma_is_uniform() -> None:
    n_queries, m = 2000, 25
    groups = Groups(np.arange(0, n_queries * m + 1, m))
    draws = np.stack([XENDCG().draw_gamma(np.zeros(n_queries * m), groups, d) for d in (0, 1)])
    n = draws.size
    assert abs(draws.mean() - 1 / 2) < 5 * math.sqrt(1 / 12 / n)
    counts = np.bincount((draws * 20).astype(int).ravel(), minlength=20)
    assert ((counts - n / 20) ** 2 / (n / 20)).sum() < 50  # chi squared, 19 degrees of freedom
    # Neighbours in position, query, and draw are uncorrelated.
    table = draws.reshape(2, n_queries, m)
    for first, second in (
        (table[:, :, 1:], table[:, :, :-1]),
        (table[:, 1:], table[:, :-1]),
        (table[1:], table[:-1]),
    ):
        r = np.corrcoef(first.ravel(), second.ravel())[0, 1]
        assert abs(r) < 5 / math.sqrt(first.size)


def test_each_draw_has_its_own_targets() -> None:
    loss = XENDCG()
    scores, y, groups = medium_data(16)
    first = loss.grad_and_hess(scores, y, groups)[0]
    np.testing.assert_array_equal(loss.grad_and_hess(scores, y, groups, 0)[0], first)
    np.testing.assert_array_equal(loss.value_and_grad(scores, y, groups)[1], first)
    assert not np.allclose(loss.grad_and_hess(scores, y, groups, 1)[0], first)
    prepared = loss.prepare(y, groups, draw=1)
    np.testing.assert_array_equal(
        prepared.values_and_grad(scores)[1], loss.grad_and_hess(scores, y, groups, 1)[0]
    )


# --- noise -------------------------------------------------------------------------------------


def test_each_tree_has_its_own_noise_and_each_seed() -> None:
    scores, y, groups = medium_data(17)
    first = StochasticLambdaRank().grad_and_hess(scores, y, groups)[0]
    np.testing.assert_array_equal(
        StochasticLambdaRank().grad_and_hess(scores, y, groups, 0)[0], first
    )
    assert not np.allclose(StochasticLambdaRank().grad_and_hess(scores, y, groups, 1)[0], first)
    other = StochasticLambdaRank(random_state=1).grad_and_hess(scores, y, groups)[0]
    assert not np.allclose(other, first)


def test_without_noise_it_is_lambdarank() -> None:
    scores, y, groups = medium_data(18, grid=True)
    for norm in (False, True):
        plain = LambdaRank(norm=norm).grad_and_hess(scores, y, groups)
        still = StochasticLambdaRank(noise=0.0, norm=norm).grad_and_hess(scores, y, groups)
        for expected, found in zip(plain, still, strict=True):
            np.testing.assert_array_equal(found, expected)  # halves of two draws are exact
