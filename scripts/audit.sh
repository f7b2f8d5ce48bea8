#!/usr/bin/env bash
# The ranges of the dependencies: scripts/audit.sh
#
# 1. Do the lower bounds in pyproject.toml hold? They are installed, and tests run with them.
# 2. Has the oldest version that is allowed, or the one that is installed, a known vulnerability?
#    pip-audit looks that up in PyPI's database; where it cannot be reached, this says so.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD out=$PWD/build/audit python=$PWD/.venv/bin/python
export OMP_WAIT_POLICY=passive PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONSAFEPATH=1
mkdir -p "$out/elsewhere"

"$python" - >"$out/oldest.txt" <<'END'
import re, sys, tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
users = [line for name in ("frames", "report", "data", "tune") for line in extras[name]]
tables = [line for line in extras["dev"] if line.startswith(("pandas", "polars"))]
for line in project["dependencies"] + users + tables:
    bound = re.fullmatch(r"([\w-]+)>=([\d.]+)", line)
    if bound is None:
        sys.exit(f"pyproject.toml: a dependency is NAME>=VERSION; got {line!r}. What is its oldest version?")
    print(bound.expand(r"\1==\2"))
END

echo "== the oldest versions"
cat "$out/oldest.txt"
"$python" -m venv --clear "$out/oldest"
wheel=$(echo dist/rankwright-*.whl)
"$out/oldest/bin/python" -m pip install -qq -c "$out/oldest.txt" "$wheel[all]" pandas polars pytest hypothesis
cd "$out/elsewhere"
"$out/oldest/bin/python" "$top/scripts/smoke.py"
# The tests that meet a dependency's own names; warnings of old versions about each other are not ours.
"$out/oldest/bin/python" -m pytest -c "$top/pyproject.toml" --rootdir="$top" -p no:cacheprovider -q -W default \
    "$top"/tests/unit/test_{frames,persistence,letor_read,boosted_ranker,tuning,charts,download,linear_ranker,progress}.py \
    "$top/tests/interfaces/test_cli.py"
cd "$top"

echo "== known vulnerabilities"
"$python" -m venv "$out/tool"
"$out/tool/bin/python" -m pip install -qq pip-audit
"$python" -m pip freeze --exclude rankwright >"$out/installed.txt"
looked_up() { # VERSIONS: fails if one is vulnerable
    "$out/tool/bin/pip-audit" --no-deps --disable-pip -r "$1" >"$out/found.txt" 2>"$out/log.txt"
}
# First a version that must be found: without the database pip-audit ends as if nothing were known.
echo "jinja2==3.1.2" >"$out/planted.txt"
if looked_up "$out/planted.txt" || ! grep -qE 'CVE-|GHSA-|PYSEC-' "$out/found.txt"; then
    echo "PyPI's database of vulnerabilities cannot be reached from here: not looked up."
    exit 0
fi
for versions in oldest installed; do
    if ! looked_up "$out/$versions.txt"; then
        cat "$out/found.txt" "$out/log.txt" >&2
        exit 1
    fi
    echo "$versions: none known"
done
