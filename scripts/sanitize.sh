#!/usr/bin/env bash
# The compiled code under gcc's sanitizers: scripts/sanitize.sh [short]
#
# 1. The module with AddressSanitizer, UndefinedBehaviorSanitizer and the assertions of the C++
#    library; the tests that work it hardest, or all of them without "short".
# 2. The thread pool, the kernels and the parser as programs under ThreadSanitizer; without "short"
#    also the module.
#
# A report ends the process that made it, and with it this script. Each build is first shown a fault
# that it must see.
set -euo pipefail
cd "$(dirname "$0")/.."
short=${1:-}
top=$PWD bin=$PWD/.venv/bin out=$PWD/build/sanitize cxx=${CXX:-g++}
mkdir -p "$out/elsewhere"
export OMP_WAIT_POLICY=passive
# Python itself leaves things behind, and a test asks for more memory than there is. Reports go to
# files: pytest would swallow them.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$out/report
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$out/report

# An environment with the tools of .venv and a module of its own: children find it as well.
build_module() { # NAME SANITIZERS
    local venv=$top/.venv-sanitize-$1 site
    "$bin/cmake" -G Ninja -S . -B "$out/$1" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_MAKE_PROGRAM="$bin/ninja" \
        -DPython_EXECUTABLE="$bin/python" -Dnanobind_DIR="$("$bin/python" -m nanobind --cmake_dir)" \
        -DSKBUILD_PROJECT_NAME=rankwright -DSKBUILD_PROJECT_VERSION=0 \
        -DRANKWRIGHT_SANITIZE="$2" >"$out/$1.log" || { cat "$out/$1.log"; exit 1; }
    "$bin/cmake" --build "$out/$1"
    [ -d "$venv" ] || "$bin/python" -m venv --without-pip "$venv"
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    "$bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/tools.pth"
    rm -rf "$site/rankwright"
    cp -r src/rankwright "$site/rankwright"
    rm -f "$site"/rankwright/_kernels*.so
    cp "$out/$1"/_kernels*.so "$site/rankwright/"
    printf '#!/bin/sh\nexec "%s" -m rankwright "$@"\n' "$venv/bin/python" >"$venv/bin/rankwright"
    chmod +x "$venv/bin/rankwright"
}

tested() { # NAME RUNTIME PYTEST-ARGUMENTS: the tests with a module that build_module made
    local venv=$top/.venv-sanitize-$1 runtime
    # The C++ library too, so that the runtime finds its functions when it starts.
    runtime="$("$cxx" -print-file-name="$2") $("$cxx" -print-file-name=libstdc++.so.6)"
    shift 2
    cd "$out/elsewhere"
    LD_PRELOAD=$runtime PYTHONSAFEPATH=1 PATH=$venv/bin:$PATH "$venv/bin/python" -m pytest \
        -c "$top/pyproject.toml" --rootdir="$top" -p no:cacheprovider -q "$@"
    cd "$top"
}

program() { # NAME SANITIZERS SOURCE
    "$cxx" -std=c++20 -O1 -g -fsanitize="$2" -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS \
        -Icpp "$3" -o "$out/$1" -pthread
}

must_report() { # COMMAND: a fault on purpose, without which silence would mean nothing
    if "$@" >"$out/planted.log" 2>&1; then
        echo "a planted fault was not seen: $*" >&2
        exit 1
    fi
}

no_reports() { # also of processes whose end no test looks at
    if grep -lE 'ERROR: AddressSanitizer|runtime error|WARNING: ThreadSanitizer' "$out"/report.*; then
        cat "$out"/report.*
        exit 1
    fi 2>/dev/null
}

rm -f "$out"/report.*
tests=$top/tests kernels=()
for name in domination_rank exact_sums letor_read letor_stream letor_write linear_ranker loss_values \
    pamir parallel predtron products ranks; do
    kernels+=("$tests/unit/test_$name.py")
done
for name in contributions forest losses metrics problems wide; do kernels+=("$tests/contracts/test_$name.py"); done

echo "== the module: addresses and undefined behaviour"
build_module address address,undefined
overflow='import ctypes; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p
c.memset(ctypes.c_void_p(c.malloc(8)), 0, 16)'
grep -q __asan_report_store "$out"/address/_kernels*.so || { echo "not instrumented" >&2; exit 1; }
must_report env ASAN_OPTIONS= LD_PRELOAD="$("$cxx" -print-file-name=libasan.so)" \
    "$bin/python" -c "$overflow"
# Forks among threads may hang in this runtime's allocator, and Ctrl-C is a matter of time.
calm="not fork and not ctrl_c"
[ "$short" ] || kernels=(--ignore="$tests/peers" "$tests")
tested address libasan.so -k "$calm" "${kernels[@]}"
no_reports

echo "== programs: threads"
program stress-thread thread tests/native/stress.cpp
program stress-undefined undefined tests/native/stress.cpp
program letor-thread thread fuzz/letor_fuzz.cpp
# Old runtimes do not know where new kernels put things unless addresses are left in place.
fixed="setarch -R"
$fixed true 2>/dev/null || fixed=""
must_report $fixed "$out/stress-thread" race
$fixed "$out/stress-thread" "$([ "$short" ] && echo 30 || echo 500)" 0
"$out/stress-undefined" 100 50
$fixed "$out/letor-thread" fuzz/corpus/letor "$([ "$short" ] && echo 1000 || echo 20000)"

if [ ! "$short" ]; then
    echo "== the module: threads"
    build_module thread thread
    TSAN_OPTIONS=die_after_fork=0:report_bugs=1:log_path=$out/report tested thread libtsan.so \
        "$tests/unit/test_parallel.py" "$tests/contracts/test_metrics.py" \
        "$tests/contracts/test_forest.py" -k "$calm"
fi
no_reports
echo "no reports"
