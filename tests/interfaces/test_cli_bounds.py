"""``rankwright bounds``: the same numbers as Python, and no more than is true."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import typer

import rankwright as rw
from rankwright.cli.bounds import bounds
from rankwright.cli.columns import with_columns
from rankwright.exceptions import DataError
from rankwright.linear import generalization_of
from rankwright.losses import SLAM, Domination
from rankwright.theory import certificate, generalization, radius
from tests.interfaces.conftest import Runner

app = typer.Typer()
app.command()(with_columns(bounds))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bounds")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 5)) * [1.0, 2.0, 0.5, 1.0, 1.0]
    y = np.clip(np.round(X @ [1.0, 0.5, 1.0, 0.0, 0.0] + 0.3 * rng.normal(size=160) + 1), 0, 3)
    rw.write_letor(rw.Dataset(X, y, np.repeat(np.arange(20), 8)), path / "data.txt")
    return path


def fitted(folder: Path, loss: Any = "slam", **options: Any) -> Any:
    ds = rw.read(folder / "data.txt")
    model = rw.LinearRanker(loss, **{"alpha": 0.01, "tol": 1e-3, **options})
    model.fit(ds.X, ds.y, ds.qid)
    rw.save(model, folder / "model.rw")
    return model


def run(folder: Path, *options: str) -> Any:
    return Runner().invoke(
        app, [str(folder / "model.rw"), str(folder / "data.txt"), *options], catch_exceptions=False
    )


def read_json(folder: Path) -> Any:
    result = run(folder, "--json")
    assert result.exit_code == 0

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(result.stdout, parse_constant=refuse)


@pytest.mark.parametrize("loss", ["slam", "xendcg", "rank_hinge", SLAM("map"), Domination(0.5)])
def test_json_has_the_numbers_of_python(folder: Path, loss: Any) -> None:
    model, ds = fitted(folder, loss), rw.read(folder / "data.txt")
    facts = read_json(folder)
    loss = rw.losses.from_name(loss)
    proof = certificate(loss, model.predict(ds.X), ds.y, ds.groups)
    assert facts["certificate"] == proof.to_dict()
    assert facts["mean_loss"] == pytest.approx(proof.mean_value, rel=1e-14)
    length = float(np.linalg.norm(model.coef_))
    m = int(ds.groups.sizes.max())
    theorem = generalization(loss, radius(ds.X), ds.n_queries, length, 0.01, m=m)
    assert facts["theorem_8"] == theorem.to_dict()
    assert len(facts["reservations"]) == 1
    assert facts["loss"] == repr(loss)


def test_text_names_every_term(folder: Path) -> None:
    fitted(folder)
    facts, result = read_json(folder), run(folder)
    assert result.exit_code == 0
    text = result.stdout
    for name in ("mean_loss", "mean_lower", "mean_metric", "mean_slack", "min_slack"):
        assert f"  {facts['certificate'][name]:.6g}" in text
    assert "loss >= 1 (1 - ndcg) on every query" in text
    assert "holds             on every query" in text
    for name in ("radius", "B", "L2", "best_alpha", "excess", "excess_at_alpha"):
        assert f"  {facts['theorem_8'][name]:.4g}  " in text
    assert "the bound at the model's alpha = 0.01" in text
    assert "this is no bound on the loss itself" in text
    assert "- R_X and B were read off DATA and the model" in text


def test_the_first_line_says_what_the_bound_is_worth(folder: Path) -> None:
    fitted(folder)
    theorem = read_json(folder)["theorem_8"]
    assert theorem["excess_at_alpha"] > theorem["trivial"]
    assert run(folder).stdout.splitlines()[0] == (
        "No guarantee on new queries: the bound on the excess loss, "
        f"{theorem['excess_at_alpha']:.4g}, is vacuous, since the losses of any two weights differ "
        f"by at most {theorem['trivial']:.4g}."
    )
    fitted(folder, "listnet", penalty="l1")  # the theorem's own penalty weight is taken
    theorem = read_json(folder)["theorem_8"]
    assert theorem["excess_at_alpha"] < theorem["trivial"]
    assert run(folder).stdout.startswith(
        "On new queries, with the reservations below: an expected loss at most "
        f"{theorem['excess_at_alpha']:.4g} above that of the best weights of this length.\n\n"
    )


def test_standardized_features_are_measured_as_they_were_penalised(folder: Path) -> None:
    model, ds = fitted(folder, standardize=True), rw.read(folder / "data.txt")
    facts = read_json(folder)
    scale = ds.X.std(axis=0, dtype=np.float64)
    assert facts["theorem_8"]["radius"] == pytest.approx(radius(ds.X / scale), rel=1e-5)
    assert facts["theorem_8"]["B"] == pytest.approx(np.linalg.norm(model.coef_ * scale), rel=1e-5)
    assert any("Features were scaled" in text for text in facts["reservations"])


def test_standardized_sparse_features_too(folder: Path) -> None:
    ds = rw.read(folder / "data.txt", dense=True)
    fitted(folder, standardize=True)
    dense = read_json(folder)
    sparse = rw.Dataset(sp.csr_array(ds.X), ds.y, ds.qid)
    model = rw.load(folder / "model.rw")
    theorem, _ = generalization_of(model, sparse)
    assert theorem is not None
    assert theorem.radius == pytest.approx(dense["theorem_8"]["radius"], rel=1e-5)


@pytest.mark.parametrize(("penalty", "name"), [("l1", "'l1'"), ("elasticnet", "'elasticnet'")])
def test_other_penalties_are_not_what_the_theorem_is_about(
    folder: Path, penalty: Any, name: str
) -> None:
    fitted(folder, "listnet", penalty=penalty, alpha=0.01)
    facts = read_json(folder)
    assert facts["theorem_8"]["alpha"] == facts["theorem_8"]["best_alpha"]
    assert any(f"fitted with penalty {name}" in text for text in facts["reservations"])
    assert "the model's alpha" not in run(folder).stdout


def test_a_loss_without_a_promise(folder: Path) -> None:
    fitted(folder, "listnet")
    facts = read_json(folder)
    assert facts["certificate"] is None
    assert math.isfinite(facts["mean_loss"])
    assert "promise           none: this loss is not known to bound a metric" in run(folder).stdout


def test_a_loss_without_a_bounded_gradient(folder: Path) -> None:
    fitted(folder, rw.losses.XENDCG(normalize="ideal_dcg"))
    facts = read_json(folder)
    assert facts["theorem_8"] is None
    assert facts["reservations"][0].startswith("It says nothing: Theorem 8 needs a finite bound")
    assert "- It says nothing: Theorem 8 needs a finite bound" in run(folder).stdout


@pytest.mark.filterwarnings("ignore:this model ranks nothing")
def test_a_model_of_zeros(folder: Path) -> None:
    fitted(folder, "listnet", penalty="l1", alpha=1e6)
    facts = read_json(folder)
    assert facts["theorem_8"] is None
    assert "all weights of the model" in facts["reservations"][0]


def test_a_broken_promise_exits_with_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted(folder)
    monkeypatch.setattr("rankwright.theory.LossCertificate.holds", False)
    assert run(folder).exit_code == 1
    assert run(folder, "--json").exit_code == 1


def test_data_of_another_width(folder: Path) -> None:
    fitted(folder)
    (folder / "narrow.csv").write_text("label,qid,a\n1,1,0.5\n0,1,0.25\n")
    with pytest.raises(DataError, match=r"there must be the 5 features of .*, but there are 1"):
        Runner().invoke(
            app,
            [str(folder / "model.rw"), str(folder / "narrow.csv")],
            catch_exceptions=False,
        )


@pytest.mark.parametrize("kind", [rw.PRank, rw.BoostedRanker])
def test_a_model_that_is_not_linear(folder: Path, kind: Any) -> None:
    ds = rw.read(folder / "data.txt")
    rw.save(kind().fit(ds.X, ds.y, ds.qid), folder / "model.rw")
    with pytest.raises(DataError, match=f"a linear model with a loss, but is a {kind.__name__}"):
        run(folder)


def test_a_loss_that_is_made_for_the_labels(folder: Path) -> None:
    ds = rw.read(folder / "data.txt")
    rw.save(rw.DominationRank().fit(ds.X, ds.y, ds.qid), folder / "model.rw")
    result = run(folder)
    assert result.exit_code == 0, result.output
    assert "Domination" in result.output


def test_the_theorem_says_nothing_of_an_online_learner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ds = rw.data.make_mslr_like(n_queries=10, n_features=4, mean_docs=6)
    rw.write_letor(ds, tmp_path / "data.txt")
    rw.save(rw.OnlineRanker("listnet").fit(ds.X, ds.y, ds.qid), tmp_path / "online.rw")
    result = Runner().invoke(app, [str(tmp_path / "online.rw"), str(tmp_path / "data.txt")])
    assert result.exit_code == 0, result.output
    assert "about minimisers of a penalised loss, not OnlineRanker." in result.output
