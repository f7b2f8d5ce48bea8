#!/usr/bin/env bash
# Coverage-guided fuzzing: scripts/fuzz.sh N [TARGET...]; all targets by default
#
# What is found is written to build/fuzz/TARGET, beside the inputs that reached new code, from which
# the next run goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
n=$1
shift
python=.venv-fuzz/bin/python
flags=(-std=c++20 -g -fno-sanitize-recover=all -Icpp fuzz/letor_fuzz.cpp -pthread)

# The first clang that has libFuzzer.
find_clang() {
    local clang
    for clang in clang++ clang++-{30..14}; do
        if command -v "$clang" >/dev/null && "$clang" -fsanitize=fuzzer -x c++ -o /dev/null - \
            <<<'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' \
            2>/dev/null; then
            echo "$clang"
            return
        fi
    done
}

fuzz_letor() {
    local clang out=build/fuzz/letor
    mkdir -p $out/corpus
    clang=$(find_clang)
    if [ "$clang" ]; then
        "$clang" -O2 -fsanitize=fuzzer,address,undefined -DRANKWRIGHT_LIBFUZZER "${flags[@]}" -o $out/guided
        # Threads let go of their work a little late, which would be taken for a leak.
        ASAN_OPTIONS=quarantine_size_mb=32 $out/guided -runs="$n" -max_len=1024 -timeout=60 \
            -rss_limit_mb=512 -detect_leaks=0 -artifact_prefix=$out/ -print_final_stats=1 \
            $out/corpus fuzz/corpus/letor
    else
        echo "there is no clang with libFuzzer (Debian: clang and libclang-rt-dev): inputs are mutated without guidance."
        "${CXX:-g++}" -O1 -fsanitize=address,undefined "${flags[@]}" -o $out/unguided
        $out/unguided fuzz/corpus/letor "$n"
    fi
}

# Atheris keeps about a kilobyte of each input, which would be taken for the reader's: a new process
# goes on where the last one has ended.
fuzz_python() { # TARGET
    local left=$n round
    while [ "$left" -gt 0 ]; do
        round=$((left < 250000 ? left : 250000))
        "$python" -m fuzz "$1" $round
        left=$((left - round))
    done
}

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(echo letor && "$python" -m fuzz)
for target in "${targets[@]}"; do
    echo "== $target"
    if [ "$target" = letor ]; then fuzz_letor; else fuzz_python "$target"; fi
done
