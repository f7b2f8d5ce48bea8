// Which vector instructions this processor has, asked at run time: one wheel runs everywhere.
//
// Functions marked RANKWRIGHT_AVX2 or RANKWRIGHT_AVX512 may be called only where runs_here() says
// so. All forms of a kernel give the same bits, so that the choice is one of speed alone.
#pragma once

#include <stdexcept>
#include <string_view>
#include <utility>

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define RANKWRIGHT_X86 1
#include <immintrin.h>
#define RANKWRIGHT_AVX2 __attribute__((target("avx2")))
#define RANKWRIGHT_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define RANKWRIGHT_X86 0
#endif

namespace rankwright {

enum class InstructionSet { portable, avx2, avx512 };

inline bool runs_here(InstructionSet set) {
#if RANKWRIGHT_X86
    switch (set) {
        case InstructionSet::avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
        case InstructionSet::avx2: return __builtin_cpu_supports("avx2");
        case InstructionSet::portable: return true;
    }
#endif
    return set == InstructionSet::portable;
}

// The best first.
inline constexpr std::pair<InstructionSet, std::string_view> kInstructionSets[] = {
    {InstructionSet::avx512, "avx512"},
    {InstructionSet::avx2, "avx2"},
    {InstructionSet::portable, "portable"},
};

// The set of that name; the best one here if it is empty.
inline InstructionSet instruction_set(std::string_view wanted = {}) {
    for (const auto& [set, name] : kInstructionSets) {
        if ((wanted.empty() || wanted == name) && runs_here(set)) return set;
    }
    throw std::invalid_argument("no such instructions here");
}

}  // namespace rankwright
