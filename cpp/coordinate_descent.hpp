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
// A model keeps e^{m_i} relative to a reference per query, and sums a query afresh when digits run
// out; every sweep begins with all of them afresh.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "domination.hpp"
#include "layers.hpp"
#include "parallel.hpp"

namespace rankwright {

// ---- columns ----

template <class Float, class Index>
struct SparseColumns {
    const Float* data;
    const Index* indices;
    const Index* indptr;

    std::size_t size(std::size_t r) const { return indptr[r + 1] - indptr[r]; }
    std::int64_t row(std::size_t r, std::size_t i) const { return indices[indptr[r] + i]; }
    double value(std::size_t r, std::size_t i) const { return data[indptr[r] + i]; }
};

template <class Float>
struct DenseColumns {
    const Float* data;  // column-major
    std::size_t n_rows;

    std::size_t size(std::size_t) const { return n_rows; }
    std::int64_t row(std::size_t, std::size_t i) const { return static_cast<std::int64_t>(i); }
    double value(std::size_t r, std::size_t i) const { return data[r * n_rows + i]; }
};

// Calls f(query, begin, end) for each run of a column's entries that belong to one query.
template <class Columns, class F>
void each_run(const Columns& X, std::size_t r, const std::vector<std::int32_t>& query, F&& f) {
    const std::size_t n = X.size(r);
    for (std::size_t begin = 0, end; begin < n; begin = end) {
        const std::int32_t q = query[X.row(r, begin)];
        for (end = begin + 1; end < n && query[X.row(r, end)] == q;) ++end;
        f(static_cast<std::size_t>(q), begin, end);
    }
}

struct Slope {
    double gradient = 0, curvature = 0;
};

// Bounds on the curvature along a coordinate, found once.
struct CurvatureBound {
    double beta = 0;   // largest possible curvature
    double range = 0;  // rho; 0 where V may not grow, that is, where beta is to be used as it is
};

// e^{m - reference} stays a number: beyond this lead a document's terms are 0 to all digits anyway.
inline constexpr double kLargestLead = 600;
// Margins below this would make 1 / Z, to the third power, too large.
inline constexpr double kLowestMargin = -200;
// A sum of exponentials that has fallen to this share of its largest value has lost three digits,
// and a lead this large may hide the rest of the query: then the query is summed afresh.
inline constexpr double kSmallestShare = 1e-3, kRefreshLead = 300;

inline double relative_exp(double lead) { return std::exp(std::min(lead, kLargestLead)); }

// ---- models ----

// sum over queries of weight (log sum e^{s_i} - sum phi_i s_i).
class SoftmaxModel {
    std::span<const std::int64_t> indptr_;
    std::span<const double> phi_, weights_;
    std::vector<double> sum_, largest_sum_, reference_;

  public:
    std::vector<std::int32_t> query;
    std::vector<double> scores, e;

    SoftmaxModel(std::span<const std::int64_t> indptr, std::span<const double> phi,
                 std::span<const double> weights)
        : indptr_(indptr), phi_(phi), weights_(weights), query(phi.size()), e(phi.size()) {
        const std::size_t n_queries = indptr.size() - 1;
        sum_.resize(n_queries);
        largest_sum_.resize(n_queries);
        reference_.resize(n_queries);
        for (std::size_t q = 0; q < n_queries; ++q) {
            std::fill(query.begin() + indptr[q], query.begin() + indptr[q + 1],
                      static_cast<std::int32_t>(q));
        }
    }

    void refresh(std::size_t q) {
        double highest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (auto i = indptr_[q]; i < indptr_[q + 1]; ++i) highest = std::max(highest, scores[i]);
        for (auto i = indptr_[q]; i < indptr_[q + 1]; ++i)
            sum += e[i] = std::exp(scores[i] - highest);
        reference_[q] = highest;
        sum_[q] = largest_sum_[q] = sum;
    }
    void refresh() {
        for (std::size_t q = 0; q + 1 < indptr_.size(); ++q) refresh(q);
    }

    std::size_t n_queries() const { return weights_.size(); }
    // Terms of a query whose curvature is bounded by range^2 / 4 each.
    double n_terms(std::size_t q) const { return weights_[q]; }
    std::size_t query_size(std::size_t q) const { return indptr_[q + 1] - indptr_[q]; }

    template <class Columns>
    Slope slope(const Columns& X, std::size_t r) const {
        Slope total;
        each_run(X, r, query, [&](std::size_t q, std::size_t begin, std::size_t end) {
            double first = 0, second = 0, target = 0;
            for (std::size_t i = begin; i < end; ++i) {
                const auto row = X.row(r, i);
                const double x = X.value(r, i), ex = e[row] * x;
                first += ex;
                second += ex * x;
                target += phi_[row] * x;
            }
            const double mean = first / sum_[q];
            total.gradient += weights_[q] * (mean - target);
            total.curvature += weights_[q] * std::max(second / sum_[q] - mean * mean, 0.0);
        });
        return total;
    }

    template <class Columns>
    void move(const Columns& X, std::size_t r, double step) {
        each_run(X, r, query, [&](std::size_t q, std::size_t begin, std::size_t end) {
            bool large = false;
            double change = 0;
            for (std::size_t i = begin; i < end; ++i) {
                const auto row = X.row(r, i);
                scores[row] += step * X.value(r, i);
                const double lead = scores[row] - reference_[q], grown = relative_exp(lead);
                change += grown - e[row];
                e[row] = grown;
                large |= lead > kRefreshLead;
            }
            sum_[q] += change;
            largest_sum_[q] = std::max(largest_sum_[q], sum_[q]);
            if (large || !(sum_[q] > kSmallestShare * largest_sum_[q])) refresh(q);
        });
    }
};

// sum over queries of weight sum_k sum_{i in layer k} log(1 + Z_k e^{-m_i}).
class DominationModel {
    const Layers& layers_;
    std::span<const double> weights_;
    LayerMargins between_;
    double highest_margin_, lowest_margin_;
    std::vector<double> factor_;        // e^{Delta}, by pair of levels; one entry if constant
    std::vector<std::int32_t> layer_;   // of each row
    std::vector<double> sum_;           // S, by layer
    std::vector<double> z_;             // Z, by layer
    std::vector<double> r1_, r2_, r3_;  // sums over a layer of u, u^2, u^3 with u = 1 / (Z + e^m)
    std::vector<double> drift_;         // of Z since r was summed afresh, relative
    std::vector<double> reference_, largest_z_, n_dominating_;
    // Queries whose exponentials are too far apart for one reference, and their score gradients.
    std::vector<char> far_;
    std::vector<double> gradient_;
    mutable std::vector<double> first_, second_, nz1_, nz2_;

    double factor(std::size_t k, std::size_t l) const {
        return factor_.size() == 1
                   ? factor_[0]
                   : factor_[between_.level[k] * between_.n_levels + between_.level[l]];
    }
    // sum over the layers below k of their factor times values; `running` is the sum without
    // factors.
    double below(const std::vector<double>& values, std::size_t first, std::size_t k,
                 std::size_t offset, double running) const {
        if (factor_.size() == 1) return factor_[0] * running;
        double total = 0;
        for (std::size_t l = first; l < k; ++l) total += factor(k, l) * values[l - offset];
        return total;
    }
    void find_margins() {
        factor_.assign(between_.matrix.begin(), between_.matrix.end());
        for (double& value : factor_) value = std::exp(value);
        // Only pairs of an upper and a lower level matter.
        highest_margin_ = -std::numeric_limits<double>::infinity();
        lowest_margin_ = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < between_.n_levels; ++k) {
            for (std::size_t l = 0; l < k; ++l) {
                const double margin = between_.matrix[k * between_.n_levels + l];
                highest_margin_ = std::max(highest_margin_, margin);
                lowest_margin_ = std::min(lowest_margin_, margin);
            }
        }
    }
    // In place of the curvature of a far query stands its bound, which is a majoriser as well.
    template <class Columns>
    void add_far_slope(const Columns& X, std::size_t r, std::size_t q, std::size_t begin,
                       std::size_t end, Slope& total) const {
        const bool all = end - begin == query_size(q);
        double low = all ? std::numeric_limits<double>::infinity() : 0.0, high = -low;
        double gradient = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const double x = X.value(r, i);
            gradient += x * gradient_[X.row(r, i)];
            low = std::min(low, x);
            high = std::max(high, x);
        }
        total.gradient += weights_[q] * gradient;
        total.curvature += n_terms(q) * (high - low) * (high - low) / 4;
    }
    void sum_reciprocals(std::size_t k) {
        double a = 0, b = 0, c = 0;
        for (const auto row : layers_.rows_of(static_cast<std::int64_t>(k))) {
            const double u = 1 / (z_[k] + e[row]);
            a += u;
            b += u * u;
            c += u * u * u;
        }
        r1_[k] = a;
        r2_[k] = b;
        r3_[k] = c;
        drift_[k] = 0;
    }

  public:
    std::vector<std::int32_t> query;
    std::vector<double> scores, e;  // scores are m, the margin shift included

    DominationModel(const Layers& layers, std::span<const double> weights, LayerMargins between)
        : layers_(layers),
          weights_(weights),
          between_(between),
          highest_margin_(between.constant),
          lowest_margin_(between.constant),
          factor_{std::exp(between.constant)} {
        if (between.by_pair()) find_margins();
        const std::size_t n = layers.rows.size(), n_layers = layers.labels.size();
        layer_.resize(n);
        query.resize(n);
        e.resize(n);
        for (auto* v : {&sum_, &z_, &r1_, &r2_, &r3_, &drift_, &largest_z_})
            v->assign(n_layers, 0.0);
        reference_.resize(layers.n_queries());
        far_.assign(layers.n_queries(), 0);
        gradient_.resize(n);
        n_dominating_.assign(layers.n_queries(), 0.0);
        std::size_t deepest = 0;
        for (std::size_t q = 0; q < layers.n_queries(); ++q) {
            const auto first = layers.first_layer[q], last = layers.first_layer[q + 1];
            deepest = std::max<std::size_t>(deepest, last - first);
            for (auto l = first; l < last; ++l) {
                for (const auto row : layers.rows_of(l)) {
                    layer_[row] = static_cast<std::int32_t>(l);
                    query[row] = static_cast<std::int32_t>(q);
                }
                if (l > first) n_dominating_[q] += static_cast<double>(layers.rows_of(l).size());
            }
        }
        for (auto* v : {&first_, &second_, &nz1_, &nz2_}) v->resize(deepest);
    }

    // The reference is the best score of the lowest layer, so that every Z is at least about 1:
    // only the ratios of Z and e^m matter, and a document of the top layer far above the rest has
    // u = 0, as it should. One of a layer between them is in Z too, and may not be cut off: then
    // the query is evaluated in logarithms.
    void refresh(std::size_t q) {
        const auto first = layers_.first_layer[q], last = layers_.first_layer[q + 1];
        if (first == last) return;
        double highest = -std::numeric_limits<double>::infinity(), running = 0, lead = 0;
        for (const auto row : layers_.rows_of(first)) highest = std::max(highest, scores[row]);
        reference_[q] = highest;
        for (auto l = first + 1; l + 1 < last; ++l) {
            for (const auto row : layers_.rows_of(l)) lead = std::max(lead, scores[row] - highest);
        }
        far_[q] = lead + highest_margin_ > kRefreshLead || lowest_margin_ < kLowestMargin;
        if (far_[q]) {
            DominationLoss(layers_, scores, between_, gradient_.data())(q);
            return;
        }
        for (auto l = first; l < last; ++l) {
            sum_[l] = 0;
            for (const auto row : layers_.rows_of(l))
                sum_[l] += e[row] = relative_exp(scores[row] - highest);
            z_[l] = largest_z_[l] = l > first ? below(sum_, first, l, 0, running) : 0.0;
            running += sum_[l];
            if (l > first) sum_reciprocals(l);
        }
    }
    void refresh() {
        for (std::size_t q = 0; q < layers_.n_queries(); ++q) refresh(q);
    }

    std::size_t n_queries() const { return weights_.size(); }
    double n_terms(std::size_t q) const { return weights_[q] * n_dominating_[q]; }
    std::size_t query_size(std::size_t q) const {
        return layers_.indptr[q + 1] - layers_.indptr[q];
    }

    // gradient: sum_k mu_k R_k - Z_k sum_i x_i u_i; a document without the feature still feels
    // mu_k.
    template <class Columns>
    Slope slope(const Columns& X, std::size_t r) const {
        Slope total;
        each_run(X, r, query, [&](std::size_t q, std::size_t begin, std::size_t end) {
            const std::size_t first = layers_.first_layer[q], last = layers_.first_layer[q + 1];
            if (last - first < 2 || weights_[q] == 0) return;
            if (far_[q]) return add_far_slope(X, r, q, begin, end, total);
            std::fill_n(first_.begin(), last - first, 0.0);
            std::fill_n(second_.begin(), last - first, 0.0);
            for (std::size_t i = begin; i < end; ++i) {
                const auto row = X.row(r, i);
                const double x = X.value(r, i), ex = e[row] * x;
                first_[layer_[row] - first] += ex;
                second_[layer_[row] - first] += ex * x;
            }
            double gradient = 0, curvature = 0, running1 = 0, running2 = 0;
            for (std::size_t k = first + 1; k < last; ++k) {
                running1 += first_[k - 1 - first];
                running2 += second_[k - 1 - first];
                const double mu = below(first_, first, k, first, running1);
                const double nu = below(second_, first, k, first, running2);
                nz1_[k - first] = mu;
                gradient += mu * r1_[k];
                curvature += nu * r1_[k] - mu * mu * r2_[k];
            }
            for (std::size_t i = begin; i < end; ++i) {
                const auto row = X.row(r, i);
                const std::size_t k = layer_[row];
                if (k == first) continue;
                const double x = X.value(r, i), u = 1 / (z_[k] + e[row]), exu = e[row] * x * u;
                gradient -= z_[k] * x * u;
                curvature += exu * x - exu * (2 * nz1_[k - first] * u + exu);
            }
            total.gradient += weights_[q] * gradient;
            total.curvature += weights_[q] * std::max(curvature, 0.0);
        });
        return total;
    }

    template <class Columns>
    void move(const Columns& X, std::size_t r, double step) {
        each_run(X, r, query, [&](std::size_t q, std::size_t begin, std::size_t end) {
            const std::size_t first = layers_.first_layer[q], last = layers_.first_layer[q + 1];
            if (far_[q]) {
                for (std::size_t i = begin; i < end; ++i)
                    scores[X.row(r, i)] += step * X.value(r, i);
                return refresh(q);
            }
            bool again = false;
            // Out with the moving documents' old terms, their layers' sums on the way.
            for (std::size_t i = begin; i < end; ++i) {
                const auto row = X.row(r, i);
                const std::size_t k = layer_[row];
                if (k > first) {
                    const double u = 1 / (z_[k] + e[row]);
                    r1_[k] -= u;
                    r2_[k] -= u * u;
                    r3_[k] -= u * u * u;
                }
                scores[row] += step * X.value(r, i);
                const double lead = scores[row] - reference_[q], grown = relative_exp(lead);
                sum_[k] += grown - e[row];
                e[row] = grown;
                again |= (k == first || k + 1 < last) && lead + highest_margin_ > kRefreshLead;
            }
            double running = 0;
            for (std::size_t k = first; k < last; ++k) {
                if (k > first) {
                    const double z = below(sum_, first, k, 0, running), change = z - z_[k];
                    z_[k] = z;
                    largest_z_[k] = std::max(largest_z_[k], z);
                    again |= !(z > kSmallestShare * largest_z_[k]);
                    if (change != 0) {
                        // u(Z + change) to second order for the documents that stay.
                        r1_[k] += change * (change * r3_[k] - r2_[k]);
                        r2_[k] -= 2 * change * r3_[k];
                        drift_[k] += std::abs(change) / z;
                    }
                }
                running += sum_[k];
            }
            if (again) return refresh(q);
            for (std::size_t i = begin; i < end; ++i) {
                const auto row = X.row(r, i);
                const std::size_t k = layer_[row];
                if (k == first) continue;
                const double u = 1 / (z_[k] + e[row]);
                r1_[k] += u;
                r2_[k] += u * u;
                r3_[k] += u * u * u;
            }
            for (std::size_t k = first + 1; k < last; ++k) {
                const std::size_t size = layers_.rows_of(static_cast<std::int64_t>(k)).size();
                if (drift_[k] > 0 && (drift_[k] > 1e-2 || size <= 32 + 4 * (end - begin)))
                    sum_reciprocals(k);
            }
        });
    }
};

// ---- the descent ----

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
            const bool all = end - begin == model.query_size(q);
            double low = all ? std::numeric_limits<double>::infinity() : 0.0, high = -low;
            for (std::size_t i = begin; i < end; ++i) {
                const double x = X.value(r, i);
                low = std::min(low, x);
                high = std::max(high, x);
                largest = std::max(largest, x * x);
            }
            const double range = high - low;
            if (model.n_terms(q) == 0) return;
            bound.beta += model.n_terms(q) * range * range / 4;
            bound.range = std::max(bound.range, range);
        });
        if (rule == StepRule::thesis) bound = {n_terms * largest, 0};
        if (rule == StepRule::range) bound.range = 0;
    }
    return bounds;
}

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
