// Weights behind a link: W = (grad psi)^-1(Theta), where updates are made to Theta.
//
//     psi = |W|_r^2 / 2 over entries, columns' lengths or singular values, q = r / (r - 1):
//     W = V |Theta|_q^{2 - q},  V = the same map with exponent q - 1 and no factor.
//
// An update touches the features of one example only; V is refreshed there, and the factor comes
// from a running sum of q-th powers. Weights are stored by feature: the d entries of feature j
// (a column of W) lie together. For singular values only (Theta Theta^T)^{(q-2)/2}, d x d, is kept.
// With an intercept there is a last feature that is 1 in every row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "rows.hpp"

namespace rankwright {

enum class Norm { l2, entries, columns, singular };

// Eigenvalues and, by columns of `vectors`, eigenvectors of a symmetric matrix, which is destroyed;
// cyclic Jacobi rotations.
inline void eigen(std::vector<double>& a, std::size_t n, std::vector<double>& vectors) {
    vectors.assign(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
    for (int sweep = 0; sweep < 60; ++sweep) {
        double off = 0, diagonal = 0;
        for (std::size_t i = 0; i < n; ++i) {
            diagonal += a[i * n + i] * a[i * n + i];
            for (std::size_t j = 0; j < i; ++j) off += a[i * n + j] * a[i * n + j];
        }
        if (off <= 1e-30 * diagonal) return;
        for (std::size_t p = 0; p + 1 < n; ++p) {
            for (std::size_t q = p + 1; q < n; ++q) {
                const double apq = a[p * n + q];
                if (apq == 0) continue;
                const double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
                const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::hypot(theta, 1.0));
                const double c = 1 / std::hypot(t, 1.0), s = t * c;
                const auto rotate = [&](double& x, double& y) {
                    const double old = x;
                    x = c * old - s * y;
                    y = s * old + c * y;
                };
                for (std::size_t k = 0; k < n; ++k) rotate(a[k * n + p], a[k * n + q]);
                for (std::size_t k = 0; k < n; ++k) rotate(a[p * n + k], a[q * n + k]);
                for (std::size_t k = 0; k < n; ++k) rotate(vectors[k * n + p], vectors[k * n + q]);
            }
        }
    }
}

class LinkedWeights {
    const Norm norm_;
    const double q_;
    const std::size_t n_features_, d_;
    const bool intercept_;
    double* theta_;                    // p x d, the caller's
    std::vector<double> v_;            // p x d; empty for l2 and singular values
    std::vector<double> power_;        // q-th power of each entry or column length
    std::vector<double> gram_, root_;  // Theta Theta^T and its power (q - 2)/2
    double sum_ = 0, factor_ = 1;
    std::size_t age_ = 0;  // updates since the sum was last taken afresh
    std::vector<std::size_t> touched_;

    bool plain() const { return norm_ == Norm::l2 || q_ == 2; }
    bool singular() const { return norm_ == Norm::singular && !plain(); }
    std::size_t width() const { return norm_ == Norm::columns ? d_ : 1; }  // entries of one power

    void set_factor() { factor_ = sum_ > 0 ? std::pow(sum_, (2 - q_) / q_) : 0; }

    void refresh(std::size_t block) {  // an entry or a column
        const std::size_t w = width();
        const double* theta = theta_ + block * w;
        double length;
        if (w == 1) {
            length = std::abs(theta[0]);
        } else {
            double squares = 0;
            for (std::size_t k = 0; k < w; ++k) squares += theta[k] * theta[k];
            length = std::sqrt(squares);
        }
        const double ratio = length > 0 ? std::pow(length, q_ - 2) : 0;
        for (std::size_t k = 0; k < w; ++k) v_[block * w + k] = theta[k] * ratio;
        const double power = ratio * length * length;
        sum_ += power - power_[block];
        power_[block] = power;
    }

    void refresh_feature(std::size_t j) {
        if (width() == d_) return refresh(j);
        for (std::size_t k = 0; k < d_; ++k) refresh(j * d_ + k);
    }

    void multiply(const Rows& rows, std::size_t row, const double* W, double* t) const {
        if (d_ == 1) {
            t[0] = rows.dot(row, W);
        } else {
            rows.dots(row, W, d_, t);
        }
        if (!intercept_) return;
        const double* last = W + (n_features_ - 1) * d_;
        for (std::size_t k = 0; k < d_; ++k) t[k] += last[k];
    }

    // The Gram matrix of Theta - eta g x^T, from that of Theta.
    void update_gram(const Rows& rows, std::size_t row, const double* g, double eta) {
        std::vector<double> before(d_);
        multiply(rows, row, theta_, before.data());
        const double square = eta * eta * (rows.squared_norm(row) + intercept_);
        for (std::size_t a = 0; a < d_; ++a) {
            for (std::size_t b = 0; b < d_; ++b) {
                gram_[a * d_ + b] +=
                    square * g[a] * g[b] - eta * (g[a] * before[b] + before[a] * g[b]);
            }
        }
    }

    void refresh_singular() {
        std::vector<double> a = gram_, vectors;
        eigen(a, d_, vectors);
        sum_ = 0;
        std::vector<double> values(d_);
        for (std::size_t k = 0; k < d_; ++k) {
            const double square = std::max(0.0, a[k * d_ + k]);
            values[k] = square > 0 ? std::pow(square, (q_ - 2) / 2) : 0;
            sum_ += values[k] * square;
        }
        std::fill(root_.begin(), root_.end(), 0.0);
        for (std::size_t i = 0; i < d_; ++i) {
            for (std::size_t k = 0; k < d_; ++k) {
                const double scaled = vectors[i * d_ + k] * values[k];
                for (std::size_t j = 0; j < d_; ++j)
                    root_[i * d_ + j] += scaled * vectors[j * d_ + k];
            }
        }
    }

  public:
    // n_features counts the intercept.
    LinkedWeights(Norm norm, double q, double* theta, std::size_t n_features, std::size_t d,
                  bool intercept)
        : norm_(norm), q_(q), n_features_(n_features), d_(d), intercept_(intercept), theta_(theta) {
        if (plain()) return;
        if (singular()) {
            gram_.resize(d * d);
            root_.resize(d * d);
        } else {
            v_.assign(n_features * d, 0.0);
            power_.assign(n_features * d / width(), 0.0);
        }
        renew();
    }

    std::size_t d() const { return d_; }
    std::size_t n_features() const { return n_features_; }

    // Everything afresh from Theta: running sums drift.
    void renew() {
        age_ = 0;
        if (plain()) return;
        if (singular()) {
            std::fill(gram_.begin(), gram_.end(), 0.0);
            for (std::size_t j = 0; j < n_features_; ++j) {
                const double* column = theta_ + j * d_;
                for (std::size_t a = 0; a < d_; ++a) {
                    if (column[a] == 0) continue;
                    for (std::size_t b = 0; b < d_; ++b) gram_[a * d_ + b] += column[a] * column[b];
                }
            }
            refresh_singular();
        } else {
            for (std::size_t block = 0; block < power_.size(); ++block) refresh(block);
            sum_ = std::accumulate(power_.begin(), power_.end(), 0.0);
        }
        set_factor();
    }

    // t = W x; scratch has d entries.
    void scores(const Rows& rows, std::size_t row, double* t, double* scratch) const {
        multiply(rows, row, plain() || singular() ? theta_ : v_.data(), t);
        if (plain()) return;
        if (singular()) {
            std::copy_n(t, d_, scratch);
            for (std::size_t i = 0; i < d_; ++i) {
                t[i] = std::inner_product(scratch, scratch + d_, root_.data() + i * d_, 0.0);
            }
        }
        for (std::size_t k = 0; k < d_; ++k) t[k] *= factor_;
    }

    // Theta <- Theta - eta sum_i g_i x_i^T over the rows from `first` on; g has d entries for each.
    void update(const Rows& rows, std::size_t first, std::size_t n, const double* g, double eta) {
        for (std::size_t i = 0; i < n; ++i) {
            const double* gi = g + i * d_;
            if (is_zero(gi)) continue;
            if (singular()) update_gram(rows, first + i, gi, eta);
            add(rows, first + i, -eta, gi, theta_);
        }
        if (plain()) return;
        if (++age_ >= 1000) return renew();
        if (singular()) {
            refresh_singular();
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                rows.features(first + i, touched_);
                for (const std::size_t j : touched_) refresh_feature(j);
                if (rows.dense()) break;  // one row has touched every feature
            }
            if (intercept_) refresh_feature(n_features_ - 1);
            if (!(sum_ > 0)) return renew();
        }
        set_factor();
    }

    // W += c g x^T, for the weights or a sum of them.
    void add(const Rows& rows, std::size_t row, double c, const double* g, double* W) const {
        if (d_ == 1) {
            rows.add(row, c * g[0], W);
        } else {
            rows.add_outer(row, c, g, d_, W);
        }
        if (!intercept_) return;
        double* last = W + (n_features_ - 1) * d_;
        for (std::size_t k = 0; k < d_; ++k) last[k] += c * g[k];
    }
    bool is_zero(const double* g) const {
        return std::all_of(g, g + d_, [](double value) { return value == 0; });
    }

    // W, by feature.
    void write(double* W) const {
        if (plain()) {
            std::copy_n(theta_, n_features_ * d_, W);
        } else if (singular()) {
            for (std::size_t j = 0; j < n_features_; ++j) {
                for (std::size_t i = 0; i < d_; ++i) {
                    W[j * d_ + i] = factor_ * std::inner_product(root_.data() + i * d_,
                                                                 root_.data() + (i + 1) * d_,
                                                                 theta_ + j * d_, 0.0);
                }
            }
        } else {
            for (std::size_t i = 0; i < v_.size(); ++i) W[i] = factor_ * v_[i];
        }
    }
    bool is_plain() const { return plain(); }
    bool has_intercept() const { return intercept_; }
};

}  // namespace rankwright
