// Eight decimals at once, with AVX-512.
//
// What decimal_batch.hpp does to one token after the other, and with the same bits: a token lies
// with its end at the end of a lane of 16 bytes, what is before it is masked away, the point is
// taken out, and the digits are added up by their weights. Four lanes share a register, where masks
// of 64 bits say what each byte is; nothing is stored in between.
#pragma once

#include "instruction_sets.hpp"

#if RANKWRIGHT_X86

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "decimal.hpp"

// Instructions for bytes, of Ice Lake and Zen 4: later than the others.
#define RANKWRIGHT_AVX512_BYTES \
    __attribute__((             \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2,bmi,popcnt")))

namespace rankwright {

inline bool has_avx512_bytes() {
    return runs_here(InstructionSet::avx512) && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
}

template <class Float>
class DecimalOctets {
  public:
    static constexpr int kMost = 256;  // tokens
    static constexpr int kFewest = 8;  // that are converted

    // Writes the numbers of up to kMost tokens, of which 16 bytes before the end must be readable;
    // or returns false, where one of them is not a plain decimal of at most 15 bytes, or where they
    // are fewer than kFewest.
    //
    // Two loops, because a processor looks ahead by so many instructions only: all in one would
    // wait for each octet instead of beginning with the next ones.
    RANKWRIGHT_AVX512_BYTES bool read(const char* text, const std::uint32_t* begins,
                                      const std::uint32_t* nexts, int n, Float* out) {
        if (n < kFewest) return false;
        // Some twice rather than fewer at the end.
        const auto start = [n](int i) { return std::min(i, n - kFewest); };
        Odd odd;
        for (int i = 0; i < n; i += kFewest)
            octets_[i / kFewest] = take(text, begins + start(i), nexts + start(i), odd);
        const bool fit = _mm256_cmpge_epu32_mask(odd.longest, _mm256_set1_epi32(15)) == 0;
        if (!fit || odd.places != 0) return false;
        __m512i largest = _mm512_setzero_si512();
        for (int i = 0; i < n; i += kFewest) {
            const __m512d values = convert(octets_[i / kFewest], largest);
            if constexpr (std::is_same_v<Float, float>) {
                _mm256_storeu_ps(out + start(i), _mm512_cvtpd_ps(values));
            } else {
                _mm512_storeu_pd(out + start(i), values);
            }
        }
        return _mm512_cmpgt_epu8_mask(largest, _mm512_set1_epi8(9)) == 0;
    }

  private:
    struct Octet {
        __m512i even, uneven;  // digits and points of tokens 0, 2, 4, 6 and 1, 3, 5, 7
        __m256i behind;        // 16 + digits behind the point; 32 without one
        __mmask8 negative;
    };
    struct Half {  // four tokens
        __m512i digits;
        std::uint64_t minus, points;
    };
    // What is to be looked at once for all tokens.
    struct Odd {
        __m256i longest = {};      // length - 1, which is large for none
        std::uint64_t places = 0;  // of points and signs where none may be
    };

    RANKWRIGHT_AVX512_BYTES static Octet take(const char* text, const std::uint32_t* begins,
                                              const std::uint32_t* nexts, Odd& odd) {
        const __m256i lengths =  // with the byte behind
            _mm256_sub_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(nexts)),
                             _mm256_loadu_si256(reinterpret_cast<const __m256i*>(begins)));
        odd.longest =
            _mm256_max_epu32(odd.longest, _mm256_sub_epi32(lengths, _mm256_set1_epi32(2)));
        const Half even = take_half(text, nexts, spread<0>(lengths), odd);
        const Half uneven = take_half(text, nexts + 1, spread<1>(lengths), odd);
        const __m128i minus = interleaved(even.minus, uneven.minus);
        const __m128i points = interleaved(even.points, uneven.points);
        return {even.digits, uneven.digits, _mm256_lzcnt_epi32(_mm256_cvtepu16_epi32(points)),
                _mm_test_epi16_mask(minus, minus)};
    }

    RANKWRIGHT_AVX512_BYTES static __m512d convert(const Octet& octet, __m512i& largest) {
        const __m512i fours =  // in order again
            _mm512_packus_epi32(quartets(octet.even, spread<0>(octet.behind), largest),
                                quartets(octet.uneven, spread<1>(octet.behind), largest));
        const __m512i eights = _mm512_madd_epi16(fours, _mm512_set1_epi32(1 << 16 | 10000));
        const __m512i mantissas =
            _mm512_add_epi64(_mm512_mul_epu32(eights, _mm512_set1_epi64(100'000'000)),
                             _mm512_srli_epi64(eights, 32));
        const __m512d powers = _mm512_permutex2var_pd(  // by the last four bits
            _mm512_loadu_pd(kPowersOfTen), _mm512_cvtepu32_epi64(octet.behind),
            _mm512_loadu_pd(kPowersOfTen + 8));
        const __m512d divisors =
            _mm512_mask_sub_pd(powers, octet.negative, _mm512_setzero_pd(), powers);
        return _mm512_div_pd(_mm512_cvtepi64_pd(mantissas), divisors);
    }

    // Digits and points of every other token. The bits of a lane are in the order of its bytes.
    RANKWRIGHT_AVX512_BYTES static Half take_half(const char* text, const std::uint32_t* nexts,
                                                  __m512i lengths, Odd& odd) {
        const auto load = [=](int i) RANKWRIGHT_AVX512_BYTES {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + nexts[i] - 17));
        };
        const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(2), 1);
        const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load(4)), load(6), 1);
        const __m512i bytes = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        const __mmask64 token = _mm512_cmplt_epu8_mask(bytes_behind(1), lengths);
        const __mmask64 first = _mm512_cmpeq_epi8_mask(bytes_behind(2), lengths);
        const __mmask64 minus = _mm512_mask_cmpeq_epi8_mask(first, bytes, _mm512_set1_epi8('-'));
        const __m512i digits =
            _mm512_maskz_sub_epi8(_kxor_mask64(token, minus), bytes, _mm512_set1_epi8('0'));
        const __mmask64 points = _mm512_cmpeq_epi8_mask(digits, _mm512_set1_epi8('.' - '0'));
        // Behind a sign there is something, and behind a point there are one to eight digits.
        odd.places |= (minus & 0x8000800080008000u) | (points & 0x807F807F807F807Fu);
        return {digits, minus, points};
    }

    // Four sums of four digits for each token, without its point.
    RANKWRIGHT_AVX512_BYTES static __m512i quartets(__m512i digits, __m512i behind,
                                                    __m512i& largest) {
        const std::uint64_t up_to_point = _mm512_cmpge_epu8_mask(bytes_behind(16), behind);
        digits = _mm512_mask_mov_epi8(digits, up_to_point, _mm512_bslli_epi128(digits, 1));
        largest = _mm512_max_epu8(largest, digits);
        const __m512i pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(1 << 8 | 10));
        return _mm512_madd_epi16(pairs, _mm512_set1_epi32(1 << 16 | 100));
    }

    // For each byte of a lane, how many are behind it, and `more`.
    RANKWRIGHT_AVX512_BYTES static __m512i bytes_behind(char more) {
        const __m128i behind = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        return _mm512_broadcast_i32x4(_mm_add_epi8(behind, _mm_set1_epi8(more)));
    }

    // Numbers first, first + 2, ... to all bytes of a lane each.
    template <int first>
    RANKWRIGHT_AVX512_BYTES static __m512i spread(__m256i numbers) {
        constexpr int step = 0x01010101;
        const __m512i from = _mm512_setr_epi32(
            4 * first * step, 4 * first * step, 4 * first * step, 4 * first * step,
            4 * (first + 2) * step, 4 * (first + 2) * step, 4 * (first + 2) * step,
            4 * (first + 2) * step, 4 * (first + 4) * step, 4 * (first + 4) * step,
            4 * (first + 4) * step, 4 * (first + 4) * step, 4 * (first + 6) * step,
            4 * (first + 6) * step, 4 * (first + 6) * step, 4 * (first + 6) * step);
        return _mm512_permutexvar_epi8(from, _mm512_castsi256_si512(numbers));
    }

    RANKWRIGHT_AVX512_BYTES static __m128i interleaved(std::uint64_t even, std::uint64_t uneven) {
        return _mm_unpacklo_epi16(_mm_cvtsi64_si128(static_cast<std::int64_t>(even)),
                                  _mm_cvtsi64_si128(static_cast<std::int64_t>(uneven)));
    }

    std::array<Octet, kMost / kFewest> octets_;
};

}  // namespace rankwright

#endif
