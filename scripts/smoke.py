"""What a user does first, with the rankwright that is installed: ``python smoke.py``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import rankwright as rw


def main() -> None:
    """Read, fit, save, load, compare."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = rw.data.make_mslr_like(n_queries=60, mean_docs=12, n_features=8)
        train, test = data.split((0.7, 0.3))
        for part, path in ((train, "train.txt.gz"), (test, "test.txt")):
            rw.write_letor(part, folder / path)
        train, test = rw.read(folder / "train.txt.gz"), rw.read(folder / "test.txt")
        models = [
            rw.LinearRanker("xendcg", alpha=0.01),
            rw.BoostedRanker(n_estimators=5, num_leaves=4),
            rw.SLAMPerceptron(),
        ]
        for model in models:
            model.fit(train.X, train.y, train.qid)
            rw.save(model, folder / "model.rw")
            again = rw.load(folder / "model.rw")
            np.testing.assert_array_equal(again.predict(test.X), model.predict(test.X))
            print(type(model).__name__, rw.evaluate(again, test, ["ndcg@5"]))
        command = [sys.executable, "-m", "rankwright", "compare", "train.txt.gz", "--trials", "1"]
        command += ["--models", "xendcg-linear,xendcg-trees,random", "-o", "out"]
        subprocess.run(command, cwd=folder, check=True)
        # The report needs an extra, the result does not.
        if not any((folder / "out").iterdir()):
            raise SystemExit("compare has written nothing")


if __name__ == "__main__":
    main()
