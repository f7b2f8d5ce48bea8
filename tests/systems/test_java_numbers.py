"""Numbers as Java has them: what the interpreters of Java engines go by."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

from rankwright.exports.interpreters.elastic import java_sum
from rankwright.exports.interpreters.reading import float32_of
from tests.systems.conftest import missing

PROGRAM = """
import java.nio.file.*;
import java.util.*;

public class Numbers {
    public static void main(String[] files) throws Exception {
        for (String line : Files.readAllLines(Path.of(files[0]))) {
            String[] words = line.split(" ");
            double[] terms = Arrays.stream(words).mapToDouble(Double::parseDouble).toArray();
            System.out.println(Double.doubleToLongBits(Arrays.stream(terms).sum()));
        }
        for (String line : Files.readAllLines(Path.of(files[1]))) {
            System.out.println(Float.floatToIntBits(Float.parseFloat(line)));
        }
    }
}
"""


def texts_near_the_middle(rng: np.random.Generator, n: int) -> list[str]:
    """Return decimals at and beside the middle of two neighbouring float32."""
    found = []
    for _ in range(n):
        low = np.float32(rng.normal() * 10.0 ** rng.integers(-36, 37))
        middle = (float(low) + float(np.nextafter(low, np.float32(np.inf)))) / 2
        found += [repr(middle), f"{middle:.9e}", f"{middle:.25e}", f"{middle:.60e}1"]
    return found


def test_sums_and_texts_are_those_of_java(tmp_path: Path) -> None:
    if shutil.which("javac") is None:
        missing("javac")
    (tmp_path / "Numbers.java").write_text(PROGRAM)
    subprocess.run(["javac", "Numbers.java"], cwd=tmp_path, check=True)
    rng = np.random.default_rng(0)
    sums = [
        rng.normal(size=n) * 10.0 ** rng.integers(-12, 13, n) for n in rng.integers(1, 60, 2000)
    ]
    texts = texts_near_the_middle(rng, 2000)
    (tmp_path / "sums").write_text("\n".join(" ".join(map(repr, v.tolist())) for v in sums))
    (tmp_path / "texts").write_text("\n".join(texts))
    run = ["java", "-cp", str(tmp_path), "Numbers", str(tmp_path / "sums"), str(tmp_path / "texts")]
    said = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    bits = [int(java_sum(np.array([one]) for one in v).view(np.int64)[0]) for v in sums]
    bits += [int(np.array(float32_of(text)).view(np.int32)) for text in texts]
    assert bits == [int(number) for number in said]
