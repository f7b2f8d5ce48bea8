// Xw and X'g, accumulated in float64 whatever the type of X.
//
// X is float32 to save memory bandwidth, which is what these products cost. Rounding w or the sums
// to float32 as well would cost the digits by which solvers know that they have converged.
// Rows are cut into parts whose number depends on the shape alone, and the parts' sums are added in
// order: every thread count gives the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "parallel.hpp"

namespace rankwright {

inline constexpr std::size_t kLanes = 8;           // independent sums, so that the loop vectorises
inline constexpr std::size_t kPartRows = 2048;     // of Xw
inline constexpr std::size_t kPartSums = 1 << 20;  // all parts of X'g together hold about this many

template <class Float>
struct DenseRows {
    const Float* values;
    std::size_t n_rows, n_features;

    double dot(std::size_t row, const double* w) const {
        const Float* x = values + row * n_features;
        std::array<double, kLanes> sums{};
        std::size_t j = 0;
        for (; j + kLanes <= n_features; j += kLanes) {
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                sums[lane] += static_cast<double>(x[j + lane]) * w[j + lane];
            }
        }
        double total = 0;
        for (; j < n_features; ++j) total += static_cast<double>(x[j]) * w[j];
        for (double sum : sums) total += sum;
        return total;
    }

    // sums += X[begin:end]' g[begin:end]
    void add(std::size_t begin, std::size_t end, const double* g, double* sums) const {
        for (std::size_t i = begin; i < end; ++i) {
            const Float* x = values + i * n_features;
            const double weight = g[i];
            if (weight == 0) continue;
            for (std::size_t j = 0; j < n_features; ++j) {
                sums[j] += weight * static_cast<double>(x[j]);
            }
        }
    }
};

template <class Float, class Index>
struct SparseRows {
    const Float* values;
    const Index *indices, *indptr;
    std::size_t n_rows, n_features;

    double dot(std::size_t row, const double* w) const {
        double total = 0;
        for (auto k = indptr[row]; k < indptr[row + 1]; ++k) {
            total += static_cast<double>(values[k]) * w[indices[k]];
        }
        return total;
    }

    void add(std::size_t begin, std::size_t end, const double* g, double* sums) const {
        for (std::size_t i = begin; i < end; ++i) {
            if (g[i] == 0) continue;
            for (auto k = indptr[i]; k < indptr[i + 1]; ++k) {
                sums[indices[k]] += g[i] * static_cast<double>(values[k]);
            }
        }
    }
};

template <class Rows>
void multiply(const Rows& X, const double* w, double* out, int threads) {
    const std::size_t n_parts = (X.n_rows + kPartRows - 1) / kPartRows;
    parallel_for(n_parts, threads, [&](std::size_t part) {
        const std::size_t end = std::min((part + 1) * kPartRows, X.n_rows);
        for (std::size_t i = part * kPartRows; i < end; ++i) out[i] = X.dot(i, w);
    });
}

template <class Rows>
void multiply_transposed(const Rows& X, const double* g, double* out, int threads) {
    const std::size_t d = X.n_features;
    const std::size_t most =
        std::clamp<std::size_t>(kPartSums / std::max<std::size_t>(d, 1), 4, 64);
    const std::size_t n_parts = std::min(most, X.n_rows / kPartRows + 1);
    std::vector<double> sums(n_parts * d);
    parallel_for(n_parts, threads, [&](std::size_t part) {
        const auto cut = [&](std::size_t p) { return p * X.n_rows / n_parts; };
        X.add(cut(part), cut(part + 1), g, sums.data() + part * d);
    });
    std::fill_n(out, d, 0.0);
    for (std::size_t part = 0; part < n_parts; ++part) {
        for (std::size_t j = 0; j < d; ++j) out[j] += sums[part * d + j];
    }
}

}  // namespace rankwright
