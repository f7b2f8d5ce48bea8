"""All experiments, by paper."""

from __future__ import annotations

from rankwright.experiments.domination.letor import LETOR
from rankwright.experiments.domination.noise import NOISE
from rankwright.experiments.domination.path import PATH
from rankwright.experiments.domination.topics import TOPICS
from rankwright.experiments.experiment import Experiment
from rankwright.experiments.prank.ratings import RATINGS
from rankwright.experiments.prank.synthetic import SYNTHETIC
from rankwright.experiments.predtron.bounds import BOUNDS
from rankwright.experiments.predtron.subset_ranking import FIGURE1 as PREDTRON_FIGURE1
from rankwright.experiments.slam.cumulative import CUMULATIVE
from rankwright.experiments.slam.gap import GAP
from rankwright.experiments.slam.scale import SCALE
from rankwright.experiments.slam.upper_bounds import UPPER_BOUNDS
from rankwright.experiments.xendcg.corruption import FIGURE2, FIGURE3
from rankwright.experiments.xendcg.table1 import FIGURE1, TABLE1

PAPERS: dict[str, list[Experiment]] = {
    "slam": [UPPER_BOUNDS, SCALE, CUMULATIVE, GAP],
    "domination": [LETOR, TOPICS, PATH, NOISE],
    "prank": [SYNTHETIC, RATINGS],
    "xendcg": [TABLE1, FIGURE1, FIGURE2, FIGURE3],
    "predtron": [PREDTRON_FIGURE1, BOUNDS],
}
