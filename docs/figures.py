"""Draw each loss above its bound, and an online learner below its own, for the guide.

Run by hand, with matplotlib and rankwright installed: ``python docs/figures.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
mpl.rcParams.update(
    {"svg.fonttype": "none", "svg.hashsalt": "rankwright", "font.size": 9, "path.simplify": True}
)

import matplotlib.pyplot as plt  # noqa: E402

from rankwright.data import Groups  # noqa: E402
from rankwright.losses import (  # noqa: E402
    SLAM,
    XENDCG,
    Domination,
    Loss,
    RankHinge,
    RankLogistic,
    SmoothSLAM,
)
from rankwright.online import GuaranteeLog, SLAMPerceptron  # noqa: E402

FOLDER = Path(__file__).parent / "_static" / "losses"
LABELS = np.array([2.0, 1.0, 0.0])
FIGURES: dict[str, tuple[Loss, str]] = {
    "slam": (SLAM(), "1 − NDCG"),
    "slam_map": (SLAM("map"), "1 − AP"),
    "smooth_slam": (SmoothSLAM(), "1 − NDCG"),
    "xendcg": (XENDCG(gamma=1.0), "log(S/Z) − log NDCG"),
    "domination": (Domination(), "log 2 × violated dominators"),
    "rank_hinge": (RankHinge(), "misordered pairs"),
    "rank_logistic": (RankLogistic(), "log 2 × misordered pairs"),
}


def scores_at(t: float) -> list[float]:
    """Return scores that go from the reverse order at t = -2 to the right one at t = 2.

    Documents 2 and 3 change places at t = -1, documents 1 and 3 at 0, documents 1 and 2 at 1.
    """
    return [t, t / 2 + 0.5, 0.0]


def draw(name: str, loss: Loss, bound_text: str) -> None:
    """Write one figure."""
    t = np.round(np.linspace(-2, 2, 161), 10)
    scores = np.concatenate([scores_at(x) for x in t])
    labels = np.tile(LABELS, len(t))
    groups = Groups(np.arange(0, len(scores) + 1, len(LABELS)))
    bound = loss.bound
    if bound is None:
        raise ValueError(f"{loss!r} has no bound to draw.")
    values, lower = loss.per_query(scores, labels, groups), bound.lower(labels, scores, groups)
    if (values < lower - 1e-12).any():
        raise ValueError(f"{loss!r} is below its bound.")
    figure, axes = plt.subplots(figsize=(4.4, 2.2), layout="constrained")
    axes.plot(t, values, color="#0b6fb8", label=f"{type(loss).__name__}")
    axes.step(t, lower, color="#c2410c", where="mid", label=bound_text)
    axes.set(xlabel="t", ylim=(0, None), xlim=(-2, 2))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def separable_stream() -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Return queries that unit weights order with a margin, and those weights."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=20)
    u /= np.linalg.norm(u)
    queries = []
    for _ in range(1000):
        X = rng.normal(size=(10, 20))
        y = np.digitize(X @ u, [0.5, 1.5]).astype(float)
        X += 0.5 * y[:, None] * u  # what is better is better by half a unit
        queries.append((X / 8, y))
    return queries, u


def draw_online() -> None:
    """Write the picture of loss and bound of the SLAM perceptron."""
    queries, u = separable_stream()
    figure, axes = plt.subplots(figsize=(5.6, 3.0), layout="constrained")
    for update, style in (("misordered", "-"), ("paper", ":")):
        X, y = (np.concatenate(part) for part in zip(*queries, strict=True))
        qid = np.repeat(np.arange(len(queries)), 10)
        eta = SLAMPerceptron(update=update).fit(X, y, qid).eta_
        learner, log = SLAMPerceptron(update=update, eta=eta), GuaranteeLog(u)
        for documents, labels in queries:
            log.partial_fit(learner, documents, labels)
        table = log.to_dict()
        axes.plot(table["n_rounds"], table["bound"], style, color="#c2410c")
        axes.plot(table["n_rounds"], table["loss"], style, color="#0b6fb8")
        axes.annotate(
            f"bound, {update}", (1000, table["bound"][-1]), ha="right", va="bottom", color="#c2410c"
        )
        offset = "top" if update == "misordered" else "bottom"
        axes.annotate(
            f"loss so far, {update}",
            (1000, table["loss"][-1] * (1.2 if offset == "bottom" else 0.8)),
            ha="right",
            va=offset,
            color="#0b6fb8",
        )
        print(f"{update}: loss {table['loss'][-1]:.1f}, bound {table['bound'][-1]:.4g}")
    axes.set(xscale="log", yscale="log", xlim=(1, 1000), xlabel="queries")
    axes.spines[["top", "right"]].set_visible(False)
    folder = FOLDER.parent / "online"
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "guarantee.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


if __name__ == "__main__":
    draw_online()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (loss, bound_text) in FIGURES.items():
        draw(name, loss, bound_text)
