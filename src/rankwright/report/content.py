"""What the page shows, whoever measured it.

A comparison knows how its models were trained; scores from elsewhere do not. So everything that
comes from a training is optional here: costs, models, training data, noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rankwright.comparison.card import run_card
from rankwright.comparison.noise_curves import NoiseStudy
from rankwright.comparison.result import Comparison, Failure
from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.evaluation.contest import Contest, Standing
from rankwright.evaluation.segmented import Segment, segmented
from rankwright.evaluation.segments import LIST_LENGTH, Part, parts_of_queries
from rankwright.evaluation.significance import PairedComparison
from rankwright.metrics.metric import Metric


@dataclass(frozen=True, eq=False)
class Examined:
    """Test queries, and the training queries of the models that rank them, if they are known."""

    name: str
    test: Dataset
    train: Dataset | None = None


@dataclass(frozen=True, eq=False)
class System:
    """A ranker on the page.

    Attributes
    ----------
    name, family : str
        What it is; the family ``"baseline"`` is set apart.
    means, low, high : dict of str to float
        Each metric over all test queries, with its 95 % interval.
    per_query : dict of str to ndarray
        Its values by query, one set after the other.
    scores : list of ndarray
        Scores of the test documents, one array for each set of test queries.
    model : callable
        Takes the number of a set of test queries and returns the model that was fitted for it, or
        None if there is none to ask.
    train_seconds, score_us, model_bytes, features_used : float, optional
        What it costs.
    params, notes : list of str
        What was chosen, and what the fits warned of.
    facts : dict
        Curves, path and guarantee of the first fold.
    """

    name: str
    family: str
    means: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    per_query: dict[str, Floats]
    scores: list[Floats]
    model: Callable[[int], Any]
    train_seconds: float | None = None
    score_us: float | None = None
    model_bytes: float | None = None
    features_used: float | None = None
    params: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_baseline(self) -> bool:
        """Whether it is there to be beaten."""
        return self.family == "baseline"


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that the page shows.

    Attributes
    ----------
    title, verdict, advice : str
        The first lines.
    measures : dict of str to Metric
        What was measured, by name; the first metric orders the systems.
    systems : list of System
        Best first.
    held : str
        The system that the others are tested against: the best, or the reference.
    led : bool
        Whether it is the best, and differences are what it is ahead; of a reference, differences
        are what the others are ahead of it.
    tests : dict of str to PairedComparison
        By the other system, in the order of the leaderboard, by the first metric.
    parts : list of Examined
        The data.
    card : dict
        What it takes to do it again.
    latex : str
        The leaderboard as a LaTeX table.
    segments : list of Segment
        The systems on queries of a kind.
    cuts : list of Part
        Which queries those are.
    failures : list of Failure
        What failed, and why.
    noise : list of NoiseStudy
        How the models behave as the training data gets worse.
    """

    title: str
    verdict: str
    advice: str
    measures: dict[str, Metric]
    systems: list[System]
    held: str
    led: bool
    tests: dict[str, PairedComparison]
    parts: list[Examined]
    card: dict[str, Any]
    latex: str
    segments: list[Segment] = field(default_factory=list)
    cuts: list[Part] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    noise: list[NoiseStudy] = field(default_factory=list)

    @property
    def metrics(self) -> list[str]:
        """What was measured."""
        return list(self.measures)

    @property
    def higher_is_better(self) -> dict[str, bool]:
        """Whether more is better, for each metric."""
        return {name: metric.higher_is_better for name, metric in self.measures.items()}

    @property
    def main(self) -> str:
        """The metric that orders the systems."""
        return self.metrics[0]

    @property
    def n_queries(self) -> int:
        """Test queries of all parts."""
        return sum(part.test.n_queries for part in self.parts)


def content_of(contest: Contest, title: str = "") -> Content:
    """Return what the page shows of a contest; of a comparison also how it was trained."""
    standings, metrics, reference = contest.standings, contest.metrics, contest.reference
    tests = list(contest.tests.values())
    segments = list(contest.segments)
    if standings and all(segment.column != LIST_LENGTH for segment in segments):
        lengths = parts_of_queries(LIST_LENGTH, tests)
        segments += segmented(standings, lengths, metrics, reference)
    cuts = dict.fromkeys(segment.column for segment in segments)
    held = reference or (standings[0].name if standings else "")
    trained = contest if isinstance(contest, Comparison) else None
    trains = {fold.name: fold.train for fold in trained.folds} if trained else {}
    return Content(
        title=title or contest.card.get("title") or _heading(contest),
        verdict=contest.verdict,
        advice=contest.advice,
        measures={name: contest.measure(name) for name in metrics},
        systems=[_system(contest, standing) for standing in standings],
        held=held,
        led=reference is None,
        tests={s.name: pair for s in standings if (pair := contest.pair(s.name)) is not None},
        parts=[Examined(name, test, trains.get(name)) for name, test in contest.tests.items()],
        card=_card(contest),
        latex=contest.to_latex(),
        segments=segments,
        cuts=[part for by in cuts for part in parts_of_queries(by, tests)],
        failures=trained.failures if trained else [],
        noise=trained.noise if trained else [],
    )


def _heading(contest: Contest) -> str:
    return "Which ranker is best?" if contest.reference is None else f"Against {contest.reference}"


def _card(contest: Contest) -> dict[str, Any]:
    """Return the run card with all that the page asks for, also of scores from elsewhere."""
    if isinstance(contest, Comparison):
        return contest.card
    systems = contest.card.get("systems", {})  # what was read, if files were
    files = [contest.card["data"], *systems.values()] if systems else []
    return run_card([], contest.metrics, {}, None) | {"files": files}


def _system(contest: Contest, s: Standing) -> System:
    folds = list(contest.tests)
    facts: list[dict[str, Any]] = []
    if isinstance(contest, Comparison):
        facts = [contest.outcomes[s.name, fold].facts for fold in folds]

    def model(part: int) -> Any:
        try:
            return contest.model(s.name, folds[part])
        except KeyError:  # it is no model, or could not be saved
            return None

    return System(
        name=s.name,
        family=s.family,
        means=s.means,
        low=s.low,
        high=s.high,
        per_query=s.per_query,
        scores=[contest.scores[s.name, fold] for fold in folds],
        model=model,
        train_seconds=s.train_seconds,
        score_us=s.score_us,
        model_bytes=s.model_bytes,
        features_used=s.features_used,
        params=_params(s),
        notes=_notes(facts),
        facts=facts[0] if facts else {},
    )


def _params(standing: Standing) -> list[str]:
    """Return the chosen parameters, one line a fold."""
    lines = [", ".join(f"{k}={number_text(v)}" for k, v in p.items()) for p in standing.params]
    return [line or "nothing to choose" for line in dict.fromkeys(lines)]


def _notes(facts: list[dict[str, Any]]) -> list[str]:
    """Return what the chosen fits of a model warned of, each once."""
    notes: list[str] = []
    for known in facts:
        if known.get("features_used") == 0:
            notes.append("All weights are 0: it ranks nothing.")
        if known.get("trials"):
            notes += known["trials"][known["trial"]].get("warnings") or []
    return list(dict.fromkeys(notes))


# ---- numbers as people read them ----


def number_text(value: Any) -> str:
    """Return a number with four digits, nothing for what is not known, else the text itself."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return "" if value is None else str(value)


def mean_text(value: float) -> str:
    """Return a metric with four decimals, a dash if it is defined on no query."""
    return "–" if math.isnan(value) else f"{value:.4f}"


def signed_text(value: float, digits: int = 4) -> str:
    """Return a difference with its sign, which 0 does not have.

    >>> signed_text(0.0123), signed_text(-0.00001), signed_text(-1.5, 1)
    ('+0.0123', '0.0000', '−1.5')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "−∞" if value < 0 else "+∞"
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def short_p(p: float) -> str:
    """Return a p-value with as many digits as it deserves.

    >>> short_p(0.00002), short_p(0.0314), short_p(0.72), short_p(1.0)
    ('<0.0001', '0.0314', '0.72', '>0.99')
    """
    if p < 0.0001:
        return "<0.0001"
    if p > 0.99:
        return ">0.99"
    return f"{p:.4f}" if p < 0.05 else f"{p:.2f}"
