// Moves of one weight that cannot overshoot.
//
// Along one coordinate, a sum of log-sum-exp terms has a second derivative V, at most beta
// everywhere, that grows by no more than e^{rho |d|} at distance d. The majoriser of curvature
// min(V e^{rho |d|}, beta), with an elastic net a1 |w| + (a2 / 2) w^2, has its minimiser in closed
// form. With rho = 0 its curvature is beta.
#pragma once

#include <algorithm>
#include <cmath>

namespace rankwright {

// Bounds on the curvature along a coordinate, found once.
struct CurvatureBound {
    double beta = 0;   // largest possible curvature
    double range = 0;  // rho; 0 where V may not grow, that is, where beta is to be used as it is
};

// Integral from 0 to t of the majoriser's second derivative.
inline double majoriser_slope(double t, double v, double beta, double rho) {
    if (rho == 0) return beta * t;
    const double turn = std::log(beta / v) / rho;
    if (t <= turn) return v / rho * std::expm1(rho * t);
    return (beta - v) / rho + beta * (t - turn);
}

// The t >= 0 at which that integral reaches g >= 0.
inline double majoriser_step(double g, double v, double beta, double rho) {
    if (rho == 0) return g / beta;
    const double turn = (beta - v) / rho;
    if (g <= turn) return std::log1p(rho * g / v) / rho;
    return std::log(beta / v) / rho + (g - turn) / beta;
}

// The integral of that integral: what the majoriser adds to g d at |d| = t.
inline double majoriser_value(double t, double v, double beta, double rho) {
    if (rho == 0) return beta * t * t / 2;
    const double turn = std::log(beta / v) / rho, inside = std::min(t, turn), x = rho * inside;
    // e^x - 1 - x, which for small x is nothing but rounding.
    const double rest = x < 1e-4 ? x * x / 2 * (1 + x / 3) : std::expm1(x) - x;
    double value = v / (rho * rho) * rest;
    if (t > turn) value += (t - turn) * ((beta - v) / rho + beta * (t - turn) / 2);
    return value;
}

// Minimiser over d of g d + majoriser(d) + a1 |w + d| + (a2 / 2) (w + d)^2.
inline double safe_step(double w, double g, double v, CurvatureBound bound, double a1, double a2) {
    const double beta = bound.beta + a2, rho = bound.range;
    v = std::clamp(v + a2, 1e-12 * beta, beta);
    g += a2 * w;
    const auto step = [&](double slope) {
        return slope < 0 ? majoriser_step(-slope, v, beta, rho)
                         : -majoriser_step(slope, v, beta, rho);
    };
    if (a1 == 0) return step(g);
    const double back = majoriser_slope(std::abs(w), v, beta, rho);
    const double at_zero = g + (w > 0 ? -back : back);  // the majoriser's derivative at d = -w
    if (at_zero < -a1) return step(g + a1);
    if (at_zero > a1) return step(g - a1);
    return -w;
}

// How much the step lowers the objective at least, the penalty included: the majoriser's decrease.
inline double guaranteed_decrease(double w, double g, double v, CurvatureBound bound, double a1,
                                  double a2) {
    const double d = safe_step(w, g, v, bound, a1, a2), beta = bound.beta + a2;
    v = std::clamp(v + a2, 1e-12 * beta, beta);
    const double change = (g + a2 * w) * d + majoriser_value(std::abs(d), v, beta, bound.range) +
                          a1 * (std::abs(w + d) - std::abs(w));
    return std::max(-change, 0.0);
}

inline double violation_of(double w, double g, double a1, double a2) {
    g += a2 * w;
    if (a1 == 0) return std::abs(g);
    if (w != 0) return std::abs(g + (w > 0 ? a1 : -a1));
    return std::max(std::abs(g) - a1, 0.0);
}

}  // namespace rankwright
