"""Whether two versions compute the same bits.

::

    OLD/bin/python tests/same_bits.py write old.json     # with one version installed
    NEW/bin/python tests/same_bits.py write new.json     # with the other
    python tests/same_bits.py compare old.json new.json  # prints what differs; exit code 1 if any

All models over parameters that decide, dense and sparse, float32 and float64, and the commands
``compare``, ``tune``, ``noise-study`` and ``reproduce``, on generated data. Only what every version
has is used: names of the command line, ``fit``, ``predict``, files. Times are left out.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Facts = dict[str, Any]

LINEAR = [
    {"loss": loss, "penalty": penalty, "alpha": alpha, "standardize": standardize}
    for loss, penalty, alpha, standardize in itertools.product(
        ["xendcg", "listnet", "domination", "slam", "rank_hinge", "rank_logistic"],
        ["l1", "l2", "elasticnet"],
        [1e-1, 1e-3],
        [False, True],
    )
]
ONLINE = [
    {"variant": variant, "n_epochs": 2, "shuffle": True, "random_state": 3}
    for variant in ("last", "averaged")
]
KERNEL = [{"kernel": "rbf", "gamma": 0.1}, {"kernel": "poly", "degree": 2}]
NORMS = [{"norm": norm} for norm in ("l2", "l1", "group")]
GRID: dict[str, list[Facts]] = {
    "linear": [{**p, "max_iter": 30} for p in LINEAR],
    "domination-rank": [
        {"penalty": "l1", "alpha": 0.05},
        {"step": "range", "max_iter": 20},
        {"step": "thesis", "max_iter": 20},
        {"pooled": True},
        {"n_induced": 2, "penalty": "l1"},
        {"margin": 0.5},
        {"negatives": 0.5},
    ],
    "slam-perceptron": [{}, {"variant": "voted", "n_epochs": 2}, *ONLINE, *KERNEL],
    "online": [{"loss": loss, "eta": 1e-3} for loss in ("xendcg", "slam", "domination")] + ONLINE,
    "prank": [{}, *ONLINE, *KERNEL],
    "widrow-hoff": [{}, *ONLINE, *KERNEL],
    "multiclass-perceptron": [{}, {"update": "max"}, *ONLINE, *KERNEL],
    "pamir": [{}, {"variant": "averaged", "C": 1e-3, "n_epochs": 2}],
    "predtron-classifier": [{}, *ONLINE, *KERNEL, *NORMS, {"mode": "augmented"}],
    "predtron-ordinal": [{}, *ONLINE, *KERNEL],
    "predtron-multilabel": [{}, *ONLINE, *NORMS, {"loss": "subset"}],
    "predtron-ranker": [{}, *ONLINE, *KERNEL, {"mode": "augmented"}],
    "predtron-label-ranker": [{}, *ONLINE, {"mode": "augmented"}],
    "boosted": [
        {"n_estimators": 10, "num_leaves": 7, "min_child_samples": 5, "n_jobs": 1, **p}
        for p in (
            {"loss": "xendcg"},
            {"loss": "listnet"},
            {"loss": "lambdarank"},
            {"loss": "xendcg", "newton": "exact"},
            {"loss": "slam"},
            {"subsample": 0.5, "colsample": 0.7},
        )
    ],
    "ensemble": [
        {"n_models": 2, "n_estimators": 5, "n_jobs": 1, **p}
        for p in ({}, {"members": ["xendcg-trees", "linear"]}, {"bag": 0.7}, {"bag": None})
    ],
}
COMMANDS = {
    "compare": ("compare data.txt --trials 2 -o out/compare -j 1", "out/compare/comparison.json"),
    "compare, folds": (
        "compare data.txt --folds 3 --trials 2 -m ap -o out/folds -j 2 "
        "--models xendcg-linear,lambdarank-trees,slam-perceptron",
        "out/folds/comparison.json",
    ),
    "tune": ("tune data.txt --trials 5 --study out/tune.jsonl --json", ""),
    "tune trees": ("tune data.txt --model xendcg-trees --trials 3 --json", ""),
    "noise-study": (
        "noise-study data.txt --models xendcg-linear,xendcg-trees --trials 2 --levels 0,0.3 "
        "-o out/noise --json",
        "",
    ),
    "train, stream": ("train data.txt --model slam-perceptron --stream -o out/s.rw", "out/s.rw"),
    "reproduce": ("reproduce all --scale quick --out out/papers", "out/papers"),
}
TIMES = re.compile(r"second|_us$|bytes|elapsed|time|versions|^card$|library|commit|^key$")


def fitted(name: str, params: Facts, ds: Any, X: Any) -> Facts:
    """Fit a model; return what it predicts and what it is, or how it fails."""
    import numpy as np

    from rankwright.models import make_model

    y, qid = ds.y, {"qid": ds.qid}
    if name == "predtron-multilabel":
        y, qid = np.stack([ds.y > 0, ds.y > 1], axis=1).astype(int), {}
    elif name == "predtron-label-ranker":
        y, qid = np.argsort(np.asarray(ds.X)[:, :3], axis=1) + 1, {}
    elif name in ("predtron-classifier", "predtron-ordinal"):
        qid = {}
    try:
        model = make_model(name, **params).fit(X, y, **qid)
        facts = {"predict": plain(model.predict(X)), "score": plain(model.score(X, y, **qid))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    for key in ("coef_", "objective_", "gap_", "n_iter_", "thresholds_", "cumulative_loss_"):
        if hasattr(model, key):
            facts[key] = plain(getattr(model, key))
    return facts


def plain(value: Any) -> Any:
    """Return a value as JSON holds it exactly: floats in hexadecimal."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items() if not TIMES.search(str(k))}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | str) else repr(value)


def models(ds: Any) -> Iterator[tuple[str, Facts]]:
    """Yield each model with its parameters and layout, and what came of it."""
    import numpy as np
    import scipy.sparse as sp

    from rankwright.models import MODELS

    dense = np.asarray(ds.X) / np.maximum(np.abs(np.asarray(ds.X)).max(axis=0), 1e-9)
    layouts = {
        "dense 32": dense.astype(np.float32),
        "dense 64": dense.astype(np.float64),
        "sparse": sp.csr_array(np.where(np.abs(dense) > 0.3, dense, 0)),
    }
    for name in MODELS:
        for params, (layout, X) in itertools.product(GRID.get(name, [{}]), layouts.items()):
            yield f"{name} {params} {layout}", fitted(name, params, ds, X)


def commands(folder: Path) -> Iterator[tuple[str, Facts]]:
    """Yield what each command prints and writes."""
    (folder / "out").mkdir()
    for name, (line, result) in COMMANDS.items():
        done = subprocess.run(
            [sys.executable, "-m", "rankwright", *line.split()],
            cwd=folder, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        facts: Facts = {"exit code": done.returncode}
        if done.returncode:
            facts["stderr"] = done.stderr
        elif not result:
            facts["json"] = plain(json.loads(done.stdout))
        elif result.endswith(".rw"):
            facts["bytes"] = (folder / result).read_bytes().hex()
        elif result.endswith(".json"):
            facts["json"] = plain(json.loads((folder / result).read_text(encoding="utf-8")))
        else:
            for path in sorted((folder / result).glob("*/*.json")):
                if path.parent.name != "cache":
                    facts[path.stem] = plain(json.loads(path.read_text(encoding="utf-8")))
        yield name, facts


def write(path: Path) -> None:
    """Run everything with the installed version."""
    import rankwright as rw

    warnings.simplefilter("ignore")
    facts: Facts = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ds = rw.data.make_mslr_like(n_queries=40, n_features=12, mean_docs=15)
        rw.write_letor(ds, folder / "data.txt")
        facts.update(models(rw.read(folder / "data.txt")))
        facts.update(commands(folder))
    path.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    failed = sum("error" in f or f.get("exit code", 0) != 0 for f in facts.values())
    print(f"{len(facts)} results, {failed} of them errors")  # noqa: T201


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Yield each place where two results differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(k for k in new if k not in old)]:
            yield from differences(old.get(key), new.get(key), f"{where} / {key}" if where else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from differences(a, b, f"{where}[{i}]")
    elif old != new:
        yield f"{where}: {readable(old)} became {readable(new)}"


def readable(value: Any) -> str:
    """Return a value for people."""
    with contextlib.suppress(ValueError, TypeError):
        return repr(float.fromhex(value)) if "0x" in value else repr(value)[:200]
    return repr(value)[:200]


def compare(old: Path, new: Path) -> int:
    """Print the differences; return the exit code."""
    a, b = (json.loads(path.read_text(encoding="utf-8")) for path in (old, new))
    found = list(differences(a, b))
    print("\n".join(found[:200]))  # noqa: T201
    names = {line.split(" / ")[0] for line in found}
    print(f"{len(a)} results, {len(names)} of them differ, in {len(found)} places")  # noqa: T201
    return int(bool(found))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]))
    else:
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])))
