"""Star ratings: classes in order.

Users see one film after the other and give one to five stars. A learner that pays for distance is
less often far off than one that counts mistakes; both are told the truth after each prediction.
"""

# ruff: noqa: T201 (printing is the point)

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.predtron import PredtronClassifier, PredtronOrdinal

N_FILMS, N_TASTES = 20_000, 30


def make_ratings(seed: int) -> tuple[Any, Any]:
    """Return features of films and noisy stars; how good a film is depends on them linearly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_FILMS, N_TASTES))
    taste = np.random.default_rng(0).normal(size=N_TASTES)
    quality = X @ taste / np.linalg.norm(taste) + 0.5 * rng.normal(size=N_FILMS)
    return X, 1 + np.digitize(quality, [-1.3, -0.4, 0.4, 1.3])


def main() -> None:
    """Learn from a stream, then measure on new films."""
    X, y = make_ratings(1)
    X_test, y_test = make_ratings(2)
    models: dict[str, Any] = {
        "counts mistakes": PredtronClassifier(mode="predicted"),
        "pays for distance": PredtronOrdinal("loss_driven"),
        "margins too": PredtronOrdinal(),
    }
    print(f"{'learner':20}{'exact':>8}{'off by 2 or more':>18}{'mean distance':>15}")
    for name, model in models.items():
        distance = np.abs(model.fit(X, y).predict(X_test) - y_test)
        exact, far = np.mean(distance == 0), np.mean(distance >= 2)
        print(f"{name:20}{exact:8.1%}{far:18.1%}{distance.mean():15.3f}")


if __name__ == "__main__":
    main()
