// The weights v of documents with which SLAM and its smooth form bound a metric.
//
// Ranks are those of a best order: layers from the top, rows of a layer in their order. The weight
// of rank r is a factor of its layer times a term of the rank; documents of a layer share theirs,
// or keep them as printed (S14).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "layers.hpp"

namespace rankwright {

// Writes v of the layers of query q; `factor(layer)` and `term(r)`, r from 0.
template <class Factor, class Term>
void rank_weights(const Layers& layers, std::size_t q, bool shared, const Factor& factor,
                  const Term& term, double* v) {
    std::size_t r = 0;
    for (auto layer = layers.first_layer[q + 1]; layer-- > layers.first_layer[q];) {
        const auto rows = layers.rows_of(layer);
        const double scale = factor(layer);
        if (!shared) {
            for (const auto row : rows) v[row] = scale * term(r++);
            continue;
        }
        // The sum goes by rank, so that not a bit depends on the order of the rows.
        double sum = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) sum += term(r++);
        const double mean = scale * (sum / static_cast<double>(rows.size()));
        for (const auto row : rows) v[row] = mean;
    }
}

// (G(y_i) - G(y_m)) (D(i) - D(m)) / Z, or with a cutoff G(y_i) D(i) / Z for i <= k, else 0
// (S3: for the first k ranks, not for the k most relevant documents).
inline void ndcg_weights(const Layers& layers, std::size_t k, std::span<const double> discount,
                         bool shared, double* v) {
    const auto gain = [&](std::int64_t layer) { return std::exp2(layers.labels[layer]) - 1; };
    for (std::size_t q = 0; q < layers.n_queries(); ++q) {
        const std::size_t m = layers.indptr[q + 1] - layers.indptr[q];
        if (m == 0) continue;
        const std::size_t depth = k > 0 ? std::min(k, m) : m;
        const auto lowest = layers.first_layer[q];
        double best = 0;  // Z
        std::size_t r = 0;
        for (auto layer = layers.first_layer[q + 1]; layer-- > lowest;) {
            const double g = gain(layer);
            const std::size_t end = std::min(r + layers.rows_of(layer).size(), depth);
            for (; r < end; ++r) best += g * discount[r];
        }
        // What a document loses at most is its place to the last one's, for the lowest gain.
        const double worst = k > 0 ? 0 : gain(lowest), last = k > 0 ? 0 : discount[m - 1];
        // All labels 0: Z = 0, nothing to order, and no weights (S7).
        const auto factor = [&](std::int64_t layer) {
            return best > 0 ? (gain(layer) - worst) / best : 0.0;
        };
        const auto term = [&](std::size_t r) { return r < depth ? discount[r] - last : 0.0; };
        rank_weights(layers, q, shared, factor, term, v);
    }
}

// 1/r (m - r) / (m - r + i) for i <= r relevant documents, else 0
inline void map_weights(const Layers& layers, double threshold, bool shared, double* v) {
    for (std::size_t q = 0; q < layers.n_queries(); ++q) {
        double relevant = 0;
        for (auto layer = layers.first_layer[q]; layer < layers.first_layer[q + 1]; ++layer) {
            if (layers.labels[layer] >= threshold)
                relevant += static_cast<double>(layers.rows_of(layer).size());
        }
        const double others =
            static_cast<double>(layers.indptr[q + 1] - layers.indptr[q]) - relevant;
        const auto factor = [&](std::int64_t layer) {
            return layers.labels[layer] >= threshold ? 1.0 : 0.0;
        };
        const auto term = [&](std::size_t r) {
            const double rank = static_cast<double>(r + 1);
            return rank <= relevant ? others / (relevant * (others + rank)) : 0.0;
        };
        rank_weights(layers, q, shared, factor, term, v);
    }
}

}  // namespace rankwright
