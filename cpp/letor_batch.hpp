// The entries of a row, many at once, where the processor has AVX2 or AVX-512.
//
// Which entries a batch takes is a matter of speed: it ends before the first one that it cannot
// read, whatever the reason, and who reads one entry at a time goes on there.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "decimal_batch.hpp"
#include "decimal_octet.hpp"
#include "letor_tokens.hpp"

namespace rankwright::letor {

#if RANKWRIGHT_X86

template <class Float>
class EntryBatch {
    static constexpr int kBlock = 64;   // bytes that are looked at together
    static constexpr int kFlatten = 9;  // tokens in a block that are noted without counting them

  public:
    static constexpr int kMost = DecimalBatch<Float>::kMost;
    static constexpr int kBefore = DecimalBatch<Float>::kBefore;

    std::array<std::int32_t, kMost> columns;
    std::array<Float, kMost> values;

    explicit EntryBatch(InstructionSet set)
        : wide_(set == InstructionSet::avx512 && has_avx512_bytes()),
          runs_here_(set != InstructionSet::portable &&
                     rankwright::runs_here(InstructionSet::avx2) && __builtin_cpu_supports("bmi")) {
    }
    bool runs_here() const { return runs_here_; }

    // Reads entries "index:value" with columns from `first` on that increase; returns how many, and
    // moves p to the end of the last. kBefore bytes before p must be readable, and nothing is read
    // from `limit` on.
    int read(const char*& p, const char* limit, const IndexTexts& texts, std::int64_t first_index,
             std::int64_t n_features, std::int64_t first) {
        const char* const base = p;
        const int n_tokens = wide_ ? find_tokens_wide(base, limit) : find_tokens(base, limit);
        int n = match_indices(base, n_tokens, texts, first_index, n_features, first);
        const std::uint32_t *begins = begins_.data(), *nexts = starts_.data() + 1;
        if (!wide_ || !octets_.read(base, begins, nexts, n, values.data())) {
            n = decimals_.fill(base, begins, nexts, n);
            if (!decimals_.convert(values.data())) return 0;
        }
        p = base + starts_[n] - 1;
        return n;
    }

  private:
    // Notes where tokens start, up to the end of the row; returns how many there are.
    __attribute__((target("avx2,bmi"))) int find_tokens(const char* p, const char* limit) {
        std::uint32_t* const begin = starts_.data() + 1;
        std::uint32_t* out = begin;
        std::uint32_t at = 1;
        for (std::uint64_t stops = 0; stops == 0 && out < begin + kMost; at += kBlock) {
            if (limit - p < kBlock) break;
            stops = find<'\n', '\r', '#'>(p);
            std::uint64_t bits = (find<' ', '\t'>(p) | stops) & (stops ^ (stops - 1));
            const int n = std::popcount(bits);
            const auto note = [&](int i) __attribute__((target("avx2,bmi"))) {
                out[i] = at + static_cast<std::uint32_t>(_tzcnt_u64(bits));
                bits &= bits - 1;
            };
            for (int i = 0; i < kFlatten; ++i) note(i);
            for (int i = kFlatten; i < n; ++i) note(i);
            out += n;
            p += kBlock;
        }
        return static_cast<int>(std::min<std::ptrdiff_t>(out - begin, kMost));
    }

    RANKWRIGHT_AVX512_BYTES int find_tokens_wide(const char* p, const char* limit) {
        constexpr auto places = [] {
            std::array<char, kBlock> all{};
            std::iota(all.begin(), all.end(), char(0));
            return all;
        }();
        std::uint32_t* const begin = starts_.data() + 1;
        std::uint32_t* out = begin;
        std::uint32_t at = 1;
        for (std::uint64_t stops = 0; stops == 0 && out < begin + kMost; at += kBlock) {
            if (limit - p < kBlock) break;
            const __m512i bytes = _mm512_loadu_si512(p);
            const auto find = [&](const auto& chars) RANKWRIGHT_AVX512_BYTES {
                const __m512i table = _mm512_broadcast_i32x4(
                    _mm_loadu_si128(reinterpret_cast<const __m128i*>(chars.data())));
                return _mm512_cmpeq_epi8_mask(bytes, _mm512_shuffle_epi8(table, bytes));
            };
            stops = find(kLookup<'\n', '\r', '#'>);
            const std::uint64_t bits =
                find(kLookup<' ', '\t', '\n', '\r', '#'>) & (stops ^ (stops - 1));
            __m512i found = _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(places.data()));
            const int n = static_cast<int>(_mm_popcnt_u64(bits));
            for (int i = 0; i < n; i += 16) {
                const __m512i sixteen = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found));
                _mm512_storeu_si512(
                    out + i, _mm512_add_epi32(sixteen, _mm512_set1_epi32(static_cast<int>(at))));
                found = _mm512_alignr_epi32(found, found, 4);
            }
            out += n;
            p += kBlock;
        }
        return static_cast<int>(std::min<std::ptrdiff_t>(out - begin, kMost));
    }

    // Notes where values begin, and their columns, as long as tokens begin with an index that may
    // come next; returns how many there are.
    int match_indices(const char* base, int n_tokens, const IndexTexts& texts,
                      std::int64_t first_index, std::int64_t n_features, std::int64_t column) {
        const auto note = [&](int i, std::int64_t index, std::uint32_t begin) {
            columns[i] = static_cast<std::int32_t>(index);
            begins_[i] = begin;
            column = index + 1;
        };
        int i = 0;
        while (i < n_tokens) {
            // Nearly all of a dense file are indices that follow each other.
            const int first = i;
            while (i + texts.kTogether <= n_tokens &&
                   texts.match_together(base, &starts_[i], column + i - first, &begins_[i]))
                i += texts.kTogether;
            std::iota(columns.begin() + first, columns.begin() + i,
                      static_cast<std::int32_t>(column));
            column += i - first;
            // The others one at a time.
            for (const int last = std::min(i + texts.kTogether, n_tokens); i < last; ++i) {
                if (const int length = texts.match(base + starts_[i], column)) {
                    note(i, column, starts_[i] + length);
                    continue;
                }
                std::int64_t index;
                const char* value = read_short_index(base + starts_[i], index);
                index -= first_index;
                if (!value || index < column || index >= n_features) return i;
                note(i, index, static_cast<std::uint32_t>(value - base));
            }
        }
        return i;
    }

    // For each value of the last four bits, the one character that a byte could be; the characters
    // must differ in those bits.
    template <char... c>
    static constexpr std::array<char, 16> kLookup = [] {
        std::array<char, 16> chars{};
        chars.fill(-1);  // no byte that is looked up
        ((chars[c & 15] = c), ...);
        return chars;
    }();

    // Where the characters are among kBlock.
    template <char... c>
    RANKWRIGHT_AVX2 static std::uint64_t find(const char* p) {
        const __m256i chars = _mm256_broadcastsi128_si256(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(kLookup<c...>.data())));
        const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
        const __m256i at_low = _mm256_cmpeq_epi8(low, _mm256_shuffle_epi8(chars, low));
        const __m256i at_high = _mm256_cmpeq_epi8(high, _mm256_shuffle_epi8(chars, high));
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(at_low)) |
               std::uint64_t(static_cast<std::uint32_t>(_mm256_movemask_epi8(at_high))) << 32;
    }

    const bool wide_, runs_here_;
    DecimalBatch<Float> decimals_;
    DecimalOctets<Float> octets_;
    // Of tokens, behind the first; one byte separates them.
    std::array<std::uint32_t, 1 + kMost + kBlock + kFlatten> starts_{};
    std::array<std::uint32_t, kMost> begins_;  // of values
};

#else

template <class Float>
struct EntryBatch {
    static constexpr int kMost = 1, kBefore = 0;
    std::array<std::int32_t, kMost> columns;
    std::array<Float, kMost> values;

    explicit EntryBatch(InstructionSet) {}
    bool runs_here() const { return false; }
    int read(const char*&, const char*, const IndexTexts&, std::int64_t, std::int64_t,
             std::int64_t) {
        return 0;
    }
};

#endif

}  // namespace rankwright::letor
