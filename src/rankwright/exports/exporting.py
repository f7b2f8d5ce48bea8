"""``export``: a model as an engine takes it, and the certificate of what was proved of it."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rankwright import __version__
from rankwright.data.files import STANDARD
from rankwright.data.validation import check_count
from rankwright.data.writing import check_writable, write_atomically
from rankwright.exceptions import DataError
from rankwright.exports.certificate import Certificate
from rankwright.exports.folding import folded, transformed, unfolded
from rankwright.exports.gaps import gaps_between, joined
from rankwright.exports.grid import Placed, place
from rankwright.exports.judging import judged, judges_of
from rankwright.exports.made import Made
from rankwright.exports.naming import check_known, engine_names
from rankwright.exports.probes import probe_blocks
from rankwright.exports.reference import Reference, grid_model
from rankwright.exports.refusals import Refusal
from rankwright.exports.replay import replay_table
from rankwright.exports.rules import Leaves, Rules, own_names, rules_of
from rankwright.exports.sample import JUDGEMENTS, SampleRows, refuse_gaps, refuse_rounding
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.target import Judge, Options, Target, Written
from rankwright.models import CLASSES
from rankwright.persistence import packed
from rankwright.suggestions import meant


@dataclass(frozen=True)
class Paths:
    """Where the files of an export go.

    Attributes
    ----------
    export, certificate, grid, probes : Path
        The export, and beside it what proves it.
    """

    export: Path
    certificate: Path
    grid: Path
    probes: Path

    @classmethod
    def beside(cls, path: str | PathLike[str]) -> Paths:
        """Return the places beside an export."""
        export = Path(path)
        if not export.name:
            raise DataError(f"the file to write must have a name, but is {str(path)!r}.")
        stem = export.with_suffix("").name

        def beside(end: str) -> Path:
            return export.with_name(stem + end)

        return cls(export, beside(".cert.json"), beside(".grid.rw"), beside(".probes.tsv"))

    def all(self) -> tuple[Path, ...]:
        """Return all of them."""
        return self.export, self.certificate, self.grid, self.probes

    def check(self, overwrite: bool) -> None:
        """Raise if one of them is there, or cannot be written."""
        if self.export.name == STANDARD or self.export.suffix.lower() in (".gz", ".zst"):
            raise DataError(
                "an export must be a file that is not compressed: its certificate lies beside it.",
                path=self.export,
            )
        for path in self.all():
            if path.exists() and not overwrite:
                raise DataError(
                    "exists: choose another name, or replace it (overwrite=True; --force).",
                    path=path,
                )
            check_writable(path)

    def write(self, contents: dict[Path, bytes]) -> None:
        """Write all of the files, or none; the certificate gets its name last."""
        first = sorted(contents, key=lambda path: path != self.certificate)
        with contextlib.ExitStack() as stack:  # which is left in the opposite order
            for path in first:
                stack.enter_context(write_atomically(path)).write(contents[path])


def export(
    model: Any,
    target: str,
    path: str | PathLike[str],
    *,
    data: Any = None,
    names: Sequence[str] | Mapping[str, str] | None = None,
    leaves: Leaves | None = None,
    probes: int | None = None,
    allow: Iterable[str] = (),
    overwrite: bool = False,
    **options: Any,
) -> Certificate:
    """Write a model as an engine takes it, and prove that the engine has its scores.

    Beside the export are written ``*.cert.json``, the certificate; ``*.grid.rw``, a model whose
    predictions are the engine's, bit for bit; and ``*.probes.tsv``, rows with the scores that the
    engine must give.

    Parameters
    ----------
    model : LinearRanker, BoostedRanker or another model of rankwright
        A fitted model, or a scikit-learn pipeline of scalers, imputers and one.
    target : str
        Where it goes, such as ``"solr"``; see ``rankwright export --list``.
    path : str or path-like
        The file to write.
    data : Dataset or array-like, optional
        Rows as the engine will see them: they are probed too, and the certificate says what changes
        for them.
    names : sequence or mapping of str, optional
        What the engine calls the features: one for each, in the model's order, or by the model's
        own names.
    leaves : {"own", "grid", "nearest"}, optional
        Where leaves are put; by default where the engine adds them without rounding.
    probes : int, optional
        At most so many probe rows; by default all.
    allow : iterable of str
        Refusals that are a matter of judgement, by their names.
    overwrite : bool, default False
        Whether files that are there may be replaced.
    **options
        Of :class:`rankwright.exports.Options`, such as ``dialect``.
    """
    found = target_named(target)
    if probes is not None:
        check_count("probes", probes)
    paths = Paths.beside(path)
    paths.check(overwrite)
    check_exportable(model)
    given_model, model = model, folded(model, found.number)
    asked, may = options_of(paths.export.with_suffix("").name, options), allowed_codes(allow)
    if asked.present == {"all"}:
        asked = replace(asked, present=frozenset(engine_names(own_names(model), names)))
    rules, placed, passed = prepared(model, found, asked, names, leaves, may)
    sample = _given_rows(data, model, rules, found.number, asked.present)
    given = None if sample is None else sample.X
    wanted, rules = rules, found.reachable(rules, given)
    written = _with_gaps(found.write(rules, asked), wanted, rules, found.number)
    made = Made(found, asked, rules, placed, written)
    grid = grid_model(model, rules, found)
    judges, reference = judges_of(found, written.content, rules, asked), Reference(grid, rules)
    engine = judges[0].judge if made.tolerance > 0 else reference
    passed += _passed(sample, wanted, made, may)
    about, warnings = _of_data(sample, given_model, engine, wanted, made)
    rows = probe_blocks(rules, found.number, given, probes, asked.present, written.gaps)
    trial = judged(judges, rules, reference, rows, made.tolerance)
    if trial.difference is not None:
        raise DataError(f"{trial.difference}: nothing was written.")
    proved = {"rows": trial.n_rows, "sha256": trial.digest, "tolerance": made.tolerance}
    certificate = Certificate(
        **made.facts(),
        judgements=trial.judgements,
        data=about,
        refusals=tuple(sorted({one.code for one in passed})),
        warnings=(*(one.reason for one in passed), *written.warnings, *warnings),
        probes={**proved, "most": probes},
        library=__version__,
    )
    contents = {
        "export": (paths.export, written.content),
        "grid": (paths.grid, packed(grid)),
        "probes": (paths.probes, replay_table(trial, rules.names)),
    }
    files = {key: _facts(file, content) for key, (file, content) in contents.items()}
    files["model"] = {"sha256": _sha256(packed(model))}
    certificate = replace(certificate, files=files)
    paths.write({**dict(contents.values()), paths.certificate: certificate.to_json().encode()})
    return certificate


def prepared(
    model: Any,
    target: Target,
    options: Options,
    names: Sequence[str] | Mapping[str, str] | None,
    leaves: Leaves | None,
    allow: frozenset[str],
) -> tuple[Rules, Placed | None, list[Refusal]]:
    """Return what is to be written, its leaves in their places, and what was allowed."""
    check_leaves(leaves, target)
    rules = rules_of(model)
    rules = rules.named(engine_names(rules.names, names))
    check_known(rules, options.known)
    allowed = []
    for refusal in target.refusals(rules, options):
        if not refusal.judgement or refusal.code not in allow:
            raise refusal
        allowed.append(refusal)
    if rules.trees is None:
        return rules, None, allowed
    placed = place(rules.trees, leaves or target.leaves, target.shifted)
    return replace(rules, trees=placed.trees), placed, allowed


def check_holds(
    model: Any,
    target: str,
    file: str = "model",
    *,
    names: Sequence[str] | Mapping[str, str] | None = None,
    leaves: Leaves | None = None,
    allow: Iterable[str] = (),
    **options: Any,
) -> None:
    """Raise a Refusal if a target cannot hold a model, whatever the data; write nothing.

    The arguments are those of :func:`export`; the model is called as ``file`` unless ``name`` is
    given.
    """
    found = target_named(target)
    check_exportable(model)
    kind = type(unfolded(model)[1]).__name__
    if kind not in CLASSES:
        raise Refusal(
            "model",
            f"{kind} is no model of rankwright, which alone can be exported",
            "export another model, or distil this one into one",
        )
    asked = options_of(file, options)
    prepared(folded(model, found.number), found, asked, names, leaves, allowed_codes(allow))


def check_exportable(model: Any) -> None:
    """Raise unless a model is one of the library, and fitted."""
    kind = type(model).__name__
    if kind in CLASSES and "n_features_in_" not in vars(model):
        raise ValueError(f"{kind} must be fitted before it is exported.")


def allowed_codes(allow: Iterable[str]) -> frozenset[str]:
    """Return what is allowed; a DataError for what is no matter of judgement."""
    codes = frozenset([allow] if isinstance(allow, str) else allow)
    for code in sorted(codes.difference(JUDGEMENTS)):
        known = ", ".join(JUDGEMENTS)
        raise DataError(f"allow must be of {known}, not {code!r:.50}.{meant(code, JUDGEMENTS)}")
    return codes


def options_of(name: str, given: Mapping[str, Any]) -> Options:
    """Return what a user says of the place; a TypeError for what nobody asks."""
    known = [one.name for one in fields(Options)]
    for key in given:
        if key not in known:
            raise TypeError(f"there is no option {key!r}.{meant(key, known)}")
    return Options(**{"name": name, **given})


def check_leaves(leaves: str | None, target: Target) -> None:
    """Raise unless leaves can be placed so for a target."""
    if leaves not in (None, *get_args(Leaves)):
        raise ValueError(f"leaves must be one of {', '.join(get_args(Leaves))}, not {leaves!r}.")
    if leaves == "own" and target.leaves != "own":
        raise ValueError(
            f"leaves must be 'grid' or 'nearest' for {target.name}: 'own' is for what adds doubles "
            "in the order of the trees, such as c and java."
        )


def _passed(
    sample: SampleRows | None, rules: Rules, made: Made, allow: frozenset[str]
) -> list[Refusal]:
    """Return what is wrong with the rows of the user, and was allowed; raise what was not."""
    if sample is None:
        return []
    found = []
    n = sample.rounded_elsewhere(rules, made.target.number)
    if n:
        found.append(refuse_rounding(n))
    inside = sample.in_gaps(made.written.gaps, rules.names)
    if inside:
        found.append(refuse_gaps(inside))
    for refusal in found:
        if refusal.code not in allow:
            raise refusal
    return found


def _of_data(
    sample: SampleRows | None, model: Any, engine: Judge, rules: Rules, made: Made
) -> tuple[dict[str, Any], list[str]]:
    """Return what the export means for the rows of the user, and warnings."""
    warnings = made.target.warnings(rules, None if sample is None else sample.given)
    if rules.linear is not None and unfolded(model)[0]:
        warnings.append(
            "the scalers are in the weights: this holds of the grid model, and the pipeline's own "
            "scores differ from it by rounding"
        )
    if sample is None:
        return {}, warnings
    ours = Reference(unfolded(model)[1], rules)(transformed(model, sample.given))
    classes = () if rules.labels is None else rules.labels.classes
    facts = sample.facts(ours, engine(sample.X), made.shift, classes)
    g = None if made.placed is None else made.placed.g
    if g is not None and ours.scores is not None and sample.is_coarse(ours.scores, g):
        warnings.append(
            f"the grid's step {g:.2g} is coarse for these scores: c and java need no grid"
        )
    return {"sha256": sample.digest(), **facts}, warnings


def _given_rows(
    data: Any, model: Any, rules: Rules, number: str, present: frozenset[str]
) -> SampleRows | None:
    """Return the rows of the user, if there are any; raise if one lacks what is always present."""
    sample = None if data is None else SampleRows.of(data, model, number)
    for name in sorted(present):
        if name not in rules.names:
            hint = meant(name, rules.names)
            raise DataError(f"present must be features of the model, not {name!r:.100}.{hint}")
        lacks = () if sample is None else np.isnan(sample.X[:, rules.names.index(name)])
        if np.any(lacks):
            raise DataError(
                f"present says that every document has {name}, but {np.count_nonzero(lacks)} rows "
                "of the data do not."
            )
    return sample


def _with_gaps(written: Written, wanted: Rules, has: Rules, number: str) -> Written:
    """Return what was written, with the gaps of thresholds that were moved before."""
    if wanted.trees is None or has.trees is None:
        return written
    cuts = wanted.trees.cuts[number], has.trees.cuts[number]
    moved = gaps_between(wanted.names, wanted.trees.forest.feature, *cuts)
    return replace(written, gaps=joined([*moved, *written.gaps]))


def _facts(file: Path, content: bytes) -> dict[str, str]:
    return {"name": file.name, "sha256": _sha256(content)}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
