"""What the XE-NDCG experiments share: data, models of section 5.2, one trial."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.data import make_mslr_like, make_web_like
from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.evaluation.folds import read_folds
from rankwright.experiments.experiment import Context
from rankwright.metrics import parse
from rankwright.trees import BoostedRanker

LOSSES = {"ListNet": "listnet", "lambdaMART": "lambdarank", "XE-NDCG MART": "xendcg"}
BEST = "XE-NDCG MART"  # so the paper says
WEB, LINEAR = "web-like", "mslr-like"  # generated data that need trees, and that do not
FIRST_DRAW = 300  # of web-like data: those below were looked at while the generator was made
FOLDERS = {  # names of folders that hold FoldK or train/vali/test, and what the paper calls them
    "mslr-web30k": "Web30K",
    "yahoo": "Yahoo",
    "letor/mq2008": "MQ2008",
    "mq2008": "MQ2008",
}


@dataclass(frozen=True)
class Source:
    """A data set, and how it is split."""

    name: str
    folders: tuple[Path, ...] = ()  # of folds; none for generated data
    n_queries: int = 0
    mean_docs: int = 0

    @property
    def of_the_paper(self) -> bool:
        """Whether the paper prints figures for it."""
        return self.name in ("Web30K", "Yahoo")

    def split(self, seed: int) -> tuple[Dataset, ...]:
        """Return training, validation and test queries, 60/20/20 as in section 5.2."""
        return tuple(self.load(seed).split((0.6, 0.2, 0.2), random_state=seed))

    def load(self, seed: int) -> Dataset:
        """Return all queries; of web-like data, each seed is another draw."""
        if self.name == WEB:
            draw = FIRST_DRAW + seed
            return make_web_like(self.n_queries, mean_docs=self.mean_docs, random_state=draw)
        if not self.folders:
            return make_mslr_like(self.n_queries, mean_docs=self.mean_docs, n_features=40)
        return read_folds(self.folders[0])[0].joined()


def reason_against(name: str) -> str:
    """Return what may explain that a claim of the paper does not come out on some data."""
    if name == LINEAR:
        return "nearly linear data, which need no trees"
    return "the opposite comes out" if Source(name).of_the_paper else "not the paper's data"


def sources(context: Context) -> list[Source]:
    """Return generated data, of both kinds, and the benchmarks that are there."""
    found = [
        Source(WEB, (), *context.pick((80, 15), (800, 60))),
        Source(LINEAR, (), *context.pick((120, 15), (300, 40))),
    ]
    seen = set()
    for folder, name in FOLDERS.items():
        path = context.folder(folder)
        if path is not None and name not in seen:
            seen.add(name)
            found.append(Source(name, tuple(sorted(path.glob("Fold*"))) or (path,)))
    return found


def model(context: Context, source: Source, loss: str, seed: int = 0) -> BoostedRanker:
    """Return a ranker with the settings of section 5.2; smaller trees on smaller data."""
    size: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.1, "num_leaves": 31}
    if context.quick:
        size |= {"n_estimators": 30, "num_leaves": 8}
    elif source.name == WEB:
        # Smaller steps and larger leaves, towards the paper's: 0.02, and 50 or 100 documents. Its
        # trees of 400 leaves would have a leaf for every 70 documents here.
        size |= {"n_estimators": 150, "learning_rate": 0.05, "min_child_samples": 100}
    elif source.of_the_paper:
        yahoo = source.name == "Yahoo"
        size = {"n_estimators": 500, "learning_rate": 0.02, "num_leaves": 200 if yahoo else 400}
        size["min_child_samples"] = 100 if yahoo else 50
    return BoostedRanker(
        loss,
        early_stopping_rounds=50,
        eval_metric="ndcg@5",
        skip_empty=False,
        random_state=seed,
        lightgbm_params={"min_sum_hessian_in_leaf": 0.0},
        **size,
    )


def per_query(ranker: BoostedRanker, test: Dataset, metric: str) -> Floats:
    """Return a metric on the test queries that have a relevant document."""
    values = parse(metric).per_query(test.y, ranker.predict(test.X), test.groups)
    return values[~np.isnan(values)]


def settings_of(context: Context, found: list[Source]) -> dict[str, Any]:
    """Return the settings, for the record."""
    names = ("n_estimators", "learning_rate", "num_leaves", "min_child_samples")
    settings = {}
    for source in found:
        shown = model(context, source, "xendcg").get_params()
        settings[source.name] = ", ".join(f"{name} {shown[name]}" for name in names)
    return settings
