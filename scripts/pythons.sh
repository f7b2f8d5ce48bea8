#!/usr/bin/env bash
# The wheel on every Python that is here: scripts/pythons.sh
#
# 3.11 has a wheel of its own; the one that 3.12 builds is for the stable ABI, and later versions
# install that one. Interpreters are looked for on PATH, then among pyenv's.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/pythons
export OMP_WAIT_POLICY=passive PIP_DISABLE_PIP_VERSION_CHECK=1

find_python() { # VERSION
    local found name
    if found=$(command -v "python$1") && "$found" -c 'import venv, ensurepip' 2>/dev/null; then
        echo "$found"
    elif command -v pyenv >/dev/null && name=$(pyenv versions --bare | grep "^$1\.[0-9]*$" | tail -1); then
        echo "$(pyenv prefix "$name")/bin/python"
    fi
}

tried=0 wheel=""
for version in 3.11 3.12 3.13 3.14; do
    python=$(find_python $version)
    if [ -z "$python" ]; then
        echo "== $version: not here"
        continue
    fi
    echo "== $("$python" --version)"
    rm -rf "$out/$version"
    "$python" -m venv "$out/$version"
    if [[ $wheel != *abi3* ]]; then
        rm -rf "$out/wheels"
        "$out/$version/bin/python" -m pip wheel -q --no-deps --wheel-dir "$out/wheels" .
        wheel=$(echo "$out"/wheels/*.whl)
        if [ $version != 3.11 ] && [[ $wheel != *-cp312-abi3-* ]]; then
            echo "$wheel is not for the stable ABI of 3.12" >&2
            exit 1
        fi
    fi
    echo "$(basename "$wheel")"
    "$out/$version/bin/python" -m pip install -qq "$wheel[all]"
    (cd "$out" && PYTHONSAFEPATH=1 "$out/$version/bin/python" -W error::SyntaxWarning "$OLDPWD/scripts/smoke.py")
    tried=$((tried + 1))
done
echo "$tried Pythons"
[ $tried -gt 0 ]
