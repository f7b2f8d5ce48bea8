// What each feature adds to the score of a document: SHAP values, by the counts of the trees'
// training documents.
//
// Let a leaf have the value v, and let F be the d different features on the path to it. Of feature
// i in F, o_i is 1 if the document obeys all of the path's splits on it, else 0, and z_i is the
// product of the shares of training documents that took the path's sides at them. Who knows the
// features S alone takes the leaf for v prod_{i in S} o_i prod_{i not in S} z_i, and Shapley's
// value of feature j in that game is, with s = |S|,
//
//   v (o_j - z_j) sum_{S in F - j} s! (d - 1 - s)! / d! prod_{i in S} o_i prod_{i in F - j - S} z_i
//   = v (o_j - z_j) int_0^1 prod_{i in F - j} (t o_i + (1 - t) z_i) dt,
//
// because int_0^1 t^s (1 - t)^(d-1-s) dt = s! (d - 1 - s)! / d!. The integrand is a polynomial of
// degree d - 1, so that ceil(d / 2) points are enough (gauss_legendre.hpp). With
// p(t) = v prod_{i in F} (t o_i + (1 - t) z_i), the value is
//
//   sum_k w_k p(t_k) c_j(t_k),   c_j(t) = (1 - z_j) / (t + (1 - t) z_j)   if o_j = 1,
//                                c_j(t) = -1 / (1 - t)                    if o_j = 0.
//
// The factors of p lie between 0 and 1, and t and 1 - t are all that is divided by: in the chains
// of 12 to 60 features that were compared with exact fractions, values were within 4e-16 of their
// sum. With sums over S that are extended and unwound along the path, LightGBM's were
// within 1.3e-14, in some chains closer than ours.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "forest.hpp"
#include "forest_codes.hpp"
#include "forest_walk.hpp"
#include "gauss_legendre.hpp"
#include "instruction_sets.hpp"
#include "parallel.hpp"
#include "wide.hpp"

namespace rankwright {

// The trees that a Forest was made of, with the training documents of their nodes and leaves.
struct CountedTrees {
    std::span<const std::int64_t> node_begin, leaf_begin;
    std::span<const std::int32_t> left, right;
    std::span<const std::int64_t> node_count, leaf_count;
    std::span<const double> leaf_value;
};

// A feature of the path to a leaf.
struct PathFeature {
    std::uint32_t feature;  // its number among those that the forest uses
    std::uint64_t obeys;    // o of each document of a block
    double share;           // z
};

inline constexpr std::size_t kPoints = 4;  // so many at a time: their products stay in registers

// A path at some points t: numbers that do not depend on the document.
struct PathPoints {
    struct OfFeature {
        double breaks[kPoints], obeys[kPoints];  // t o + (1 - t) z, for o = 0 and o = 1
        double gains[kPoints];                   // c for o = 1
    };
    std::size_t n = 0;
    double start[kPoints], loses[kPoints];  // w v; c for o = 0
    std::vector<OfFeature> features;

    void set(const std::vector<PathFeature>& path, double value, const GaussLegendre& rule,
             std::size_t first) {
        n = std::min(kPoints, rule.t.size() - first);
        features.resize(path.size());
        for (std::size_t k = 0; k < n; ++k) {
            const double t = rule.t[first + k], rest = rule.rest[first + k];
            start[k] = rule.weight[first + k] * value;
            loses[k] = -1 / rest;
            for (std::size_t i = 0; i < path.size(); ++i) {
                const double z = path[i].share;
                features[i].breaks[k] = rest * z;
                features[i].obeys[k] = t + rest * z;
                features[i].gains[k] = (1 - z) / (t + rest * z);
            }
        }
    }
};

#if defined(__GNUC__) || defined(__clang__)
#define RANKWRIGHT_LANES(W) __attribute__((vector_size((W) * sizeof(double))))
inline constexpr std::size_t kPortableLanes = 2;
#else
#define RANKWRIGHT_LANES(W)
inline constexpr std::size_t kPortableLanes = 1;
#endif

// Adds n points of a path to what its features have in n_docs documents: sums[feature][document].
template <std::size_t W, std::size_t n>
inline RANKWRIGHT_INLINE void add_points(const std::vector<PathFeature>& path,
                                         const PathPoints& points, std::size_t n_docs,
                                         double* sums) {
    typedef double Vector RANKWRIGHT_LANES(W);
    typedef std::int64_t Mask RANKWRIGHT_LANES(W);
    // A bit of each lane's own, in the exponent: read as doubles, which any processor compares.
    constexpr int kExponent = 52;
    Mask own;
    for (std::size_t i = 0; i < W; ++i) {
        const std::int64_t bit = std::int64_t{1} << (kExponent + i);
        std::memcpy(reinterpret_cast<char*>(&own) + i * sizeof(bit), &bit, sizeof(bit));
    }
    const auto bits_of = [&](std::size_t i, std::size_t doc) {
        return static_cast<std::int64_t>(path[i].obeys >> doc << kExponent);
    };
    for (std::size_t doc = 0; doc < n_docs; doc += W) {
        Vector p[n];
        for (std::size_t k = 0; k < n; ++k) p[k] = Vector{} + points.start[k];
        for (std::size_t i = 0; i < path.size(); ++i) {
            const Vector obeys = (Vector)((Mask{} + bits_of(i, doc)) & own);
            const auto& factor = points.features[i];
            for (std::size_t k = 0; k < n; ++k) {
                p[k] *= obeys != 0 ? Vector{} + factor.obeys[k] : Vector{} + factor.breaks[k];
            }
        }
        Vector loss{};
        for (std::size_t k = 0; k < n; ++k) loss += p[k] * points.loses[k];
        for (std::size_t i = 0; i < path.size(); ++i) {
            const Vector obeys = (Vector)((Mask{} + bits_of(i, doc)) & own);
            Vector gain{};
            for (std::size_t k = 0; k < n; ++k) gain += p[k] * points.features[i].gains[k];
            double* const at = sums + path[i].feature * kBlock + doc;
            Vector sum;
            std::memcpy(&sum, at, sizeof(sum));
            sum += obeys != 0 ? gain : loss;
            std::memcpy(at, &sum, sizeof(sum));
        }
    }
}

template <std::size_t W>
inline RANKWRIGHT_INLINE void add_path(const std::vector<PathFeature>& path,
                                       const PathPoints& points, std::size_t n_docs, double* sums) {
    static_assert(kPoints == 4);
    switch (points.n) {
        case 1: return add_points<W, 1>(path, points, n_docs, sums);
        case 2: return add_points<W, 2>(path, points, n_docs, sums);
        case 3: return add_points<W, 3>(path, points, n_docs, sums);
        default: return add_points<W, 4>(path, points, n_docs, sums);
    }
}

using AddPath = void (*)(const std::vector<PathFeature>&, const PathPoints&, std::size_t, double*);

inline void add_path_portable(const std::vector<PathFeature>& path, const PathPoints& points,
                              std::size_t n_docs, double* sums) {
    add_path<kPortableLanes>(path, points, n_docs, sums);
}

#if RANKWRIGHT_X86

RANKWRIGHT_AVX2 inline void add_path_avx2(const std::vector<PathFeature>& path,
                                          const PathPoints& points, std::size_t n_docs,
                                          double* sums) {
    add_path<4>(path, points, n_docs, sums);
}

RANKWRIGHT_AVX512 inline void add_path_avx512(const std::vector<PathFeature>& path,
                                              const PathPoints& points, std::size_t n_docs,
                                              double* sums) {
    add_path<8>(path, points, n_docs, sums);
}

#endif

inline AddPath add_path_with(InstructionSet set) {
#if RANKWRIGHT_X86
    if (set == InstructionSet::avx512) return add_path_avx512;
    if (set == InstructionSet::avx2) return add_path_avx2;
#endif
    return add_path_portable;
}

// The documents of a block that a split sends left, as bits.
inline std::uint64_t goes_left(const Block& codes, std::uint8_t bound) {
    std::uint64_t found = 0;
#if RANKWRIGHT_X86
    const __m128i most = _mm_set1_epi8(static_cast<char>(bound));
    for (std::size_t i = 0; i < kBlock; i += 16) {
        const __m128i code = _mm_load_si128(reinterpret_cast<const __m128i*>(codes.byte + i));
        const __m128i at_most = _mm_cmpeq_epi8(_mm_max_epu8(code, most), most);
        found |= static_cast<std::uint64_t>(_mm_movemask_epi8(at_most)) << i;
    }
#else
    for (std::size_t i = 0; i < kBlock; ++i) {
        found |= static_cast<std::uint64_t>(codes.byte[i] <= bound) << i;
    }
#endif
    return found;
}

class ForestContributions {
    static constexpr std::int64_t kRoot = -1;
    static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

    // The way from a node to one of its children, 2 node + side, side 1 being right.
    using Way = std::int64_t;

    const Forest& forest_;
    const CountedTrees& trees_;
    std::vector<Way> to_node_, to_leaf_;   // the last one to each; kRoot to a root
    std::vector<double> share_;            // of each way: the documents of a node that take it
    std::vector<std::uint32_t> features_;  // that the forest uses
    std::vector<std::uint32_t> number_;    // of each column: that of its feature among them
    std::map<std::size_t, GaussLegendre> rules_;

    // Points for so many features. A rule of n takes n^2 steps to find: there are few long ones.
    static std::size_t points_for(std::size_t n_features) {
        const std::size_t n = (n_features + 1) / 2;
        return n <= 32 ? n : std::bit_ceil(n);
    }

  public:
    ForestContributions(const Forest& forest, const CountedTrees& trees)
        : forest_(forest),
          trees_(trees),
          to_node_(trees.node_count.size(), kRoot),
          to_leaf_(trees.leaf_count.size(), kRoot),
          share_(2 * trees.node_count.size()) {
        for (const Column& column : forest.columns) {
            if (features_.empty() || features_.back() != column.feature) {
                features_.push_back(column.feature);
            }
            number_.push_back(static_cast<std::uint32_t>(features_.size() - 1));
        }
        std::size_t longest = 0;
        std::vector<std::size_t> depth(to_node_.size());
        for (std::size_t t = 0; t < forest.n_trees; ++t) {
            const std::int64_t root = trees.node_begin[t];
            for (std::int64_t node = root; node < trees.node_begin[t + 1]; ++node) {
                const std::int32_t children[] = {trees.left[node], trees.right[node]};
                const auto all = static_cast<double>(trees.node_count[node]);
                longest = std::max(longest, depth[node] + 1);
                for (const int side : {0, 1}) {
                    const Way way = 2 * node + side;
                    const std::int32_t child = children[side];
                    if (child < 0) {
                        const std::int64_t leaf = trees.leaf_begin[t] + ~child;
                        to_leaf_[leaf] = way;
                        share_[way] = static_cast<double>(trees.leaf_count[leaf]) / all;
                    } else {
                        to_node_[root + child] = way;
                        depth[root + child] = depth[node] + 1;
                        share_[way] = static_cast<double>(trees.node_count[root + child]) / all;
                    }
                }
            }
        }
        longest = std::min(longest, features_.size());
        for (std::size_t d = 1; d <= longest; ++d) rules_.try_emplace(points_for(d), points_for(d));
    }

    // out[document][feature], of n_rows documents.
    void write(const Rows& X, double* out, int threads, InstructionSet set) const {
        parallel_for((X.n_rows + kBlock - 1) / kBlock, threads, [&](std::size_t block) {
            const std::size_t begin = block * kBlock, n = std::min(kBlock, X.n_rows - begin);
            write_block(X, begin, n, out + begin * X.n_features, set);
        });
    }

  private:
    struct alignas(64) Sums {  // of a feature; aligned as the widest vectors
        double of[kBlock];
    };

    // `place` is kAbsent for every feature, before and after.
    void find_path(std::size_t leaf, const std::vector<std::uint64_t>& left,
                   std::vector<std::uint32_t>& place, std::vector<PathFeature>& path) const {
        path.clear();
        for (Way way = to_leaf_[leaf]; way != kRoot; way = to_node_[way / 2]) {
            const std::uint32_t feature = number_[forest_.places[way / 2].column];
            if (place[feature] == kAbsent) {
                place[feature] = static_cast<std::uint32_t>(path.size());
                path.push_back({feature, ~std::uint64_t{0}, 1.0});
            }
            PathFeature& here = path[place[feature]];
            here.obeys &= way % 2 == 0 ? left[way / 2] : ~left[way / 2];
            here.share *= share_[way];
        }
        for (const PathFeature& each : path) place[each.feature] = kAbsent;
    }

    void write_block(const Rows& X, std::size_t begin, std::size_t n_docs, double* out,
                     InstructionSet set) const {
        std::vector<Block> codes(forest_.columns.size());
        if (!codes.empty()) encode(X, forest_, begin, n_docs, codes.data()->byte, set);
        std::vector<std::uint64_t> left;
        for (const Place& split : forest_.places) {
            left.push_back(goes_left(codes[split.column], split.bound));
        }
        std::vector<Sums> sums(features_.size());
        std::vector<std::uint32_t> place(features_.size(), kAbsent);
        std::vector<PathFeature> path;
        PathPoints points;
        const AddPath add = add_path_with(set);
        for (std::size_t leaf = 0; leaf < to_leaf_.size(); ++leaf) {
            find_path(leaf, left, place, path);
            if (path.empty()) continue;  // the leaf is all of its tree
            const GaussLegendre& rule = rules_.at(points_for(path.size()));
            for (std::size_t first = 0; first < rule.t.size(); first += kPoints) {
                points.set(path, trees_.leaf_value[leaf], rule, first);
                add(path, points, n_docs, sums.data()->of);
            }
        }
        std::fill(out, out + n_docs * X.n_features, 0.0);
        for (std::size_t doc = 0; doc < n_docs; ++doc) {
            for (std::size_t j = 0; j < features_.size(); ++j) {
                out[doc * X.n_features + features_[j]] = sums[j].of[doc];
            }
        }
    }
};

}  // namespace rankwright
