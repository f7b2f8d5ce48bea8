"""All experiments, by paper."""

from __future__ import annotations

from rankwright.experiments.domination_letor import LETOR
from rankwright.experiments.domination_noise import NOISE
from rankwright.experiments.domination_path import PATH
from rankwright.experiments.domination_topics import TOPICS
from rankwright.experiments.experiment import Experiment
from rankwright.experiments.prank_ratings import RATINGS
from rankwright.experiments.prank_synthetic import SYNTHETIC
from rankwright.experiments.predtron_bounds import BOUNDS
from rankwright.experiments.predtron_subset_ranking import FIGURE1 as PREDTRON_FIGURE1
from rankwright.experiments.slam_batch import BATCH
from rankwright.experiments.slam_cumulative import CUMULATIVE
from rankwright.experiments.slam_excess import EXCESS
from rankwright.experiments.slam_gap import GAP
from rankwright.experiments.slam_norms import NORMS
from rankwright.experiments.slam_scale import SCALE
from rankwright.experiments.slam_upper_bounds import UPPER_BOUNDS
from rankwright.experiments.xendcg_corruption import FIGURE2, FIGURE3
from rankwright.experiments.xendcg_table1 import FIGURE1, TABLE1

PAPERS: dict[str, list[Experiment]] = {
    "slam": [UPPER_BOUNDS, SCALE, CUMULATIVE, NORMS, EXCESS, GAP, BATCH],
    "domination": [LETOR, TOPICS, PATH, NOISE],
    "prank": [SYNTHETIC, RATINGS],
    "xendcg": [TABLE1, FIGURE1, FIGURE2, FIGURE3],
    "predtron": [PREDTRON_FIGURE1, BOUNDS],
}
