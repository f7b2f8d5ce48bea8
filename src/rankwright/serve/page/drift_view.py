"""Drift as the page draws it: the features that moved most."""

from __future__ import annotations

from rankwright.serve.page.overview import DriftView, FeatureView
from rankwright.serve.watching.drift import DriftWatch

_MOST = 30  # features
_ALL = 1_000_000
_ONE_OF = "Seen by one of {} workers: each watches the documents that it ranks."
_STATES = {"little": "stable", "some": "moved", "much": "drifted"}


def drift_view(watch: DriftWatch | None, workers: int = 1) -> DriftView:
    """Return what a watch has seen, of one of so many workers."""
    if watch is None:
        return DriftView("", 0, 0, 0, 0, [], "Nobody watches the features.", "")
    found = watch.to_dict(most=_ALL)
    features = [
        FeatureView(
            name=one["feature"],
            psi=round(one["stability"], 5),
            state=_STATES[one["moved"]],
            missing_then=round(one["missing_before"], 5),
            missing_now=round(one["missing"], 5),
            then=[round(share, 4) for share in one["before"]],
            now=[round(share, 4) for share in one["now"]],
        )
        for one in found["features"]
    ]
    states = [feature.state for feature in features]
    return DriftView(
        reference=found["reference"] or "",
        rows=found["documents"],
        n_features=len(features),
        n_moved=states.count("moved"),
        n_drifted=states.count("drifted"),
        features=features[:_MOST],
        reason=found["verdict"],
        whose=_ONE_OF.format(workers) if workers > 1 else "",
    )
