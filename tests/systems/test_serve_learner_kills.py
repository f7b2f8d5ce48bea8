"""The learner of the service, killed at random moments: every event is learned exactly once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from rankwright.serve.learning.replay import replay_log
from rankwright.serve.settings import Settings
from rankwright.serve.store.interface import Store
from tests.serve_logs import (
    all_events,
    feedback,
    fitted,
    learn_all,
    record_of,
    served,
    twin,
)

N_KILLS = 10


def n_learned(store: Store) -> int:
    return sum(record.learned for record in store.learners())


@pytest.mark.parametrize("name", ["slam", "prank-kernel"])
def test_a_learner_that_is_killed_loses_and_repeats_nothing(name: str, tmp_path: Path) -> None:
    store = served(tmp_path, fitted(name), fitted(name, seed=3))
    store.promote(2, 0.0, "second")
    told = json.dumps(asdict(Settings(store=str(tmp_path / "a.db"), publish=0.02)))
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            store.write([], [feedback(n) for n in range(number, number + 5)])
            number += 5
            if number % 50 == 0:
                store.promote(1 + (number // 50) % 2, 0.0, f"p{number}")
            time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    chance = random.Random(0)
    try:
        for kill in range(N_KILLS):
            words = [sys.executable, "-m", "rankwright.serve.learning.learner", told]
            with subprocess.Popen(words) as process:
                before = n_learned(store)
                while n_learned(store) == before and process.poll() is None:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0, 0.3))
                assert process.poll() is None
                process.kill()
            if kill % 5 == 4:
                assert replay_log(store, 1).parting is None
    finally:
        done.set()
        writer.join()
    assert n_learned(store) > 0
    learn_all(store)
    for model_id in (1, 2):
        record = record_of(store, model_id)
        events = all_events(store)
        content, losses, _ = twin(store.model_content(model_id), model_id, events)
        assert record.content == content
        marks = store.marks(model_id)
        assert [seq for mark in marks for seq in mark.seqs.tolist()] == list(losses)
        assert replay_log(store, model_id).parting is None
    store.close()
