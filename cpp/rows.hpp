// The rows of a feature matrix, as online learners see them: dense or CSR, float32 or float64.
//
// A row costs far more than a virtual call, so learners are written once, against this interface.
// Sums run in a fixed order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "wide.hpp"

namespace rankwright {

class Rows {
  public:
    const std::size_t n_rows, n_features;

    virtual ~Rows() = default;
    // x_row . w
    virtual double dot(std::size_t row, const double* w) const = 0;
    // w += c x_row
    virtual void add(std::size_t row, double c, double* w) const = 0;
    // w += sum_i c_i x_{begin + i}, one row after the other
    virtual void add_rows(std::size_t begin, std::span<const double> c, double* w) const {
        for (std::size_t i = 0; i < c.size(); ++i) {
            if (c[i] != 0) add(begin + i, c[i], w);
        }
    }
    virtual double squared_norm(std::size_t row) const = 0;
    // Several weights for each feature, those of one feature side by side:
    // t = sum_j x_j W_j, and W_j += c x_j g, with d entries each
    virtual void dots(std::size_t row, const double* W, std::size_t d, double* t) const = 0;
    virtual void add_outer(std::size_t row, double c, const double* g, std::size_t d,
                           double* W) const = 0;
    // The features that the row has, ascending; a dense row has all.
    virtual void features(std::size_t row, std::vector<std::size_t>& out) const = 0;
    virtual bool dense() const = 0;
    // |x_a - x_b|^2, from the differences: nothing cancels
    virtual double squared_distance(std::size_t a, std::size_t b) const = 0;
    // out[i] = x_{begin + i} . w
    virtual void scores(std::size_t begin, std::size_t end, const double* w, double* out) const {
        for (std::size_t row = begin; row < end; ++row) out[row - begin] = dot(row, w);
    }

  protected:
    Rows(std::size_t rows, std::size_t features) : n_rows(rows), n_features(features) {}
};

template <class Float>
class DenseRows final : public Rows {
    const Float* data_;

    // Independent partial sums let the compiler use vector registers without reordering anything.
    static constexpr std::size_t kLanes = 8;
    static constexpr std::size_t kRows = 4;  // at once: weights stay in registers

    const Float* row_of(std::size_t row) const { return data_ + row * n_features; }

    static RANKWRIGHT_INLINE double sum_of(const double* lane, double rest) {
        return ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
               ((lane[2] + lane[6]) + (lane[3] + lane[7])) + rest;
    }

    // x_i . w of N rows, each as if it were alone
    template <std::size_t N>
    RANKWRIGHT_INLINE void dot_rows(const Float* x, const double* w, double* out) const {
        const std::size_t n = n_features;
        double lane[N][kLanes] = {};
        std::size_t j = 0;
        for (; j + kLanes <= n; j += kLanes) {
            for (std::size_t i = 0; i < N; ++i) {
                for (std::size_t l = 0; l < kLanes; ++l) {
                    lane[i][l] += static_cast<double>(x[i * n + j + l]) * w[j + l];
                }
            }
        }
        for (std::size_t i = 0; i < N; ++i) {
            double rest = 0;
            for (std::size_t k = j; k < n; ++k) rest += static_cast<double>(x[i * n + k]) * w[k];
            out[i] = sum_of(lane[i], rest);
        }
    }

    // w += c_0 x_0, then c_1 x_1, ...
    template <std::size_t N>
    RANKWRIGHT_INLINE void add_to(double* w, const Float* const* x, const double* c) const {
        for (std::size_t j = 0; j < n_features; ++j) {
            double value = w[j];
            for (std::size_t i = 0; i < N; ++i) value += c[i] * static_cast<double>(x[i][j]);
            w[j] = value;
        }
    }

    template <class Term>
    double sum(const Term& term) const {
        double lane[kLanes] = {};
        std::size_t j = 0;
        for (; j + kLanes <= n_features; j += kLanes) {
            for (std::size_t l = 0; l < kLanes; ++l) lane[l] += term(j + l);
        }
        double rest = 0;
        for (; j < n_features; ++j) rest += term(j);
        return sum_of(lane, rest);
    }

    // N sums at a time stay in registers.
    template <std::size_t N>
    void dots_of(const Float* x, const double* W, std::size_t d, double* t) const {
        double sums[N] = {};
        for (std::size_t j = 0; j < n_features; ++j) {
            const double value = x[j];
            for (std::size_t k = 0; k < N; ++k) sums[k] += value * W[j * d + k];
        }
        std::copy_n(sums, N, t);
    }

  public:
    DenseRows(const Float* data, std::size_t n_rows, std::size_t n_features)
        : Rows(n_rows, n_features), data_(data) {}

    const Float* data() const { return data_; }

    double dot(std::size_t row, const double* w) const override {
        double result;
        wide([&]() RANKWRIGHT_INLINE { dot_rows<1>(row_of(row), w, &result); });
        return result;
    }
    void scores(std::size_t begin, std::size_t end, const double* w, double* out) const override {
        wide([&]() RANKWRIGHT_INLINE {
            const Float* x = data_ + begin * n_features;
            std::size_t left = end - begin;
            for (; left >= kRows; left -= kRows, x += kRows * n_features, out += kRows) {
                prefetch_behind(x, kRows * n_features * sizeof(Float));
                dot_rows<kRows>(x, w, out);
            }
            for (; left > 0; --left, x += n_features) dot_rows<1>(x, w, out++);
        });
    }
    void add(std::size_t row, double c, double* w) const override {
        const Float* x = row_of(row);
        wide([&]() RANKWRIGHT_INLINE { add_to<1>(w, &x, &c); });
    }
    void add_rows(std::size_t begin, std::span<const double> c, double* w) const override {
        wide([&]() RANKWRIGHT_INLINE {
            const Float* x[kRows];
            double some[kRows];
            std::size_t n = 0;
            for (std::size_t i = 0; i < c.size(); ++i) {
                if (c[i] == 0) continue;
                x[n] = row_of(begin + i);
                some[n] = c[i];
                if (++n < kRows) continue;
                add_to<kRows>(w, x, some);
                n = 0;
            }
            for (std::size_t i = 0; i < n; ++i) add_to<1>(w, x + i, some + i);
        });
    }
    double squared_norm(std::size_t row) const override {
        const Float* x = data_ + row * n_features;
        return sum([=](std::size_t j) {
            const double value = x[j];
            return value * value;
        });
    }
    void dots(std::size_t row, const double* W, std::size_t d, double* t) const override {
        const Float* x = data_ + row * n_features;
        std::size_t k = 0;
        for (; k + 8 <= d; k += 8) dots_of<8>(x, W + k, d, t + k);
        for (; k + 2 <= d; k += 2) dots_of<2>(x, W + k, d, t + k);
        if (k < d) dots_of<1>(x, W + k, d, t + k);
    }
    void add_outer(std::size_t row, double c, const double* g, std::size_t d,
                   double* W) const override {
        const Float* x = data_ + row * n_features;
        for (std::size_t k = 0; k < d; ++k) {  // often all but two are 0
            if (g[k] == 0) continue;
            const double step = c * g[k];
            for (std::size_t j = 0; j < n_features; ++j)
                W[j * d + k] += step * static_cast<double>(x[j]);
        }
    }
    void features(std::size_t, std::vector<std::size_t>& out) const override {
        out.resize(n_features);
        std::iota(out.begin(), out.end(), std::size_t(0));
    }
    bool dense() const override { return true; }
    double squared_distance(std::size_t a, std::size_t b) const override {
        const Float *x = data_ + a * n_features, *y = data_ + b * n_features;
        return sum([=](std::size_t j) {
            const double value = static_cast<double>(x[j]) - static_cast<double>(y[j]);
            return value * value;
        });
    }
};

template <class Float, class Index>
class SparseRows final : public Rows {
    const Float* data_;
    const Index *indices_, *indptr_;

  public:
    SparseRows(const Float* data, const Index* indices, const Index* indptr, std::size_t n_rows,
               std::size_t n_features)
        : Rows(n_rows, n_features), data_(data), indices_(indices), indptr_(indptr) {}

    // Calls use(feature, value) for what the row has.
    template <class Use>
    void each(std::size_t row, const Use& use) const {
        for (auto i = indptr_[row]; i < indptr_[row + 1]; ++i) {
            use(static_cast<std::size_t>(indices_[i]), data_[i]);
        }
    }

    double dot(std::size_t row, const double* w) const override {
        double sum = 0;
        for (auto i = indptr_[row]; i < indptr_[row + 1]; ++i) {
            sum += static_cast<double>(data_[i]) * w[indices_[i]];
        }
        return sum;
    }
    void add(std::size_t row, double c, double* w) const override {
        for (auto i = indptr_[row]; i < indptr_[row + 1]; ++i) {
            w[indices_[i]] += c * static_cast<double>(data_[i]);
        }
    }
    double squared_norm(std::size_t row) const override {
        double sum = 0;
        for (auto i = indptr_[row]; i < indptr_[row + 1]; ++i) {
            const double value = data_[i];
            sum += value * value;
        }
        return sum;
    }
    void dots(std::size_t row, const double* W, std::size_t d, double* t) const override {
        std::fill_n(t, d, 0.0);
        for (auto i = indptr_[row]; i < indptr_[row + 1]; ++i) {
            const double value = data_[i];
            const double* weights = W + static_cast<std::size_t>(indices_[i]) * d;
            for (std::size_t k = 0; k < d; ++k) t[k] += value * weights[k];
        }
    }
    void add_outer(std::size_t row, double c, const double* g, std::size_t d,
                   double* W) const override {
        for (auto i = indptr_[row]; i < indptr_[row + 1]; ++i) {
            const double step = c * static_cast<double>(data_[i]);
            double* weights = W + static_cast<std::size_t>(indices_[i]) * d;
            for (std::size_t k = 0; k < d; ++k) weights[k] += step * g[k];
        }
    }
    void features(std::size_t row, std::vector<std::size_t>& out) const override {
        out.assign(indices_ + indptr_[row], indices_ + indptr_[row + 1]);
    }
    bool dense() const override { return false; }
    // The columns of a row increase.
    double squared_distance(std::size_t a, std::size_t b) const override {
        double sum = 0;
        auto i = indptr_[a], j = indptr_[b];
        const auto i_end = indptr_[a + 1], j_end = indptr_[b + 1];
        while (i < i_end || j < j_end) {
            double value = 0;
            const bool left = j == j_end || (i < i_end && indices_[i] <= indices_[j]);
            const bool right = i == i_end || (j < j_end && indices_[j] <= indices_[i]);
            if (left) value += static_cast<double>(data_[i++]);
            if (right) value -= static_cast<double>(data_[j++]);
            sum += value * value;
        }
        return sum;
    }
};

}  // namespace rankwright
