// Widrow-Hoff on ranks 1..k: w += eta (y - w.x) x; the predicted rank is w.x, rounded and clipped.
//
// Ranks count from 0 in y and losses. With eta = 0 the step is 1/(2 R^2), R the length of the
// longest document so far.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "iterate.hpp"

namespace rankwright {

// The rank nearest to p in 1..k, counted from 0; halves go up.
inline double nearest_rank(double p, std::size_t k) {
    return std::clamp(std::floor(p + 0.5), 1.0, static_cast<double>(k)) - 1;
}

inline std::int64_t widrow_hoff(const Rows& rows, std::span<const std::int64_t> y, std::size_t k,
                                std::span<const std::int64_t> order, double eta,
                                double& squared_radius, Iterate& iterate, double* losses,
                                double* errors) {
    return each_round(order, iterate, kRowsBetweenChecks, [&](std::size_t t, std::size_t row) {
        const double p = rows.dot(row, iterate.w.data());
        if (!(std::abs(p) < 1e100)) throw std::overflow_error("Widrow-Hoff: the weights overflow");
        const double rank = static_cast<double>(y[row]);
        losses[t] = std::abs(nearest_rank(p, k) - rank);
        errors[t] = rank + 1 - p;
        double step = eta;
        if (eta == 0) {
            squared_radius = std::max(squared_radius, rows.squared_norm(row));
            step = squared_radius > 0 ? 0.5 / squared_radius : 0.0;
        }
        if (errors[t] == 0) return false;
        iterate.begin_update();
        iterate.add(rows, row, step * errors[t]);
        return true;
    });
}

}  // namespace rankwright
