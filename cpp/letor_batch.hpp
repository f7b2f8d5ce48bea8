// The entries of a row, many at once, where the processor has AVX2.
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
#include "letor_tokens.hpp"

namespace rankwright::letor {

#if RANKWRIGHT_X86

template <class Float>
class EntryBatch {
    static constexpr int kBlock = 64;   // bytes that are looked at together
    static constexpr int kFlatten = 9;  // ends in a block that are noted without counting them

  public:
    static constexpr int kMost = DecimalBatch<Float>::kMost;
    static constexpr int kBefore = DecimalBatch<Float>::kBefore;

    std::array<std::int32_t, kMost> columns;
    std::array<Float, kMost> values;

    static bool runs_here() {
        return rankwright::runs_here(InstructionSet::avx2) && __builtin_cpu_supports("bmi");
    }

    // Reads entries "index:value" with columns from `first` on that increase; returns how many, and
    // moves p to the end of the last. kBefore bytes before p must be readable, and nothing is read
    // from `limit` on.
    RANKWRIGHT_AVX2 int read(const char*& p, const char* limit, const IndexTexts& texts,
                             std::int64_t first_index, std::int64_t n_features,
                             std::int64_t first) {
        const char* const base = p;
        const int n_ends = find_ends(base, limit);
        int n = match_indices(base, n_ends, texts, first_index, n_features, first);
        n = decimals_.fill(base, begins_.data(), ends_.data(), n);
        if (!decimals_.convert(values.data())) return 0;
        p = base + ends_[n - 1];
        return n;
    }

  private:
    // Notes where tokens end, up to the end of the row; returns how many there are.
    __attribute__((target("avx2,bmi"))) int find_ends(const char* p, const char* limit) {
        std::uint32_t* out = ends_.data();
        std::uint32_t at = 0;
        for (std::uint64_t stops = 0; stops == 0 && out < ends_.data() + kMost; at += kBlock) {
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
        return static_cast<int>(std::min<std::ptrdiff_t>(out - ends_.data(), kMost));
    }

    // Notes where values begin, and their columns, as long as tokens begin with an index that may
    // come next; returns how many there are.
    int match_indices(const char* base, int n_ends, const IndexTexts& texts,
                      std::int64_t first_index, std::int64_t n_features, std::int64_t column) {
        const char* here = base;
        int i = 0;
        while (i < n_ends) {
            // Nearly all of a dense file are indices that follow each other.
            const int first = i;
            const auto* text = texts.from(column);
            for (int length; i < n_ends && (length = text->match(here)); ++i, ++text) {
                begins_[i] = static_cast<std::uint32_t>(here + length - base);
                here = base + ends_[i] + 1;
            }
            std::iota(columns.begin() + first, columns.begin() + i,
                      static_cast<std::int32_t>(column));
            column += i - first;
            if (i == n_ends) break;
            std::int64_t index;
            const char* begin = read_short_index(here, index);
            index -= first_index;
            if (!begin || index < column || index >= n_features) break;
            begins_[i] = static_cast<std::uint32_t>(begin - base);
            columns[i] = static_cast<std::int32_t>(index);
            here = base + ends_[i++] + 1;
            column = index + 1;
        }
        return i;
    }

    // Where the characters are among kBlock, which must differ in their last four bits. Those bits
    // look up the one character that a byte could be.
    template <char... c>
    RANKWRIGHT_AVX2 static std::uint64_t find(const char* p) {
        constexpr auto table = [] {
            std::array<char, 32> chars{};
            chars.fill(-1);  // no byte that is looked up
            ((chars[c & 15] = chars[16 + (c & 15)] = c), ...);
            return chars;
        }();
        const __m256i chars = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table.data()));
        const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
        const __m256i at_low = _mm256_cmpeq_epi8(low, _mm256_shuffle_epi8(chars, low));
        const __m256i at_high = _mm256_cmpeq_epi8(high, _mm256_shuffle_epi8(chars, high));
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(at_low)) |
               std::uint64_t(static_cast<std::uint32_t>(_mm256_movemask_epi8(at_high))) << 32;
    }

    DecimalBatch<Float> decimals_;
    std::array<std::uint32_t, kMost + kBlock + kFlatten> ends_;  // of tokens, behind the first
    std::array<std::uint32_t, kMost> begins_;                    // of values
};

#else

template <class Float>
struct EntryBatch {
    static constexpr int kMost = 1, kBefore = 0;
    std::array<std::int32_t, kMost> columns;
    std::array<Float, kMost> values;

    static bool runs_here() { return false; }
    int read(const char*&, const char*, const IndexTexts&, std::int64_t, std::int64_t,
             std::int64_t) {
        return 0;
    }
};

#endif

}  // namespace rankwright::letor
