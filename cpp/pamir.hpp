// PAMIR: passive-aggressive updates on triplets of a query, a document and one that it dominates.
//
//   l = max(0, 1 - w.(x+ - x-)),   w <- w + min(C a+, l / |x+ - x-|^2) (x+ - x-)
//
// with a+ the weight of the better document.
// Round t draws a query among those that have pairs, a document above the lowest layer and one of
// the layers below it, each uniformly: pure functions of the seed, t and the query's key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "hashing.hpp"
#include "iterate.hpp"
#include "layers.hpp"
#include "parallel.hpp"

namespace rankwright {

// A number below n, from 64 random bits.
inline std::uint64_t below(std::uint64_t bits, std::uint64_t n) {
    // The upper half of the product of the bits and n, in two pieces of n < 2^32.
    return ((bits >> 32) * n + (((bits & 0xFFFFFFFFu) * n) >> 32)) >> 32;
}

// `queries` are those with a pair, in an order that does not depend on the data's; `keys` are their
// seeds. Writes the hinge of each round times its weight, returns the number of updates.
template <class Weights>
std::int64_t pamir(const Rows& rows, const Layers& layers, std::span<const std::int64_t> queries,
                   std::span<const std::uint64_t> keys, std::uint64_t seed, double C,
                   Weights weights, Iterate& iterate, std::span<double> losses) {
    std::int64_t n_updates = 0;
    const auto check = checkpoint.load();
    for (std::size_t i = 0; i < losses.size(); ++i) {
        if (check && i % 65536 == 0) check();
        const auto t = static_cast<std::uint64_t>(iterate.round++);
        const auto at = below(mix(seed ^ mix(t)), queries.size());
        const auto q = queries[at];
        const auto first = layers.first_layer[q], last = layers.first_layer[q + 1];
        const auto bottom = layers.begin[first], second = layers.begin[first + 1];
        const auto high = second + static_cast<std::int64_t>(below(mix(keys[at] ^ mix(2 * t)),
                                                                   layers.begin[last] - second));
        // The layer of the better document begins where the worse ones end.
        const auto layer =
            std::upper_bound(layers.begin.begin() + first, layers.begin.begin() + last, high) - 1;
        const auto low = bottom + static_cast<std::int64_t>(
                                      below(mix(keys[at] ^ mix(2 * t + 1)), *layer - bottom));
        const auto better = layers.rows[high], worse = layers.rows[low];
        const double* w = iterate.w.data();
        const double loss = 1 - (rows.dot(better, w) - rows.dot(worse, w));
        losses[i] = weights[better] * std::max(loss, 0.0);
        if (!(losses[i] > 0)) continue;
        const double square = rows.squared_distance(better, worse);
        if (square == 0) continue;
        const double step = std::min(C * weights[better], loss / square);
        ++n_updates;
        iterate.begin_update();
        iterate.add(rows, better, step);
        iterate.add(rows, worse, -step);
    }
    return n_updates;
}

}  // namespace rankwright
