"""Generated web search beside MSLR-WEB: ``python -m benchmarks.web_like --data DIR``.

DIR holds ``mslr-sample/train.txt.gz`` and ``test.txt.gz``, or any files of MSLR-WEB under those
names. Without it the statistics of MSLR-WEB stay those of the last run. Besides, trees and linear
rankers learn on fresh draws of several kinds: what they have to choose, the number of trees and the
penalty, is chosen on validation queries, and figures are NDCG@10 of test queries.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, sem, skew

from benchmarks.harness import RESULTS

N_QUERIES = 300  # for the statistics, of 120 documents
SIZE = {"n_queries": 800, "mean_docs": 60}  # of a draw to learn from
N_DRAWS = 4
KINDS = tuple((nonlinearity, noise) for nonlinearity in (1.0, 0.0) for noise in (1.0, 0.0))
TREES: dict[str, Any] = {
    "n_estimators": 150,
    "learning_rate": 0.05,
    "min_child_samples": 100,
    "early_stopping_rounds": 50,
}
ALPHAS = (0.1, 0.01, 1e-3, 1e-4)
METRIC = "ndcg@10"
FILE = RESULTS / "web-like.json"


# --- statistics --------------------------------------------------------------------------------


def statistics(X: NDArray[Any], y: NDArray[Any], sizes: NDArray[Any]) -> dict[str, Any]:
    """Return what is compared."""
    from rankwright.data.web_text import NAMES, STREAMS

    of_query = np.repeat(np.arange(len(sizes)), sizes)
    means = np.bincount(of_query, y) / sizes
    varies = X.std(axis=0) > 0
    X, names = X[:, varies], np.array(NAMES)[varies]
    blocks = np.array([name.split("_")[0] for name in names])
    blocks[~np.isin(blocks, STREAMS)] = "page"
    blocks[125 - np.count_nonzero(~varies[:125]) :] = "page"  # url_slashes is no stream's
    ranks = np.apply_along_axis(rankdata, 0, X)
    correlation = np.abs(np.corrcoef(ranks, rowvar=False))
    np.fill_diagonal(correlation, np.nan)
    found: dict[str, Any] = {
        "queries": len(sizes),
        "lists": [float(v) for v in (sizes.min(), np.median(sizes), sizes.mean(), sizes.max())],
        "labels": [float((y == label).mean()) for label in range(5)],
        "label_variance_within": float(((y - means[of_query]) ** 2).mean() / y.var()),
        "zeros": float((X == 0).mean()),
        "blocks": {},
    }
    for block in (*STREAMS, "page"):
        mine = blocks == block
        found["blocks"][block] = {
            "zeros": float((X[:, mine] == 0).mean()),
            "skewness": float(np.median(skew(X[:, mine].astype(np.float64)))),
            "within": float(np.nanmean(correlation[np.ix_(mine, mine)])),
            "between": float(np.nanmean(correlation[np.ix_(mine, ~mine)])),
        }
    return found


def of_files(folder: Path) -> dict[str, Any]:
    """Return the statistics of MSLR-WEB's files; their last queries may be cut."""
    import rankwright as rw

    parts = [rw.read(folder / f"{name}.txt.gz") for name in ("train", "test")]
    X, y = np.concatenate([p.X for p in parts]), np.concatenate([p.y for p in parts])
    return statistics(X, y, np.concatenate([p.groups.sizes for p in parts]))


def statistics_table(found: dict[str, dict[str, Any]]) -> str:
    """Return the statistics as Markdown, a column for each set."""
    lines = [f"| | {' | '.join(found)} |", "|---|" + "--:|" * len(found)]

    def row(what: str, cells: list[str]) -> None:
        lines.append(f"| {what} | {' | '.join(cells)} |")

    sets = found.values()
    row("queries", [str(s["queries"]) for s in sets])
    row(
        "documents of a query: least, median, mean, most",
        [", ".join(f"{v:.0f}" for v in s["lists"]) for s in sets],
    )
    row(
        "labels 0, 1, 2, 3, 4 in %",
        [", ".join(f"{100 * v:.1f}" for v in s["labels"]) for s in sets],
    )
    row("variance of labels within queries", [f"{s['label_variance_within']:.2f}" for s in sets])
    row("zeros", [f"{s['zeros']:.2f}" for s in sets])
    titles = {
        "zeros": "zeros",
        "skewness": "median skewness",
        "within": "mean rank correlation, absolute, within the block",
        "between": "with the other blocks",
    }
    for block in next(iter(sets))["blocks"]:
        for key, title in titles.items():
            row(f"{block}: {title}", [f"{s['blocks'][block][key]:.2f}" for s in sets])
    return "\n".join(lines) + "\n"


# --- trees and linear rankers ------------------------------------------------------------------


def learned(nonlinearity: float, noise: float, seed: int, quick: bool) -> dict[str, float]:
    """Return NDCG@10 of each ranker on one draw."""
    from rankwright import BoostedRanker, LinearRanker
    from rankwright.data import make_web_like
    from rankwright.metrics import parse

    size = {"n_queries": 60, "mean_docs": 20} if quick else SIZE
    data = make_web_like(**size, nonlinearity=nonlinearity, noise=noise, random_state=seed)
    train, valid, test = data.split((0.6, 0.2, 0.2), random_state=seed)

    def quality(model: Any, part: Any) -> float:
        return parse(METRIC).mean(part.y, model.predict(part.X), part.groups)

    found = {}
    for loss in ("xendcg", "lambdarank"):
        trees = BoostedRanker(loss, eval_metric=METRIC, random_state=seed, n_jobs=1, **TREES)
        found[f"{loss} trees"] = quality(trees.fit_dataset(train, valid=valid), test)
    rankers = [LinearRanker("xendcg", alpha=a, standardize=True, n_jobs=1) for a in ALPHAS]
    best = max((r.fit_dataset(train) for r in rankers), key=lambda r: quality(r, valid))
    return found | {"linear": quality(best, test)}


def margin_table(rows: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    names = list(rows[0]["draws"][0])
    head = ["nonlinearity", "noise", *names, "xendcg trees less linear, standard error"]
    lines = [f"| {' | '.join(head)} |", "|" + "--:|" * len(head)]
    for row in rows:
        values = {name: [draw[name] for draw in row["draws"]] for name in names}
        lead = np.subtract(values["xendcg trees"], values["linear"])
        cells = [f"{row['nonlinearity']:g}", f"{row['noise']:g}"]
        cells += [f"{np.mean(values[name]):.4f}" for name in names]
        cells.append(f"{lead.mean():+.4f} ± {sem(lead):.4f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line, measure, write the results."""
    from rankwright.data import make_web_like

    parser = argparse.ArgumentParser(prog="python -m benchmarks.web_like", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder that holds mslr-sample")
    parser.add_argument("--quick", action="store_true", help="small draws, nothing is written")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ours = make_web_like(40 if options.quick else N_QUERIES)
    found = {"make_web_like": statistics(ours.X, ours.y, ours.groups.sizes)}
    if options.data is not None:
        found["MSLR-WEB, sample"] = of_files(options.data / "mslr-sample")
    elif FILE.exists():
        found = json.loads(FILE.read_text())["statistics"] | found
    print(statistics_table(found), flush=True)
    rows = []
    for nonlinearity, noise in KINDS:
        draws = [
            learned(nonlinearity, noise, seed, options.quick)
            for seed in range(2 if options.quick else N_DRAWS)
        ]
        rows.append({"nonlinearity": nonlinearity, "noise": noise, "draws": draws})
        print(margin_table(rows[-1:]), flush=True)
    if not options.quick:
        RESULTS.mkdir(parents=True, exist_ok=True)
        record = {"name": "web-like", "metric": METRIC, "statistics": found, "margins": rows}
        FILE.write_text(json.dumps(record, indent=1) + "\n")
        (RESULTS / "web-like-statistics.md").write_text(statistics_table(found))
        (RESULTS / "web-like-margins.md").write_text(margin_table(rows))


if __name__ == "__main__":
    main()
