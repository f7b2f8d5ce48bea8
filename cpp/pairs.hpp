// Sums over the pairs of a query with y_i > y_j, each times the weight a_i: hinge and logistic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "domination.hpp"
#include "layers.hpp"

namespace rankwright {

// Number of pairs with different labels.
inline double count_pairs(const Layers& layers, std::size_t q) {
    double pairs = 0, below = 0;
    for (auto layer = layers.first_layer[q]; layer < layers.first_layer[q + 1]; ++layer) {
        const auto n = static_cast<double>(layers.rows_of(layer).size());
        pairs += n * below;
        below += n;
    }
    return pairs;
}

// sum over pairs of a_i max(0, 1 + s_j - s_i), in O(m log m): going up the layers, a Fenwick tree
// over the rank of the scores answers how many documents below have s_j > s_i - 1, and their sum;
// going down, what the weights of those above with s_i < s_j + 1 sum to. The tree sums from the
// largest score on, so that scores far below the margin leave no trace in a sum.
template <class Weights>
class RankHinge {
    const Layers& layers_;
    std::span<const double> scores_;
    Weights weights_;  // a, by row
    double* grad_;
    std::vector<double> sorted_, sums_, counts_;

    struct Total {
        double count = 0;  // whole, unless weights are counted
        double sum = 0;
    };
    void clear() {
        counts_.assign(sorted_.size() + 1, 0.0);
        sums_.assign(sorted_.size() + 1, 0.0);
    }
    void add(double score, double count) {
        std::size_t i = sorted_.end() - std::lower_bound(sorted_.begin(), sorted_.end(), score);
        for (; i < counts_.size(); i += i & (~i + 1)) {
            counts_[i] += count;
            sums_[i] += score;
        }
    }
    Total top(std::size_t n) const {  // of the n largest scores
        Total total;
        for (; n > 0; n -= n & (~n + 1)) {
            total.count += counts_[n];
            total.sum += sums_[n];
        }
        return total;
    }
    // How many of the largest scores satisfy the monotone condition; rounding of 1 + (s_j - s_i)
    // decides alike in both directions.
    std::size_t n_within_margin(double s_i) const {  // s_j with 1 + (s_j - s_i) > 0
        return sorted_.end() -
               std::partition_point(sorted_.begin(), sorted_.end(),
                                    [=](double s_j) { return 1 + (s_j - s_i) <= 0; });
    }
    std::size_t n_beyond_margin(double s_j) const {  // s_i with 1 + (s_j - s_i) <= 0
        return sorted_.end() -
               std::partition_point(sorted_.begin(), sorted_.end(),
                                    [=](double s_i) { return 1 + (s_j - s_i) > 0; });
    }

  public:
    RankHinge(const Layers& layers, std::span<const double> scores, Weights weights, double* grad)
        : layers_(layers), scores_(scores), weights_(weights), grad_(grad) {}

    double operator()(std::size_t q) {
        const auto first_layer = layers_.first_layer[q], last_layer = layers_.first_layer[q + 1];
        sorted_.assign(scores_.begin() + layers_.indptr[q],
                       scores_.begin() + layers_.indptr[q + 1]);
        std::sort(sorted_.begin(), sorted_.end());
        double value = 0;
        clear();
        for (auto layer = first_layer; layer < last_layer; ++layer) {
            const auto rows = layers_.rows_of(layer);
            for (const auto row : rows) {
                const Total close = top(n_within_margin(scores_[row]));
                const double n = close.count;
                value += weights_[row] * (n + (close.sum - n * scores_[row]));
                grad_[row] = -(weights_[row] * n);
            }
            for (const auto row : rows) add(scores_[row], 1.0);
        }
        clear();
        double above = 0;
        for (auto layer = last_layer; layer-- > first_layer;) {
            const auto rows = layers_.rows_of(layer);
            for (const auto row : rows) {
                grad_[row] += above - top(n_beyond_margin(scores_[row])).count;
            }
            for (const auto row : rows) {
                add(scores_[row], weights_[row]);
                above += weights_[row];
            }
        }
        return value;
    }
};

// sum over pairs of a_i log(1 + e^{s_j - s_i}); one term a pair.
template <class Weights>
double rank_logistic(const Layers& layers, std::size_t q, std::span<const double> scores,
                     Weights weights, double* grad) {
    double value = 0;
    for (auto row = layers.indptr[q]; row < layers.indptr[q + 1]; ++row) grad[row] = 0;
    const auto first = layers.begin[layers.first_layer[q]];
    for (auto layer = layers.first_layer[q] + 1; layer < layers.first_layer[q + 1]; ++layer) {
        const std::span<const std::int64_t> below(layers.rows.data() + first,
                                                  layers.rows.data() + layers.begin[layer]);
        for (const auto i : layers.rows_of(layer)) {
            double pull = 0;
            for (const auto j : below) {
                const Softplus term(scores[j] - scores[i]);
                const double slope = weights[i] * term.slope;
                value += weights[i] * term.value;
                grad[j] += slope;
                pull += slope;
            }
            grad[i] -= pull;
        }
    }
    return value;
}

}  // namespace rankwright
