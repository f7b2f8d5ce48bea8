// The SLAM perceptron: queries one after the other, an update for each that is ranked wrongly.
//
// A query's loss is 1 - metric with tied documents in the worst order. Document i is misordered if
// a document of lower label scores at least as much; k is the best-scored one. The update is
//   w <- w - eta X^T z,    z = sum over active i of v_i (e_k - e_i),
// where active is: misordered, or (the paper) 1 + s_k - s_i > 0; tied k share. Going up the layers,
// k is a running maximum: O(m); the loss sorts the scores, and only if something is misordered.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "iterate.hpp"
#include "layers.hpp"
#include "rank_metrics.hpp"

namespace rankwright {

enum class SlamLoss { ndcg, ap, weights };  // weights: sum of v over the misordered documents

struct SlamRound {
    double loss = 0;
    double comparator = 0;  // the surrogate of the comparator's scores, over the active documents
    bool update = false;
};

class SlamRounds {
    const Layers& layers_;
    std::span<const double> v_;
    SlamLoss loss_;
    std::size_t k_;  // cutoff, 0 without
    bool misordered_only_;
    std::span<const double> discount_;
    Gain gain_{true};
    IdealGain ideal_;
    TieSettler settle_;
    Reciprocals reciprocals_;
    std::vector<ranking::Item> items_, scratch_;
    std::vector<double> labels_, ranked_;
    std::vector<std::uint8_t> tied_;
    BestBelow best_;

    double metric_loss(const double* scores, std::size_t m) {
        for (std::size_t i = 0; i < m; ++i) {
            items_[i] = ranking::make_item(ranking::descending_key(scores[i]), i);
            tied_[i] = 0;
        }
        ranking::sort(items_.data(), scratch_.data(), m);
        const bool ties = ranking::settle({items_.data(), m}, scores, tied_.data());
        for (std::size_t r = 0; r < m; ++r) ranked_[r] = labels_[ranking::place_of(items_[r])];
        const RankedQuery query =
            settle_({{ranked_.data(), m}, {tied_.data(), m}, ties}, Ties::worst);
        double value;
        if (loss_ == SlamLoss::ap) {
            value = average_precision(query, 0, 0.5, false, reciprocals_);
        } else {
            value = discounted_gain(query, k_, discount_, gain_) /
                    ideal_({labels_.data(), m}, k_, discount_, gain_);
        }
        return std::max(0.0, 1 - value);
    }

  public:
    SlamRounds(const Layers& layers, std::span<const double> v, SlamLoss loss, std::size_t k,
               bool misordered_only, std::span<const double> discount)
        : layers_(layers),
          v_(v),
          loss_(loss),
          k_(k),
          misordered_only_(misordered_only),
          discount_(discount) {}

    const Layers& layers() const { return layers_; }

    // One query; scores, comparator (or null) and z are those of its documents.
    SlamRound operator()(std::size_t q, const double* scores, const double* comparator, double* z) {
        const auto first = layers_.indptr[q];
        const std::size_t m = layers_.indptr[q + 1] - first;
        if (items_.size() < m) {
            items_.resize(m);
            scratch_.resize(m);
            labels_.resize(m);
            ranked_.resize(m);
            tied_.resize(m);
        }
        std::fill_n(z, m, 0.0);
        SlamRound round;
        double misordered = 0;
        double other =
            -std::numeric_limits<double>::infinity();  // the best below by the comparator
        for (auto layer = layers_.first_layer[q]; layer < layers_.first_layer[q + 1]; ++layer) {
            const auto rows = layers_.rows_of(layer);
            if (best_.any()) {
                double pushed = 0;
                for (const auto row : rows) {
                    const auto i = row - first;
                    const double behind = scores[best_.place()] - scores[i];
                    if (behind >= 0) misordered += v_[row];
                    if (misordered_only_ ? behind < 0 : 1 + behind <= 0) continue;
                    z[i] -= v_[row];
                    pushed += v_[row];
                    if (comparator) {
                        const double slack = 1 + (other - comparator[i]);
                        round.comparator += v_[row] * std::max(0.0, slack);
                    }
                }
                best_.push(pushed);
            }
            for (const auto row : rows) {
                const auto i = row - first;
                labels_[i] = layers_.labels[layer];
                best_.see(i, scores, z);
                if (comparator) other = std::max(other, comparator[i]);
            }
        }
        best_.settle(z);
        // The loss is at most the sum of v over the misordered documents.
        if (misordered > 0) {
            round.loss = loss_ == SlamLoss::weights ? misordered : metric_loss(scores, m);
        }
        round.update = round.loss > 0;
        if (!round.update) round.comparator = 0;
        return round;
    }
};

// Rounds over the queries in `order`; returns the number of updates. `comparator` has a score for
// each row, or is empty. Writes each round's loss and surrogate of the comparator.
inline std::int64_t slam_perceptron(SlamRounds& rounds, const Rows& rows,
                                    std::span<const std::int64_t> order, double eta,
                                    std::span<const double> comparator, Iterate& iterate,
                                    double* losses, double* surrogates) {
    const auto& indptr = rounds.layers().indptr;
    std::vector<double> scores, z;
    return each_round(order, iterate, 1, [&](std::size_t t, std::size_t q) {
        const std::size_t begin = indptr[q], m = indptr[q + 1] - begin;
        if (scores.size() < m) {
            scores.resize(m);
            z.resize(m);
        }
        rows.scores(begin, begin + m, iterate.w.data(), scores.data());
        const double* u = comparator.empty() ? nullptr : comparator.data() + begin;
        const SlamRound round = rounds(q, scores.data(), u, z.data());
        losses[t] = round.loss;
        surrogates[t] = round.comparator;
        if (!round.update) return false;
        iterate.begin_update();
        for (std::size_t i = 0; i < m; ++i) z[i] *= -eta;
        iterate.add_rows(rows, begin, {z.data(), m});
        return true;
    });
}

}  // namespace rankwright
