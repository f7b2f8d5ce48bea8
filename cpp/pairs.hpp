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
// largest score on, and down from the smallest, so that what is beyond the margin leaves no trace
// in a sum.
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
    void add(std::size_t place, double score, double count) {
        for (; place < counts_.size(); place += place & (~place + 1)) {
            counts_[place] += count;
            sums_[place] += score;
        }
    }
    Total first(std::size_t n) const {  // of the first n places
        Total total;
        for (; n > 0; n -= n & (~n + 1)) {
            total.count += counts_[n];
            total.sum += sums_[n];
        }
        return total;
    }
    // Places count from the largest score going up, from the smallest going down; of equal scores
    // all have the last.
    std::size_t from_largest(double score) const {
        return sorted_.end() - std::lower_bound(sorted_.begin(), sorted_.end(), score);
    }
    std::size_t from_smallest(double score) const {
        return std::upper_bound(sorted_.begin(), sorted_.end(), score) - sorted_.begin();
    }
    // How many scores satisfy 1 + (s_j - s_i) > 0; its rounding decides alike in both directions.
    std::size_t n_close_below(double s_i) const {  // of the largest s_j
        return sorted_.end() -
               std::partition_point(sorted_.begin(), sorted_.end(),
                                    [=](double s_j) { return 1 + (s_j - s_i) <= 0; });
    }
    std::size_t n_close_above(double s_j) const {  // of the smallest s_i
        return std::partition_point(sorted_.begin(), sorted_.end(),
                                    [=](double s_i) { return 1 + (s_j - s_i) > 0; }) -
               sorted_.begin();
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
                const Total close = first(n_close_below(scores_[row]));
                const double n = close.count;
                value += weights_[row] * (n + (close.sum - n * scores_[row]));
                grad_[row] = -(weights_[row] * n);
            }
            for (const auto row : rows) add(from_largest(scores_[row]), scores_[row], 1.0);
        }
        clear();
        for (auto layer = last_layer; layer-- > first_layer;) {
            const auto rows = layers_.rows_of(layer);
            for (const auto row : rows) grad_[row] += first(n_close_above(scores_[row])).count;
            for (const auto row : rows) {
                add(from_smallest(scores_[row]), scores_[row], weights_[row]);
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
