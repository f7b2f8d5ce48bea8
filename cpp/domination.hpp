// Domination loss: sum over layers k and documents i in them of a_i log(1 + Z_k e^{-m_i}), where m
// = s - shift, a are the weights of the documents, and Z_k = sum over layers l < k of e^{Delta(k,
// l)} S_l with S_l the sum of e^{m_j} over layer l.
//
// With pi_i = a_i sigma(log Z_k - m_i) and P_k its sum over layer k, the gradient is
//     dL/dm_d = e^{m_d} sum_{k > l(d)} e^{Delta(k, l(d))} P_k / Z_k  -  pi_d.
// With a plus in the place of the minus it is a curvature for trees: every softmax and sigma in the
// sums has a second derivative of at most its value, p(1 - p) <= p.
// A constant Delta is left out of log Z_k below and added where it is used; in P_k / Z_k it
// cancels. Sums are kept as logarithms per layer; e^{m_d} / Z_k <= 1 wherever it is used, so
// nothing overflows. Without margins between pairs of layers, both sums over layers are running
// ones: O(m) per query; with them O(m + K^2).
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "layers.hpp"

namespace rankwright {

inline constexpr double kLogZero = -std::numeric_limits<double>::infinity();

inline double log_add(double a, double b) {
    const double high = std::max(a, b), low = std::min(a, b);
    return low == kLogZero ? high : high + std::log1p(std::exp(low - high));
}

// log(1 + e^x) and sigma(x), from one exponential.
struct Softplus {
    double value, slope;
    explicit Softplus(double x) {
        const double e = std::exp(-std::abs(x));
        value = std::max(x, 0.0) + std::log1p(e);
        slope = (x >= 0 ? 1.0 : e) / (1 + e);
    }
};

// Margins between layers: one constant, or a `matrix` by levels of their labels.
struct LayerMargins {
    double constant = 0;
    std::span<const double> matrix;
    std::size_t n_levels = 0;
    std::span<const std::int64_t> level;  // of each layer

    bool by_pair() const { return !matrix.empty(); }
    double operator()(std::int64_t upper, std::int64_t lower) const {
        return matrix[level[upper] * n_levels + level[lower]];
    }
};

template <class Weights>
class DominationLoss {
    const Layers& layers_;
    std::span<const double> margins_;  // m, by row
    LayerMargins between_;
    Weights weights_;  // a, by row
    double* grad_;
    double* hess_ = nullptr;                        // unless asked for
    std::vector<double> log_sum_, log_z_, pushes_;  // by layer of the query

    double log_sum_of(std::span<const std::int64_t> rows) const {
        double highest = kLogZero, sum = 0;
        for (const auto row : rows) highest = std::max(highest, margins_[row]);
        for (const auto row : rows) sum += std::exp(margins_[row] - highest);
        return highest + std::log(sum);
    }

  public:
    DominationLoss(const Layers& layers, std::span<const double> margins, LayerMargins between,
                   Weights weights, double* grad)
        : layers_(layers), margins_(margins), between_(between), weights_(weights), grad_(grad) {}

    void write_curvatures(double* hess) { hess_ = hess; }

    double operator()(std::size_t q) {
        const auto first = layers_.first_layer[q], last = layers_.first_layer[q + 1];
        const auto n_layers = static_cast<std::size_t>(last - first);
        log_sum_.assign(n_layers, 0.0);
        log_z_.assign(n_layers, kLogZero);
        pushes_.assign(n_layers, 0.0);
        double value = 0;
        for (std::size_t k = 0; k < n_layers; ++k) {
            const auto rows = layers_.rows_of(first + k);
            log_sum_[k] = log_sum_of(rows);
            if (k == 0) {
                for (const auto row : rows) {
                    grad_[row] = 0;
                    if (hess_) hess_[row] = 0;
                }
                continue;
            }
            if (between_.by_pair()) {
                for (std::size_t l = 0; l < k; ++l) {
                    log_z_[k] = log_add(log_z_[k], between_(first + k, first + l) + log_sum_[l]);
                }
            } else {
                log_z_[k] = log_add(log_z_[k - 1], log_sum_[k - 1]);
            }
            for (const auto row : rows) {
                const Softplus term(between_.constant + log_z_[k] - margins_[row]);
                const double slope = weights_[row] * term.slope;
                value += weights_[row] * term.value;
                grad_[row] = -slope;
                if (hess_) hess_[row] = slope;
                pushes_[k] += slope;
            }
        }
        push_down(first, n_layers);
        return value;
    }

  private:
    // Adds e^{m_d} A_l, log A_l = log sum_{k > l} e^{Delta(k, l)} P_k / Z_k.
    void push_down(std::int64_t first, std::size_t n_layers) {
        double log_a = kLogZero;
        for (std::size_t l = n_layers; l-- > 0;) {
            if (between_.by_pair()) {
                log_a = kLogZero;
                for (std::size_t k = l + 1; k < n_layers; ++k) {
                    log_a = log_add(
                        log_a, between_(first + k, first + l) + std::log(pushes_[k]) - log_z_[k]);
                }
            } else if (l + 1 < n_layers) {
                log_a = log_add(log_a, std::log(pushes_[l + 1]) - log_z_[l + 1]);
            }
            if (log_a == kLogZero) continue;
            for (const auto row : layers_.rows_of(first + l)) {
                const double push = std::exp(margins_[row] + log_a);
                grad_[row] += push;
                if (hess_) hess_[row] += push;
            }
        }
    }
};

}  // namespace rankwright
