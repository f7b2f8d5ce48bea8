"""Coverage-guided fuzzing of what reads files: ``make fuzz``, or ``python -m fuzz TARGET N``.

``letor.cpp``, the C++ parser, runs under libFuzzer. All else is in ``targets.py`` and runs under
Atheris, which watches the branches of rankwright's modules; where Atheris is not installed, inputs
are mutated without that guidance.
"""
