// The weights w of an online learner and, if asked for, their mean over the rounds.
//
// With w_t the weights after round t and T rounds so far,
//   averaged:  (1/T) sum_t w_t          = w - sum/T,        sum = sum_t (t - 1) (w_t - w_{t-1}),
//   voted:     (1/T) sum_t w_t/|w_t|    = (sum + (T + 1 - since) w/|w|)/T,
// where `since` is the round that made w. The first form costs an update only its own entries.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "parallel.hpp"
#include "rows.hpp"

namespace rankwright {

enum class Mean { none, averaged, voted };

struct Iterate {
    std::span<double> w, sum;  // sum is not used without a mean
    Mean mean = Mean::none;
    std::int64_t round = 0;  // rounds so far; the current one counts
    std::int64_t since = 0;

    // Before the adds of a round that updates.
    void begin_update() {
        if (mean == Mean::voted) {
            double square = 0;
            for (const double value : w) square += value * value;
            if (square > 0) {
                const double weight = static_cast<double>(round - since) / std::sqrt(square);
                for (std::size_t j = 0; j < w.size(); ++j) sum[j] += weight * w[j];
            }
        }
        since = round;
    }
    // w += c x_row, from the entry `first` on: learners may have several vectors in a row.
    void add(const Rows& rows, std::size_t row, double c, std::size_t first = 0) {
        rows.add(row, c, w.data() + first);
        if (mean == Mean::averaged) {
            rows.add(row, c * static_cast<double>(round - 1), sum.data() + first);
        }
    }
    // w += sum_i c_i x_{begin + i}; c is overwritten
    void add_rows(const Rows& rows, std::size_t begin, std::span<double> c) {
        rows.add_rows(begin, c, w.data());
        if (mean != Mean::averaged) return;
        for (double& value : c) value *= static_cast<double>(round - 1);
        rows.add_rows(begin, c, sum.data());
    }
    // w_j += c
    void add_to(std::size_t j, double c) {
        w[j] += c;
        if (mean == Mean::averaged) sum[j] += c * static_cast<double>(round - 1);
    }
};

inline constexpr std::size_t kRowsBetweenChecks = 64;  // for Ctrl-C

// Calls f(t, what) for each round, with what is next in `order`; f says whether it was an update.
// Returns the number of updates.
template <class F>
std::int64_t each_round(std::span<const std::int64_t> order, Iterate& iterate,
                        std::size_t rounds_between_checks, const F& f) {
    std::int64_t n_updates = 0;
    for (std::size_t t = 0; t < order.size(); ++t) {
        if (t % rounds_between_checks == 0) {
            if (const auto check = checkpoint.load()) check();
        }
        ++iterate.round;
        n_updates += f(t, static_cast<std::size_t>(order[t]));
    }
    return n_updates;
}

}  // namespace rankwright
