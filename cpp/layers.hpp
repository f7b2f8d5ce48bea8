// The documents of each query by increasing label: layers of equal labels.
//
// Layer l of a query dominates all layers below it. Losses that compare labels walk over the
// layers; the order is found once and serves every evaluation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "ranking.hpp"

namespace rankwright {

struct Layers {
    std::vector<std::int64_t> indptr;       // rows of each query
    std::vector<std::int64_t> rows;         // rows by query and increasing label, stable
    std::vector<std::int64_t> begin;        // where each layer begins in `rows`, and one end
    std::vector<std::int64_t> first_layer;  // of each query, and one end
    std::vector<double> labels;             // of each layer

    Layers(std::span<const double> y, std::span<const std::int64_t> offsets, int n_threads)
        : indptr(offsets.begin(), offsets.end()), rows(y.size()), first_layer(offsets.size(), 0) {
        const std::vector<std::size_t> cuts = cut_queries(indptr);
        parallel_for(cuts.size() - 1, n_threads, [&](std::size_t task) {
            for (std::size_t q = cuts[task]; q < cuts[task + 1]; ++q) {
                const auto first = rows.begin() + indptr[q], last = rows.begin() + indptr[q + 1];
                std::iota(first, last, indptr[q]);
                std::stable_sort(first, last, [&](auto a, auto b) { return y[a] < y[b]; });
                for (auto row = first; row != last; ++row) {
                    first_layer[q + 1] += row == first || y[*row] != y[row[-1]];
                }
            }
        });
        std::partial_sum(first_layer.begin(), first_layer.end(), first_layer.begin());
        begin.reserve(first_layer.back() + 1);
        labels.reserve(first_layer.back());
        for (std::size_t q = 0; q + 1 < indptr.size(); ++q) {
            for (auto i = indptr[q]; i < indptr[q + 1]; ++i) {
                if (i > indptr[q] && y[rows[i]] == y[rows[i - 1]]) continue;
                begin.push_back(i);
                labels.push_back(y[rows[i]]);
            }
        }
        begin.push_back(static_cast<std::int64_t>(y.size()));
    }

    std::size_t n_queries() const { return indptr.size() - 1; }
    std::span<const std::int64_t> rows_of(std::int64_t layer) const {
        return {rows.data() + begin[layer],
                static_cast<std::size_t>(begin[layer + 1] - begin[layer])};
    }
};

// Going up the layers, the places of the best score below, a running maximum, and what is pushed on
// them. Places that are tied share a push, so that the order of rows makes no difference.
class BestBelow {
    std::vector<std::int64_t> places_;  // in the order in which they came
    std::vector<double> shares_;        // shares_[t] falls on each of the places 0 .. t

  public:
    bool any() const { return !places_.empty(); }
    std::int64_t place() const { return places_.front(); }
    void see(std::int64_t i, const double* scores, double* pushed) {
        if (any() && scores[i] < scores[place()]) return;
        if (any() && scores[i] > scores[place()]) settle(pushed);
        places_.push_back(i);
        shares_.push_back(0);
    }
    void push(double amount) { shares_.back() += amount / static_cast<double>(places_.size()); }
    // Hands out all shares and forgets the places.
    void settle(double* pushed) {
        double share = 0;
        for (std::size_t t = places_.size(); t-- > 0;) {
            share += shares_[t];
            pushed[places_[t]] += share;
        }
        places_.clear();
        shares_.clear();
    }
};

// Calls loss(q) for every query and keeps the values; queries run in parallel and write disjoint
// rows.
template <class MakeLoss>
void each_query_loss(std::span<const std::int64_t> indptr, int n_threads, double* values,
                     const MakeLoss& make_loss) {
    const std::vector<std::size_t> cuts = cut_queries(indptr, 2048);
    parallel_for(cuts.size() - 1, n_threads, [&](std::size_t task) {
        auto loss = make_loss();
        for (std::size_t q = cuts[task]; q < cuts[task + 1]; ++q) values[q] = loss(q);
    });
}

}  // namespace rankwright
