"""C and Java: strange names, hard compilers, and code that is not ours."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports import Options, Refusal
from rankwright.exports.exporting import prepared
from rankwright.exports.targets.registry import target_named
from tests.contracts.exported_models import MODELS, ROWS

pytestmark = pytest.mark.usefixtures("quick_engines")
ODD = ["a b", "?\x3f=", 'c"d', "\\u0022", "g'h", "NAME_n", "ä*/", "😀"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def written(target: str, model: Any, names: Any = None) -> tuple[bytes, Any]:
    rules = prepared(model, target_named(target), Options(), names, None, frozenset())[0]
    return target_named(target).write(rules, Options()).content, rules


@pytest.mark.parametrize("target", ["c", "java"])
def test_any_name_is_quoted(target: str, tmp_path: Path) -> None:
    path = tmp_path / "model.out"
    assert rw.export(MODELS["one tree"](), target, path, names=ODD).exact
    assert path.read_bytes().isascii()


@pytest.mark.parametrize("target", ["c", "java"])
@pytest.mark.parametrize("name", ["1st", "my-model", "größe", "", "class"])
def test_names_of_models(target: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.out"
    if target == "c" and name == "class":  # class_score is a name
        rw.export(MODELS["stump"](), target, path, name=name)
        return
    with pytest.raises(Refusal) as refused:
        rw.export(MODELS["stump"](), target, path, name=name)
    assert refused.value.code == "names"


@pytest.mark.parametrize("target", ["c", "java"])
@pytest.mark.parametrize("model", ["one tree", "linear with imputation", "prank"])
def test_code_that_is_not_ours_is_not_run(target: str, model: str) -> None:
    content, rules = written(target, MODELS[model]())
    found = target_named(target)
    text = content.decode()
    for at in [one.start() for one in re.finditer(r"[<+;!]", text)][
        :: 1 if len(text) < 5000 else 7
    ]:
        changed = (text[:at] + "-" + text[at + 1 :]).encode()
        with pytest.raises(DataError, match="the code is not the code that was exported"):
            found.interpreter(changed, rules, Options())
        with pytest.raises(DataError):
            list(found.engines(changed, rules, Options()))


@pytest.mark.parametrize("target", ["c", "java"])
def test_another_number_is_another_score(target: str) -> None:
    content, rules = written(target, MODELS["one tree"]())
    found = target_named(target)
    before = found.interpreter(content, rules, Options())(ROWS).scores
    leaf = repr(float(rules.trees.leaf[3]))
    after = found.interpreter(content.replace(leaf.encode(), b"7.5"), rules, Options())(ROWS).scores
    assert (np.asarray(after)[np.asarray(before) == float(leaf)] == 7.5).all()


@pytest.mark.parametrize(
    ("table", "numbers"),
    [("root", "99"), ("left", "0"), ("feature", "99"), ("leaf", "0.5"), ("right", "-99")],
)
def test_tables_must_fit_together(table: str, numbers: str) -> None:
    content, rules = written("c", MODELS["one tree"]())
    text = re.sub(
        rf"(model_{table}\[\] = \{{\n    )[^,}}]*", rf"\g<1>{numbers}", content.decode(), count=1
    )
    if table == "leaf":  # one number for all of them
        text = re.sub(r"(model_leaf\[\] = \{\n    )[^}]*", rf"\g<1>{numbers}", text)
    assert text != content.decode()
    with pytest.raises(DataError, match="do not fit together"):
        target_named("c").interpreter(text.encode(), rules, Options())


def test_texts_of_java_are_short() -> None:
    content, rules = written("java", MODELS["trees"]())
    texts = re.findall(r'"[^"]*"', content.decode())
    assert sum(map(len, texts)) > 60_000
    assert max(map(len, texts)) < 65_535
    assert rules.trees is not None


def compiled(folder: Path, content: bytes, program: str, *flags: str) -> Path:
    (folder / "model.h").write_bytes(content)
    (folder / "main.c").write_text(program)
    made = folder / "model.so"
    language = () if "-xc++" in flags else ("-std=c99",)
    strict = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC")
    command = ["cc", *language, *strict, *flags, "-o", str(made), "main.c"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return made


PROGRAM = """
#include "model.h"
#ifdef __cplusplus
extern "C" {
#endif
double of_doubles(const double *x);
double of_floats(const float *x);
double of_doubles(const double *x) { return model_score(x); }
double of_floats(const float *x) { return model_score_float(x); }
#ifdef __cplusplus
}
#endif
"""


@needs_cc
@pytest.mark.parametrize(
    "flags",
    [("-O3", "-march=native", "-ffp-contract=fast"), ("-O0",), ("-xc++", "-std=c++11", "-O2")],
    ids=lambda flags: flags[0],
)
@pytest.mark.parametrize("model", ["one tree", "linear with imputation", "sum with imputation"])
def test_hard_compilers(flags: tuple[str, ...], model: str, tmp_path: Path) -> None:
    fitted = MODELS[model]()
    content, _ = written("c", fitted)
    library = ctypes.CDLL(str(compiled(tmp_path, content, PROGRAM, *flags)))
    for name, dtype in (("of_doubles", np.float64), ("of_floats", np.float32)):
        function = getattr(library, name)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_void_p]
        rows = np.ascontiguousarray(ROWS.astype(dtype))
        found = [function(row.ctypes.data) for row in rows]
        np.testing.assert_array_equal(found, fitted.predict(rows))


@needs_cc
def test_fast_arithmetic_is_refused(tmp_path: Path) -> None:
    content, _ = written("c", MODELS["stump"]())
    with pytest.raises(subprocess.CalledProcessError) as failed:
        compiled(tmp_path, content, PROGRAM, "-ffast-math")
    assert b"doubles must be rounded as doubles" in failed.value.stderr


def test_leaves_may_be_on_the_grid_too(tmp_path: Path) -> None:
    model = MODELS["one tree"]()
    certificate = rw.export(model, "c", tmp_path / "model.h", leaves="grid", data=ROWS)
    assert certificate.exact
    assert certificate.g is not None
    own = rw.export(model, "c", tmp_path / "own.h", data=ROWS)
    assert own.bound == 0
    assert own.data["largest_change"] == 0


def test_wide_models(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3001))
    model = rw.LinearRanker("listnet").fit(X, np.arange(40) % 3, np.arange(40) // 10)
    certificate = rw.export(model, "c", tmp_path / "model.h", data=X, probes=50)
    assert certificate.exact
