// LambdaRank: for each pair with y_i > y_j, one of them among the first k ranks,
//     lambda = sigma |Delta NDCG| / (1 + e^{sigma (s_i - s_j)}),
// pushes i up and j down; the hessian is sigma^2 |Delta NDCG| p (1 - p). There is no loss whose
// gradient this is. With `norm`, LightGBM's: |Delta NDCG| is divided by 0.01 + |s_i - s_j| and the
// query's pushes are rescaled by log2(1 + sum)/sum. Ranks are those of the scores, or of other
// numbers, such as scores with noise; pushes are those of the scores in either case.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "ranking.hpp"

namespace rankwright {

class LambdaRank {
    double sigma_;
    std::size_t k_;
    bool norm_;
    std::vector<ranking::Item> items_, scratch_;
    std::vector<std::uint8_t> tied_;
    std::vector<double> discounts_;
    // By rank: scores, gains over the best DCG, e^{sigma (s - max s)}, and what a document gets.
    std::vector<double> score_, gain_, power_, push_, curve_, grad_, hess_;
    double lowest_ = 0, highest_ = 0;  // scores

    // Spread of sigma * scores up to which no power underflows to a number with few digits.
    static constexpr double kPowerRange = 600;

    void sort(std::span<const double> scores, std::span<const double> ranked_by,
              std::span<const double> gains, double best) {
        const std::size_t m = scores.size();
        for (auto* v : {&score_, &gain_, &power_, &push_, &curve_}) v->resize(m);
        grad_.assign(m, 0.0);
        hess_.assign(m, 0.0);
        items_.resize(m);
        scratch_.resize(m);
        tied_.resize(m);
        for (std::size_t i = 0; i < m; ++i) {
            items_[i] = ranking::make_item(ranking::descending_key(ranked_by[i]), i);
        }
        ranking::sort(items_.data(), scratch_.data(), m);
        ranking::settle(items_, ranked_by.data(), tied_.data());
        const auto [low, high] = std::ranges::minmax(scores);
        lowest_ = low;
        highest_ = high;
        for (std::size_t r = 0; r < m; ++r) {
            const std::size_t place = ranking::place_of(items_[r]);
            score_[r] = scores[place];
            gain_[r] = gains[place] / best;
            power_[r] = std::exp(sigma_ * (score_[r] - highest_));
        }
        for (std::size_t r = discounts_.size(); r < m; ++r) {
            discounts_.push_back(1 / std::log2(2.0 + static_cast<double>(r)));
        }
    }

    // Pairs of rank `a` with all ranks below it. With e_r = e^{sigma s_r} the probability that the
    // worse document l beats the better h is e_l / (e_h + e_l): no exponential for each pair,
    // unless the scores lie too far apart. The sign of `change` says which one is better.
    template <bool norm, bool far>
    void pair_up(std::size_t a) {
        const std::size_t m = score_.size();
        const double gain = gain_[a], power = power_[a], discount = discounts_[a];
        const double score = score_[a];
        for (std::size_t b = a + 1; b < m; ++b) {
            double change = (discount - discounts_[b]) * (gain - gain_[b]);
            if constexpr (norm) change /= 0.01 + std::abs(score - score_[b]);
            double upper, lower;  // probabilities that a beats b, and b beats a
            if constexpr (far) {
                lower = 1 / (1 + std::exp(sigma_ * (score - score_[b])));
                upper = 1 - lower;
            } else {
                const double scale = 1 / (power + power_[b]);
                upper = power * scale;
                lower = power_[b] * scale;
            }
            push_[b] = change * (change > 0 ? lower : upper);
            curve_[b] = std::abs(change) * lower * upper;
        }
        for (std::size_t b = a + 1; b < m; ++b) {
            grad_[b] += push_[b];
            hess_[b] += curve_[b];
        }
        grad_[a] -= sum_from(push_, a + 1);
        hess_[a] += sum_from(curve_, a + 1);
    }

    // Four chains of additions, in an order of their own.
    static double sum_from(const std::vector<double>& values, std::size_t begin) {
        double part[4] = {0, 0, 0, 0};
        std::size_t i = begin;
        for (; i + 4 <= values.size(); i += 4) {
            for (std::size_t j = 0; j < 4; ++j) part[j] += values[i + j];
        }
        for (; i < values.size(); ++i) part[0] += values[i];
        return (part[0] + part[1]) + (part[2] + part[3]);
    }

    double sum_of_pushes(std::size_t a) const {
        double sum = 0;
        for (std::size_t b = a + 1; b < push_.size(); ++b) sum += std::abs(push_[b]);
        return sum;
    }

  public:
    LambdaRank(double sigma, std::size_t k, bool norm) : sigma_(sigma), k_(k), norm_(norm) {}

    // Adds `share` of the directions and curvatures of a query. `gains` are 2^y - 1, `best` the
    // best DCG at k; without one there is nothing to learn.
    void operator()(std::span<const double> scores, std::span<const double> ranked_by,
                    std::span<const double> gains, double best, double share, double* grad,
                    double* hess) {
        const std::size_t m = scores.size();
        if (!(best > 0)) return;
        sort(scores, ranked_by, gains, best);
        const bool spread = norm_ && lowest_ != highest_;
        const bool far = sigma_ * (highest_ - lowest_) > kPowerRange;
        double total = 0;
        for (std::size_t a = 0; a < std::min(k_, m); ++a) {
            if (far) {
                spread ? pair_up<true, true>(a) : pair_up<false, true>(a);
            } else {
                spread ? pair_up<true, false>(a) : pair_up<false, false>(a);
            }
            if (norm_) total += 2 * sigma_ * sum_of_pushes(a);
        }
        const double scale = share * (norm_ && total > 0 ? std::log2(1 + total) / total : 1.0);
        for (std::size_t r = 0; r < m; ++r) {
            const std::size_t place = ranking::place_of(items_[r]);
            grad[place] += sigma_ * scale * grad_[r];
            hess[place] += sigma_ * sigma_ * scale * hess_[r];
        }
    }
};

}  // namespace rankwright
