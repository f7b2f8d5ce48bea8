// The multiclass perceptron: one prototype w_r for each label; the best score predicts.
//
// If a wrong label r scores at least as much as the right one y: w_y += x, and "uniform": w_r -= x
// over the number of such labels, for all of them; "max": w_r -= x for the best of them. The
// weights of an Iterate are the prototypes one after the other.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "iterate.hpp"

namespace rankwright {

// The update for one document of label y: writes the coefficients of x, returns the prediction.
inline std::int64_t multiclass_step(std::span<const double> scores, std::int64_t y, bool uniform,
                                    double* coef) {
    std::int64_t best = 0, other = y == 0 ? 1 : 0, n_errors = 0;
    const auto k = static_cast<std::int64_t>(scores.size());
    for (std::int64_t r = 0; r < k; ++r) {
        coef[r] = 0;
        if (scores[r] > scores[best]) best = r;
        if (r == y) continue;
        n_errors += scores[r] >= scores[y];
        if (scores[r] > scores[other]) other = r;
    }
    if (n_errors > 0) {
        coef[y] = 1;
        for (std::int64_t r = 0; r < k; ++r) {
            if (r == y || !(scores[r] >= scores[y])) continue;
            if (uniform) coef[r] = -1 / static_cast<double>(n_errors);
            if (!uniform && r == other) coef[r] = -1;
        }
    }
    return best;
}

inline std::int64_t multiclass_perceptron(const Rows& rows, std::span<const std::int64_t> y,
                                          std::size_t k, std::span<const std::int64_t> order,
                                          bool uniform, Iterate& iterate, double* losses) {
    const std::size_t d = rows.n_features;
    std::vector<double> scores(k), coef(k);
    return each_round(order, iterate, kRowsBetweenChecks, [&](std::size_t t, std::size_t row) {
        for (std::size_t r = 0; r < k; ++r) scores[r] = rows.dot(row, iterate.w.data() + r * d);
        const auto predicted = multiclass_step(scores, y[row], uniform, coef.data());
        losses[t] = static_cast<double>(std::abs(predicted - y[row]));
        if (coef[y[row]] == 0) return false;
        iterate.begin_update();
        for (std::size_t r = 0; r < k; ++r) {
            if (coef[r] != 0) iterate.add(rows, row, coef[r], r * d);
        }
        return true;
    });
}

}  // namespace rankwright
