// Documents on their way through trees: sums[i] += the value of the leaf of document i, tree by
// tree.
//
// All documents of a block meet all splits of a tree; a mask for each node says which of them are
// there. Those are more comparisons than on a path from root to leaf, but 64 of them are one
// instruction, and nothing is guessed, jumped to or gathered. A few documents walk their paths
// instead, through several trees side by side, so that loads overlap.
//
// Sums are of doubles in the order of the trees: the bits of a plain loop over them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "forest.hpp"
#include "instruction_sets.hpp"

namespace rankwright {

// A byte for each document of a block; aligned, or every other load would touch two cache lines.
struct alignas(kBlock) Block {
    std::uint8_t byte[kBlock];
};

struct PieceRange {
    std::size_t begin, end;
};

#if defined(__GNUC__) || defined(__clang__)

// W documents at a time, with the vectors that the compiler has for them.
template <std::size_t W>
__attribute__((always_inline)) inline void walk_vectors(const Forest& forest, PieceRange range,
                                                        const Block* codes, Block* masks,
                                                        double* sums) {
    typedef std::uint8_t Vector __attribute__((vector_size(W)));
    Vector* const here = reinterpret_cast<Vector*>(masks);
    for (std::size_t part = 0; part < kBlock; part += W) {
        for (std::size_t p = range.begin; p < range.end; ++p) {
            const Piece& piece = forest.pieces[p];
            const Node* const nodes = forest.nodes.data() + piece.node_begin;
            here[0] = ~Vector{};
            Vector leaf{};
            for (std::uint32_t k = 0; k < piece.n_nodes; ++k) {
                const Node& node = nodes[k];
                Vector code;
                std::memcpy(&code, codes->byte + node.offset + part, W);
                const Vector at_most = (Vector)(code <= (Vector{} + node.bound));
                const Vector right = here[k] & ~at_most;
                here[node.child[0]] = here[k] & at_most;
                here[node.child[1]] = right;
                const Vector first = right & (Vector{} + node.first);
                leaf = leaf > first ? leaf : first;
            }
            std::uint8_t at[W];
            std::memcpy(at, &leaf, W);
            const double* const values = forest.leaves.data() + piece.leaf_begin;
            for (std::size_t i = 0; i < W; ++i) sums[part + i] += values[at[i]];
        }
    }
}

inline void walk_portable(const Forest& forest, PieceRange range, const Block* codes, Block* masks,
                          double* sums) {
    walk_vectors<16>(forest, range, codes, masks, sums);
}

#else

inline void walk_portable(const Forest& forest, PieceRange range, const Block* codes, Block* masks,
                          double* sums) {
    for (std::size_t p = range.begin; p < range.end; ++p) {
        const Piece& piece = forest.pieces[p];
        const Node* const nodes = forest.nodes.data() + piece.node_begin;
        for (std::size_t i = 0; i < kBlock; ++i) {
            std::uint8_t leaf = 0;
            for (std::uint32_t at = 0; at < piece.n_nodes;) {
                const Node& node = nodes[at];
                const bool right = codes->byte[node.offset + i] > node.bound;
                if (right) leaf = node.first;
                at = node.child[right];
            }
            sums[i] += forest.leaves[piece.leaf_begin + leaf];
        }
    }
}

#endif

#if RANKWRIGHT_X86

RANKWRIGHT_AVX2 inline void walk_avx2(const Forest& forest, PieceRange range, const Block* codes,
                                      Block* masks, double* sums) {
    walk_vectors<32>(forest, range, codes, masks, sums);
}

// B blocks side by side share what is the same for them.
template <std::size_t B>
RANKWRIGHT_AVX512 void walk_avx512(const Forest& forest, PieceRange range, const Block* codes,
                                   Block* masks, double* sums) {
    const std::uint8_t* code[B];
    std::uint64_t* here[B];
    for (std::size_t b = 0; b < B; ++b) {
        code[b] = codes[b * forest.columns.size()].byte;
        here[b] = reinterpret_cast<std::uint64_t*>(masks) + b * (forest.most_nodes + 1);
    }
    for (std::size_t p = range.begin; p < range.end; ++p) {
        const Piece& piece = forest.pieces[p];
        const Node* const nodes = forest.nodes.data() + piece.node_begin;
        __m512i leaf[B];
        for (std::size_t b = 0; b < B; ++b) {
            here[b][0] = ~std::uint64_t{0};
            leaf[b] = _mm512_setzero_si512();
        }
        for (std::uint32_t k = 0; k < piece.n_nodes; ++k) {
            const std::size_t offset = nodes[k].offset;
            const std::size_t left = nodes[k].child[0], right = nodes[k].child[1];
            const __m512i bound = _mm512_set1_epi8(static_cast<char>(nodes[k].bound));
            const __m512i first = _mm512_set1_epi8(static_cast<char>(nodes[k].first));
            for (std::size_t b = 0; b < B; ++b) {
                const __m512i values = _mm512_load_si512(code[b] + offset);
                const std::uint64_t at_most = _mm512_cmple_epu8_mask(values, bound);
                const std::uint64_t mask = here[b][k], above = mask & ~at_most;
                here[b][left] = mask & at_most;
                here[b][right] = above;
                leaf[b] = _mm512_mask_mov_epi8(leaf[b], above, first);
            }
        }
        const double* const values = forest.leaves.data() + piece.leaf_begin;
        for (std::size_t b = 0; b < B; ++b) {
            Block at;
            _mm512_store_si512(at.byte, leaf[b]);
            for (std::size_t i = 0; i < kBlock; ++i) sums[b * kBlock + i] += values[at.byte[i]];
        }
    }
}

#endif

// The document at place i of a block.
inline void walk_one(const Forest& forest, PieceRange range, const Block* codes, std::size_t i,
                     double* sum) {
    constexpr std::size_t kTrees = 8;
    for (std::size_t p = range.begin; p < range.end; p += kTrees) {
        const std::size_t n = std::min(kTrees, range.end - p);
        const Node* nodes[kTrees];
        std::uint32_t at[kTrees] = {}, depth = 0;
        std::uint8_t leaf[kTrees] = {};
        for (std::size_t k = 0; k < kTrees; ++k) {  // the last trees have the last one for company
            const Piece& piece = forest.pieces[p + std::min(k, n - 1)];
            nodes[k] = forest.nodes.data() + piece.node_begin;
            depth = std::max(depth, piece.depth);
        }
        for (std::uint32_t step = 0; step < depth; ++step) {
            for (std::size_t k = 0; k < kTrees; ++k) {
                const Node& node = nodes[k][at[k]];
                // Nothing to guess: a wrong guess would cost more than the step.
                const unsigned right = codes->byte[node.offset + i] > node.bound;
                leaf[k] = std::max<std::uint8_t>(leaf[k], node.first & (0u - right));
                at[k] = node.child[right];
            }
        }
        for (std::size_t k = 0; k < n; ++k) {
            *sum += forest.leaves[forest.pieces[p + k].leaf_begin + leaf[k]];
        }
    }
}

// How many blocks walk side by side.
inline constexpr std::size_t kAbreast = 2;

// sums of n documents, kBlock * kAbreast at most; room for as many is needed in `sums`.
inline void walk(const Forest& forest, PieceRange range, const Block* codes, std::size_t n,
                 Block* masks, double* sums, InstructionSet set) {
    const std::size_t n_columns = forest.columns.size();
#if RANKWRIGHT_X86
    if (set == InstructionSet::avx512 && n > kBlock + kFew) {
        return walk_avx512<2>(forest, range, codes, masks, sums);
    }
#endif
    for (std::size_t begin = 0; begin < n; begin += kBlock, codes += n_columns, sums += kBlock) {
        if (n - begin <= kFew) {
            for (std::size_t i = 0; i < n - begin; ++i) {
                walk_one(forest, range, codes, i, sums + i);
            }
            continue;
        }
#if RANKWRIGHT_X86
        if (set == InstructionSet::avx512) {
            walk_avx512<1>(forest, range, codes, masks, sums);
            continue;
        }
        if (set == InstructionSet::avx2) {
            walk_avx2(forest, range, codes, masks, sums);
            continue;
        }
#endif
        walk_portable(forest, range, codes, masks, sums);
    }
}

}  // namespace rankwright
