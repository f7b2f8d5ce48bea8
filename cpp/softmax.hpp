// Cross entropy of a target distribution phi and rho = softmax(s): log(sum e^{s_i} + eps) - sum
// phi_i s_i.
//
// gradient rho - phi. ListNet and XE-NDCG differ in phi only. The second-order terms of XE-NDCG for
// boosted trees are here too; they need 1 - rho_i, which is summed from the other documents and
// never subtracted, so that a document far ahead of the rest loses no digits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gradient_descent.hpp"
#include "hashing.hpp"

namespace rankwright {

// rho, and returns log(sum e^s + eps) - max s.
inline double softmax(std::span<const double> scores, double eps, double* rho) {
    double top = -std::numeric_limits<double>::infinity();
    for (const double s : scores) top = std::max(top, s);
    const double highest = eps > 0 ? std::max(std::log(eps), top) : top;
    double sum = eps > 0 ? std::exp(std::log(eps) - highest) : 0.0;
    for (std::size_t i = 0; i < scores.size(); ++i) sum += rho[i] = std::exp(scores[i] - highest);
    for (std::size_t i = 0; i < scores.size(); ++i) rho[i] /= sum;
    return highest - top + std::log(sum);
}

// Value of one query times its weight; writes the gradient. A query whose target is 0 has value 0.
inline double softmax_cross_entropy(std::span<const double> scores, std::span<const double> phi,
                                    double weight, double eps, double* grad) {
    double total = 0, highest = -std::numeric_limits<double>::infinity();
    for (const double p : phi) total += p;
    for (const double s : scores) highest = std::max(highest, s);
    if (total == 0 || weight == 0) {
        std::fill(grad, grad + scores.size(), 0.0);
        return 0;
    }
    const double log_sum = softmax(scores, eps, grad);
    // sum phi = 1, so both parts may be shifted by the highest score: no cancellation of large
    // numbers.
    double expected = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (phi[i] != 0) expected += phi[i] * (scores[i] - highest);
        grad[i] = weight * (grad[i] - phi[i]);
    }
    return weight * (log_sum - expected);
}

// XE-NDCG's targets: phi_i = (2^{y_i} - gamma_i) / S, S their sum; all 0 if that is 0/0. `phi`
// holds the powers 2^y on entry; `gamma(i)` gives the document's gamma. Returns S.
template <class Gamma>
double xendcg_targets(std::span<double> phi, const Gamma& gamma) {
    double total = 0;
    for (std::size_t i = 0; i < phi.size(); ++i) total += phi[i] -= gamma(i);
    for (double& p : phi) p = total > 0 ? p / total : 0.0;
    return total;
}

// Cross entropies query by query, for online learners.
class CrossEntropies final : public QueryLoss {
    std::span<const std::int64_t> indptr_;
    std::span<const double> targets_;  // phi; 2^y if gamma is drawn
    std::span<const double> weights_;  // of each query
    double eps_;
    std::span<const std::uint64_t> keys_;  // of each query, if gamma is drawn
    std::uint64_t seed_;
    std::span<const double> row_weights_;  // if gamma is drawn; empty: all are 1
    std::vector<double> phi_;

    // The targets a_i phi_i / A, A = sum_i a_i phi_i; returns A.
    double weigh(const double* a) {
        double total = 0;
        for (std::size_t i = 0; i < phi_.size(); ++i) total += phi_[i] *= a[i];
        for (double& p : phi_) p = total > 0 ? p / total : 0.0;
        return total;
    }

  public:
    CrossEntropies(std::span<const std::int64_t> indptr, std::span<const double> targets,
                   std::span<const double> weights, double eps, std::span<const std::uint64_t> keys,
                   std::uint64_t seed, std::span<const double> row_weights)
        : indptr_(indptr),
          targets_(targets),
          weights_(weights),
          eps_(eps),
          keys_(keys),
          seed_(seed),
          row_weights_(row_weights) {}

    double operator()(std::size_t q, std::uint64_t draw, std::span<const double> scores,
                      double* grad) override {
        const std::size_t begin = indptr_[q], m = indptr_[q + 1] - begin;
        const auto given = targets_.subspan(begin, m);
        if (keys_.empty()) return softmax_cross_entropy(scores, given, weights_[q], eps_, grad);
        const std::uint64_t key = combine(seed_, combine(draw, keys_[q]));
        phi_.assign(given.begin(), given.end());
        xendcg_targets(phi_, [=](std::size_t i) { return uniform(key, i); });
        const double total = row_weights_.empty() ? 1 : weigh(row_weights_.data() + begin);
        return softmax_cross_entropy(scores, phi_, weights_[q] * total, eps_, grad);
    }
};

// rho - phi, and rho (1 - rho) or, if `exact`, rho.
inline void first_order_terms(std::span<const double> scores, std::span<const double> phi,
                              double eps, bool exact, double* grad, double* hess) {
    softmax(scores, eps, hess);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        grad[i] = hess[i] - phi[i];
        if (!exact) hess[i] *= 1 - hess[i];
    }
}

// Gradient and hessian as the paper has them: g + rho t1 + rho t2, and rho (1 - rho), with
//     t1_k = sum_{i != k} g_i / (1 - rho_i),   t2_k = sum_{i != k} rho_i t1_i / (1 - rho_i),
// the first three terms of a Neumann series for H^-1 g.
//
// Only one document, the leader L, can have rho > 1/2. Its 1 - rho_L is the sum of the others, c,
// and where 1/c occurs it comes as rho_k / c <= 1, the softmax without the leader. Sums that leave
// out one term add those before and behind it.
class NeumannTerms {
    std::vector<double> rho_, share_, term_, without_;

    // without_[k] = sum of term_[i] over i != k, i != leader.
    void sum_others(std::size_t leader) {
        const std::size_t m = term_.size();
        term_[leader] = 0;
        double before = 0, behind = 0;
        for (std::size_t k = 0; k < m; ++k) {
            without_[k] = before;
            before += term_[k];
        }
        for (std::size_t k = m; k-- > 0;) {
            without_[k] += behind;
            behind += term_[k];
        }
    }

  public:
    void operator()(std::span<const double> scores, std::span<const double> phi, double eps,
                    double* grad, double* hess) {
        const std::size_t m = scores.size();
        rho_.resize(m);
        share_.assign(scores.begin(), scores.end());
        term_.resize(m);
        without_.resize(m);
        softmax(scores, eps, rho_.data());
        const std::size_t leader = std::max_element(rho_.begin(), rho_.end()) - rho_.begin();
        share_[leader] = -std::numeric_limits<double>::infinity();
        if (m > 1 || eps > 0) softmax(share_, eps, share_.data());
        share_[leader] = 0;

        double rest = 0, phi_rest = 0;  // 1 - rho_L without eps, 1 - phi_L
        for (std::size_t i = 0; i < m; ++i) {
            if (i == leader) continue;
            rest += rho_[i];
            phi_rest += phi[i];
        }
        double eps_share = 0;  // what eps takes of the softmax
        if (eps > 0) {
            double largest = std::max(std::log(eps), scores[leader]);
            double sum = std::exp(std::log(eps) - largest);
            eps_share = sum;
            for (const double s : scores) sum += std::exp(s - largest);
            eps_share /= sum;
        }
        const double c = rest + eps_share;
        const auto g = [&](std::size_t i) { return i == leader ? phi_rest - c : rho_[i] - phi[i]; };

        for (std::size_t i = 0; i < m; ++i) term_[i] = g(i) / (1 - rho_[i]);
        sum_others(leader);
        const double t1_leader = without_[leader];
        // rho_k t1_k; the leader's own g_L / c comes in through the share.
        for (std::size_t k = 0; k < m; ++k) {
            grad[k] =
                k == leader ? rho_[k] * t1_leader : rho_[k] * without_[k] + share_[k] * g(leader);
        }
        for (std::size_t i = 0; i < m; ++i) term_[i] = grad[i] / (1 - rho_[i]);
        sum_others(leader);
        for (std::size_t k = 0; k < m; ++k) {
            const double rho_t2 =
                k == leader ? rho_[k] * without_[k]
                            : rho_[k] * without_[k] + share_[k] * rho_[leader] * t1_leader;
            grad[k] += g(k) + rho_t2;
            hess[k] = rho_[k] * (k == leader ? c : 1 - rho_[k]);
        }
    }
};

}  // namespace rankwright
