// The hash of rankwright.data.hashing, for numbers that are drawn by document.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace rankwright {

// SplitMix64's finaliser, as `mix` in Python.
inline std::uint64_t mix(std::uint64_t z) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// A key that depends on a seed as well, as `combine` in Python.
inline std::uint64_t combine(std::uint64_t seed, std::uint64_t key) {
    return mix(mix(key) ^ mix(seed));
}

// A number in [0, 1) that depends on the query's key and the document's position only.
inline double uniform(std::uint64_t key, std::uint64_t position) {
    return static_cast<double>(mix(key + position) >> 11) * 0x1p-53;
}

// A number of Gumbel's distribution, of one in [0, 1); 0 becomes half a step, so that it is finite.
inline double gumbel_of(double u) { return -std::log(-std::log(std::max(u, 0x1p-54))); }

}  // namespace rankwright
