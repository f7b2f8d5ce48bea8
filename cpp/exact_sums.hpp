// Numbers on a common grid, so that sums of them are exact in any order.
//
// A tree learner sums gradients over histograms, in an order that depends on the rows and on the
// threads. If every number is a multiple of 2^g and n of them stay below 2^(g + 53) in sum, double
// precision adds them without rounding, and the order cannot matter. g follows from n and the
// largest number alone. What is lost are digits below max * n * 2^-53.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "parallel.hpp"

namespace rankwright {

// Writes weights * values on the grid, as floats; `weights` may be empty. Returns false if one is
// not a finite float. Floats of 24 bits stay on the grid: they drop low bits only.
inline bool round_to_grid(std::span<const double> values, std::span<const double> weights,
                          float* out, int n_threads) {
    constexpr std::size_t kBlock = 16384;
    const std::size_t n = values.size(), n_blocks = (n + kBlock - 1) / kBlock;
    const auto weighted = [&](std::size_t i) {
        return weights.empty() ? values[i] : weights[i] * values[i];
    };
    struct Facts {
        double largest = 0, poison = 0;  // 0 * x is NaN unless x is finite
    };
    std::vector<Facts> facts(n_blocks);
    const auto rows = [&](std::size_t block, const auto& f) {
        for (std::size_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) f(i);
    };
    parallel_for(n_blocks, n_threads, [&](std::size_t block) {
        Facts found;
        rows(block, [&](std::size_t i) {
            const double size = std::abs(weighted(i));
            found.largest = std::max(found.largest, size);
            found.poison += 0 * size;
        });
        facts[block] = found;
    });
    Facts all;
    for (const Facts& f : facts) {
        all.largest = std::max(all.largest, f.largest);
        all.poison += f.poison;
    }
    if (all.poison != 0 || all.largest > std::numeric_limits<float>::max()) return false;
    int exponent = 0, digits = 0;  // largest <= 2^exponent, n <= 2^digits
    std::frexp(all.largest, &exponent);
    std::frexp(static_cast<double>(n), &digits);
    // 1.5 * 2^52 grid steps: adding and subtracting it rounds to the grid.
    const double shift = std::ldexp(1.5, exponent + std::max(digits, 2));
    parallel_for(n_blocks, n_threads, [&](std::size_t block) {
        rows(block,
             [&](std::size_t i) { out[i] = static_cast<float>((weighted(i) + shift) - shift); });
    });
    return true;
}

}  // namespace rankwright
