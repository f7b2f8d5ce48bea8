"""What the package shows, and what it costs to load."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any

import pytest

import rankwright as rw
from tests.public import modules, packages

HEAVY = {"numpy", "scipy", "sklearn", "lightgbm"}
PACKAGES = packages()


def test_every_name_resolves() -> None:
    for name in rw.__all__:
        assert getattr(rw, name) is not None
    assert len(set(rw.__all__)) == len(rw.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_an_attribute(package: str) -> None:
    name = package.removeprefix("rankwright.")
    assert name in rw.__all__
    # Not getattr: a package that was imported before, by whomever, is an attribute anyway.
    assert vars(rw)["__getattr__"](name) is import_module(package)


def test_public_modules_are_found_by_their_files() -> None:
    found = modules()
    assert {"rankwright.data", "rankwright.text", "rankwright.report.charts"} <= set(found)
    assert "rankwright.cli" not in found
    assert "rankwright.comparison.entries" not in found  # the package repeats its names


def test_names_are_those_of_their_packages() -> None:
    assert rw.Dataset is import_module("rankwright.data").Dataset
    assert rw.evaluate is import_module("rankwright.evaluation").evaluate
    assert rw.DataError is import_module("rankwright.exceptions").DataError
    assert isinstance(rw.metrics, ModuleType)


def test_dir_lists_the_names_and_the_version() -> None:
    assert set(dir(rw)) == {*rw.__all__, "__version__"}
    assert rw.__version__ == version("rankwright")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'rankwright' has no attribute 'nope'$"):
        getattr(rw, "nope")  # noqa: B009
    assert not hasattr(rw, "numpy")


def test_a_star_import_gives_all_names() -> None:
    names: dict[str, Any] = {}
    exec("from rankwright import *", names)
    assert set(rw.__all__) <= set(names)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_of_a_package_is_what_it_shows(package: str) -> None:
    module = import_module(package)
    shown = set(module.__all__)  # of a package that loads its names on first use, it brings them
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert shown == public - {"annotations", "shown_by"}


def public_objects() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for package in modules():
        module = import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found.append((f"{package}.{name}", value))
            if inspect.isclass(value):
                found += [
                    (f"{package}.{name}.{member}", attribute)
                    for member, attribute in vars(value).items()
                    if not member.startswith("_")
                    and member not in getattr(value, "__dataclass_fields__", ())
                    and (inspect.isfunction(attribute) or isinstance(attribute, property))
                ]
    return found


@pytest.mark.skipif(sys.flags.optimize > 1, reason="there are no docstrings")
@pytest.mark.parametrize(
    ("name", "value"), public_objects(), ids=lambda x: x if isinstance(x, str) else ""
)
def test_everything_public_has_a_docstring(name: str, value: Any) -> None:
    text = inspect.getdoc(value)
    assert text, name
    assert text.splitlines()[0].endswith((".", ":", ")")), text.splitlines()[0]


def test_names_that_moved_out_of_evaluation_still_work() -> None:
    evaluation, comparison = rw.evaluation, rw.comparison
    moved = {*comparison.__all__, "path_chart", "write_report"}
    assert all(hasattr(evaluation, name) for name in moved)
    assert evaluation.compare is comparison.compare is rw.compare
    assert evaluation.write_report is rw.report.write_report
    charts = import_module("rankwright.evaluation.charts")
    assert charts.save_chart is import_module("rankwright.report.charts").save_chart
    assert not hasattr(evaluation, "nope")


def test_first_names_still_work() -> None:
    assert rw.metrics.Ranking is rw.metrics.RankedLabels
    assert rw.experiments.Result is rw.experiments.Findings


def loaded_after(code: str) -> set[str]:
    script = f"import json, sys\n{code}\njson.dump(sorted(sys.modules), sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True
    )
    return {name.partition(".")[0] for name in json.loads(done.stderr)}


@pytest.mark.parametrize(
    "code",
    [
        "import rankwright; dir(rankwright); rankwright.__version__",
        "from rankwright import DataError",
        "import rankwright.cli",
        "import rankwright.cli\nsys.argv = ['rankwright', '--help']\n"
        "try: rankwright.cli.main()\nexcept SystemExit as end: assert not end.code",
        "import rankwright.cli\nsys.argv = ['rankwright', 'evaluate', '--help']\n"
        "try: rankwright.cli.main()\nexcept SystemExit as end: assert not end.code",
        "import rankwright.cli\nsys.argv = ['rankwright', '--version']\n"
        "try: rankwright.cli.main()\nexcept SystemExit as end: assert not end.code",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str) -> None:
    loaded = loaded_after(code)
    assert "rankwright" in loaded
    assert not loaded & HEAVY


def test_scores_are_measured_without_what_models_need() -> None:
    loaded = loaded_after(
        "import rankwright as rw\nds = rw.Dataset([[0.0], [1.0]], [0, 1])\n"
        "assert rw.evaluate([1.0, 2.0], ds, 'rr')['rr'] == 1"
    )
    assert not loaded & {"sklearn", "pandas", "lightgbm"}


def test_data_and_metrics_load_neither_scikit_learn_nor_lightgbm() -> None:
    loaded = loaded_after("import rankwright.data, rankwright.metrics, rankwright.report")
    assert "numpy" in loaded
    assert not loaded & {"sklearn", "lightgbm", "typer", "rich", "pandas", "pyarrow", "narwhals"}


def test_predtron_is_found_where_it_used_to_be() -> None:
    online, predtron = import_module("rankwright.online"), import_module("rankwright.predtron")
    for name in predtron.__all__:
        assert getattr(online, name) is getattr(predtron, name) is getattr(rw, name)
    from rankwright.online import PredtronRanker

    assert PredtronRanker is rw.PredtronRanker
    with pytest.raises(AttributeError, match=r"^module 'rankwright.online' has no attribute 'x'$"):
        online.x  # noqa: B018
    assert not hasattr(online, "PredtronNope")
