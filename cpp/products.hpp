// Xw and X'g, accumulated in float64 whatever the type of X.
//
// X is float32 to save memory bandwidth, which is what these products cost. Rounding w or the sums
// to float32 as well would cost the digits by which solvers know that they have converged.
// Rows are cut into parts whose number depends on the shape alone, and the parts' sums are added in
// order: every thread count gives the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"

namespace rankwright {

inline constexpr std::size_t kPartRows = 2048;     // of Xw
inline constexpr std::size_t kPartSums = 1 << 20;  // all parts of X'g together hold about this many

// out[i k + c] = x_i . W_c for the rows from `begin` on
inline void multiply_rows(const Rows& X, std::size_t begin, std::size_t end, const double* W,
                          std::size_t k, double* out) {
    if (k == 1) return X.scores(begin, end, W, out);
    constexpr std::size_t kBlock = 16;  // rows that stay in the cache for all W_c
    double scores[kBlock];
    for (; begin < end; begin += kBlock, out += kBlock * k) {
        const std::size_t n = std::min(kBlock, end - begin);
        for (std::size_t c = 0; c < k; ++c) {
            X.scores(begin, begin + n, W + c * X.n_features, scores);
            for (std::size_t i = 0; i < n; ++i) out[i * k + c] = scores[i];
        }
    }
}

// X W', W with k rows: a score depends on its own row alone.
inline void multiply(const Rows& X, const double* W, std::size_t k, double* out, int threads) {
    if (X.n_rows <= kPartRows) return multiply_rows(X, 0, X.n_rows, W, k, out);
    const std::size_t n_parts = (X.n_rows + kPartRows - 1) / kPartRows;
    parallel_for(n_parts, threads, [&](std::size_t part) {
        const std::size_t begin = part * kPartRows, end = std::min(begin + kPartRows, X.n_rows);
        multiply_rows(X, begin, end, W, k, out + begin * k);
    });
}

inline void multiply_transposed(const Rows& X, const double* g, double* out, int threads) {
    const std::size_t d = X.n_features;
    const std::size_t most =
        std::clamp<std::size_t>(kPartSums / std::max<std::size_t>(d, 1), 4, 64);
    const std::size_t n_parts = std::min(most, X.n_rows / kPartRows + 1);
    std::vector<double> sums(n_parts * d);
    parallel_for(n_parts, threads, [&](std::size_t part) {
        const auto cut = [&](std::size_t p) { return p * X.n_rows / n_parts; };
        const std::size_t begin = cut(part);
        X.add_rows(begin, {g + begin, cut(part + 1) - begin}, sums.data() + part * d);
    });
    std::fill_n(out, d, 0.0);
    for (std::size_t part = 0; part < n_parts; ++part) {
        for (std::size_t j = 0; j < d; ++j) out[j] += sums[part * d + j];
    }
}

}  // namespace rankwright
