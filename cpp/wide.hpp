// Loops in the widest vector registers that the machine has.
//
// wide(f) runs f compiled for AVX2 where there is AVX2, and as the rest of the module elsewhere. Of
// both compilations the bits are the same: f says which sums are independent (lanes, rows,
// columns), a compiler reorders nothing beyond that, and -ffp-contract=off keeps it from rounding a
// product and a sum once where there is a fused instruction. AVX-512 was no faster for these loops.
#pragma once

#include <atomic>
#include <cstddef>

#include "instruction_sets.hpp"

namespace rankwright {

// What f is made of must be inlined into it: only then it is compiled for AVX2.
#if defined(__GNUC__)
#define RANKWRIGHT_INLINE __attribute__((always_inline))
#else
#define RANKWRIGHT_INLINE
#endif

// Found when the module is loaded; tests turn it off, to compare the bits.
inline std::atomic<bool> use_avx2{runs_here(InstructionSet::avx2)};

#if RANKWRIGHT_X86
template <class F>
RANKWRIGHT_AVX2 void with_avx2(const F& f) {
    f();
}
#endif

template <class F>
void wide(const F& f) {
#if RANKWRIGHT_X86
    if (use_avx2.load(std::memory_order_relaxed)) return with_avx2(f);
#endif
    f();
}

// Asks for what lies a little behind some rows: rows side by side are no stream to the hardware.
inline RANKWRIGHT_INLINE void prefetch_behind(const void* data, std::size_t n_bytes) {
#if defined(__GNUC__)
    constexpr std::size_t kAhead = 4096, kMost = 8192, kLine = 64;
    if (n_bytes > kMost) return;  // long rows are
    const char* first = static_cast<const char*>(data) + kAhead;
    for (std::size_t b = 0; b < n_bytes; b += kLine) __builtin_prefetch(first + b);
#endif
}

}  // namespace rankwright
