"""Run a target: ``python -m fuzz TARGET N``, or list them all: ``python -m fuzz``.

An input must be accepted or refused cleanly within a second of processor time and 512 MB of memory.
What is not is written to ``build/fuzz/TARGET``, and the exit status is not 0.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import sys
import tempfile
import time
import warnings
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.targets import Target

# One thread: an input that is slow must be so by itself.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", ARROW_IO_THREADS="1")

TOP = Path(__file__).parents[1]
MOST_SECONDS = 1.0
MOST_BYTES = 512 << 20
LONGEST = 4096
_UNUSED = ("rankwright.cli", "rankwright.experiments", "rankwright.__main__")


def main() -> int:
    """Fuzz; Atheris does not return."""
    if len(sys.argv) not in (1, 3):
        print("usage: python -m fuzz [TARGET N]", file=sys.stderr)
        return 2
    try:
        import atheris
    except ImportError:
        atheris = None
    with atheris.instrument_imports(["rankwright"]) if atheris else contextlib.nullcontext():
        _import_everything()
    from fuzz.targets import TARGETS

    if len(sys.argv) == 1:
        print(*TARGETS, sep="\n")
        return 0
    name, n = sys.argv[1], int(sys.argv[2])
    if name not in TARGETS:
        print(f"there is no target {name!r}. There are {', '.join(TARGETS)}.", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")
    target, out = TARGETS[name], TOP / "build" / "fuzz" / name
    (out / "corpus").mkdir(parents=True, exist_ok=True)
    seeds = TOP / "fuzz" / "corpus" / name
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        one_input = Limited(target, Path(folder) / target.file)
        if atheris is None:
            print("Atheris is not installed: inputs are mutated without guidance.")
            return _unguided(one_input, target, sorted(seeds.iterdir()), n, out)

        def mutate(data: bytes, most: int, seed: int) -> bytes:
            return target.mutate(data, Random(seed), lambda d: atheris.Mutate(d, most))[:most]

        flags = [f"-runs={n}", f"-max_len={LONGEST}", "-rss_limit_mb=0", "-timeout=60"]
        flags += [f"-artifact_prefix={out}/", "-print_final_stats=1", "-reload=0"]
        atheris.Setup(
            [name, *flags, str(out / "corpus"), str(seeds)], one_input, custom_mutator=mutate
        )
        atheris.Fuzz()
    return 0


class Limited:
    """An input to a target, within limits of time and memory."""

    def __init__(self, target: Target, path: Path) -> None:
        from fuzz.targets import check

        self.target, self.path, self.check = target, path, check
        for seed in range(3):  # whatever is allocated once
            self(Random(seed).randbytes(64))
        _limit_memory()

    def __call__(self, data: bytes) -> None:
        start = time.process_time()
        self.check(self.target, self.path, data)
        seconds = time.process_time() - start
        if seconds > MOST_SECONDS:
            raise TimeoutError(f"took {seconds:.1f} seconds")


def _unguided(one_input: Limited, target: Target, seeds: list[Path], n: int, out: Path) -> int:
    from fuzz import mutators

    random = Random(0)
    contents = [seed.read_bytes() for seed in seeds]
    for i in range(n):
        data = random.choice(contents) if i >= len(contents) else contents[i]
        for _ in range(random.randrange(4)):
            data = target.mutate(data, random, lambda d: mutators.plain(d, random))[:LONGEST]
        try:
            one_input(data)
        except BaseException:
            (out / "crash").write_bytes(data)
            print(f"input {i}: {out / 'crash'}", file=sys.stderr)
            raise
    print(f"{n} inputs, 0 failures")
    return 0


def _import_everything() -> None:
    import rankwright

    for module in pkgutil.walk_packages(rankwright.__path__, "rankwright."):
        if not module.name.startswith(_UNUSED):
            importlib.import_module(module.name)


def _memory() -> str | None:
    """Return a folder in memory, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _limit_memory() -> None:
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    sys.exit(main())
