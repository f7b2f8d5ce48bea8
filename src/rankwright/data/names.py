"""What the package shows."""

from rankwright.data.benchmarks import BENCHMARKS, find_benchmark
from rankwright.data.catalogue import Benchmark, data_folder
from rankwright.data.click_models import Cascade, ClickModel, PositionBased, UserBrowsing
from rankwright.data.clicks import ClickLog, simulate_clicks
from rankwright.data.corruptions import Augmentation, Clicks, Corruption, LabelNoise
from rankwright.data.dataset import Dataset
from rankwright.data.doctor import Description, Finding
from rankwright.data.download import fetch
from rankwright.data.frames import from_frame, read_frame, write_frame
from rankwright.data.groups import Groups
from rankwright.data.letor import read_letor, stream, write_letor
from rankwright.data.manifest import Manifest
from rankwright.data.noise import augment, perturb_labels
from rankwright.data.part_facts import Facts, PartFacts
from rankwright.data.partitioning import partition
from rankwright.data.parts import LocalParts, Parts, read_parts
from rankwright.data.ranks import rank, top_k
from rankwright.data.reading import read, write
from rankwright.data.scores import read_run, read_scores, write_scores
from rankwright.data.shop import make_shop
from rankwright.data.synthetic import make_mslr_like
from rankwright.data.trec import Run, read_qrels, write_qrels, write_run
from rankwright.data.web import make_web_like

__all__ = [
    "BENCHMARKS",
    "Augmentation",
    "Benchmark",
    "Cascade",
    "ClickLog",
    "ClickModel",
    "Clicks",
    "Corruption",
    "Dataset",
    "Description",
    "Facts",
    "Finding",
    "Groups",
    "LabelNoise",
    "LocalParts",
    "Manifest",
    "PartFacts",
    "Parts",
    "PositionBased",
    "Run",
    "UserBrowsing",
    "augment",
    "data_folder",
    "fetch",
    "find_benchmark",
    "from_frame",
    "make_mslr_like",
    "make_shop",
    "make_web_like",
    "partition",
    "perturb_labels",
    "rank",
    "read",
    "read_frame",
    "read_letor",
    "read_parts",
    "read_qrels",
    "read_run",
    "read_scores",
    "simulate_clicks",
    "stream",
    "top_k",
    "write",
    "write_frame",
    "write_letor",
    "write_qrels",
    "write_run",
    "write_scores",
]
