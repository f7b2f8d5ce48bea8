// Many decimals at once, with AVX2.
//
// One number after the other, as decimal.hpp reads them, costs a jump or two that cannot be
// foreseen: how many digits are there, is there a point? Here nothing jumps. A token is loaded with
// its end at the end of a register; what lies before it is masked away, the point is shuffled out,
// and that none but digits are left is looked at once for the whole batch.
//
// At most 15 digits, at most 8 of them behind the point: M < 10^15 and 10^n are exact doubles, and
// the quotient is rounded correctly. Rounding it to float once more is harmless. Let x = M / 10^n,
// e = floor(log2 x), m another number that is the midpoint of two floats, a multiple of 2^(e-24).
// If e < 24 then |x - m| >= 2^(e-24) / 10^n > 2^(e-53), else m is an integer and
// |x - m| >= 10^-n > 10^(15-n) 2^-53 >= 2^(e-53): the double is on the same side of m as x.
#pragma once

#include "instruction_sets.hpp"

#if RANKWRIGHT_X86

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "decimal.hpp"

namespace rankwright {

// What is to be done with a token, by its length and by the place of its point.
struct DecimalTables {
    using Register = std::array<std::uint8_t, 16>;
    static constexpr int kLongest = 15;  // bytes of a token, without its sign
    static constexpr int kNone = 16;     // the place of no point

    alignas(16) std::array<Register, kLongest + 1> mask{};   // keeps so many bytes at the end
    alignas(16) std::array<Register, kNone + 1> shuffle{};   // takes the point out
    std::array<std::array<double, 2>, kNone + 1> divisor{};  // of a number above, below 0

    constexpr DecimalTables() {
        for (int n = 0; n <= kLongest; ++n) {
            for (int i = 0; i < 16; ++i) mask[n][i] = i >= 16 - n ? 0xFF : 0;
        }
        for (int point = 0; point <= kNone; ++point) {
            // A point with no digit behind it, or too many, stays where it is: no digit.
            const int n_behind = 15 - point;
            const bool plain = n_behind >= 1 && n_behind <= 8;
            for (int i = 0; i < 16; ++i) {
                const int before = i == 0 ? 0x80 : i - 1;  // 0x80: put a zero
                shuffle[point][i] = static_cast<std::uint8_t>(plain && i <= point ? before : i);
            }
            const double power = plain ? kPowersOfTen[n_behind] : 1.0;
            divisor[point] = {power, -power};
        }
    }
};

inline constexpr DecimalTables kDecimalTables;

template <class Float>
class DecimalBatch {
  public:
    static constexpr int kMost = 256;   // tokens
    static constexpr int kFewest = 4;   // that are converted
    static constexpr int kBefore = 16;  // bytes before the end of a token that must be readable

    // Takes up to kMost tokens, given by places in a text: where one begins, and the one behind it,
    // with a byte between them. The first one that is too long ends the batch. Returns how many
    // there are; what they are shows later.
    RANKWRIGHT_AVX2 int fill(const char* text, const std::uint32_t* begins,
                             const std::uint32_t* nexts, int n_tokens) {
        const auto load = [](const auto& bytes) {
            return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes.data()));
        };
        __m128i largest = _mm_setzero_si128();
        int n = 0;
        for (; n < n_tokens; ++n) {
            const char *begin = text + begins[n], *end = text + nexts[n] - 1;
            const bool negative = *begin == '-';
            const std::ptrdiff_t length = end - begin - negative;
            if (static_cast<std::size_t>(length - 1) >= DecimalTables::kLongest) break;
            const auto* bytes = reinterpret_cast<const __m128i*>(end - kBefore);
            __m128i x = _mm_xor_si128(_mm_loadu_si128(bytes), _mm_set1_epi8('0'));
            x = _mm_and_si128(x, load(kDecimalTables.mask[length]));
            const __m128i points = _mm_cmpeq_epi8(x, _mm_set1_epi8('.' ^ '0'));
            const unsigned bits = static_cast<unsigned>(_mm_movemask_epi8(points)) | 1u << 16;
            const int point = __builtin_ctz(bits);
            x = _mm_shuffle_epi8(x, load(kDecimalTables.shuffle[point]));
            _mm_store_si128(reinterpret_cast<__m128i*>(digits_[n].data()), x);
            largest = _mm_max_epu8(largest, x);
            divisors_[n] = kDecimalTables.divisor[point][negative];
        }
        const __m128i nine = _mm_set1_epi8(9);
        const __m128i digits_only = _mm_cmpeq_epi8(_mm_max_epu8(largest, nine), nine);
        plain_ = n >= kFewest && _mm_movemask_epi8(digits_only) == 0xFFFF;
        return n_ = n;
    }

    // Writes the numbers; or nothing, and returns false, where one is not a plain decimal, or where
    // they are fewer than four.
    RANKWRIGHT_AVX2 bool convert(Float* out) const {
        if (!plain_) return false;
        for (int i = 0; i < n_; i += kFewest) {
            const int at = std::min(i, n_ - kFewest);  // some twice rather than fewer at the end
            const __m256d value = _mm256_div_pd(mantissas(at), _mm256_loadu_pd(&divisors_[at]));
            if constexpr (std::is_same_v<Float, float>) {
                _mm_storeu_ps(out + at, _mm256_cvtpd_ps(value));
            } else {
                _mm256_storeu_pd(out + at, value);
            }
        }
        return true;
    }

  private:
    // Four of them: pairs of digits, fours, eights, then the two eights of each.
    RANKWRIGHT_AVX2 __m256d mantissas(int at) const {
        const __m256i fours = _mm256_packus_epi32(two_tokens(at), two_tokens(at + 2));
        const __m256i eights = _mm256_madd_epi16(fours, _mm256_set1_epi32(1 << 16 | 10000));
        const __m256d weights = _mm256_setr_pd(1e8, 1, 1e8, 1);
        const __m128i even = _mm256_castsi256_si128(eights);
        const __m128i odd = _mm256_extracti128_si256(eights, 1);
        return _mm256_hadd_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(even), weights),
                              _mm256_mul_pd(_mm256_cvtepi32_pd(odd), weights));
    }
    RANKWRIGHT_AVX2 __m256i two_tokens(int at) const {
        const auto* digits = reinterpret_cast<const __m256i*>(digits_[at].data());
        const __m256i pairs =
            _mm256_maddubs_epi16(_mm256_loadu_si256(digits), _mm256_set1_epi16(1 << 8 | 10));
        return _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | 100));
    }

    alignas(32) std::array<DecimalTables::Register, kMost> digits_;
    alignas(32) std::array<double, kMost> divisors_;
    int n_;
    bool plain_;
};

}  // namespace rankwright

#endif
