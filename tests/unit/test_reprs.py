"""What objects print as: a few lines, and never their arrays."""

from __future__ import annotations

import inspect
from dataclasses import fields
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import Choice, NoiseStudy, Range, Study, Trial, tune
from rankwright.comparison.trial import Outcome, TrialResult
from rankwright.dask import DaskParts
from rankwright.data import Run
from rankwright.data.corruptions import find_corruption
from rankwright.data.noise import label_noise_up_to
from rankwright.data.parts import LocalParts
from rankwright.evaluation import Fold, compare_pairs, explain, permutation_importance, split
from rankwright.evaluation.contest import Contest
from rankwright.evaluation.segmented import Segment
from rankwright.evaluation.segments import Part
from rankwright.evaluation.significance import Pairs
from rankwright.metrics import explain_difference, parse
from rankwright.showing import Brief, brief
from rankwright.theory import Guarantee
from rankwright.trees.forest import Forest
from tests.public import modules

MOST_LINES, MOST_CHARACTERS, LONGEST_LINE = 30, 2500, 700  # scikit-learn cuts at 700


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=60, n_features=40, mean_docs=20)


def public_classes() -> list[type]:
    found: dict[type, None] = {}
    for name in ["rankwright", *modules()]:
        module = import_module(name)
        for public in module.__all__:
            what = getattr(module, public)
            if not inspect.isclass(what) or issubclass(what, BaseException | Enum):
                continue
            # What nobody can make, and what prints as "<X object at 0x...>", is short enough.
            if not inspect.isabstract(what) and what.__repr__ is not object.__repr__:
                found[what] = None
    hidden = [Contest, Segment, Outcome, TrialResult, Part, Pairs]  # what results hold
    return [*found, *hidden]


BIG: dict[str, Any] = {
    "str": "a name",
    "int": 12,
    "float": 1 / 3,
    "bool": True,
    "list": [1 / 3] * 5000,
    "tuple": (1 / 3,) * 5000,
    "dict": {f"key {i}": np.arange(500.0) for i in range(500)},
    "Mapping": {f"key {i}": 1 / 3 for i in range(500)},
    "Sequence": [1 / 3] * 5000,
}


def filled(kind: Any) -> Any:
    """Return an instance of a dataclass whose arrays, lists and texts are long."""
    this = object.__new__(kind)
    for item in fields(kind):
        text = str(item.type).partition(" ")[0].partition("[")[0]
        vars(this)[item.name] = BIG.get(text, np.zeros((5000, 40)))
    return this


def real_ones(data: rw.Dataset, folder: Path) -> dict[type, Any]:
    """Return objects whose text is made of more than their fields."""
    (fold,) = split(data)
    ranker = rw.LinearRanker("listnet", standardize=True).fit(data.X, data.y, data.qid)
    trees = rw.BoostedRanker(n_estimators=3).fit(data.X, data.y, data.qid)
    both = rw.evaluate({f"s{j}": data.X[:, j] for j in range(40)}, data, segments=["list-length"])
    evaluation: Any = rw.evaluate(ranker, data)
    study = tune(ranker, data, {"alpha": Range(1e-4, 1.0, log=True)}, n_trials=2, n_folds=2)
    rng = np.random.default_rng(0)
    noise = NoiseStudy(
        find_corruption("augment"),
        parse("ndcg@5"),
        ("a", "b"),
        (0.0, 0.5),
        rng.uniform(size=(2, 2, 3)),
    )
    pairs = compare_pairs({f"s{j}": rng.uniform(size=50) for j in range(4)})
    run = Run(np.arange(9000), np.arange(9000), np.zeros(9000))
    rw.write(data, str(folder / "all.txt"))
    manifest = rw.data.partition(folder / "all.txt", folder / "parts", 3)
    parts = rw.read_parts(folder / "parts")
    found = [
        data,
        data.describe(),
        fold,
        evaluation,
        evaluation.results["ndcg@10"],
        both,
        both.standings[0],
        both.segments[0],
        pairs,
        pairs[0],
        permutation_importance(ranker, data, n_repeats=1),
        explain(ranker, data.select([0]).X),
        explain(ranker, data.select([0]).X).why(0, 1)[0],
        explain_difference("lightgbm:ndcg@5", "ndcg@5", data.y, data.X[:, 0], data.groups),
        study,
        noise,
        run,
        rw.Scorer.from_model(ranker),
        Forest.from_text(trees.model_text_, data.n_features),
        rw.compare(data, ["best-feature", "random"], n_trials=1),
        rw.export(ranker, "ranklib", str(folder / "model.txt")),
        rw.verify(str(folder / "model.cert.json")),
        Choice(("a", "b")),
        rw.metrics.FunctionMetric(lambda labels, scores: 0.0, "nothing"),
        find_corruption("cascade"),
        label_noise_up_to(4.0),
        Guarantee("Theorem 1", "loss", "a + b", 1 / 3, {"a": 1.0, "b": 2.0}),
        rw.theory.certificate("slam", data.X[:, 0], data.y, data.groups),
        rw.theory.MarginReport(data.X, data.y, data.qid, w=data.X[0]),
        rw.Predtron(rw.problems.Multiclass(3)),
        rw.online.GuaranteeLog(data.X[0]),
        manifest,
        parts,
        parts.facts,
        parts.facts.parts[0],
        on_a_cluster(parts),
    ]
    return {type(one): one for one in found}


def on_a_cluster(parts: LocalParts) -> DaskParts:
    """Return parts as if they were on a cluster."""
    made = DaskParts.__new__(DaskParts)
    address = SimpleNamespace(address="tcp://127.0.0.1:8786")
    made.client = cast("Any", SimpleNamespace(nthreads=lambda: {"a": 1}, scheduler=address))
    made.facts, made._each = parts.facts, cast("Any", parts.spooled)
    return made


@pytest.fixture(scope="module")
def instances(data: rw.Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[type, Any]:
    return real_ones(data, tmp_path_factory.mktemp("exported"))


@pytest.mark.parametrize("kind", public_classes(), ids=lambda kind: kind.__qualname__)
def test_no_object_prints_its_arrays(kind: Any, instances: dict[type, Any]) -> None:
    check_text(repr(instance_of(kind, instances)))


def instance_of(kind: Any, instances: dict[type, Any]) -> Any:
    if kind in instances:
        return instances[kind]
    try:
        return kind()
    except TypeError:  # it needs data
        return filled(kind)


def check_text(text: str) -> None:
    lines = text.splitlines()
    assert "array(" not in text
    assert "dtype=" not in text.replace("dtype='float", "")  # the name of one may be a fact
    assert 0 < len(lines) <= MOST_LINES
    assert len(text) <= MOST_CHARACTERS
    assert max(map(len, lines)) <= LONGEST_LINE


def test_lists_of_results_read_well(instances: dict[type, Any]) -> None:
    pairs, study = instances[Pairs], instances[Study]
    assert repr(pairs).count("\n") == len(pairs) - 1
    assert all(line.startswith("s0 - s") for line in repr(pairs).splitlines()[:3])
    assert repr(study.trials[0]).startswith("Trial(number=0, params={'alpha': 0.001}, value=0.")
    fold = instances[Fold]
    assert repr([fold]) == "[Fold('split': 36 train, 12 valid, 12 test queries, 40 features)]"
    both = instances[Contest]
    assert repr(both).splitlines()[0].split() == ["model", "ndcg@10", "95", "%", "interval",
                                                  "features"]  # fmt: skip
    assert repr(both).splitlines()[-1] == "... and 20 more"
    assert repr(both.segments[0]).startswith("Segment(list-length ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros(3), "<3 float64>"),
        (0.1 + 0.2, "0.3"),
        (np.float64(0.5), "0.5"),
        ([1, 2], "[1, 2]"),
        ((1,), "(1,)"),
        ((1, "a"), "(1, 'a')"),
        (list(range(7)), "<7 items>"),
        (["x" * 40, "y" * 40], "<2 items>"),
        ({"a": np.zeros(3)}, "{'a': <3 float64>}"),
        ({1, 2}, "{1, 2}"),
        ("x" * 70, f"{'x' * 60!r}..."),
        (None, "None"),
    ],
    ids=str,
)
def test_a_value_is_short(value: Any, text: str) -> None:
    assert brief(value) == text


def test_a_long_object_is_its_class() -> None:
    class Long:
        def __repr__(self) -> str:
            return "two\nlines"

    assert brief(Long()) == "<Long>"
    assert isinstance(Trial(0, {}, 0.5, [], 0.1), Brief)
