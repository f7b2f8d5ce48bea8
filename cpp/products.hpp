// Xw and X'g, accumulated in float64 whatever the type of X.
//
// X is float32 to save memory bandwidth, which is what these products cost. Rounding w or the sums
// to float32 as well would cost the digits by which solvers know that they have converged.
// Rows are cut into parts whose number depends on the shape alone, and the parts' sums are added in
// order: every thread count gives the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "parallel.hpp"
#include "rows.hpp"

namespace rankwright {

inline constexpr std::size_t kPartRows = 2048;     // of Xw
inline constexpr std::size_t kPartSums = 1 << 20;  // all parts of X'g together hold about this many
// A part has at least so many entries of X for each of its sums, or clearing and adding them up
// would take a good part of the time.
inline constexpr std::size_t kPartEntries = 8;

// out[i k + c] = x_i . W_c + b_c for the rows from `begin` on; b may be null
inline void multiply_rows(const Rows& X, std::size_t begin, std::size_t end, const double* W,
                          std::size_t k, const double* b, double* out) {
    if (k == 1) {
        X.scores(begin, end, W, out);
        if (b) std::for_each(out, out + (end - begin), [more = *b](double& sum) { sum += more; });
        return;
    }
    constexpr std::size_t kBlock = 16;  // rows that stay in the cache for all W_c
    double scores[kBlock];
    for (; begin < end; begin += kBlock, out += kBlock * k) {
        const std::size_t n = std::min(kBlock, end - begin);
        for (std::size_t c = 0; c < k; ++c) {
            X.scores(begin, begin + n, W + c * X.n_features, scores);
            const double more = b ? b[c] : -0.0;  // which changes no bit
            for (std::size_t i = 0; i < n; ++i) out[i * k + c] = scores[i] + more;
        }
    }
}

// X W' + b, W with k rows, b with k entries or null: a score depends on its own row alone.
inline void multiply(const Rows& X, const double* W, std::size_t k, const double* b, double* out,
                     int threads) {
    if (X.n_rows <= kPartRows) return multiply_rows(X, 0, X.n_rows, W, k, b, out);
    const std::size_t n_parts = (X.n_rows + kPartRows - 1) / kPartRows;
    parallel_for(n_parts, threads, [&](std::size_t part) {
        const std::size_t begin = part * kPartRows, end = std::min(begin + kPartRows, X.n_rows);
        multiply_rows(X, begin, end, W, k, b, out + begin * k);
    });
}

// out = sum over rows of what add(begin, g, sums) adds to n_sums sums, for rows from `begin` on
// with a g for each.
template <class Add>
void sum_over_rows(const Rows& X, const double* g, std::size_t n_sums, double* out, int threads,
                   const Add& add) {
    const std::size_t n = std::max<std::size_t>(n_sums, 1);
    std::size_t n_parts = std::clamp<std::size_t>(kPartSums / n, 4, 64);
    n_parts = std::min({n_parts, X.n_rows / kPartRows + 1, X.n_entries() / (kPartEntries * n) + 1});
    const std::size_t n_more = (n_parts - 1) * n_sums;  // the first part sums into out
    const auto more = std::make_unique_for_overwrite<double[]>(n_more);
    parallel_for(n_parts, threads, [&](std::size_t part) {
        double* sums = part == 0 ? out : more.get() + (part - 1) * n_sums;
        std::fill_n(sums, n_sums, 0.0);
        const auto cut = [&](std::size_t p) { return p * X.n_rows / n_parts; };
        const std::size_t begin = cut(part);
        add(begin, std::span(g + begin, cut(part + 1) - begin), sums);
    });
    for (std::size_t k = 0; k < n_more; k += n_sums) {
        for (std::size_t j = 0; j < n_sums; ++j) out[j] += more[k + j];
    }
}

// Calls add(row, g, sums) for each row with a g that is not 0.
template <class Add>
auto row_by_row(const Add& add) {
    return [add](std::size_t begin, std::span<const double> g, double* sums) {
        for (std::size_t i = 0; i < g.size(); ++i) {
            if (g[i] != 0) add(begin + i, g[i], sums);
        }
    };
}

// X'g
inline void multiply_transposed(const Rows& X, const double* g, double* out, int threads) {
    const auto add = [&X](std::size_t begin, std::span<const double> c, double* sums) {
        X.add_rows(begin, c, sums);
    };
    sum_over_rows(X, g, X.n_features, out, threads, add);
}

// X'g and (X o X)'g, those of a feature side by side
inline void moments(const Rows& X, const double* g, double* out, int threads) {
    const auto add = [&X](std::size_t i, double c, double* sums) { X.add_moments(i, c, sums); };
    sum_over_rows(X, g, 2 * X.n_features, out, threads, row_by_row(add));
}

// X' diag(g) X
inline void gram(const Rows& X, const double* g, double* out, int threads) {
    const std::size_t d = X.n_features;
    const auto add = [&X](std::size_t i, double c, double* sums) { X.add_products(i, c, sums); };
    sum_over_rows(X, g, d * d, out, threads, row_by_row(add));
    for (std::size_t j = 0; j < d; ++j) {
        for (std::size_t k = 0; k < j; ++k) out[j * d + k] = out[k * d + j];
    }
}

// Sums over each group of g_i x_i: group k has the rows from rows[begin[k]] on.
inline void group_sums(const Rows& X, std::span<const std::int64_t> rows,
                       std::span<const std::int64_t> begin, const double* g, double* out,
                       int threads) {
    const std::size_t d = X.n_features;
    parallel_for(begin.size() - 1, threads, [&](std::size_t k) {
        std::fill_n(out + k * d, d, 0.0);
        for (auto i = begin[k]; i < begin[k + 1]; ++i) {
            const auto row = static_cast<std::size_t>(rows[i]);
            X.add(row, g[row], out + k * d);
        }
    });
}

}  // namespace rankwright
