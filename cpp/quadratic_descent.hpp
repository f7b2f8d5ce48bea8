// Minimiser over d of  slope'd + d'Bd / 2 + a1 |w + d|_1  by coordinate descent: the direction of a
// proximal Newton method.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "parallel.hpp"

namespace rankwright {

// B is symmetric, its diagonal positive. Ends when a sweep has moved nothing by more than `enough`
// of what the first one did, in the metric of B, or after `most` sweeps.
inline void quadratic_descent(const double* B, const double* slope_at_w, const double* w,
                              std::size_t n, double a1, std::size_t most, double enough,
                              double* d) {
    const auto check = checkpoint.load();
    std::vector<double> slope(slope_at_w, slope_at_w + n);
    std::fill_n(d, n, 0.0);
    double first = 0;
    for (std::size_t sweep = 0; sweep < most; ++sweep) {
        if (check) check();
        double largest = 0;
        for (std::size_t j = 0; j < n; ++j) {
            const double* row = B + j * n;
            const double curvature = row[j], target = w[j] + d[j] - slope[j] / curvature;
            const double shrunk = std::max(std::abs(target) - a1 / curvature, 0.0);
            const double moved = std::copysign(shrunk, target) - w[j], change = moved - d[j];
            if (change == 0) continue;
            d[j] = moved;
            for (std::size_t i = 0; i < n; ++i) slope[i] += change * row[i];
            largest = std::max(largest, std::abs(change) * std::sqrt(curvature));
        }
        if (sweep == 0) first = largest;
        if (largest <= enough * first) return;
    }
}

}  // namespace rankwright
