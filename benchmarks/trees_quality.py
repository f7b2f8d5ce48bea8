"""Boosted trees by quality: ``python -m benchmarks.trees_quality --data DIR``.

DIR holds LETOR folders as ``ohsumed/Fold1/train.txt.gz`` and so on. Besides, there are two
generated sets, one of 50,000 documents that is nearly linear (synthetic) and one of 60,000 that is
not (web-like), each cut ten times into 60, 20 and 20 % of its queries. Every contender has the same
budget: the same few settings, each with early stopping on the validation queries, and the one that
does best there is measured on the test queries. Differences are tested by paired randomisation over
queries, with Holm's correction over all pairs of contenders; on generated sets a query's value is
its mean over the splits in which it was a test query.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import ENVIRONMENT, RESULTS, THREADS

DATA_SETS = ("ohsumed", "mq2008")
GENERATED = ("synthetic", "web-like")
CHOICE = "ndcg@10"  # early stopping and choice of settings
TREES, PATIENCE = 200, 30
SYNTHETIC = {"n_queries": 500, "mean_docs": 100, "n_features": 46}
WEB_LIKE = {"n_queries": 1000, "mean_docs": 60}
N_SPLITS = 10


@dataclass(frozen=True)
class Setting:
    """What is searched."""

    learning_rate: float
    num_leaves: int
    min_child_samples: int
    colsample: float = 1.0


SETTINGS = (
    Setting(0.05, 7, 20),
    Setting(0.05, 31, 50),
    Setting(0.1, 15, 20),
    Setting(0.1, 7, 100),
)
FEWER_SETTINGS = (Setting(0.1, 15, 20), Setting(0.1, 31, 50))


@dataclass(frozen=True)
class Part:
    """One fold or split."""

    train: Any
    valid: Any
    test: Any


# A fit returns the metric on the validation queries, the number of trees, and scores of the test.
Fit = Callable[[Part, Setting], tuple[float, int, NDArray[Any]]]


def contenders() -> dict[str, Fit]:
    """Return the contenders by name."""
    from rankwright.losses import XENDCG

    ours: dict[str, Any] = {
        "xendcg plain": XENDCG(newton="plain"),
        "xendcg exact": XENDCG(newton="exact"),
        "xendcg neumann": XENDCG(newton="neumann"),
        "listnet": "listnet",
        "lambdarank": "lambdarank",
        "LightGBM rank_xendcg": "lightgbm:rank_xendcg",
        "LightGBM lambdarank": "lightgbm:lambdarank",
    }
    return {
        **{name: partial(_rankwright, loss) for name, loss in ours.items()},
        "XGBoost rank:ndcg": _xgboost,
        "CatBoost YetiRank": _catboost,
    }


def _rankwright(loss: Any, part: Part, setting: Setting) -> tuple[float, int, NDArray[Any]]:
    from rankwright import BoostedRanker

    ranker = BoostedRanker(
        loss,
        n_estimators=TREES,
        learning_rate=setting.learning_rate,
        num_leaves=setting.num_leaves,
        min_child_samples=setting.min_child_samples,
        colsample=setting.colsample,
        early_stopping_rounds=PATIENCE,
        eval_metric=CHOICE,
        n_jobs=THREADS,
    )
    ranker.fit_dataset(part.train, valid=part.valid)
    return ranker.best_score_, ranker.n_iter_, ranker.predict(part.test.X)


def _xgboost(part: Part, setting: Setting) -> tuple[float, int, NDArray[Any]]:
    xgboost = import_module("xgboost")
    train, valid, test = (
        xgboost.DMatrix(d.X, d.y, group=d.groups.sizes, nthread=THREADS)
        for d in (part.train, part.valid, part.test)
    )
    params = {
        "objective": "rank:ndcg",
        "eval_metric": "ndcg@10",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": setting.num_leaves,
        "eta": setting.learning_rate,
        "colsample_bytree": setting.colsample,
        "min_child_weight": 0.1,  # it weighs by curvature, and counts no documents
        "nthread": THREADS,
        "verbosity": 0,
    }
    booster = xgboost.train(
        params,
        train,
        TREES,
        evals=[(valid, "valid")],
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    n = booster.best_iteration + 1
    kept = {"iteration_range": (0, n)}
    return _measured(part, booster.predict(valid, **kept)), n, booster.predict(test, **kept)


def _catboost(part: Part, setting: Setting) -> tuple[float, int, NDArray[Any]]:
    catboost = import_module("catboost")
    train, valid, test = (
        catboost.Pool(d.X, d.y, group_id=d.groups.query_of_rows())
        for d in (part.train, part.valid, part.test)
    )
    model = catboost.CatBoost(
        {
            "loss_function": "YetiRank",
            "eval_metric": "NDCG:top=10;type=Exp",
            "iterations": TREES,
            "learning_rate": setting.learning_rate,
            "depth": max(2, round(np.log2(setting.num_leaves))),
            "min_data_in_leaf": setting.min_child_samples,
            "rsm": setting.colsample,
            "od_type": "Iter",
            "od_wait": PATIENCE,
            "use_best_model": True,
            "thread_count": THREADS,
            "random_seed": 0,
            "logging_level": "Silent",
            "allow_writing_files": False,
        }
    )
    model.fit(train, eval_set=valid)
    return _measured(part, model.predict(valid)), model.tree_count_, model.predict(test)


def _measured(part: Part, scores: NDArray[Any]) -> float:
    from rankwright.metrics import parse

    valid = part.valid
    return parse(CHOICE).mean(valid.y, np.asarray(scores, dtype=np.float64), valid.groups)


# --- running -----------------------------------------------------------------------------------


def letor_parts(folder: Path) -> Iterator[Part]:
    """Yield the folds of a LETOR folder."""
    import rankwright as rw

    for fold in range(1, 6):
        names = ("train", "vali", "test")
        yield Part(*(rw.read(folder / f"Fold{fold}" / f"{name}.txt.gz") for name in names))


def generated_parts(name: str, n_splits: int) -> Iterator[Part]:
    """Yield splits of one generated set."""
    from rankwright.data import make_mslr_like, make_web_like

    if name == "synthetic":
        data = make_mslr_like(**SYNTHETIC, random_state=1)
    else:
        data = make_web_like(**WEB_LIKE, random_state=1)
    for seed in range(n_splits):
        yield Part(*data.split((0.6, 0.2, 0.2), random_state=seed))


def study(
    parts: Iterator[Part], settings: tuple[Setting, ...], metrics: list[str]
) -> dict[str, Any]:
    """Fit every contender on every part, and compare them."""
    from rankwright.evaluation import compare_pairs
    from rankwright.metrics import parse

    fits = contenders()
    values: dict[str, dict[str, dict[Any, list[float]]]] = {
        name: {metric: {} for metric in metrics} for name in fits
    }
    means: dict[str, dict[str, list[float]]] = {n: {m: [] for m in metrics} for n in fits}
    seconds = dict.fromkeys(fits, 0.0)
    trees: dict[str, list[int]] = {name: [] for name in fits}
    for number, part in enumerate(parts, start=1):
        for name, fit in fits.items():
            begin = time.perf_counter()
            tried = [fit(part, setting) for setting in settings]
            seconds[name] += time.perf_counter() - begin
            _, n_trees, scores = max(tried, key=lambda result: result[0])
            trees[name].append(n_trees)
            test = part.test
            for metric in metrics:
                found = parse(metric).per_query(
                    test.y, np.asarray(scores, dtype=np.float64), test.groups
                )
                means[name][metric].append(float(np.nanmean(found)))
                for query, value in zip(test.groups.ids, found, strict=True):
                    values[name][metric].setdefault(query, []).append(float(value))
        line = ", ".join(f"{name} {means[name][metrics[-1]][-1]:.4f}" for name in fits)
        print(f"  part {number}: {line}", flush=True)
    record: dict[str, Any] = {"contenders": {}, "comparisons": {}}
    for name in fits:
        record["contenders"][name] = {
            "mean": {metric: fmean(means[name][metric]) for metric in metrics},
            "by_part": means[name],
            "trees": trees[name],
            "seconds": round(seconds[name], 1),
        }
    for metric in metrics:
        queries = list(next(iter(values.values()))[metric])
        by_query = {
            name: [float(np.mean(values[name][metric][query])) for query in queries]
            for name in fits
        }
        pairs = compare_pairs(by_query)
        record["comparisons"][metric] = [pair.to_dict() for pair in pairs]
    return record


def ranked(record: dict[str, Any], metric: str) -> list[tuple[str, float, str]]:
    """Return the contenders, the best first, and how each one compares with it."""
    means = {name: facts["mean"][metric] for name, facts in record["contenders"].items()}
    best = max(means, key=lambda name: means[name])
    verdicts = {}
    for pair in record["comparisons"][metric]:
        if best in (pair["a"], pair["b"]):
            other = pair["b"] if pair["a"] == best else pair["a"]
            verdicts[other] = f"p = {pair['p_holm']:.3f}" + (" *" if pair["significant"] else "")
    order = sorted(means, key=lambda name: -means[name])
    return [(name, means[name], verdicts.get(name, "best")) for name in order]


def table(record: dict[str, Any]) -> str:
    """Return the means as Markdown."""
    lines = []
    for name, result in record["studies"].items():
        metrics = list(result["comparisons"])
        columns = ["contender", *(f"`{m}`" for m in metrics), "trees", "seconds"]
        n_parts = len(next(iter(result["contenders"].values()))["trees"])
        lines += [f"**{name}**, mean over {n_parts} {_parts(name)}", ""]
        lines += [f"| {' | '.join(columns)} |", "|---|" + "--:|" * (len(columns) - 1)]
        places = {m: {c: (mean, p) for c, mean, p in ranked(result, m)} for m in metrics}
        for contender in sorted(result["contenders"], key=lambda c: -places[metrics[-1]][c][0]):
            cells = [contender]
            for metric in metrics:
                mean, verdict = places[metric][contender]
                text = f"{mean:.4f}"
                cells.append(f"**{text}**" if verdict == "best" else text + "†" * ("*" in verdict))
            facts = result["contenders"][contender]
            cells += [f"{np.median(facts['trees']):.0f}", f"{facts['seconds']:.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    lines += [
        "Bold: the best mean. †: worse than it beyond chance (paired randomisation over queries, "
        "p < 0.05 after Holm's correction over all pairs). Trees: median of the chosen models. "
        "Seconds: of the whole search, on a machine with other work to do: for orientation only."
    ]
    return "\n".join(lines) + "\n"


def _parts(name: str) -> str:
    return "splits" if name in GENERATED else "folds"


def write(record: dict[str, Any]) -> None:
    """Write the record and its table."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, allow_nan=False)
    (RESULTS / "trees-quality.json").write_text(text + "\n")
    (RESULTS / "trees-quality.md").write_text(table(record))


def main() -> None:
    """Run all of it, or a part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of LETOR data sets")
    parser.add_argument("--quick", action="store_true", help="two splits of generated sets only")
    parser.add_argument("--only", choices=GENERATED, help="measure this one anew")
    parser.add_argument("--table", action="store_true", help="write the table again, nothing else")
    options = parser.parse_args()
    if options.table:
        write(json.loads((RESULTS / "trees-quality.json").read_text()))
        return
    os.environ.update(ENVIRONMENT)
    record: dict[str, Any] = {
        "settings": [vars(setting) for setting in SETTINGS],
        "synthetic_settings": [vars(setting) for setting in FEWER_SETTINGS],
        "trees": TREES,
        "patience": PATIENCE,
        "synthetic": SYNTHETIC,
        "web_like": WEB_LIKE,
        "studies": {},
    }
    if options.only is not None:  # keep what there is of the others
        record["studies"] = json.loads((RESULTS / "trees-quality.json").read_text())["studies"]
    elif options.data is not None and not options.quick:
        for name in DATA_SETS:
            print(name, flush=True)
            metrics = ["letor:ndcg@5", "letor:ndcg@10", "ndcg@10"]
            record["studies"][name] = study(letor_parts(options.data / name), SETTINGS, metrics)
    for name in GENERATED if options.only is None else (options.only,):
        print(name, flush=True)
        parts = generated_parts(name, 2 if options.quick else N_SPLITS)
        record["studies"][name] = study(parts, FEWER_SETTINGS, ["ndcg@5", "ndcg@10"])
    for name, result in record["studies"].items():
        for metric in result["comparisons"]:
            print(f"{name}, {metric}")
            for contender, mean, verdict in ranked(result, metric):
                print(f"  {contender:22} {mean:.4f}  {verdict}")
    if not options.quick:
        write(record)


if __name__ == "__main__":
    main()
