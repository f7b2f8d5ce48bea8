r"""A leaderboard as a LaTeX table, with the rules of the package booktabs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rankwright.evaluation.significance import PairedComparison

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


class Ranked(Protocol):
    """What a line of the table needs."""

    @property
    def name(self) -> str:
        """Name of the system."""

    @property
    def family(self) -> str:
        """``"baseline"`` for what stands below the rule."""

    @property
    def means(self) -> dict[str, float]:
        """Metrics by name."""


def latex_text(text: str) -> str:
    r"""Return a text as LaTeX prints it.

    >>> print(latex_text("ndcg_50%"))
    ndcg\_50\%
    """
    return "".join(_ESCAPES.get(character, character) for character in " ".join(text.split()))


def latex_table(
    standings: Sequence[Ranked],
    higher_is_better: Mapping[str, bool],
    pairs: Sequence[PairedComparison],
) -> str:
    r"""Return a leaderboard as a ``tabular`` environment.

    The best value of a column is bold; a dagger marks systems that are significantly worse than the
    best by the first metric. Baselines stand below a rule.

    Parameters
    ----------
    standings : sequence of lines
        The systems, best first, each with ``name``, ``family`` and ``means``.
    higher_is_better : mapping of str to bool
        The columns.
    pairs : sequence of PairedComparison
        Tests of the best against the others.
    """
    worse = {pair.b for pair in pairs if pair.significant}
    best = {
        metric: (max if higher else min)(s.means[metric] for s in standings)
        for metric, higher in higher_is_better.items()
        if standings
    }

    def cell(value: float, metric: str) -> str:
        return rf"\textbf{{{value:.4f}}}" if value == best[metric] else f"{value:.4f}"

    def line(s: Ranked) -> str:
        mark = r"$^{\dagger}$" if s.name in worse else ""
        cells = [cell(s.means[metric], metric) for metric in higher_is_better]
        return " & ".join([latex_text(s.name) + mark, *cells]) + r" \\"

    models = [line(s) for s in standings if s.family != "baseline"]
    baselines = [line(s) for s in standings if s.family == "baseline"]
    heads = ["Model", *(latex_text(metric) for metric in higher_is_better)]
    first = next(iter(higher_is_better))
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{tabular}}{{l{'r' * len(higher_is_better)}}}",
            r"\toprule",
            " & ".join(heads) + r" \\",
            r"\midrule",
            *models,
            *([r"\midrule"] if models and baselines else []),
            *baselines,
            r"\bottomrule",
            r"\end{tabular}",
            rf"% $^{{\dagger}}$ significantly worse than the best by {latex_text(first)} (p < 0.05)",
            "",
        ]
    )
