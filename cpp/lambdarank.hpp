// LambdaRank: for each pair with y_i > y_j, one of them among the first k ranks,
//     lambda = sigma |Delta NDCG| / (1 + e^{sigma (s_i - s_j)}),
// pushes i up and j down; the hessian is sigma^2 |Delta NDCG| p (1 - p). There is no loss whose
// gradient this is. With `norm`, LightGBM's: |Delta NDCG| is divided by 0.01 + |s_i - s_j| and the
// query's pushes are rescaled by log2(1 + sum)/sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace rankwright {

class LambdaRank {
    double sigma_;
    std::size_t k_;
    bool norm_;
    std::vector<std::size_t> order_;
    std::vector<double> gains_, ideal_, discounts_;

  public:
    LambdaRank(double sigma, std::size_t k, bool norm) : sigma_(sigma), k_(k), norm_(norm) {}

    void operator()(std::span<const double> scores, std::span<const double> y, double* grad,
                    double* hess) {
        const std::size_t m = scores.size();
        std::fill(grad, grad + m, 0.0);
        std::fill(hess, hess + m, 0.0);
        gains_.resize(m);
        std::transform(y.begin(), y.end(), gains_.begin(),
                       [](double label) { return std::exp2(label) - 1; });
        for (std::size_t r = discounts_.size(); r < m; ++r) {
            discounts_.push_back(1 / std::log2(2.0 + static_cast<double>(r)));
        }
        const std::size_t depth = std::min(k_, m);
        ideal_ = gains_;
        std::partial_sort(ideal_.begin(), ideal_.begin() + depth, ideal_.end(), std::greater<>());
        double best = 0;
        for (std::size_t r = 0; r < depth; ++r) best += ideal_[r] * discounts_[r];
        if (best <= 0) return;

        order_.resize(m);
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(),
                         [&](auto a, auto b) { return scores[a] > scores[b]; });
        const bool spread = scores[order_.front()] != scores[order_.back()];
        double total = 0;
        for (std::size_t a = 0; a < depth; ++a) {
            for (std::size_t b = a + 1; b < m; ++b) {
                std::size_t high = order_[a], low = order_[b];
                if (y[high] == y[low]) continue;
                double change = std::abs(discounts_[a] - discounts_[b]);
                if (y[high] < y[low]) std::swap(high, low);
                change *= (gains_[high] - gains_[low]) / best;
                const double lead = scores[high] - scores[low];
                if (norm_ && spread) change /= 0.01 + std::abs(lead);
                const double p = 1 / (1 + std::exp(sigma_ * lead));
                const double push = sigma_ * change * p;
                const double curvature = sigma_ * sigma_ * change * p * (1 - p);
                grad[high] -= push;
                grad[low] += push;
                hess[high] += curvature;
                hess[low] += curvature;
                total += 2 * push;
            }
        }
        if (norm_ && total > 0) {
            const double scale = std::log2(1 + total) / total;
            for (std::size_t i = 0; i < m; ++i) {
                grad[i] *= scale;
                hess[i] *= scale;
            }
        }
    }
};

}  // namespace rankwright
