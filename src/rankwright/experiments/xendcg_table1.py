"""Table 1: NDCG@5 and NDCG@10 of the three losses; Figure 1: NDCG@5 against the number of trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import (
    Curve,
    Figure,
    Findings,
    Panel,
    Row,
    Verdict,
    agrees,
    difference_row,
    mean_of,
)
from rankwright.experiments.xendcg_trials import (
    BEST,
    LOSSES,
    Source,
    model,
    per_query,
    reason_against,
    settings_of,
    sources,
)

METRICS = ("ndcg@5", "ndcg@10")
PRINTED = {  # in percent
    "Web30K": {
        "ListNet": (47.68, 49.76),
        "lambdaMART": (48.08, 49.94),
        "XE-NDCG MART": (48.23, 50.27),
    },
    "Yahoo": {
        "ListNet": (71.76, 76.52),
        "lambdaMART": (73.00, 77.49),
        "XE-NDCG MART": (73.37, 77.84),
    },
}


def run_table(context: Context) -> Findings:
    """Compare the losses on the same random splits, with paired t-tests over the splits."""
    found = sources(context)
    result = Findings(settings={**settings_of(context, found), "trials": _n_trials(context)})
    for source in found:
        trials = _trials(context, source)
        for metric in METRICS:
            means = {name: [t["test"][name][metric] for t in trials] for name in LOSSES}
            result.rows += _table_rows(source.name, metric, means)
    return result


def _table_rows(source: str, metric: str, means: dict[str, list[float]]) -> list[Row]:
    rows = []
    best = max(means, key=lambda name: float(np.mean(means[name])))
    for name, values in means.items():
        mean, interval = mean_of(values)
        paper = None
        verdict: Verdict = "reported"
        note = "best" if name == best else ""
        if source in PRINTED:
            paper = PRINTED[source][name][METRICS.index(metric)] / 100
            inside = interval[0] - 0.01 <= paper <= interval[1] + 0.01
            verdict = agrees(inside)
            note += "" if inside else f"{', ' if note else ''}beyond 0.01 of the interval"
        rows.append(
            Row("Table 1", f"{source} {metric}, {name}", mean, verdict, paper, interval, note)
        )
    for other in means:
        if other != BEST:  # the paper's claim
            what = f"{source} {metric}, {BEST} - {other}"
            differences = np.subtract(means[BEST], means[other])
            rows.append(difference_row("Table 1", what, differences, why=reason_against(source)))
    return rows


def run_figure(context: Context) -> Findings:
    """Draw NDCG@5 on the validation part against the number of trees."""
    found = sources(context)
    result = Findings(settings={**settings_of(context, found), "trials": _n_trials(context)})
    panels = {}
    for source in found:
        trials = _trials(context, source)
        curves = {}
        for name in LOSSES:
            shortest = min(len(t["curve"][name]) for t in trials)
            values = np.array([t["curve"][name][:shortest] for t in trials])
            trees = np.arange(1, shortest + 1)
            curves[name] = Curve.of(trees, values.mean(axis=0))
        panels[source.name] = Panel(curves, "trees", "NDCG@5 on validation queries")
        result.rows += _gap_rows(source.name, trials)
    caption = "NDCG@5 on the validation queries against the number of trees"
    result.figures.append(Figure("figure1", caption, panels))
    return result


def _gap_rows(source: str, trials: list[dict[str, Any]]) -> list[Row]:
    """Test the claim that XE-NDCG's lead over lambdaMART is widest for few trees."""
    shortest = min(len(c) for t in trials for c in t["curve"].values())
    lead = np.array(
        [
            np.subtract(t["curve"][BEST][:shortest], t["curve"]["lambdaMART"][:shortest])
            for t in trials
        ]
    )
    third = max(shortest // 3, 1)
    change = lead[:, :third].mean(axis=1) - lead[:, -third:].mean(axis=1)
    what = f"{source}, lead over lambdaMART in the first third of the trees less that in the last"
    return [difference_row("Figure 1", what, change, why=reason_against(source))]


def _n_trials(context: Context) -> int:
    return int(context.pick(3, 20))


def _trials(context: Context, source: Source) -> list[dict[str, Any]]:
    n = _n_trials(context)
    found = []
    for seed in context.each(f"{source.name}, splits", range(n)):
        key = {"what": "xendcg-table1", "source": source.name, "seed": seed, "scale": context.scale}
        found.append(context.once(key, _split_trial, context, source, seed))
    return found


def _split_trial(context: Context, source: Source, seed: int) -> dict[str, Any]:
    train, valid, test = source.split(seed)
    scores: dict[str, dict[str, float]] = {}
    curves: dict[str, list[float]] = {}
    for name, loss in LOSSES.items():
        ranker = model(context, source, loss, seed).fit_dataset(train, valid=valid)
        scores[name] = {m: float(per_query(ranker, test, m).mean()) for m in METRICS}
        curves[name] = [float(v) for v in ranker.evals_result_["valid"]["ndcg@5"]]
    return {"test": scores, "curve": curves}


TABLE1 = Experiment("xendcg", "table1", "Table 1", "three losses, the same trees", run_table)
FIGURE1 = Experiment(
    "xendcg", "figure1", "Figure 1", "quality against the number of trees", run_figure
)
