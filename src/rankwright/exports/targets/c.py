"""C: one header that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

import numpy as np

from rankwright.exceptions import DataError
from rankwright.exports.rules import Rules
from rankwright.exports.targets.programs import (
    built,
    engine_of,
    first_line,
    scoring_program,
    verdicts_of,
)
from rankwright.exports.targets.source_code import SourceCode
from rankwright.exports.targets.tables import FoundTable, Tables, is_double
from rankwright.exports.targets.target import Engine, Options

_TABLE = re.compile(r"^static const (double|int) (\w+)\[\] = \{([^}]*)\};$", re.MULTILINE)
_BUILD = ("cc", "-std=c99", "-O2", "-o", "score", "main.c")
_WIDTH = 95

_HEAD = """\
/* Scores of a model of rankwright, the same bits as its predict gives.
 *
 * x has a value for each of NAME_names, in this order; NAN if it is missing.
 * Products and sums must be rounded one by one, so this does not compile with -ffast-math or x87
 * arithmetic. */
#ifndef RANKWRIGHT_NAME_H
#define RANKWRIGHT_NAME_H

#include <float.h>
#include <math.h>

#if defined(__FAST_MATH__) || !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD < 0 || \\
    FLT_EVAL_METHOD > 1
#error "NAME: doubles must be rounded as doubles; compile without -ffast-math, with -mfpmath=sse"
#endif

"""

# A feature as a double, whichever array it is in. As in the library, what stands for a missing
# value among floats is a float.
_AT = """
static inline double NAME_at(const double *x, const float *f, int j) {
    const double v = x ? x[j] : (double)f[j];
    return FILLED;
}
"""

_TREES = """
static inline double NAME_sum(const double *x, const float *f, int k) {
    double s = 0.0;
    (void)k;
    for (int tree = 0; tree < NAME_n_trees; ++tree) {
        int i = NAME_root[tree];
        while (i >= 0) {
            const double v = NAME_at(x, f, NAME_feature[i]);
            const int left = v <= NAME_cut[i] || (v != v && NAME_missing_left[i]);
            i = left ? NAME_left[i] : NAME_right[i];
        }
        s += NAME_leaf[~i];
    }
    return s;
}
"""

# Through a volatile, a product is rounded before it is added, whatever instructions there are.
_SUMS = """
static inline double NAME_sum(const double *x, const float *f, int k) {
    const double *w = NAME_weight + (long)k * NAME_n_features;
    double lane[8] = {0.0}, rest = 0.0;
    const int whole = NAME_n_features / 8 * 8;
    for (int j = 0; j < NAME_n_features; ++j) {
        volatile double product = w[j] * NAME_at(x, f, j);
        if (j < whole)
            lane[j % 8] += product;
        else
            rest += product;
    }
    for (int l = 0; l < 4; ++l) lane[l] += lane[l + 4];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]) + rest + NAME_bias[k];
}
"""

# Of a sum of both: trees see a missing value as it is, the linear part what stands for it.
_BOTH = """
static inline double NAME_sum(const double *x, const float *f, int k) {
    return NAME_trees(x, f, k) + NAME_linear(x, f, k);
}
"""

_ONE = """
static inline double NAME_score(const double *x) { return NAME_sum(x, 0, 0); }
static inline double NAME_score_float(const float *x) { return NAME_sum(0, x, 0); }
"""

_SEVERAL = """
/* There is a score for each class. */
static inline double NAME_score(const double *x, int k) { return NAME_sum(x, 0, k); }
static inline double NAME_score_float(const float *x, int k) { return NAME_sum(0, x, k); }
"""

_REACHED = """
static inline int NAME_place(const double *x, const float *f) {
    const double s = NAME_sum(x, f, 0);
    int place = 0;
    while (place < NAME_n_classes - 1 && s >= NAME_threshold[place]) ++place;
    return place;
}
"""

_LARGEST = """
static inline int NAME_place(const double *x, const float *f) {
    double best = NAME_sum(x, f, 0);
    int place = 0;
    for (int k = 1; k < NAME_n_classes; ++k) {
        const double s = NAME_sum(x, f, k);
        if (s > best) best = s, place = k;
    }
    return place;
}
"""

_LABELS = """
/* The label is NAME_classes[NAME_label(x)]. */
static inline int NAME_label(const double *x) { return NAME_place(x, 0); }
static inline int NAME_label_float(const float *x) { return NAME_place(0, x); }
"""

_MAIN = """\
#include <stdio.h>
#include "model.h"

/* Of each row of doubles: its scores and its label. Floats must say the same. */
int main(void) {
    static double x[NAME_n_features];
    static float f[NAME_n_features];
    while (fread(x, sizeof x[0], NAME_n_features, stdin) == NAME_n_features) {
        int same = 1;
        for (int j = 0; j < NAME_n_features; ++j) {
            f[j] = (float)x[j];
            same = same && (f[j] == x[j] || (x[j] != x[j] && !HAS_FILL));
        }
        for (int k = 0; k < N_SCORES; ++k) {
            const double s = NAME_score(x, K);
            if (same && s != NAME_score_float(f, K)) return 1;
            fwrite(&s, sizeof s, 1, stdout);
        }
        const double label = LABEL{NAME_label(x)};
        if (same && label != LABEL{NAME_label_float(f)}) return 1;
        fwrite(&label, sizeof label, 1, stdout);
    }
    return 0;
}
"""


class C(SourceCode):
    """A header with one function."""

    name = "c"
    engine = "C99 and C++11, IEEE doubles"
    suffix = ".h"
    holds = "trees, linear, both added, labels: exact for float32 and float64"
    judged_by = "the header's code"

    def text(self, rules: Rules, name: str, tables: Tables) -> str:
        """Return the header."""
        return _c_header(rules, name, tables)

    def tables_in(self, text: str, name: str) -> list[FoundTable]:
        """Return the tables in it."""
        return [
            (
                kind,
                key.removeprefix(f"{name}_"),
                numbers.replace("INFINITY", "inf").replace(",", " "),
            )
            for kind, key, numbers in _TABLE.findall(text)
        ]

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield the C compiler of this machine; it gets our own code alone, around the tables."""
        tables, version = self.read(content, rules, options), _compiler()
        if version is not None:
            main = scoring_program(_MAIN, options.name, tables, rules)
            files = {"model.h": content, "main.c": main}
            yield engine_of(version, files, _BUILD, ["./score"], tables, rules)

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is used."""
        return [f'use: #include "{path}", then {options.name}_score(x)']


def _compiler() -> str | None:
    """Return the version of the C compiler, if it is here and makes programs that run."""
    version = first_line(["cc", "--version"])
    if version is None:
        return None
    try:
        program = built({"main.c": b"int main(void) { return 0; }"}, _BUILD)
        verdicts_of(program, ["./score"], np.zeros((0, 1)), 1, False)
    except (DataError, OSError):
        return None
    return version


def _c_header(rules: Rules, name: str, tables: Tables) -> str:
    """Return the header of a model with these tables."""
    labels, n_scores = rules.labels, len(tables.get("bias", [0]))
    counts = [f"NAME_n_features = {rules.n_features}"]
    if "root" in tables:
        counts.append(f"NAME_n_trees = {len(tables['root'])}")
    if labels is not None:
        counts.append(f"NAME_n_classes = {len(labels.classes)}")
    head = [_HEAD, f"enum {{ {', '.join(counts)} }};\n"]
    filled = (
        "v == v ? v : x ? NAME_fill[j] : (double)(float)NAME_fill[j]" if "fill" in tables else "v"
    )
    code = [_AT.replace("FILLED", filled), *_c_sums(tables)]
    code.append(_ONE if n_scores == 1 else _SEVERAL)
    texts = [_c_texts(f"{name}_names", rules.names)]
    if labels is not None:
        code += [_REACHED if "threshold" in tables else _LARGEST, _LABELS]
        texts.append(_c_texts(f"{name}_classes", [str(one) for one in labels.classes]))
    texts += [_c_table(f"{name}_{key}", values) for key, values in tables.items()]
    begin, end = ("".join(parts).replace("NAME", name) for parts in (head, code))
    return f"{begin}{''.join(texts)}{end}\n#endif\n"


def _c_sums(tables: Tables) -> list[str]:
    """Return the code of a score: of trees, of weights, or of both."""
    if "root" not in tables or "weight" not in tables:
        return [_TREES if "root" in tables else _SUMS]
    plain = _AT.replace("NAME_at", "NAME_as_given").replace("FILLED", "v")
    trees = _TREES.replace("NAME_at", "NAME_as_given").replace("NAME_sum", "NAME_trees")
    return [plain, trees, _SUMS.replace("NAME_sum", "NAME_linear"), _BOTH]


def _c_texts(name: str, texts: Sequence[str]) -> str:
    quoted = ",\n".join(f"    {_c_string(text)}" for text in texts)
    return f"static const char *const {name}[] = {{\n{quoted}}};\n"


def _c_string(text: str) -> str:
    """Return a string of C: ASCII as it is, other bytes of UTF-8 in octal digits."""
    plain = set(range(32, 127)) - set(b'"\\?')  # two ? would begin a trigraph
    inside = "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode())
    return f'"{inside}"'


def _c_table(name: str, values: list[int] | list[float]) -> str:
    kind = "double" if is_double(values) else "int"
    numbers = ", ".join("INFINITY" if one == np.inf else repr(one) for one in values)
    lines = "\n".join(wrap(numbers, _WIDTH, initial_indent="    ", subsequent_indent="    "))
    return f"static const {kind} {name}[] = {{\n{lines}}};\n"
