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
    // w_j += c
    void add_to(std::size_t j, double c) {
        w[j] += c;
        if (mean == Mean::averaged) sum[j] += c * static_cast<double>(round - 1);
    }
};

}  // namespace rankwright
