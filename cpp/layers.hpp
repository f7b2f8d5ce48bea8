// The documents of each query by increasing label: layers of equal labels.
//
// Layer l of a query dominates all layers below it. Losses that compare labels walk over the
// layers; the order is found once and serves every evaluation.
#pragma once

#include <algorithm>
#include <array>
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
            Grades grades;
            for (std::size_t q = cuts[task]; q < cuts[task + 1]; ++q) {
                first_layer[q + 1] = sort_rows(y, indptr[q], indptr[q + 1], grades);
            }
        });
        std::partial_sum(first_layer.begin(), first_layer.end(), first_layer.begin());
        begin.reserve(first_layer.back() + 1);
        labels.reserve(first_layer.back());
        for (std::size_t q = 0; q + 1 < indptr.size(); ++q) {
            const auto last = rows.begin() + indptr[q + 1];
            for (auto row = rows.begin() + indptr[q]; row != last;) {
                begin.push_back(row - rows.begin());
                labels.push_back(y[*row]);
                row =
                    std::upper_bound(row, last, *row, [&](auto a, auto b) { return y[a] < y[b]; });
            }
        }
        begin.push_back(static_cast<std::int64_t>(y.size()));
    }

  private:
    // Labels are mostly a few grades: counted, then dealt out.
    struct Grades {
        static constexpr std::size_t kMost = 16;
        std::array<double, kMost> label;  // increasing
        std::array<std::int64_t, kMost> count;
        std::size_t n = 0;

        // Where the label is among those so far, or would be.
        std::size_t place(double y) const {
            std::size_t at = 0;  // counted, not searched: labels are hard to predict
            for (std::size_t g = 0; g < n; ++g) at += label[g] < y;
            return at;
        }
        // Counts a label; false if there is no room for it.
        bool see(double y) {
            const std::size_t at = place(y);
            if (at == n || label[at] != y) {
                if (n == kMost) return false;
                std::copy_backward(label.begin() + at, label.begin() + n, label.begin() + n + 1);
                std::copy_backward(count.begin() + at, count.begin() + n, count.begin() + n + 1);
                label[at] = y;
                count[at] = 0;
                ++n;
            }
            ++count[at];
            return true;
        }
    };

    // Sorts the rows from `first` to `last` by label, stably; returns the number of layers.
    std::int64_t sort_rows(std::span<const double> y, std::int64_t first, std::int64_t last,
                           Grades& grades) {
        grades.n = 0;
        for (auto row = first; row < last; ++row) {
            if (!grades.see(y[row])) return sort_any(y, first, last);
        }
        std::array<std::int64_t, Grades::kMost> next;
        std::exclusive_scan(grades.count.begin(), grades.count.begin() + grades.n, next.begin(),
                            first);
        for (auto row = first; row < last; ++row) rows[next[grades.place(y[row])]++] = row;
        return static_cast<std::int64_t>(grades.n);
    }

    std::int64_t sort_any(std::span<const double> y, std::int64_t first, std::int64_t last) {
        const auto begin_row = rows.begin() + first, end_row = rows.begin() + last;
        std::iota(begin_row, end_row, first);
        std::stable_sort(begin_row, end_row, [&](auto a, auto b) { return y[a] < y[b]; });
        std::int64_t n = first < last;
        for (auto row = begin_row; row + 1 < end_row; ++row) n += y[row[0]] != y[row[1]];
        return n;
    }

  public:
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
