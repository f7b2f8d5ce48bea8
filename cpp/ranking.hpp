// Each query's labels in the order of decreasing score: all that a ranking metric needs to know.
//
// For each query the kernel writes `labels` (the query's labels, best score first, equal scores in
// row order) and `tied` (1 where a document has the same score as the one before it). With a depth
// k only the first k ranks, and whatever ties with rank k, are in order; the other labels follow in
// any order, which is enough for metrics with a cutoff and saves most of the sorting.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "parallel.hpp"

namespace rankwright {

namespace ranking {

struct Item {
    std::uint64_t key;  // smaller is better
    std::uint64_t row;
};

// Order-preserving map of doubles to integers, larger score first; -0 and 0 are one score.
inline std::uint64_t descending_key(double score) {
    const auto bits = std::bit_cast<std::int64_t>(score + 0.0);
    // Positive doubles order like their bits, negative ones in reverse.
    const std::int64_t magnitude_if_positive =
        ~(bits >> 63) & std::numeric_limits<std::int64_t>::max();
    return static_cast<std::uint64_t>(bits ^ magnitude_if_positive);
}

// b if `take_b`, else a, by arithmetic: on random scores a branch would be mispredicted every other
// time.
inline const Item* choose(bool take_b, const Item* a, const Item* b) {
    const auto mask = -static_cast<std::uintptr_t>(take_b);
    const auto bits = reinterpret_cast<std::uintptr_t>(a);
    return reinterpret_cast<const Item*>(bits ^
                                         ((bits ^ reinterpret_cast<std::uintptr_t>(b)) & mask));
}

// Stable merge of two runs of `width` items: the first half of the result from the front, the
// second from the back, two independent chains that need no bounds checks.
inline void merge_equal(const Item* runs, std::size_t width, Item* out) {
    const Item *a = runs, *b = runs + width;
    const Item *last_a = b - 1, *last_b = last_a + width;
    Item* last_out = out + 2 * width - 1;
    for (std::size_t i = 0; i < width; ++i) {
        const bool take_b = b->key < a->key;
        *out++ = *choose(take_b, a, b);
        a += !take_b;
        b += take_b;
        const bool take_last_a = last_b->key < last_a->key;
        *last_out-- = *choose(take_last_a, last_b, last_a);
        last_a -= take_last_a;
        last_b -= !take_last_a;
    }
}

// Stable merge of [a, middle) and [middle, end).
inline void merge(const Item* a, const Item* middle, const Item* end, Item* out) {
    if (end - middle == middle - a) return merge_equal(a, middle - a, out);
    const Item* b = middle;
    while (a < middle && b < end) {
        const bool take_b = b->key < a->key;
        *out++ = *choose(take_b, a, b);
        a += !take_b;
        b += take_b;
    }
    out = std::copy(a, middle, out);
    std::copy(b, end, out);
}

inline void order_neighbours(Item& a, Item& b) {
    const bool swap = b.key < a.key;
    const Item first = swap ? b : a, second = swap ? a : b;
    a = first;
    b = second;
}

// Stable merge sort by key; runs of four come from a network of neighbour exchanges, which is
// stable.
inline void sort(Item* items, Item* scratch, std::size_t n) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        Item* q = items + i;
        order_neighbours(q[0], q[1]);
        order_neighbours(q[2], q[3]);
        order_neighbours(q[1], q[2]);
        order_neighbours(q[0], q[1]);
        order_neighbours(q[2], q[3]);
        order_neighbours(q[1], q[2]);
    }
    for (std::size_t j = i + 1; j < n; ++j) {
        for (std::size_t k = j; k > i; --k) order_neighbours(items[k - 1], items[k]);
    }
    Item *from = items, *to = scratch;
    for (std::size_t width = 4; width < n; width *= 2) {
        for (std::size_t begin = 0; begin < n; begin += 2 * width) {
            merge(from + begin, from + std::min(begin + width, n),
                  from + std::min(begin + 2 * width, n), to + begin);
        }
        std::swap(from, to);
    }
    if (from != items) std::memcpy(items, from, n * sizeof(Item));
}

// Largest depth for which insertion into a list of the best keys beats sorting everything.
inline constexpr std::size_t kSelectDepth = 64;

// Moves the items of the first `depth` ranks, ties with rank `depth` included, to the front, in row
// order there; returns how many they are.
inline std::size_t select_top(std::span<Item> items, std::size_t depth) {
    // The `depth` smallest keys so far, in increasing order; most items fail the first comparison.
    std::array<std::uint64_t, kSelectDepth> best;
    best.fill(~std::uint64_t(0));
    for (const Item& item : items) {
        if (item.key >= best[depth - 1]) continue;
        std::size_t i = depth - 1;
        for (; i > 0 && best[i - 1] > item.key; --i) best[i] = best[i - 1];
        best[i] = item.key;
    }
    std::size_t n_top = 0;
    for (Item& item : items) {
        if (item.key <= best[depth - 1]) std::swap(items[n_top++], item);
    }
    return n_top;
}

}  // namespace ranking

// Runs of whole queries with about `rows` rows each: the tasks of a parallel loop over queries.
inline std::vector<std::size_t> cut_queries(std::span<const std::int64_t> indptr,
                                            std::int64_t rows = 8192) {
    const std::size_t n_queries = indptr.size() - 1;
    std::vector<std::size_t> cuts{0};
    for (std::size_t q = 0; q < n_queries; ++q) {
        if (indptr[q + 1] - indptr[cuts.back()] >= rows || q + 1 == n_queries)
            cuts.push_back(q + 1);
    }
    return cuts;
}

struct Ranking {
    std::vector<std::int64_t> indptr;
    std::vector<double> labels;
    std::vector<std::uint8_t> tied;
    std::vector<std::uint8_t> has_ties;  // by query
    std::int64_t bad_row =
        -1;  // first row whose score is NaN or infinite; then nothing else is valid

    Ranking(std::span<const double> y, std::span<const double> scores,
            std::span<const std::int64_t> offsets, std::size_t depth, int n_threads)
        : indptr(offsets.begin(), offsets.end()),
          labels(y.size()),
          tied(y.size()),
          has_ties(offsets.size() - 1) {
        const std::vector<std::size_t> cuts = cut_queries(indptr);
        std::vector<std::int64_t> bad(cuts.size(), -1);
        parallel_for(cuts.size() - 1, n_threads, [&](std::size_t task) {
            std::vector<ranking::Item> items, scratch;
            for (std::size_t q = cuts[task]; q < cuts[task + 1]; ++q) {
                const std::int64_t begin = indptr[q];
                const std::size_t m = indptr[q + 1] - begin;
                if (items.size() < m) {
                    items.resize(m);
                    scratch.resize(m);
                }
                bool finite = true;
                for (std::size_t i = 0; i < m; ++i) {
                    const double score = scores[begin + i];
                    finite &= std::abs(score) <= std::numeric_limits<double>::max();
                    items[i] = {ranking::descending_key(score),
                                static_cast<std::uint64_t>(begin + i)};
                }
                if (!finite) {
                    bad[task] = begin;
                    while (std::isfinite(scores[bad[task]])) ++bad[task];
                    return;
                }
                const bool partly = depth <= ranking::kSelectDepth && depth < m / 2;
                const std::size_t n_sorted =
                    partly ? ranking::select_top({items.data(), m}, depth) : m;
                ranking::sort(items.data(), scratch.data(), n_sorted);
                for (std::size_t r = 0; r < m; ++r) labels[begin + r] = y[items[r].row];
                bool any = false;
                for (std::size_t r = 1; r < n_sorted; ++r) {
                    const bool same = items[r].key == items[r - 1].key;
                    tied[begin + r] = same;
                    any |= same;
                }
                has_ties[q] = any;
            }
        });
        for (const std::int64_t row : bad) {
            if (row >= 0 && bad_row < 0) bad_row = row;
        }
    }
};

}  // namespace rankwright
