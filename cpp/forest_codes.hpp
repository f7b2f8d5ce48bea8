// Features of up to kBlock documents as bytes: codes[column * kBlock + document].
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "forest.hpp"
#include "instruction_sets.hpp"
#include "rows.hpp"

namespace rankwright {

#if RANKWRIGHT_X86
#define RANKWRIGHT_INLINE512 RANKWRIGHT_AVX512 __attribute__((always_inline)) static inline

template <class Float>
struct Lanes;

template <>
struct Lanes<float> {
    static constexpr std::size_t kCount = 16;
    static constexpr std::uint32_t kInRegisters = 5;  // levels of a search in two registers
    using Vector = __m512;
    RANKWRIGHT_INLINE512 Vector load(const float* x) { return _mm512_loadu_ps(x); }
    RANKWRIGHT_INLINE512 __m512i add(__m512i at, int n) {
        return _mm512_add_epi32(at, _mm512_set1_epi32(n));
    }
    RANKWRIGHT_INLINE512 Vector pick(Vector low, __m512i at, Vector high) {
        return _mm512_permutex2var_ps(low, at, high);
    }
    RANKWRIGHT_INLINE512 Vector gather(const float* cut, __m512i at) {
        return _mm512_i32gather_ps(at, cut, sizeof(float));
    }
    // at + n where cut < x
    RANKWRIGHT_INLINE512 __m512i step(__m512i at, int n, Vector cut, Vector x) {
        const __mmask16 below = _mm512_cmp_ps_mask(cut, x, _CMP_LT_OQ);
        return _mm512_mask_add_epi32(at, below, at, _mm512_set1_epi32(n));
    }
    // `other` where x is NaN, or at most `zero` in size
    RANKWRIGHT_INLINE512 __m512i unless_missing(__m512i at, Vector x, float zero, int other) {
        const __mmask16 missing =
            _mm512_cmp_ps_mask(_mm512_abs_ps(x), _mm512_set1_ps(zero), _CMP_NGT_UQ);
        return _mm512_mask_mov_epi32(at, missing, _mm512_set1_epi32(other));
    }
    RANKWRIGHT_INLINE512 void store(std::uint8_t* out, __m512i at) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(at));
    }
};

template <>
struct Lanes<double> {
    static constexpr std::size_t kCount = 8;
    static constexpr std::uint32_t kInRegisters = 4;
    using Vector = __m512d;
    RANKWRIGHT_INLINE512 Vector load(const double* x) { return _mm512_loadu_pd(x); }
    RANKWRIGHT_INLINE512 __m512i add(__m512i at, int n) {
        return _mm512_add_epi64(at, _mm512_set1_epi64(n));
    }
    RANKWRIGHT_INLINE512 Vector pick(Vector low, __m512i at, Vector high) {
        return _mm512_permutex2var_pd(low, at, high);
    }
    RANKWRIGHT_INLINE512 Vector gather(const double* cut, __m512i at) {
        return _mm512_i64gather_pd(at, cut, sizeof(double));
    }
    RANKWRIGHT_INLINE512 __m512i step(__m512i at, int n, Vector cut, Vector x) {
        const __mmask8 below = _mm512_cmp_pd_mask(cut, x, _CMP_LT_OQ);
        return _mm512_mask_add_epi64(at, below, at, _mm512_set1_epi64(n));
    }
    RANKWRIGHT_INLINE512 __m512i unless_missing(__m512i at, Vector x, double zero, int other) {
        const __mmask8 missing =
            _mm512_cmp_pd_mask(_mm512_abs_pd(x), _mm512_set1_pd(zero), _CMP_NGT_UQ);
        return _mm512_mask_mov_epi64(at, missing, _mm512_set1_epi64(other));
    }
    RANKWRIGHT_INLINE512 void store(std::uint8_t* out, __m512i at) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm512_cvtepi64_epi8(at));
    }
};

// Forest::code, many values at a time. The upper levels of the search look at cuts that fit into
// two registers: to permute those costs far less than to load from many places.
template <class Float>
RANKWRIGHT_AVX512 void codes_avx512(const Float* cut, const Column& column, const Float* x,
                                    std::size_t n, std::uint8_t* out) {
    using L = Lanes<Float>;
    const std::uint32_t upper = std::min(column.levels, L::kInRegisters);
    const std::uint32_t lower = column.levels - upper;
    alignas(64) Float pivots[2 * L::kCount] = {};
    for (std::uint32_t k = 0; k + 1 < 1u << upper; ++k) pivots[k] = cut[((k + 1) << lower) - 1];
    const auto low = L::load(pivots), high = L::load(pivots + L::kCount);
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(lower));
    const Float zero = column.zero_is_missing() ? static_cast<Float>(kZero) : Float{-1};
    for (std::size_t i = 0; i < n; i += L::kCount) {
        const auto value = L::load(x + i);
        __m512i at = _mm512_setzero_si512();
        for (std::uint32_t level = upper; level-- > 0;) {
            const int step = 1 << level;
            at = L::step(at, step, L::pick(low, L::add(at, step - 1), high), value);
        }
        at = _mm512_sll_epi64(at, shift);  // no lane reaches the next: codes are below 256
        for (std::uint32_t level = lower; level-- > 0;) {
            const int step = 1 << level;
            at = L::step(at, step, L::gather(cut, L::add(at, step - 1)), value);
        }
        L::store(out + i, L::unless_missing(at, value, zero, column.of_missing));
    }
}

#undef RANKWRIGHT_INLINE512
#endif

// Codes of the first n values; x and out have room for kBlock.
template <class Float>
void encode_column(const Forest& forest, const Column& column, const Float* x, std::size_t n,
                   std::uint8_t* out, InstructionSet set) {
#if RANKWRIGHT_X86
    if (set == InstructionSet::avx512 && column.missing != kInSet && n > kFew) {
        return codes_avx512(forest.cuts<Float>() + column.begin, column, x, n, out);
    }
#endif
    for (std::size_t i = 0; i < n; ++i) out[i] = forest.code(column, x[i]);
}

// The codes of n rows from `begin` on, kBlock at most.
template <class Float>
void encode_rows(const DenseRows<Float>& X, const Forest& forest, std::size_t begin, std::size_t n,
                 std::uint8_t* codes, InstructionSet set) {
    const Float* rows = X.data() + begin * X.n_features;
    Float x[kBlock] = {};
    for (const Column& column : forest.columns) {
        for (std::size_t i = 0; i < n; ++i) x[i] = rows[i * X.n_features + column.feature];
        encode_column(forest, column, x, n, codes, set);
        codes += kBlock;
    }
}

// What is not stored is 0.
template <class Float, class Index>
void encode_rows(const SparseRows<Float, Index>& X, const Forest& forest, std::size_t begin,
                 std::size_t n, std::uint8_t* codes, InstructionSet) {
    for (std::size_t c = 0; c < forest.columns.size(); ++c) {
        std::memset(codes + c * kBlock, forest.columns[c].of_zero, kBlock);
    }
    for (std::size_t i = 0; i < n; ++i) {
        X.each(begin + i, [&](std::size_t feature, Float value) {
            for (auto c = forest.columns_of[feature]; c < forest.columns_of[feature + 1]; ++c) {
                codes[c * kBlock + i] = forest.code(forest.columns[c], value);
            }
        });
    }
}

// The same for rows of any kind: which, is asked once for a block.
inline void encode(const Rows& X, const Forest& forest, std::size_t begin, std::size_t n,
                   std::uint8_t* codes, InstructionSet set) {
    const auto done_as = [&]<class Kind>(std::type_identity<Kind>) {
        const auto* rows = dynamic_cast<const Kind*>(&X);
        if (rows) encode_rows(*rows, forest, begin, n, codes, set);
        return rows != nullptr;
    };
    done_as(std::type_identity<DenseRows<float>>()) ||
        done_as(std::type_identity<DenseRows<double>>()) ||
        done_as(std::type_identity<SparseRows<float, std::int32_t>>()) ||
        done_as(std::type_identity<SparseRows<double, std::int32_t>>()) ||
        done_as(std::type_identity<SparseRows<float, std::int64_t>>()) ||
        done_as(std::type_identity<SparseRows<double, std::int64_t>>());
}

}  // namespace rankwright
