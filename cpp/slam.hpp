// SLAM: phi(s, y) = sum_i v_i max(0, max_{j : y_j < y_i} (Delta + s_j - s_i)), and a subgradient.
//
// Going up the layers, the best-scored document k below is a running maximum, so a query costs
// O(m). The subgradient of an active term is v_i (e_k - e_i), with the mean of e_k where several k
// are tied.
#pragma once

#include <span>

#include "layers.hpp"

namespace rankwright {

inline double slam(const Layers& layers, std::size_t q, std::span<const double> scores,
                   std::span<const double> v, double margin, BestBelow& best, double* grad) {
    double value = 0;
    for (auto row = layers.indptr[q]; row < layers.indptr[q + 1]; ++row) grad[row] = 0;
    for (auto layer = layers.first_layer[q]; layer < layers.first_layer[q + 1]; ++layer) {
        const auto rows = layers.rows_of(layer);
        if (best.any()) {
            double pushed = 0;
            for (const auto row : rows) {
                const double slack = margin + (scores[best.place()] - scores[row]);
                if (slack <= 0) continue;
                value += v[row] * slack;
                grad[row] -= v[row];
                pushed += v[row];
            }
            best.push(pushed);
        }
        for (const auto row : rows) best.see(row, scores.data(), grad);
    }
    best.settle(grad);
    return value;
}

}  // namespace rankwright
