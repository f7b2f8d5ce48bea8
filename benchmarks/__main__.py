"""``python -m benchmarks [STEP] [--quick]``, a step being one of STEPS, or all of them."""

from __future__ import annotations

import argparse

from benchmarks import (
    contributions,
    evaluating,
    exports,
    linear,
    linear_scoring,
    loading,
    metrics,
    noise,
    online,
    predicting,
    predtron,
    scale,
    scoring,
    serve,
    serving,
    sparse,
    sparse_races,
    table,
    trees,
)

STEPS = {
    "loading": loading.run,
    "predicting": predicting.run,
    "metrics": metrics.run,
    "linear": linear.run,
    "linear-scoring": linear_scoring.run,
    "races": sparse_races.run,
    "online": online.run,
    "noise": noise.run,
    "trees": trees.run,
    "predtron": predtron.run,
    "scale": scale.run,
    "scoring": scoring.run,
    "contributions": contributions.run,
    "sparse": sparse.run,
    "serving": serving.run,
    "serve": serve.run,
    "exports": exports.run,
    "evaluating": evaluating.run,
    "table": table.run,
}


def main() -> None:
    """Run the steps asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("step", nargs="?", choices=[*STEPS, "all"], default="all")
    parser.add_argument(
        "--quick", action="store_true", help="small data and two rounds, to check the harness"
    )
    options = parser.parse_args()
    for name, run in STEPS.items():
        if options.step in (name, "all"):
            run(options.quick)


if __name__ == "__main__":
    main()
