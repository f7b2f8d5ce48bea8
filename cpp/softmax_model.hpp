// Softmax cross entropy as coordinate descent sees it: slopes along a weight, and moves of it.
//
// sum_q weight_q (log sum_i e^{s_i} - sum_i phi_i s_i), whose derivatives along x are means and
// variances of x under the softmax of each query.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "columns.hpp"
#include "descent_model.hpp"

namespace rankwright {

class SoftmaxModel {
    std::span<const std::int64_t> indptr_;
    std::span<const double> phi_, weights_;
    std::vector<double> sum_, largest_sum_, reference_;

  public:
    std::vector<std::int32_t> query;
    std::vector<double> scores, e;

    SoftmaxModel(std::span<const std::int64_t> indptr, std::span<const double> phi,
                 std::span<const double> weights)
        : indptr_(indptr), phi_(phi), weights_(weights), query(phi.size()), e(phi.size()) {
        const std::size_t n_queries = indptr.size() - 1;
        sum_.resize(n_queries);
        largest_sum_.resize(n_queries);
        reference_.resize(n_queries);
        for (std::size_t q = 0; q < n_queries; ++q) {
            std::fill(query.begin() + indptr[q], query.begin() + indptr[q + 1],
                      static_cast<std::int32_t>(q));
        }
    }

    void refresh(std::size_t q) {
        double highest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (auto i = indptr_[q]; i < indptr_[q + 1]; ++i) highest = std::max(highest, scores[i]);
        for (auto i = indptr_[q]; i < indptr_[q + 1]; ++i)
            sum += e[i] = std::exp(scores[i] - highest);
        reference_[q] = highest;
        sum_[q] = largest_sum_[q] = sum;
    }
    void refresh() {
        for (std::size_t q = 0; q + 1 < indptr_.size(); ++q) refresh(q);
    }

    std::size_t n_queries() const { return weights_.size(); }
    // Terms of a query whose curvature is bounded by range^2 / 4 each.
    double n_terms(std::size_t q) const { return weights_[q]; }
    std::size_t query_size(std::size_t q) const { return indptr_[q + 1] - indptr_[q]; }

    template <class Columns>
    Slope slope(const Columns& X, std::size_t r) const {
        Slope total;
        each_run(X, r, query, [&](std::size_t q, std::size_t begin, std::size_t end) {
            double first = 0, second = 0, target = 0;
            for (std::size_t i = begin; i < end; ++i) {
                const auto row = X.row(r, i);
                const double x = X.value(r, i), ex = e[row] * x;
                first += ex;
                second += ex * x;
                target += phi_[row] * x;
            }
            const double mean = first / sum_[q];
            total.gradient += weights_[q] * (mean - target);
            total.curvature += weights_[q] * std::max(second / sum_[q] - mean * mean, 0.0);
        });
        return total;
    }

    template <class Columns>
    void move(const Columns& X, std::size_t r, double step) {
        each_run(X, r, query, [&](std::size_t q, std::size_t begin, std::size_t end) {
            bool large = false;
            double change = 0;
            for (std::size_t i = begin; i < end; ++i) {
                const auto row = X.row(r, i);
                scores[row] += step * X.value(r, i);
                const double lead = scores[row] - reference_[q], grown = relative_exp(lead);
                change += grown - e[row];
                e[row] = grown;
                large |= lead > kRefreshLead;
            }
            sum_[q] += change;
            largest_sum_[q] = std::max(largest_sum_[q], sum_[q]);
            if (large || !(sum_[q] > kSmallestShare * largest_sum_[q])) refresh(q);
        });
    }
};

}  // namespace rankwright
