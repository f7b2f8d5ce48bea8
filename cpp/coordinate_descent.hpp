// Coordinate descent for losses that are sums of log-sum-exp terms (Domination, ListNet, XE-NDCG)
// plus an elastic net:   F(w) = sum_q weight_q L_q(Xw) + a1 |w|_1 + (a2 / 2) |w|^2.
//
// Along one coordinate r, each term is a cumulant function of x_r under a distribution p: its first
// derivative is a mean, its second a variance V <= range^2 / 4, its third at most range * second.
// Hence with beta the sum of range^2 / 4 and rho the largest range, k''(d) <= min(V e^{rho |d|},
// beta), and the minimiser of that majoriser is a closed form: a Newton step that cannot overshoot
// (`newton`). Using beta alone is the `range` step; the thesis uses the number of dominating
// documents times max x^2 (`thesis`).
//
// Every sweep begins with the model's sums afresh.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "columns.hpp"
#include "domination_model.hpp"
#include "majoriser.hpp"
#include "parallel.hpp"
#include "softmax_model.hpp"

namespace rankwright {

struct SweepResult {
    double violation = 0;  // largest distance of -gradient from the subdifferential of the penalty
    std::int64_t n_moved = 0;
};

// One coordinate descent: a model, columns and weights, whatever their types.
class Descent {
  public:
    virtual ~Descent() = default;
    virtual void start(std::span<const double> scores) = 0;
    virtual std::span<const double> scores() const = 0;
    virtual SweepResult sweep(std::span<const std::int64_t> coordinates, double a1, double a2,
                              double* w) = 0;
    virtual void slopes(std::span<const std::int64_t> coordinates, double* gradient) const = 0;
    // Guaranteed decrease and violation of each coordinate, if it alone were to move.
    virtual void promises(std::span<const std::int64_t> coordinates, double a1, double a2,
                          const double* w, double* decrease, double* violation) const = 0;
};

enum class StepRule { newton, range, thesis };

// beta and rho of every coordinate.
template <class Model, class Columns>
std::vector<CurvatureBound> curvature_bounds(const Model& model, const Columns& X,
                                             std::size_t n_features, StepRule rule) {
    std::vector<CurvatureBound> bounds(n_features);
    double n_terms = 0;
    for (std::size_t q = 0; q < model.n_queries(); ++q) n_terms += model.n_terms(q);
    for (std::size_t r = 0; r < n_features; ++r) {
        CurvatureBound& bound = bounds[r];
        double largest = 0;
        each_run(X, r, model.query, [&](std::size_t q, std::size_t begin, std::size_t end) {
            const Range found = range_of_run(X, r, begin, end, model.query_size(q));
            const double range = found.width();
            largest = std::max({largest, found.low * found.low, found.high * found.high});
            if (model.n_terms(q) == 0) return;
            bound.beta += model.n_terms(q) * range * range / 4;
            bound.range = std::max(bound.range, range);
        });
        if (rule == StepRule::thesis) bound = {n_terms * largest, 0};
        if (rule == StepRule::range) bound.range = 0;
    }
    return bounds;
}

template <class Model, class Columns>
SweepResult sweep(Model& model, const Columns& X, std::span<const std::int64_t> coordinates,
                  std::span<const CurvatureBound> bounds, double a1, double a2, double* w) {
    SweepResult result;
    const auto check = checkpoint.load();
    std::size_t work = 0;
    for (const auto coordinate : coordinates) {
        const auto r = static_cast<std::size_t>(coordinate);
        work += X.size(r);
        if (check && work > 1000000) {
            check();
            work = 0;
        }
        if (bounds[r].beta + a2 == 0) {
            // The loss does not see this feature: its weight is only a cost.
            if (a1 == 0 || w[r] == 0) continue;
            result.violation = std::max(result.violation, a1);
            model.move(X, r, -w[r]);
            w[r] = 0;
            ++result.n_moved;
            continue;
        }
        const Slope slope = model.slope(X, r);
        result.violation = std::max(result.violation, violation_of(w[r], slope.gradient, a1, a2));
        const double d = safe_step(w[r], slope.gradient, slope.curvature, bounds[r], a1, a2);
        if (d == 0) continue;
        // Exactly 0, not w - w: the active set depends on it.
        w[r] = d == -w[r] ? 0.0 : w[r] + d;
        model.move(X, r, d);
        ++result.n_moved;
    }
    return result;
}

template <class Model, class Columns>
class DescentOf : public Descent {
    Model model_;
    Columns X_;
    std::vector<CurvatureBound> bounds_;

  public:
    DescentOf(Model model, Columns X, std::size_t n_features, StepRule rule)
        : model_(std::move(model)),
          X_(X),
          bounds_(curvature_bounds(model_, X_, n_features, rule)) {}

    void start(std::span<const double> scores) override {
        model_.scores.assign(scores.begin(), scores.end());
        model_.refresh();
    }
    std::span<const double> scores() const override { return model_.scores; }
    SweepResult sweep(std::span<const std::int64_t> coordinates, double a1, double a2,
                      double* w) override {
        return rankwright::sweep(model_, X_, coordinates, std::span<const CurvatureBound>(bounds_),
                                 a1, a2, w);
    }
    void slopes(std::span<const std::int64_t> coordinates, double* gradient) const override {
        for (std::size_t i = 0; i < coordinates.size(); ++i) {
            gradient[i] = model_.slope(X_, static_cast<std::size_t>(coordinates[i])).gradient;
        }
    }
    void promises(std::span<const std::int64_t> coordinates, double a1, double a2, const double* w,
                  double* decrease, double* violation) const override {
        const auto check = checkpoint.load();
        std::size_t work = 0;
        for (std::size_t i = 0; i < coordinates.size(); ++i) {
            const auto r = static_cast<std::size_t>(coordinates[i]);
            decrease[i] = violation[i] = 0;
            work += X_.size(r) + 1;
            if (check && work > 1000000) {
                check();
                work = 0;
            }
            if (bounds_[r].beta + a2 == 0) {
                if (w[r] != 0) violation[i] = a1, decrease[i] = a1 * std::abs(w[r]);
                continue;
            }
            const Slope slope = model_.slope(X_, r);
            violation[i] = violation_of(w[r], slope.gradient, a1, a2);
            if (violation[i] == 0) continue;
            decrease[i] =
                guaranteed_decrease(w[r], slope.gradient, slope.curvature, bounds_[r], a1, a2);
        }
    }
};

}  // namespace rankwright
