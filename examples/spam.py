"""Spam with costs, and mail that a person should look at.

A mail lost among the spam costs five times as much as a spam that gets through, and asking a
person costs little. Three filters learn from the same stream of mails: one that counts mistakes,
one that pays for them, and one that may also ask.
"""

# ruff: noqa: T201 (printing is the point)

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.predtron import PredtronClassifier

N_MAILS, N_WORDS = 3000, 1000
COSTS = [5.0, 1.0]  # of a mistake on "ham", on "spam"
ASK = 0.2


def make_mails(seed: int) -> tuple[Any, Any]:
    """Return word counts and labels; a third of the words is more frequent in spam."""
    rng = np.random.default_rng(seed)
    spam = rng.random(N_MAILS) < 0.4
    common = 1 / np.arange(1, N_WORDS + 1)
    taste = np.random.default_rng(0).choice([0.0, 0.0, 1.2], N_WORDS)
    leaning = rng.normal(np.where(spam, 1.0, -1.0), 0.6)
    share = common * np.exp(taste * leaning[:, None])
    counts = sp.csr_array(rng.poisson(60 * share / share.sum(axis=1, keepdims=True)))
    return counts.astype(np.float64).log1p(), np.where(spam, "spam", "ham")


def cost(predicted: Any, y: Any) -> float:
    """Return the mean cost of a mail."""
    lost = (predicted == "spam") & (y == "ham")
    through = (predicted == "ham") & (y == "spam")
    asked = predicted == "reject"
    return float((COSTS[0] * lost + COSTS[1] * through + ASK * asked).mean())


def main() -> None:
    """Learn from one half of the mails, and count what the other half costs."""
    X, y = make_mails(1)
    X_test, y_test = make_mails(2)
    filters = {
        "mistakes": PredtronClassifier(),
        "costs": PredtronClassifier(COSTS),
        "costs, may ask": PredtronClassifier(COSTS, reject=ASK),
    }
    print(f"{'filter':16}{'ham lost':>10}{'spam through':>14}{'asked':>8}{'cost per mail':>15}")
    for name, model in filters.items():
        predicted = model.fit(X, y).predict(X_test)
        lost = np.mean(predicted[y_test == "ham"] == "spam")
        through = np.mean(predicted[y_test == "spam"] == "ham")
        asked = np.mean(predicted == "reject")
        print(f"{name:16}{lost:10.1%}{through:14.1%}{asked:8.1%}{cost(predicted, y_test):15.3f}")


if __name__ == "__main__":
    main()
