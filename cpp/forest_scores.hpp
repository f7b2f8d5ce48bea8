// Scores of documents by a forest: all of them, tree after tree, or of the best k of a query alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "forest.hpp"
#include "forest_codes.hpp"
#include "forest_walk.hpp"
#include "parallel.hpp"

namespace rankwright {

inline constexpr std::size_t kAtOnce = kBlock * kAbreast;
inline constexpr std::size_t kPartDocs = 4 * kAtOnce;  // of a thread's task

inline std::size_t blocks_for(std::size_t n_docs) { return (n_docs + kBlock - 1) / kBlock; }

// Documents [begin, end) as bytes, with their sums over the trees so far.
class Walkers {
    const Forest& forest_;
    const InstructionSet set_;
    std::vector<Block> codes_, masks_;
    std::vector<double> sums_;

  public:
    Walkers(const Forest& forest, const Rows& X, std::size_t begin, std::size_t end,
            InstructionSet set)
        : forest_(forest),
          set_(set),
          // One at least: it has an address, though no tree may ask for anything.
          codes_(std::max<std::size_t>(blocks_for(end - begin) * forest.columns.size(), 1)),
          masks_(forest.most_nodes + 1),
          sums_(blocks_for(end - begin) * kBlock),
          n_docs(end - begin) {
        Block* codes = codes_.data();
        for (; begin < end; begin += kBlock, codes += forest.columns.size()) {
            encode(X, forest, begin, std::min(kBlock, end - begin), codes->byte, set);
        }
    }

    std::size_t n_docs;
    const double* sums() const { return sums_.data(); }

    // Adds the trees [first, last).
    void add(std::size_t first, std::size_t last) {
        const PieceRange range{forest_.piece_begin[first], forest_.piece_begin[last]};
        for (std::size_t at = 0; at < n_docs; at += kAtOnce) {
            walk(forest_, range, codes_.data() + at / kBlock * forest_.columns.size(),
                 std::min(kAtOnce, n_docs - at), masks_.data(), sums_.data() + at, set_);
        }
    }

    // Keeps these documents alone, in ascending order.
    void keep(const std::vector<std::size_t>& docs) {
        const std::size_t n_columns = forest_.columns.size();
        for (std::size_t i = 0; i < docs.size(); ++i) {
            sums_[i] = sums_[docs[i]];
            const Block* from = codes_.data() + docs[i] / kBlock * n_columns;
            Block* to = codes_.data() + i / kBlock * n_columns;
            for (std::size_t c = 0; c < n_columns; ++c) {
                to[c].byte[i % kBlock] = from[c].byte[docs[i] % kBlock];
            }
        }
        n_docs = docs.size();
    }
};

// out[i] = the sum over the first n_trees trees.
inline void forest_scores(const Forest& forest, const Rows& X, std::size_t n_trees, double* out,
                          int threads, InstructionSet set) {
    const std::size_t n_parts = (X.n_rows + kPartDocs - 1) / kPartDocs;
    parallel_for(n_parts, threads, [&](std::size_t part) {
        const std::size_t end = std::min(X.n_rows, (part + 1) * kPartDocs);
        for (std::size_t begin = part * kPartDocs; begin < end; begin += kAtOnce) {
            const std::size_t n = std::min(kAtOnce, end - begin);
            Walkers docs(forest, X, begin, begin + n, set);
            docs.add(0, n_trees);
            std::copy_n(docs.sums(), n, out + begin);
        }
    });
}

// Of the documents [begin, end), the k with the largest scores, the first of equals, have theirs;
// the others have -infinity. A score is the sum over the trees, and added[row] unless that is null.
// Trees come in stages; after each, documents stop that the others cannot let in: with s the k-th
// largest sum so far, those below s minus what the trees to come can give more to one document than
// to another.
inline void forest_top(const Forest& forest, const Rows& X, std::size_t begin, std::size_t end,
                       std::size_t n_trees, std::size_t k, const double* added, double* out,
                       InstructionSet set) {
    std::fill(out + begin, out + end, -std::numeric_limits<double>::infinity());
    if (k == 0 || begin == end) return;
    double largest = 0;
    for (std::size_t i = begin; added && i < end; ++i) {
        largest = std::max(largest, std::abs(added[i]));
    }
    // Sums are rounded, each addition by 2^-53 of no more than forest.size, the last of that and
    // what is added.
    const double slack = std::ldexp(static_cast<double>(n_trees + 1) * forest.size + largest, -50);
    const std::size_t stage = std::max<std::size_t>(16, n_trees / 16);
    std::vector<std::size_t> row(end - begin), stay;
    std::iota(row.begin(), row.end(), begin);
    Walkers docs(forest, X, begin, end, set);
    std::vector<double> sums(end - begin), sorted;
    const auto sum_up = [&] {
        for (std::size_t i = 0; i < docs.n_docs; ++i) {
            sums[i] = docs.sums()[i] + (added ? added[row[i]] : 0.0);
        }
    };
    for (std::size_t t = 0; t < n_trees;) {
        const std::size_t next = std::min(t + stage, n_trees);
        docs.add(t, next);
        t = next;
        if (t == n_trees || docs.n_docs <= k) continue;
        sum_up();
        sorted.assign(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(docs.n_docs));
        const auto kth = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
        std::nth_element(sorted.begin(), kth, sorted.end(), std::greater<>());
        const double bar = *kth - (forest.spread[t] - forest.spread[n_trees]) - slack;
        stay.clear();
        for (std::size_t i = 0; i < docs.n_docs; ++i) {
            if (sums[i] >= bar) stay.push_back(i);
        }
        if (blocks_for(stay.size()) < blocks_for(docs.n_docs)) {
            docs.keep(stay);
            for (std::size_t i = 0; i < stay.size(); ++i) row[i] = row[stay[i]];
        }
    }
    sum_up();
    std::vector<std::size_t> best(docs.n_docs);
    std::iota(best.begin(), best.end(), std::size_t{0});
    const auto before = [&](std::size_t a, std::size_t b) {
        return sums[a] > sums[b] || (sums[a] == sums[b] && a < b);
    };
    const std::size_t n_best = std::min(k, best.size());
    std::nth_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(n_best - 1),
                     best.end(), before);
    for (std::size_t i = 0; i < n_best; ++i) out[row[best[i]]] = sums[best[i]];
}

}  // namespace rankwright
