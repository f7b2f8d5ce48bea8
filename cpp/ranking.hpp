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
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace rankwright {

namespace ranking {

// Order-preserving map of doubles to integers, larger score first; -0 and 0 are one score.
inline std::uint64_t descending_key(double score) {
    const auto bits = std::bit_cast<std::int64_t>(score + 0.0);
    // Positive doubles order like their bits, negative ones in reverse.
    const std::int64_t magnitude_if_positive =
        ~(bits >> 63) & std::numeric_limits<std::int64_t>::max();
    return static_cast<std::uint64_t>(bits ^ magnitude_if_positive);
}

// What is sorted: the upper half of a key and, below it, the document's place in its query. Half
// the memory of a full key beside a place, and places make every item different, so that any sort
// is stable. Scores that agree in the upper half are put right afterwards.
using Item = std::uint64_t;

inline Item make_item(std::uint64_t key, std::size_t place) {
    return (key & 0xFFFFFFFF00000000u) | static_cast<std::uint32_t>(place);
}
inline std::size_t place_of(Item item) { return item & 0xFFFFFFFFu; }

inline void order(Item& a, Item& b) {
    const Item low = std::min(a, b), high = std::max(a, b);
    a = low;
    b = high;
}

// One step of merging two runs from the front and from the back: two independent chains that need
// no bounds checks while the runs are equally long. The next item is chosen by arithmetic: on
// random scores a branch would be mispredicted every other time.
struct TwoEndedMerge {
    const Item *a, *b, *last_a, *last_b;
    Item *out, *last_out;

    TwoEndedMerge(const Item* runs, std::size_t width, Item* target)
        : a(runs),
          b(runs + width),
          last_a(b - 1),
          last_b(last_a + width),
          out(target),
          last_out(target + 2 * width - 1) {}

    void step() {
        const Item x = *a, y = *b;
        const bool take_b = y < x;
        *out++ = take_b ? y : x;
        a += !take_b;
        b += take_b;
        const Item v = *last_a, w = *last_b;
        const bool take_last_a = w < v;
        *last_out-- = take_last_a ? v : w;
        last_a -= take_last_a;
        last_b -= !take_last_a;
    }
};

// Merges runs of `width` items in pairs; two pairs at a time keep four chains going.
inline void merge_runs(const Item* from, std::size_t n, std::size_t width, Item* to) {
    std::size_t begin = 0;
    for (; begin + 4 * width <= n; begin += 4 * width) {
        TwoEndedMerge one(from + begin, width, to + begin);
        TwoEndedMerge two(from + begin + 2 * width, width, to + begin + 2 * width);
        for (std::size_t i = 0; i < width; ++i) {
            one.step();
            two.step();
        }
    }
    for (; begin + 2 * width <= n; begin += 2 * width) {
        TwoEndedMerge one(from + begin, width, to + begin);
        for (std::size_t i = 0; i < width; ++i) one.step();
    }
    // What is left is at most one run and a shorter one.
    const Item *a = from + begin, *middle = from + std::min(begin + width, n), *b = middle;
    Item* out = to + begin;
    while (a < middle && b < from + n) {
        const Item x = *a, y = *b;
        const bool take_b = y < x;
        *out++ = take_b ? y : x;
        a += !take_b;
        b += take_b;
    }
    out = std::copy(a, middle, out);
    std::copy(b, from + n, out);
}

// Merge sort; runs of four come from a sorting network.
inline void sort(Item* items, Item* scratch, std::size_t n) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        Item* q = items + i;
        order(q[0], q[1]);
        order(q[2], q[3]);
        order(q[0], q[2]);
        order(q[1], q[3]);
        order(q[1], q[2]);
    }
    for (std::size_t j = i + 1; j < n; ++j) {
        for (std::size_t k = j; k > i; --k) order(items[k - 1], items[k]);
    }
    Item *from = items, *to = scratch;
    for (std::size_t width = 4; width < n; width *= 2) {
        merge_runs(from, n, width, to);
        std::swap(from, to);
    }
    if (from != items) std::copy(from, from + n, items);
}

// Puts sorted items whose upper halves agree into the order of their whole scores; marks equal
// scores. Returns whether there are any.
inline bool settle(std::span<Item> items, const double* scores, std::uint8_t* tied) {
    bool any = false;
    for (std::size_t begin = 0; begin + 1 < items.size();) {
        if (items[begin] >> 32 != items[begin + 1] >> 32) {
            ++begin;
            continue;
        }
        std::size_t end = begin + 2;
        while (end < items.size() && items[end] >> 32 == items[begin] >> 32) ++end;
        const auto score = [=](Item item) { return scores[place_of(item)]; };
        const auto better = [=](Item x, Item y) { return score(x) > score(y); };
        const auto run = items.subspan(begin, end - begin);
        if (!std::ranges::is_sorted(run, better)) std::ranges::stable_sort(run, better);
        for (std::size_t r = begin + 1; r < end; ++r) {
            const bool same = score(items[r]) == score(items[r - 1]);
            tied[r] = same;
            any |= same;
        }
        begin = end;
    }
    return any;
}

// Largest depth for which insertion into a list of the best items beats sorting everything.
inline constexpr std::size_t kSelectDepth = 64;

// Moves the items of the first `depth` ranks, and all that agree with rank `depth` in the upper
// half, to the front; returns how many they are.
inline std::size_t select_top(std::span<Item> items, std::size_t depth) {
    // The `depth` smallest items so far, in increasing order; most fail the first comparison.
    std::array<Item, kSelectDepth> best;
    best.fill(~Item(0));
    for (const Item item : items) {
        if (item >= best[depth - 1]) continue;
        std::size_t i = depth - 1;
        for (; i > 0 && best[i - 1] > item; --i) best[i] = best[i - 1];
        best[i] = item;
    }
    const Item last = best[depth - 1] | 0xFFFFFFFFu;
    std::size_t n_top = 0;
    for (Item& item : items) {
        if (item <= last) std::swap(items[n_top++], item);
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
    // Not initialised here: the threads that fill them touch them first.
    std::unique_ptr<double[]> labels;
    std::unique_ptr<std::uint8_t[]> tied;
    std::vector<std::uint8_t> has_ties;  // by query
    // First rows that are NaN or infinite, or -1; if there is one, nothing else is valid.
    std::int64_t bad_score = -1, bad_label = -1;
    double lowest_label = 0, highest_label = 0;

    Ranking(std::span<const double> y, std::span<const double> scores,
            std::span<const std::int64_t> offsets, std::size_t depth, int n_threads)
        : indptr(offsets.begin(), offsets.end()),
          labels(std::make_unique_for_overwrite<double[]>(y.size())),
          tied(std::make_unique_for_overwrite<std::uint8_t[]>(y.size())),
          has_ties(offsets.size() - 1) {
        const std::vector<std::size_t> cuts = cut_queries(indptr);
        std::vector<Facts> facts(cuts.size() - 1);
        parallel_for(facts.size(), n_threads, [&](std::size_t task) {
            std::vector<ranking::Item> items, scratch;
            for (std::size_t q = cuts[task]; q < cuts[task + 1]; ++q) {
                const std::size_t begin = indptr[q], m = indptr[q + 1] - begin;
                if (items.size() < m) {
                    items.resize(m);
                    scratch.resize(m);
                }
                has_ties[q] = rank({y.data() + begin, m}, scores.data() + begin, depth,
                                   items.data(), scratch.data(), begin, facts[task]);
            }
        });
        Facts all;
        for (const Facts& f : facts) all.add(f);
        if (!all.finite) {
            const auto find = [](std::span<const double> values) {
                const auto bad =
                    std::ranges::find_if_not(values, [](double v) { return std::isfinite(v); });
                return bad == values.end() ? -1 : bad - values.begin();
            };
            bad_score = find(scores);
            bad_label = find(y);
        }
        if (!y.empty()) {
            lowest_label = all.low;
            highest_label = all.high;
        }
    }

  private:
    struct Facts {
        bool finite = true;
        double low = std::numeric_limits<double>::infinity(), high = -low;

        void add(const Facts& other) {
            finite &= other.finite;
            low = std::min(low, other.low);
            high = std::max(high, other.high);
        }
    };

    // Ranks one query into labels and tied; returns whether it has ties.
    bool rank(std::span<const double> y, const double* scores, std::size_t depth,
              ranking::Item* items, ranking::Item* scratch, std::size_t begin, Facts& facts) {
        constexpr double largest = std::numeric_limits<double>::max();
        const std::size_t m = y.size();
        Facts found;
        for (std::size_t i = 0; i < m; ++i) {
            found.finite &= (std::abs(scores[i]) <= largest) & (std::abs(y[i]) <= largest);
            found.low = std::min(found.low, y[i]);
            found.high = std::max(found.high, y[i]);
            items[i] = ranking::make_item(ranking::descending_key(scores[i]), i);
        }
        facts.add(found);
        const bool partly = depth <= ranking::kSelectDepth && depth < m / 2;
        const std::size_t n_sorted = partly ? ranking::select_top({items, m}, depth) : m;
        ranking::sort(items, scratch, n_sorted);
        std::fill_n(tied.get() + begin, m, std::uint8_t(0));
        const bool any = ranking::settle({items, n_sorted}, scores, tied.get() + begin);
        for (std::size_t r = 0; r < m; ++r) labels[begin + r] = y[ranking::place_of(items[r])];
        return any;
    }
};

}  // namespace rankwright
