// Loops in the widest vector registers that the machine has.
//
// wide(f) runs f compiled for AVX2 where there is AVX2, and as the rest of the module elsewhere. Of
// both compilations the bits are the same: f says which sums are independent (lanes, rows,
// columns), a compiler reorders nothing beyond that, and -ffp-contract=off keeps it from rounding a
// product and a sum once where there is a fused instruction. AVX-512 was no faster for these loops.
#pragma once

#include <atomic>
#include <cstddef>

namespace rankwright {

// What f is made of must be inlined into it: only then it is compiled for AVX2.
#if defined(__GNUC__)
#define RANKWRIGHT_INLINE __attribute__((always_inline))
#else
#define RANKWRIGHT_INLINE
#endif

#if defined(__x86_64__) && defined(__GNUC__)

inline bool has_avx2() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2");
}

// Found when the module is loaded; tests turn it off, to compare the bits.
inline std::atomic<bool> use_avx2{has_avx2()};

template <class F>
__attribute__((target("avx2"))) void with_avx2(const F& f) {
    f();
}

template <class F>
void wide(const F& f) {
    if (use_avx2.load(std::memory_order_relaxed)) {
        with_avx2(f);
    } else {
        f();
    }
}

#else

inline bool has_avx2() { return false; }
inline std::atomic<bool> use_avx2{false};

template <class F>
void wide(const F& f) {
    f();
}

#endif

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
