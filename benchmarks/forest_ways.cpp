// Ways to score documents with trees, on the same forest: forest_ways FOLDER N_DOCS
//
// FOLDER holds the arrays of TreeArrays and float32 features X, as Python writes them. Prints a
// line of JSON: microseconds a document, one thread, the best of a few rounds, and a checksum.

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "forest_codes.hpp"
#include "forest_walk.hpp"

using namespace rankwright;

namespace {

template <class T>
std::vector<T> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    std::vector<T> values(bytes.size() / sizeof(T));
    std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(values.data()));
    return values;
}

using Codes = std::vector<Block>;

Codes encoded(const Forest& forest, const Rows& X, InstructionSet set) {
    Codes codes(X.n_rows / kBlock * forest.columns.size());
    for (std::size_t i = 0; i < X.n_rows; i += kBlock) {
        encode(X, forest, i, kBlock, codes[i / kBlock * forest.columns.size()].byte, set);
    }
    return codes;
}

// From root to leaf over bytes, K documents side by side, as many steps as the deepest leaf needs.
template <std::size_t K>
void interleaved(const Forest& forest, const Codes& codes, std::vector<double>& sums) {
    for (std::size_t begin = 0; begin < sums.size(); begin += K) {
        const std::uint8_t* const x =
            codes[begin / kBlock * forest.columns.size()].byte + begin % kBlock;
        for (const Piece& piece : forest.pieces) {
            const Node* const nodes = forest.nodes.data() + piece.node_begin;
            std::uint32_t at[K] = {};
            std::uint8_t leaf[K] = {};
            for (std::uint32_t step = 0; step < piece.depth; ++step) {
                for (std::size_t k = 0; k < K; ++k) {
                    const Node& node = nodes[at[k]];
                    const unsigned right = x[node.offset + k] > node.bound;
                    leaf[k] = std::max<std::uint8_t>(leaf[k], node.first & (0u - right));
                    at[k] = node.child[right];
                }
            }
            for (std::size_t k = 0; k < K; ++k) {
                sums[begin + k] += forest.leaves[piece.leaf_begin + leaf[k]];
            }
        }
    }
}

// QuickScorer: all splits of a feature by threshold; each that a document passes to the right takes
// the leaves of its left subtree off the document's bits of the tree. Trees of 64 leaves at most.
struct Taken {
    float cut;
    std::uint32_t tree;
    std::uint64_t left_over;
};

std::vector<std::vector<Taken>> by_threshold(const Forest& forest) {
    std::vector<std::vector<Taken>> splits(forest.n_features);
    for (std::uint32_t t = 0; t < forest.pieces.size(); ++t) {
        const Piece& piece = forest.pieces[t];
        std::vector<std::uint32_t> low(piece.n_nodes + 1);  // of the subtree of each node
        for (std::uint32_t k = 0; k < piece.n_nodes; ++k) {
            const Node& node = forest.nodes[piece.node_begin + k];
            low[node.child[0]] = low[k];
            low[node.child[1]] = node.first;
            const Column& column = forest.columns[node.offset / kBlock];
            const std::uint64_t below = (std::uint64_t{1} << node.first) - 1;
            const std::uint64_t lower = (std::uint64_t{1} << low[k]) - 1;
            splits[column.feature].push_back(
                {forest.cuts32[column.begin + node.bound], t, ~(below & ~lower)});
        }
    }
    for (auto& of_feature : splits) {
        std::stable_sort(of_feature.begin(), of_feature.end(),
                         [](const Taken& a, const Taken& b) { return a.cut < b.cut; });
    }
    return splits;
}

#if RANKWRIGHT_X86
RANKWRIGHT_AVX512 void quickscorer(const Forest& forest, const std::vector<std::vector<Taken>>& by,
                                   const std::vector<float>& X, std::vector<double>& sums) {
    struct alignas(64) Eight {
        std::uint64_t of[8];
    };
    std::vector<Eight> bits(forest.pieces.size());
    for (std::size_t begin = 0; begin < sums.size(); begin += 8) {
        for (Eight& eight : bits) std::fill_n(eight.of, 8, ~std::uint64_t{0});
        for (std::size_t j = 0; j < forest.n_features; ++j) {
            float x[8];
            for (std::size_t k = 0; k < 8; ++k) x[k] = X[(begin + k) * forest.n_features + j];
            const __m256 values = _mm256_loadu_ps(x);
            for (const Taken& split : by[j]) {
                const __mmask8 right =
                    _mm256_cmp_ps_mask(values, _mm256_set1_ps(split.cut), _CMP_GT_OQ);
                if (!right) break;
                std::uint64_t* const of = bits[split.tree].of;
                const __m512i here = _mm512_load_si512(of);
                const __m512i mask = _mm512_set1_epi64(static_cast<long long>(split.left_over));
                _mm512_store_si512(of, _mm512_mask_and_epi64(here, right, here, mask));
            }
        }
        for (std::size_t t = 0; t < bits.size(); ++t) {
            const double* const leaves = forest.leaves.data() + forest.pieces[t].leaf_begin;
            for (std::size_t k = 0; k < 8; ++k) {
                sums[begin + k] += leaves[__builtin_ctzll(bits[t].of[k])];
            }
        }
    }
}
#endif

double best_of_rounds(std::size_t n_docs, const std::function<void()>& way) {
    double best = 1e300;
    for (int round = 0; round < 5; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        way();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        best = std::min(best, taken.count());
    }
    return best / static_cast<double>(n_docs) * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string folder = std::string(argv[argc - 2]) + "/";
    const std::size_t n_docs = std::stoul(argv[argc - 1]) / (2 * kBlock) * (2 * kBlock);
    const auto i64 = [&](const char* name) { return read<std::int64_t>(folder + name); };
    const auto i32 = [&](const char* name) { return read<std::int32_t>(folder + name); };
    const auto node_begin = i64("node_begin"), leaf_begin = i64("leaf_begin");
    const auto feature = i32("feature"), left = i32("left"), right = i32("right");
    const auto missing = read<std::uint8_t>(folder + "missing");
    const auto cut64 = read<double>(folder + "cut64"),
               leaf_value = read<double>(folder + "leaf_value");
    const auto cut32 = read<float>(folder + "cut32"), X = read<float>(folder + "X");
    const auto set_begin = i64("set_begin");
    const std::size_t n_features = read<std::int64_t>(folder + "n_features")[0];
    const Forest forest({node_begin,
                         leaf_begin,
                         feature,
                         left,
                         right,
                         missing,
                         cut64,
                         cut32,
                         leaf_value,
                         set_begin,
                         {}},
                        n_features);
    const DenseRows<float> documents(X.data(), n_docs, n_features);
    const PieceRange all{0, forest.pieces.size()};
    std::vector<Block> masks(forest.most_nodes + 1);
    std::vector<double> sums(n_docs);
    Codes codes;

    const char* separator = "{";
    const auto report = [&](const char* name, const std::function<void()>& way) {
        const double us = best_of_rounds(n_docs, [&] {
            std::fill(sums.begin(), sums.end(), 0.0);
            way();
        });
        double total = 0;
        for (const double sum : sums) total += sum;
        std::printf("%s\"%s\": [%.4f, %.17g]", separator, name, us, total);
        separator = ", ";
    };
    const auto masked = [&](InstructionSet set) {
        for (std::size_t i = 0; i < n_docs; i += 2 * kBlock) {
            const Block* const block = codes.data() + i / kBlock * forest.columns.size();
            walk(forest, all, block, 2 * kBlock, masks.data(), sums.data() + i, set);
        }
    };
    for (const auto& [set, name] : {std::pair{InstructionSet::avx512, "avx512"},
                                    {InstructionSet::avx2, "avx2"},
                                    {InstructionSet::portable, "portable"}}) {
        if (!runs_here(set)) continue;
        report((std::string("bytes, ") + name).c_str(),
               [&] { codes = encoded(forest, documents, set); });
        report((std::string("masks, ") + name).c_str(), [&] { masked(set); });
    }
    report("interleaved, 8 documents", [&] { interleaved<8>(forest, codes, sums); });
    report("interleaved, 16 documents", [&] { interleaved<16>(forest, codes, sums); });
    report("interleaved, 8 trees", [&] {
        for (std::size_t i = 0; i < n_docs; ++i) {
            walk_one(forest, all, codes.data() + i / kBlock * forest.columns.size(), i % kBlock,
                     &sums[i]);
        }
    });
#if RANKWRIGHT_X86
    if (runs_here(InstructionSet::avx512)) {
        const auto by = by_threshold(forest);
        report("quickscorer, avx512", [&] { quickscorer(forest, by, X, sums); });
    }
#endif
    std::printf("}\n");
}
