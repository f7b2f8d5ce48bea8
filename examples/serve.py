"""Serve a ranker that learns from its user, kill it, go on, and prove what it learned.

Run it with ``python examples/serve.py``; it takes about ten seconds. It needs the extra ``serve``.
"""

# ruff: noqa: T201 (printing is the point)

import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import rankwright as rw
from rankwright.client import Client

N_ROUNDS, N_DOCS = 300, 8
TASTE = np.array([3.0, -2.0, 2.0, 1.0, -1.0, 1.0])  # of the user; the ranker does not know it

rng = np.random.default_rng(0)


def documents(n_queries):
    """Return features of documents, all of length 1."""
    X = rng.normal(size=(n_queries, N_DOCS, len(TASTE)))
    return X / np.linalg.norm(X, axis=2, keepdims=True)


def judge(X):
    """Return the user's labels, 0 to 2."""
    liking = X @ TASTE / np.linalg.norm(TASTE)
    return 1.0 * (liking > 0.35) + (liking > 0.65)


def start(folder):
    """Start the service on a port that is free; return its process and its address."""
    command = ["rankwright", "serve", "model.rw", "--port", "0", "--store", "log.db"]
    service = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    for line in service.stdout:
        if found := re.search(r"http://\S+", line):
            return service, found[0]
    raise RuntimeError("the service did not start")


def talk(url, queries, first):
    """Ask and judge, one query after the other; print what the learner has lost meanwhile."""
    with Client(url) as client:
        for number, X in enumerate(queries, start=first):
            ids = [f"d{i}" for i in range(N_DOCS)]
            ranking = client.rank(f"q{number}", ids=ids, X=X)
            client.feedback(ranking, labels=dict(zip(ids, judge(X), strict=True)))
            if number % 50 == 0:
                state = client.wait_learned()
                row = state.learned, state.cumulative_loss, state.bound
                print("{:6}  {:15.2f}  {:5.2f}  {}".format(*row, state.model))


# The first ranker has seen five queries: it ranks, and has much to learn.
few = documents(5)
learner = rw.SLAMPerceptron("ndcg", standardize=False)
learner.fit(few.reshape(-1, len(TASTE)), judge(few).ravel(), np.repeat(range(5), N_DOCS))
queries = documents(N_ROUNDS)

with tempfile.TemporaryDirectory() as folder:
    rw.save(learner, Path(folder, "model.rw"))
    print("rounds  cumulative loss  bound  version")
    service, url = start(folder)
    try:
        talk(url, queries[: N_ROUNDS // 2], 1)
        service.send_signal(signal.SIGKILL)  # no time to say good-bye
        service.wait()
        service.stdout.close()
        print("killed; started again")
        service, url = start(folder)
        talk(url, queries[N_ROUNDS // 2 :], N_ROUNDS // 2 + 1)
    finally:
        service.terminate()
        service.wait()
        service.stdout.close()
    replay = [sys.executable, "-m", "rankwright", "replay", "log.db", "-o", "again.rw"]
    print(subprocess.run(replay, cwd=folder, check=True, text=True, stdout=-1).stdout, end="")
