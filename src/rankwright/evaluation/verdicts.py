"""What measurements say, and what to do about them, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwright.evaluation.contest import Standing
    from rankwright.evaluation.significance import PairedComparison

FEW_QUERIES = 30  # below it tests of means tell little, whatever they say
_WORTH = 2.0  # times cheaper, or fewer features, before a model is preferred for it
# Families from the simplest on: what there is to keep, to explain and to go wrong. Others are not
# known, and are neither simpler nor less simple than any.
_SIMPLICITY = {"baseline": 0, "linear": 1, "online": 1, "trees": 2, "graft": 3, "ensemble": 4}
_KINDS = {
    "baseline": "a baseline",
    "linear": "a weighted sum",
    "online": "a weighted sum",
    "trees": "one forest",
    "graft": "one forest on a weighted sum",
}


def verdict(
    standings: Sequence[Standing],
    pairs: Sequence[PairedComparison],
    metric: str,
    reference: str | None = None,
) -> str:
    """Say which system is best, or whether each is better than the reference; and how certain."""
    if not standings:
        return "Every model failed."
    first = standings[0]
    if not pairs:
        return (
            f"{first.name} has {metric} {first.means[metric]:.4f}; there is nothing to compare it "
            "with."
        )
    n = min(pair.n_queries for pair in pairs)
    if 0 < n < FEW_QUERIES:
        means = _in_words([f"{s.name} {s.means[metric]:.4f}" for s in standings])
        return (
            f"Too few queries to tell: {n} with a defined {metric}, where {FEW_QUERIES} are the "
            f"least. Their means are {means}."
        )
    if reference is not None:
        return " ".join(_against(pair, standings, metric) for pair in pairs)
    return _leader(standings, pairs, metric)


def _leader(standings: Sequence[Standing], pairs: Sequence[PairedComparison], metric: str) -> str:
    first, baselines = standings[0], {s.name for s in standings if s.family == "baseline"}
    contenders = [pair for pair in pairs if pair.b not in baselines]
    equal = [pair for pair in contenders if not pair.significant]
    text = f"{first.name} is best with {metric} {first.means[metric]:.4f}"
    if not contenders:
        beaten = [pair.b for pair in pairs if pair.significant]
        text += (
            f", significantly better than {_in_words(beaten)} (p < 0.05, Holm)." if beaten else "."
        )
    elif not equal:
        names = [pair.b for pair in contenders]
        who = names[0] if len(names) == 1 else f"each of the {len(names)} others"
        text += f", significantly better than {who} (p < 0.05, Holm)."
    else:
        largest = max(pair.detectable for pair in equal)
        text += (
            f", but not significantly better than {_in_words([p.b for p in equal])} (p >= 0.05, "
            f"Holm); these queries show a difference of {largest:.4f} with 80 % power."
        )
    close = [pair.b for pair in pairs if pair.b in baselines and not pair.significant]
    if close:
        kind = "baseline" if len(close) == 1 else "baselines"
        text += f" It is not shown to be better than the {kind} {_in_words(close)}."
    return text


def _against(pair: PairedComparison, standings: Sequence[Standing], metric: str) -> str:
    means = {s.name: s.means[metric] for s in standings}
    if pair.n_queries == 0:
        return f"{metric} of both {pair.a} and {pair.b} is defined on no query."
    if pair.ties == pair.n_queries:
        return f"{pair.a} and {pair.b} have the same {metric} on every query."
    better = pair.better
    size = (
        f"{metric} {means[pair.a]:.4f} against {means[pair.b]:.4f}, {pair.difference:+.4f} "
        f"{interval_text(pair.low, pair.high)}"
    )
    if pair.significant:
        return f"{pair.a} is {'better' if better else 'worse'} than {pair.b}: {size}."
    return (
        f"{pair.a} is not shown to differ from {pair.b}: {size}; these queries show a difference "
        f"of {pair.detectable:.4f} with 80 % power."
    )


def advice(
    standings: Sequence[Standing],
    pairs: Sequence[PairedComparison],
    reference: str | None = None,
) -> str:
    """Say what to do: which system to take, or how many queries it takes to know."""
    if not standings or not pairs:
        return ""
    if reference is not None:
        return _ship(_promising(pairs))
    first = standings[0]
    if min(pair.n_queries for pair in pairs) < FEW_QUERIES:
        return f"Do not choose yet: label more queries.{_needed(pairs[0])}"
    equal = {pair.b: pair for pair in pairs if not pair.significant}
    fit = [s for s in standings if s.name in equal and s.features_used != 0]
    better = [(s, why) for s in fit if (why := _why_instead(s, first))]
    if better:
        chosen, why = _simplest(better, first)
        pair = equal[chosen.name]
        worst = pair.high if pair.higher_is_better else -pair.low
        return (
            f"Take {chosen.name}: as good as {first.name} within noise (at most {worst:.4f} "
            f"worse), {', '.join(why)}."
        )
    if not equal:
        return f"Take {first.name}."
    return f"Take {first.name}: none that is as good is simpler or much cheaper."


def _promising(pairs: Sequence[PairedComparison]) -> PairedComparison:
    """Return the pair of what to take instead of the reference, if anything: the best one."""
    shown = [pair for pair in pairs if pair.significant and pair.better]
    open_ones = [pair for pair in pairs if not pair.significant]
    return (shown or open_ones or list(pairs))[0]  # in the order of the leaderboard


def _ship(pair: PairedComparison) -> str:
    if pair.ties == pair.n_queries > 0:
        return f"Keep {pair.b}."
    better = pair.better
    if pair.n_queries < FEW_QUERIES:
        return f"Keep {pair.b} for now: label more queries.{_needed(pair)}"
    if pair.significant:
        return f"Take {pair.a}." if better else f"Keep {pair.b}."
    return f"Keep {pair.b}, or measure on more queries.{_needed(pair)}"


def _needed(pair: PairedComparison) -> str:
    """Say how many queries would show the difference that was seen."""
    seen = abs(pair.difference)
    if not (seen > 0 and math.isfinite(pair.detectable)):
        return ""
    n = pair.n_queries * (pair.detectable / seen) ** 2
    if n < FEW_QUERIES:  # so clear a difference; but so few are not to be trusted
        return f" At least {FEW_QUERIES} are needed."
    if n > 1e7:
        return " The difference is too small to be shown by any number of queries."
    return (
        f" About {math.ceil(n):,} would show the difference between {pair.a} and {pair.b}, if it "
        "is what it was here."
    )


def _why_instead(standing: Standing, best: Standing) -> list[str]:
    """Say why to take a model that is as good as the best: it is simpler, or much cheaper."""
    if standing.family not in _SIMPLICITY or best.family not in _SIMPLICITY:
        return _savings(standing, best)
    steps = _SIMPLICITY[best.family] - _SIMPLICITY[standing.family]
    if steps < 0:
        return []
    simpler = [_KINDS[standing.family]] if steps else []
    return simpler + _savings(standing, best)


def _simplest(
    found: list[tuple[Standing, list[str]]], best: Standing
) -> tuple[Standing, list[str]]:
    """Return the simplest; of equally simple ones the best of those that cost least to score."""
    places = [_SIMPLICITY.get(s.family, _SIMPLICITY.get(best.family, 0)) for s, _ in found]
    simple = [one for one, place in zip(found, places, strict=True) if place == min(places)]
    least = min(s.score_us or 0.0 for s, _ in simple)
    # Times differ a little from one run to the next; what is much cheaper stays so.
    return next(o for o in simple if not least or (o[0].score_us or 0.0) < _WORTH * least)


def _savings(standing: Standing, best: Standing) -> list[str]:
    """Say in what a model is much cheaper than the best, if it is no dearer in anything."""
    why = []
    if standing.features_used is not None and standing.n_features:
        used, of = round(standing.features_used), best.features_used
        if of is not None and used * _WORTH <= of:
            why.append(f"{used} of {standing.n_features} features")
    if standing.score_us and best.score_us:
        times = best.score_us / standing.score_us
        if times < 1 / _WORTH:
            return []
        if times >= _WORTH:
            why.append(f"{times:.0f} times cheaper to score")
    return why


def interval_text(low: float, high: float) -> str:
    """Return the interval of a difference as people read it.

    >>> interval_text(-0.01, 0.023), interval_text(-math.inf, math.inf)
    ('[-0.0100, +0.0230]', '(too few queries for an interval)')
    """
    if math.isfinite(low) and math.isfinite(high):
        return f"[{low:+.4f}, {high:+.4f}]"
    return "(too few queries for an interval)"


def _in_words(names: Sequence[str]) -> str:
    shown = names if len(names) < 5 else [*names[:3], f"{len(names) - 3} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
