// A sum of regression trees, compiled for scoring.
//
// A split sends x left if x <= t. Every feature becomes a byte first: the number of thresholds
// below it, so that x <= t_b if and only if byte(x) <= b. A *column* is a feature with thresholds
// of splits that treat missing values alike; where there are more than a byte can count, there are
// several columns. A missing value is then only a byte of its own, 0 (always left) or 255 (always
// right), and a split by categories is a column of two bytes, 0 for those in its set. So all splits
// are one: byte <= bound.
//
// Leaves are numbered from left to right, and a document's leaf is the largest `first` of the
// splits that it leaves to the right, `first` being the lowest leaf of the right subtree. A leaf
// number is a byte too: a tree with more leaves becomes several *pieces*, each with the leaves of
// an interval. Those to its left share the first number, those to its right the last, with the
// value 0.0, which does not change a bit of a sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace rankwright {

inline constexpr std::size_t kBlock = 64;        // documents that walk side by side
inline constexpr std::size_t kMostCuts = 255;    // of a column: bytes 0 .. 255
inline constexpr std::size_t kMostLeaves = 256;  // of a piece
inline constexpr std::size_t kFew = 8;   // a block costs about as much as so many single documents
inline constexpr double kZero = 1e-35f;  // LightGBM takes values up to this size for 0

// What a split does with a missing value.
enum Missing : std::uint8_t { kNanIsZero, kNanLeft, kNanRight, kZeroLeft, kZeroRight, kInSet };

// The trees as Python keeps them. Children are nodes of the same tree, later ones, or ~leaf.
struct TreeArrays {
    std::span<const std::int64_t> node_begin, leaf_begin;  // n_trees + 1 each
    std::span<const std::int32_t> feature, left, right;
    std::span<const std::uint8_t> missing;
    std::span<const double> cut64;  // the largest double, and ...
    std::span<const float> cut32;   // ... the largest float that goes left; of kInSet, the set
    std::span<const double> leaf_value;
    std::span<const std::int64_t> set_begin;
    std::span<const std::uint32_t> set_words;
};

struct Column {
    std::uint32_t feature = 0;
    std::uint32_t begin = 0, levels = 0;  // its cuts, padded with infinities to 2^levels - 1
    std::uint8_t of_missing = 0, of_zero = 0;
    Missing missing = kNanIsZero;
    std::uint32_t set_begin = 0, set_end = 0;

    bool zero_is_missing() const { return missing == kZeroLeft || missing == kZeroRight; }
};

// Left if the byte of the column is at most the bound.
struct Place {
    std::uint32_t column;
    std::uint8_t bound;
};

struct Node {
    std::uint32_t offset;    // of the column in a block of codes
    std::uint32_t child[2];  // left and right, in the piece; its n_nodes if outside
    std::uint8_t bound, first;
};

struct Piece {
    std::size_t node_begin, leaf_begin;
    std::uint32_t n_nodes, depth;
};

class Forest {
    using Key = std::tuple<std::int32_t, std::uint8_t, std::int64_t>;  // feature, missing, set

  public:
    const std::size_t n_features, n_trees;
    std::vector<Column> columns;          // by feature
    std::vector<std::size_t> columns_of;  // of feature j: [columns_of[j], columns_of[j + 1])
    std::vector<Place> places;            // of each node of the trees, as they came
    std::vector<double> cuts64;
    std::vector<float> cuts32;
    std::vector<std::uint32_t> set_words;
    std::vector<Node> nodes;  // of each piece, parents first, then one that loops
    std::vector<Piece> pieces;
    std::vector<std::size_t> piece_begin;  // of tree t: [piece_begin[t], piece_begin[t + 1])
    std::vector<double> leaves;
    std::vector<double> spread;  // of trees t, t + 1, ...: the sum of max leaf - min leaf
    double size = 0;             // sum over trees of max |leaf|
    std::size_t most_nodes = 0;  // of a piece

    Forest(const TreeArrays& trees, std::size_t features)
        : n_features(features), n_trees(trees.node_begin.size() - 1) {
        set_words.assign(trees.set_words.begin(), trees.set_words.end());
        make_columns(trees);
        piece_begin.push_back(0);
        for (std::size_t t = 0; t < n_trees; ++t) {
            add_tree(trees, t);
            piece_begin.push_back(pieces.size());
        }
        measure(trees);
    }

    // The byte of a value in a column.
    template <class Float>
    std::uint8_t code(const Column& column, Float x) const {
        if (std::isnan(x)) return column.of_missing;
        if (column.missing == kInSet) return in_set(column, x) ? 0 : 1;
        if (column.zero_is_missing() && std::abs(x) <= static_cast<Float>(kZero)) {
            return column.of_missing;
        }
        const Float* cut = cuts<Float>() + column.begin;
        std::uint32_t at = 0;
        for (std::uint32_t level = column.levels; level-- > 0;) {
            at += static_cast<std::uint32_t>(cut[at + (1u << level) - 1] < x) << level;
        }
        return static_cast<std::uint8_t>(at);
    }

    template <class Float>
    const Float* cuts() const {
        if constexpr (sizeof(Float) == sizeof(float)) {
            return cuts32.data();
        } else {
            return cuts64.data();
        }
    }

    // Truncated towards 0, as LightGBM does.
    bool in_set(const Column& column, double x) const {
        if (!(x > -1 && x < std::numeric_limits<std::int32_t>::max())) return false;
        const auto category = static_cast<std::uint32_t>(std::max(x, 0.0));
        const std::uint32_t word = column.set_begin + category / 32;
        return word < column.set_end && (set_words[word] >> category % 32 & 1);
    }

  private:
    // Makes the columns, and finds that of every node, with its bound.
    void make_columns(const TreeArrays& trees) {
        std::map<Key, std::vector<std::size_t>> nodes_of;
        std::map<std::vector<std::uint32_t>, std::int64_t> known_sets;  // equal sets are one column
        for (std::size_t i = 0; i < trees.feature.size(); ++i) {
            std::int64_t set = -1;
            if (trees.missing[i] == kInSet) {
                const auto which = static_cast<std::size_t>(trees.cut64[i]);
                const auto* words = trees.set_words.data();
                const std::vector<std::uint32_t> content(words + trees.set_begin[which],
                                                         words + trees.set_begin[which + 1]);
                set = known_sets.try_emplace(content, which).first->second;
            }
            nodes_of[{trees.feature[i], trees.missing[i], set}].push_back(i);
        }
        places.resize(trees.feature.size());
        for (auto& [key, of_key] : nodes_of) {
            const auto& [feature, missing, set] = key;
            if (missing == kInSet) {
                for (const std::size_t i : of_key) {
                    places[i] = {static_cast<std::uint32_t>(columns.size()), 0};
                }
                columns.push_back(
                    {.feature = static_cast<std::uint32_t>(feature),
                     .of_missing = 1,
                     .missing = kInSet,
                     .set_begin = static_cast<std::uint32_t>(trees.set_begin[set]),
                     .set_end = static_cast<std::uint32_t>(trees.set_begin[set + 1])});
            } else {
                add_columns(trees, feature, static_cast<Missing>(missing), of_key);
            }
        }
        columns_of.assign(n_features + 1, 0);
        for (Column& column : columns) {
            ++columns_of[column.feature + 1];
            column.of_zero = code(column, 0.0);
        }
        for (std::size_t j = 0; j < n_features; ++j) columns_of[j + 1] += columns_of[j];
    }

    void add_columns(const TreeArrays& trees, std::int32_t feature, Missing missing,
                     std::vector<std::size_t>& of_key) {
        const auto before = [&](std::size_t a, std::size_t b) {
            return trees.cut64[a] < trees.cut64[b];
        };
        std::sort(of_key.begin(), of_key.end(), before);
        for (std::size_t k = 0; k < of_key.size();) {
            Column column{.feature = static_cast<std::uint32_t>(feature),
                          .begin = static_cast<std::uint32_t>(cuts64.size()),
                          .missing = missing};
            std::size_t n_cuts = 0;
            for (; k < of_key.size(); ++k) {
                const std::size_t i = of_key[k];
                if (n_cuts == 0 || trees.cut64[i] != cuts64.back()) {
                    if (n_cuts == kMostCuts) break;
                    cuts64.push_back(trees.cut64[i]);
                    cuts32.push_back(trees.cut32[i]);
                    ++n_cuts;
                }
                places[i] = {static_cast<std::uint32_t>(columns.size()),
                             static_cast<std::uint8_t>(n_cuts - 1)};
            }
            finish(column, n_cuts);
            columns.push_back(column);
        }
    }

    // Pads the cuts, the last ones so far, and gives missing values their byte.
    void finish(Column& column, std::size_t n_cuts) {
        while ((1u << column.levels) <= n_cuts) ++column.levels;
        const std::size_t end = column.begin + (std::size_t{1} << column.levels) - 1;
        cuts64.resize(end, std::numeric_limits<double>::infinity());
        cuts32.resize(end, std::numeric_limits<float>::infinity());
        switch (column.missing) {
            case kNanIsZero: column.of_missing = code(column, 0.0); break;
            case kNanLeft:
            case kZeroLeft: column.of_missing = 0; break;
            default: column.of_missing = kMostCuts;
        }
    }

    void add_tree(const TreeArrays& trees, std::size_t t) {
        const std::size_t at = trees.node_begin[t];
        const std::size_t n = trees.node_begin[t + 1] - at;
        const std::uint32_t n_leaves = static_cast<std::uint32_t>(n) + 1;
        // Leaves of the subtree of each node: [low, high), of its right one from `middle` on.
        std::vector<std::uint32_t> low(n), middle(n), high(n), count(n);
        const auto size_of = [&](std::int32_t child) { return child < 0 ? 1u : count[child]; };
        for (std::size_t i = n; i-- > 0;) {
            count[i] = size_of(trees.left[at + i]) + size_of(trees.right[at + i]);
        }
        std::vector<double> values(n_leaves);
        const double* value = trees.leaf_value.data() + trees.leaf_begin[t];
        if (n == 0) values[0] = value[0];
        if (n > 0) high[0] = n_leaves;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t left = trees.left[at + i], right = trees.right[at + i];
            middle[i] = low[i] + size_of(left);
            const auto pass = [&](std::int32_t child, std::uint32_t begin, std::uint32_t end) {
                if (child < 0) {
                    values[begin] = value[~child];
                } else {
                    low[child] = begin;
                    high[child] = end;
                }
            };
            pass(left, low[i], middle[i]);
            pass(right, middle[i], high[i]);
        }
        const std::uint32_t most = n_leaves <= kMostLeaves ? n_leaves : kMostLeaves - 2;
        for (std::uint32_t begin = 0; begin < n_leaves; begin += most) {
            const std::uint32_t end = std::min(begin + most, n_leaves);
            Piece piece{nodes.size(), leaves.size(), 0, 0};
            if (begin > 0) leaves.push_back(0.0);
            leaves.insert(leaves.end(), values.begin() + begin, values.begin() + end);
            if (end < n_leaves) leaves.push_back(0.0);
            const std::uint32_t base = begin > 0 ? begin - 1 : 0;
            // Breadth first: neighbours do not wait for each other.
            std::vector<std::pair<std::int32_t, std::uint32_t>> queue;  // node, depth
            const auto enter = [&](std::int32_t child, std::uint32_t depth) {
                if (child < 0 || high[child] <= begin || low[child] >= end) return outside;
                queue.emplace_back(child, depth);
                return static_cast<std::uint32_t>(queue.size() - 1);
            };
            if (n > 0) enter(0, 1);
            for (std::size_t k = 0; k < queue.size(); ++k) {
                const auto [i, depth] = queue[k];
                const Place place = places[at + i];
                const std::uint32_t left = enter(trees.left[at + i], depth + 1);
                const std::uint32_t right = enter(trees.right[at + i], depth + 1);
                const std::uint32_t first = std::clamp(middle[i], base, end) - base;
                const auto offset = static_cast<std::uint32_t>(place.column * kBlock);
                nodes.push_back(
                    {offset, {left, right}, place.bound, static_cast<std::uint8_t>(first)});
                piece.depth = std::max(piece.depth, depth);
            }
            piece.n_nodes = static_cast<std::uint32_t>(queue.size());
            for (std::size_t k = piece.node_begin; k < nodes.size(); ++k) {
                for (std::uint32_t& child : nodes[k].child) {
                    if (child == outside) child = piece.n_nodes;
                }
            }
            nodes.push_back({0, {piece.n_nodes, piece.n_nodes}, kMostCuts, 0});
            pieces.push_back(piece);
            most_nodes = std::max<std::size_t>(most_nodes, piece.n_nodes);
        }
    }

    void measure(const TreeArrays& trees) {
        spread.assign(n_trees + 1, 0.0);
        for (std::size_t t = n_trees; t-- > 0;) {
            const auto values = trees.leaf_value.subspan(
                trees.leaf_begin[t], trees.leaf_begin[t + 1] - trees.leaf_begin[t]);
            const auto [low, high] = std::minmax_element(values.begin(), values.end());
            spread[t] = spread[t + 1] + (*high - *low);
            size += std::max(std::abs(*low), std::abs(*high));
        }
    }

    static constexpr std::uint32_t outside = std::numeric_limits<std::uint32_t>::max();
};

}  // namespace rankwright
