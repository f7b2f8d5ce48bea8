// The domination loss as coordinate descent sees it: slopes along a weight, and moves of it.
//
// sum_q weight_q sum_k sum_{i in layer k} a_i log(1 + Z_k e^{-m_i}), with Z_k and the weights a of
// the documents as in domination.hpp.
// Queries whose exponentials are too far apart for one reference are evaluated in logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "columns.hpp"
#include "descent_model.hpp"
#include "domination.hpp"
#include "layers.hpp"

namespace rankwright {

// Margins below this would make 1 / Z, to the third power, too large.
inline constexpr double kLowestMargin = -200;

template <class Weights>
class DominationModel {
    const Layers& layers_;
    std::span<const double> weights_;  // by query
    LayerMargins between_;
    double highest_margin_, lowest_margin_;
    std::vector<double> factor_;        // e^{Delta}, by pair of levels; one entry if constant
    Weights document_;                  // a, by row
    std::vector<std::int32_t> layer_;   // of each row
    std::vector<double> sum_;           // S, by layer
    std::vector<double> z_;             // Z, by layer
    std::vector<double> r1_, r2_, r3_;  // sums over a layer of a u, a u^2, a u^3, u = 1 / (Z + e^m)
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
        double gradient = 0;
        for (std::size_t i = begin; i < end; ++i)
            gradient += X.value(r, i) * gradient_[X.row(r, i)];
        const double range = range_of_run(X, r, begin, end, query_size(q)).width();
        total.gradient += weights_[q] * gradient;
        total.curvature += n_terms(q) * range * range / 4;
    }
    void sum_reciprocals(std::size_t k) {
        double a = 0, b = 0, c = 0;
        for (const auto row : layers_.rows_of(static_cast<std::int64_t>(k))) {
            const double u = 1 / (z_[k] + e[row]), au = document_[row] * u;
            a += au;
            b += au * u;
            c += au * u * u;
        }
        r1_[k] = a;
        r2_[k] = b;
        r3_[k] = c;
        drift_[k] = 0;
    }

  public:
    std::vector<std::int32_t> query;
    std::vector<double> scores, e;  // scores are m, the margin shift included

    DominationModel(const Layers& layers, std::span<const double> weights, Weights document,
                    LayerMargins between)
        : layers_(layers),
          weights_(weights),
          between_(between),
          highest_margin_(between.constant),
          lowest_margin_(between.constant),
          factor_{std::exp(between.constant)},
          document_(document) {
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
                    if (l > first) n_dominating_[q] += document_[row];
                }
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
            DominationLoss(layers_, std::span<const double>(scores), between_, document_,
                           gradient_.data())(q);
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
                gradient -= document_[row] * (z_[k] * x * u);
                curvature += document_[row] * (exu * x - exu * (2 * nz1_[k - first] * u + exu));
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
                    const double u = 1 / (z_[k] + e[row]), au = document_[row] * u;
                    r1_[k] -= au;
                    r2_[k] -= au * u;
                    r3_[k] -= au * u * u;
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
                const double u = 1 / (z_[k] + e[row]), au = document_[row] * u;
                r1_[k] += au;
                r2_[k] += au * u;
                r3_[k] += au * u * u;
            }
            for (std::size_t k = first + 1; k < last; ++k) {
                const std::size_t size = layers_.rows_of(static_cast<std::int64_t>(k)).size();
                if (drift_[k] > 0 && (drift_[k] > 1e-2 || size <= 32 + 4 * (end - begin)))
                    sum_reciprocals(k);
            }
        });
    }
};

}  // namespace rankwright
