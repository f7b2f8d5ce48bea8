// PRank: one direction w and ordered thresholds b_1 <= ... <= b_{k-1}, b_k = infinity.
//
// Document x has rank min{r : w.x - b_r < 0}. After a wrong rank, with y_r = -1 if y <= r else +1,
//   tau_r = y_r if (w.x - b_r) y_r <= 0 else 0,    w += (sum_r tau_r) x,    b_r -= tau_r.
// Ranks count from 0 here. The weights of an Iterate are w and then b / step: thresholds are
// counted in steps, so that their distances are whole numbers whatever the step. Thresholds that
// start equal and move by whole steps stay ordered (Lemma 1); the kernel makes sure of it.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "iterate.hpp"

namespace rankwright {

// The update for one document of rank y with score s: writes tau, returns the predicted rank.
inline std::int64_t prank_step(double s, std::int64_t y, std::span<const double> b,
                               std::int8_t* tau) {
    const auto n = static_cast<std::int64_t>(b.size());
    std::int64_t predicted = 0;
    while (predicted < n && s - b[predicted] >= 0) ++predicted;
    for (std::int64_t r = 0; r < n; ++r) {
        const double side = y <= r ? -1 : 1;
        tau[r] = predicted != y && (s - b[r]) * side <= 0 ? static_cast<std::int8_t>(side) : 0;
    }
    return predicted;
}

// Rounds over the rows in `order`. Writes each round's loss |predicted - y| and its tau.
inline std::int64_t prank(const Rows& rows, std::span<const std::int64_t> y,
                          std::span<const std::int64_t> order, double step, Iterate& iterate,
                          double* losses, std::int8_t* taus) {
    const std::size_t d = rows.n_features, n = iterate.w.size() - d;
    const std::span<const double> b = iterate.w.subspan(d);
    return each_round(order, iterate, kRowsBetweenChecks, [&](std::size_t t, std::size_t row) {
        std::int8_t* tau = taus + t * n;
        const auto predicted = prank_step(rows.dot(row, iterate.w.data()) / step, y[row], b, tau);
        losses[t] =
            static_cast<double>(predicted > y[row] ? predicted - y[row] : y[row] - predicted);
        if (predicted == y[row]) return false;
        iterate.begin_update();
        double sum = 0;
        for (std::size_t r = 0; r < n; ++r) {
            if (tau[r] == 0) continue;
            sum += tau[r];
            iterate.add_to(d + r, -static_cast<double>(tau[r]));
        }
        if (sum != 0) iterate.add(rows, row, sum);
        for (std::size_t r = 1; r < n; ++r) {
            if (b[r] < b[r - 1]) throw std::logic_error("PRank: the thresholds are out of order");
        }
        return true;
    });
}

}  // namespace rankwright
