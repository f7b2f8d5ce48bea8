// Online gradient descent on a loss of scores, one query a round:
//   w <- w - eta_t X_q' g,    g = gradient of L(s, y_q) at s = X_q w.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <vector>

#include "iterate.hpp"

namespace rankwright {

// A loss on given labels, query by query.
class QueryLoss {
  public:
    virtual ~QueryLoss() = default;
    // Returns the value of query q and writes the gradient. A loss that draws draws by `draw`.
    virtual double operator()(std::size_t q, std::uint64_t draw, std::span<const double> scores,
                              double* grad) = 0;
};

enum class Schedule { constant, sqrt, inverse };

struct Step {
    double eta;
    Schedule schedule;

    // eta_t; rounds count on from one call to the next, so that a stream may be cut anywhere.
    double operator()(std::int64_t t) const {
        const auto rounds = static_cast<double>(t);
        if (schedule == Schedule::constant) return eta;
        return eta / (schedule == Schedule::sqrt ? std::sqrt(rounds) : rounds);
    }
};

// What the regret bound needs to know of each round; without a comparator u nothing is written.
struct DescentTerms {
    std::span<const double> u;
    double *loss, *distance, *gradient;  // L(X_q u), (|w - u|^2 - |w' - u|^2)/2eta, |w' - w|^2/2eta
};

// Rounds over the queries in `order`; returns the number of updates and writes each round's loss.
inline std::int64_t gradient_descent(const Rows& rows, std::span<const std::int64_t> indptr,
                                     std::span<const std::int64_t> order, QueryLoss& loss,
                                     const Step& step, const DescentTerms& terms, Iterate& iterate,
                                     double* losses) {
    std::vector<double> scores, grad, before;
    return each_round(order, iterate, 1, [&](std::size_t t, std::size_t q) {
        const std::size_t begin = indptr[q], m = indptr[q + 1] - begin;
        const double eta = step(iterate.round);
        const auto draw = static_cast<std::uint64_t>(iterate.round - 1);
        scores.resize(m);
        grad.resize(m);
        rows.scores(begin, begin + m, iterate.w.data(), scores.data());
        if (!std::ranges::all_of(scores, [](double s) { return std::isfinite(s); })) {
            char text[120];
            std::snprintf(text, sizeof text,
                          "the weights overflow with eta = %g: scale the features, or take a "
                          "smaller eta.",
                          step.eta);
            throw std::invalid_argument(text);
        }
        losses[t] = loss(q, draw, scores, grad.data());
        const bool update = std::ranges::any_of(grad, [](double g) { return g != 0; });
        if (!terms.u.empty()) before.assign(iterate.w.begin(), iterate.w.end());
        if (update) {
            iterate.begin_update();
            for (double& g : grad) g *= -eta;
            iterate.add_rows(rows, begin, grad);
        }
        if (!terms.u.empty()) {
            double distance = 0, gradient = 0;
            for (std::size_t j = 0; j < before.size(); ++j) {
                const double moved = iterate.w[j] - before[j];
                // |w - u|^2 - |w' - u|^2 without cancellation
                distance += (2 * (terms.u[j] - iterate.w[j]) + moved) * moved;
                gradient += moved * moved;
            }
            terms.distance[t] = distance / (2 * eta);
            terms.gradient[t] = gradient / (2 * eta);
            rows.scores(begin, begin + m, terms.u.data(), scores.data());
            terms.loss[t] = loss(q, draw, scores, grad.data());
        }
        return update;
    });
}

}  // namespace rankwright
