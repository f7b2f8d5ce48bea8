r"""A leaderboard as a LaTeX table, with the rules of the package booktabs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwright.evaluation.contest import Contest, Standing

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex_text(text: str) -> str:
    r"""Return a text as LaTeX prints it.

    >>> print(latex_text("ndcg_50%"))
    ndcg\_50\%
    """
    return "".join(_ESCAPES.get(character, character) for character in " ".join(text.split()))


def latex_table(contest: Contest) -> str:
    r"""Return a leaderboard as a ``tabular`` environment; see ``to_latex`` of a contest.

    Baselines stand below a rule.
    """
    metrics, standings = contest.metrics, contest.standings
    tested = {s.name: contest.pair(s.name) for s in standings}
    best = {}
    for metric in metrics:
        known = [s.means[metric] for s in standings if not math.isnan(s.means[metric])]
        choose = max if contest.measure(metric).higher_is_better else min
        best[metric] = choose(known, default=math.nan)

    def cell(value: float, metric: str) -> str:
        text = "--" if math.isnan(value) else f"{value:.4f}"
        return rf"\textbf{{{text}}}" if value == best[metric] else text

    def line(s: Standing) -> str:
        pair = tested[s.name]
        mark = r"$^{\dagger}$" if pair is not None and pair.significant else ""
        cells = [cell(s.means[metric], metric) for metric in metrics]
        return " & ".join([latex_text(s.name) + mark, *cells]) + r" \\"

    models = [line(s) for s in standings if s.family != "baseline"]
    baselines = [line(s) for s in standings if s.family == "baseline"]
    held = contest.reference or (standings[0].name if standings else "")
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{tabular}}{{l{'r' * len(metrics)}}}",
            r"\toprule",
            " & ".join(["Model", *map(latex_text, metrics)]) + r" \\",
            r"\midrule",
            *models,
            *([r"\midrule"] if models and baselines else []),
            *baselines,
            r"\bottomrule",
            r"\end{tabular}",
            rf"% \dagger: significantly different from {latex_text(held)} by "
            rf"{latex_text(metrics[0])} (p < 0.05, Holm)",
            "",
        ]
    )
