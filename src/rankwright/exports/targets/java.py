"""Java: one class that needs nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

import numpy as np

from rankwright.exports.rules import Rules
from rankwright.exports.targets.programs import engine_of, first_line, scoring_program
from rankwright.exports.targets.source_code import SourceCode
from rankwright.exports.targets.tables import FoundTable, Tables, is_double
from rankwright.exports.targets.target import Engine, Options

_WORDS = frozenset(
    re.findall(
        r"\w+",
        """abstract assert boolean break byte case catch char class const continue default do double
    else enum extends false final finally float for goto if implements import instanceof int
    interface long native new null package private protected public return short static strictfp
    super switch synchronized this throw throws transient true try void volatile while _ Main
    Double String java""",
    )
)
# Numbers are read from texts: a method, and so what fills an array, has at most 64 KB of code, a
# class 65,535 constants, a text 65,535 bytes.
_TEXT = 60_000
_TABLE = re.compile(
    r"^    private static final (double|int)\[\] (\w+) = (?:numbers|integers)\(([^)]*)\);$",
    re.MULTILINE,
)

_HEAD = """\
/**
 * Scores of a model of rankwright, the same bits as its predict gives.
 *
 * <p>x has a value for each of names(), in this order; NaN if it is missing.
 */
public final class NAME {
    private NAME() {}

"""

_TREES = """
    private static double sum(double[] x, int k) {
        double s = 0.0;
        for (int i : ROOT) {
            while (i >= 0) {
                double v = x[FEATURE[i]];
                boolean left = v <= CUT[i] || (v != v && MISSING_LEFT[i] != 0);
                i = left ? LEFT[i] : RIGHT[i];
            }
            s += LEAF[~i];
        }
        return s;
    }
"""

_SUMS = """
    private static double sum(double[] x, int k) {
        double[] lane = new double[8];
        double rest = 0.0;
        int n = WEIGHT.length / BIAS.length, whole = n / 8 * 8;
        for (int j = 0; j < n; ++j) {
            double v = FILLED;
            if (j < whole) {
                lane[j % 8] += WEIGHT[k * n + j] * v;
            } else {
                rest += WEIGHT[k * n + j] * v;
            }
        }
        for (int l = 0; l < 4; ++l) {
            lane[l] += lane[l + 4];
        }
        return (lane[0] + lane[1]) + (lane[2] + lane[3]) + rest + BIAS[k];
    }
"""

# Of a sum of both: trees see a missing value as it is, the linear part what stands for it.
_BOTH = """
    public static double score(double[] x) {
        return trees(x, 0) + linear(x, 0);
    }

    public static double score(float[] x) {
        return trees(asGiven(x), 0) + linear(doubles(x), 0);
    }

    private static double[] asGiven(float[] x) {
        double[] y = new double[x.length];
        for (int j = 0; j < x.length; ++j) {
            y[j] = x[j];
        }
        return y;
    }
"""

_ONE = """
    public static double score(double[] x) {
        return sum(x, 0);
    }

    public static double score(float[] x) {
        return sum(doubles(x), 0);
    }
"""

_SEVERAL = """
    /** There is a score for each class. */
    public static double score(double[] x, int k) {
        return sum(x, k);
    }

    public static double score(float[] x, int k) {
        return sum(doubles(x), k);
    }
"""

_REACHED = """
    /** The label is classes().get(label(x)). */
    public static int label(double[] x) {
        double s = sum(x, 0);
        int place = 0;
        while (place < THRESHOLD.length && s >= THRESHOLD[place]) {
            ++place;
        }
        return place;
    }
"""

_LARGEST = """
    /** The label is classes().get(label(x)). */
    public static int label(double[] x) {
        int place = 0;
        for (int k = 1; k < BIAS.length; ++k) {
            if (sum(x, k) > sum(x, place)) {
                place = k;
            }
        }
        return place;
    }
"""

_LABELS = """
    public static int label(float[] x) {
        return label(doubles(x));
    }
"""

_TAIL = """
    private static double[] doubles(float[] x) {
        double[] y = new double[x.length];
        for (int j = 0; j < x.length; ++j) {
            y[j] = AS_DOUBLE;
        }
        return y;
    }

    private static double[] numbers(String... texts) {
        return java.util.Arrays.stream(texts)
            .flatMap(text -> java.util.Arrays.stream(text.split(" ")))
            .mapToDouble(Double::parseDouble)
            .toArray();
    }

    private static int[] integers(String... texts) {
        return java.util.Arrays.stream(numbers(texts)).mapToInt(v -> (int) v).toArray();
    }

    private static java.util.List<String> lines(String... texts) {
        return java.util.Arrays.stream(texts)
            .flatMap(text -> java.util.Arrays.stream(text.split("\\n")))
            .collect(java.util.stream.Collectors.toUnmodifiableList());
    }
}
"""

_MAIN = """\
import java.io.*;
import java.nio.*;

/** Of each row of doubles: its scores and its label. Floats must say the same. */
final class Main {
    public static void main(String[] none) throws IOException {
        int n = N_FEATURES;
        byte[] all = System.in.readAllBytes();
        ByteBuffer in = ByteBuffer.wrap(all).order(ByteOrder.nativeOrder());
        int rows = all.length / (8 * n);
        ByteBuffer out = ByteBuffer.allocate(rows * (N_SCORES + 1) * 8);
        out.order(ByteOrder.nativeOrder());
        double[] x = new double[n];
        float[] f = new float[n];
        for (int i = 0; i < rows; ++i) {
            boolean same = true;
            for (int j = 0; j < n; ++j) {
                x[j] = in.getDouble();
                f[j] = (float) x[j];
                same = same && (f[j] == x[j] || (x[j] != x[j] && HAS_FILL == 0));
            }
            for (int k = 0; k < N_SCORES; ++k) {
                double s = NAME.score(x, K);
                if (same && s != NAME.score(f, K)) {
                    throw new AssertionError();
                }
                out.putDouble(s);
            }
            int label = LABEL{NAME.label(x)};
            if (same && label != LABEL{NAME.label(f)}) {
                throw new AssertionError();
            }
            out.putDouble(label);
        }
        System.out.write(out.array());
        System.out.flush();
    }
}
"""


class Java(SourceCode):
    """A class with static methods."""

    name = "java"
    engine = "Java >= 10"
    suffix = ".java"
    holds = "trees, linear, both added, labels: exact for float32 and float64"
    words = _WORDS
    judged_by = "the class's code"

    def text(self, rules: Rules, name: str, tables: Tables) -> str:
        """Return the class, whose file must have its name."""
        return _java_class(rules, name, tables)

    def tables_in(self, text: str, name: str) -> list[FoundTable]:
        """Return the tables in it."""
        return [
            (kind, key.lower(), re.sub(r"[\s\",]+", " ", numbers).replace("Infinity", "inf"))
            for kind, key, numbers in _TABLE.findall(text)
        ]

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield the Java of this machine; it gets our own code alone, around the tables."""
        tables, name = self.read(content, rules, options), options.name
        version = first_line(["java", "-version"])
        if version is None or first_line(["javac", "-version"]) is None:
            return
        files = {f"{name}.java": content, "Main.java": scoring_program(_MAIN, name, tables, rules)}
        build = ["javac", "-encoding", "US-ASCII", *files]
        yield engine_of(version, files, build, ["java", "-cp", ".", "Main"], tables, rules)

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is used."""
        return [f"use: javac {options.name}.java, then {options.name}.score(x)"]


def _java_class(rules: Rules, name: str, tables: Tables) -> str:
    """Return the class of a model with these tables."""
    labels = rules.labels
    head = _HEAD.replace("NAME", name)
    parts = [_java_texts("names", rules.names)]
    if labels is not None:
        parts.append(_java_texts("classes", [str(one) for one in labels.classes]))
    parts += [_java_table(key, values) for key, values in tables.items()]
    filled = "x[j] != x[j] ? FILL[j] : x[j]" if "fill" in tables else "x[j]"
    sums = _SUMS.replace("FILLED", filled)
    if "root" in tables and "weight" in tables:
        parts += [_TREES.replace(" sum(", " trees("), sums.replace(" sum(", " linear("), _BOTH]
    else:
        parts.append(_TREES if "root" in tables else sums)
        parts.append(_ONE if len(tables.get("bias", [0])) == 1 else _SEVERAL)
    if labels is not None:
        parts += [_REACHED if "threshold" in tables else _LARGEST, _LABELS]
    # As in the library, what stands for a missing value among floats is a float.
    of_float = "x[j] != x[j] ? (float) FILL[j] : x[j]" if "fill" in tables else "x[j]"
    return "".join([head, *parts, _TAIL.replace("AS_DOUBLE", of_float)])


def _java_texts(name: str, texts: Sequence[str]) -> str:
    lines = ", ".join(_java_strings(texts, "\n"))
    return (
        f"    private static final java.util.List<String> {name.upper()} = lines({lines});\n\n"
        f"    public static java.util.List<String> {name}() {{\n"
        f"        return {name.upper()};\n    }}\n\n"
    )


def _java_table(name: str, values: list[int] | list[float]) -> str:
    kind, read = ("double", "numbers") if is_double(values) else ("int", "integers")
    numbers = ["Infinity" if value == np.inf else repr(value) for value in values]
    texts = ",\n        ".join(_java_strings(numbers, " "))
    return f"    private static final {kind}[] {name.upper()} = {read}(\n        {texts});\n"


def _java_strings(texts: Sequence[str], between: str) -> list[str]:
    """Return texts, joined, as strings that a class can hold."""
    joined: list[list[str]] = [[]]
    size = 0
    for text in texts:
        size += len(json.dumps(text))
        if size > _TEXT and joined[-1]:
            joined.append([])
            size = 0
        joined[-1].append(text)
    return [json.dumps(between.join(some)) for some in joined]
