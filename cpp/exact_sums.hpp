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

constexpr std::size_t kRowsOfBlock = 16384;

// Calls f(block, begin, end) for blocks of rows, which threads share.
template <typename F>
void for_blocks_of_rows(std::size_t n, int n_threads, const F& f) {
    parallel_for((n + kRowsOfBlock - 1) / kRowsOfBlock, n_threads, [&](std::size_t block) {
        f(block, block * kRowsOfBlock, std::min(n, (block + 1) * kRowsOfBlock));
    });
}

// The largest of |weights * values|, or NaN if one is not a finite float; `weights` may be empty.
inline double largest_weighted(std::span<const double> values, std::span<const double> weights,
                               int n_threads) {
    struct Facts {
        double largest = 0, poison = 0;  // 0 * x is NaN unless x is finite
    };
    std::vector<Facts> facts(values.size() / kRowsOfBlock + 1);
    for_blocks_of_rows(
        values.size(), n_threads, [&](std::size_t block, std::size_t begin, std::size_t end) {
            Facts found;
            for (std::size_t i = begin; i < end; ++i) {
                const double size = std::abs(weights.empty() ? values[i] : weights[i] * values[i]);
                found.largest = std::max(found.largest, size);
                found.poison += 0 * size;
            }
            facts[block] = found;
        });
    Facts all;
    for (const Facts& f : facts) {
        all.largest = std::max(all.largest, f.largest);
        all.poison += f.poison;
    }
    const bool finite = all.poison == 0 && all.largest <= std::numeric_limits<float>::max();
    return finite ? all.largest : std::numeric_limits<double>::quiet_NaN();
}

// Writes weights * values as floats on the grid of `count` numbers up to `largest` in size, of
// which these may be a part. Floats of 24 bits stay on the grid: they drop low bits only.
inline void round_to_grid(std::span<const double> values, std::span<const double> weights,
                          double largest, double count, float* out, int n_threads) {
    int exponent = 0, digits = 0;  // largest <= 2^exponent, count <= 2^digits
    std::frexp(largest, &exponent);
    std::frexp(count, &digits);
    // 1.5 * 2^52 grid steps: adding and subtracting it rounds to the grid.
    const double shift = std::ldexp(1.5, exponent + std::max(digits, 2));
    for_blocks_of_rows(
        values.size(), n_threads, [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const double value = weights.empty() ? values[i] : weights[i] * values[i];
                out[i] = static_cast<float>((value + shift) - shift);
            }
        });
}

}  // namespace rankwright
