// What LETOR text is made of: blanks, line ends, indices, ids.
//
// Reading never goes more than kPadding bytes past the end of a line.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "decimal.hpp"
#include "hashing.hpp"

namespace rankwright {

namespace letor {

inline constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max() - 1;

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool is_line_end(char c) { return c == '\n' || c == '#' || c == '\r'; }
inline bool is_separator(char c) { return is_blank(c) || is_line_end(c); }

inline const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}
inline const char* skip_token(const char* p) {
    while (!is_separator(*p)) ++p;
    return p;
}
inline const char* next_line(const char* p, const char* end) {
    const void* newline = std::memchr(p, '\n', end - p);
    return newline ? static_cast<const char*>(newline) + 1 : end;
}
// Is there a row on the line that starts at p?
inline bool is_row(const char* p) { return !is_line_end(*skip_blanks(p)); }

// How often c occurs. Bytes are counted in bytes as long as they cannot overflow: std::count widens
// every comparison to 64 bits.
inline std::int64_t count_char(const char* p, const char* end, char c) {
    constexpr std::ptrdiff_t width = 16;
    std::int64_t total = 0;
    while (end - p >= width) {
        std::array<std::uint8_t, width> lanes{};
        for (auto n = std::min<std::ptrdiff_t>((end - p) / width, 255); n > 0; --n, p += width) {
            for (std::ptrdiff_t i = 0; i < width; ++i) lanes[i] += p[i] == c;
        }
        total += std::accumulate(lanes.begin(), lanes.end(), std::int64_t(0));
    }
    return total + std::count(p, end, c);
}

// A sum of the bytes that depends on their order.
inline std::uint64_t checksum(const char* p, const char* end) {
    constexpr std::uint64_t odd[] = {0x9E3779B97F4A7C15u, 0xBF58476D1CE4E5B9u, 0x94D049BB133111EBu,
                                     0xD6E8FEB86659FD93u};
    std::uint64_t lanes[] = {1, 2, 3, 4};
    for (; end - p >= 32; p += 32) {
        for (int i = 0; i < 4; ++i) lanes[i] = (lanes[i] ^ load8(p + 8 * i)) * odd[i];
    }
    std::uint64_t sum = mix(lanes[0]) ^ mix(lanes[1]) ^ mix(lanes[2]) ^ mix(lanes[3]);
    for (; p < end; ++p) sum = mix(sum ^ static_cast<unsigned char>(*p));
    return sum;
}

inline bool starts_with_qid(const char* p) { return std::memcmp(p, "qid:", 4) == 0; }

// Reads an index of at most seven digits and its colon; returns the position behind them, or
// nullptr.
inline const char* read_short_index(const char* p, std::int64_t& index) {
    const std::uint64_t word = load8(p);
    const int n = count_digits(word);
    if (n == 0 || n == 8 || p[n] != ':') return nullptr;
    index = static_cast<std::int64_t>(digits_value(word, n));
    return p + n + 1;
}

// The same for any number of digits.
inline const char* read_index(const char* p, std::int64_t& index) {
    if (const char* end = read_short_index(p, index)) [[likely]]
        return end;
    const char* begin = p;
    std::int64_t value = 0;
    for (; is_digit(*p); ++p)
        value = std::min<std::int64_t>(10 * value + (*p - '0'), kMaxIndex + 1);
    index = value;
    return p > begin && *p == ':' ? p + 1 : nullptr;
}

// Reads a qid; returns whether it is an integer. It is one if its text is the usual text of one, so
// that nothing is lost: "7", not "007".
inline bool read_qid(const char* p, const char* end, std::int64_t& qid) {
    const char* digits = p + (*p == '-');
    const bool canonical = end - digits == 1 ? is_digit(*digits) && (*digits != '0' || digits == p)
                                             : is_digit(*digits) && *digits != '0';
    qid = 0;
    const auto [stop, error] = std::from_chars(p, end, qid);
    return canonical && stop == end && error == std::errc();
}

// UTF-8: every byte but 10xxxxxx begins a character.
inline bool is_longer(std::string_view id, std::int64_t longest) {
    if (static_cast<std::int64_t>(id.size()) <= longest) return false;
    return std::count_if(id.begin(), id.end(), [](char c) { return (c & 0xC0) != 0x80; }) > longest;
}

// The document id in a comment: the X of "# docid = X ...", else all of it, trimmed.
inline std::string_view doc_id(const char* begin, const char* end) {
    begin = skip_blanks(begin + 1);
    while (end > begin && (is_blank(end[-1]) || end[-1] == '\r')) --end;
    if (end - begin > 5 && std::memcmp(begin, "docid", 5) == 0) {
        const char* value = skip_blanks(begin + 5);
        if (*value == '=') {
            begin = value = skip_blanks(value + 1);
            while (value < end && !is_blank(*value)) ++value;
            end = std::max(value, begin);
        }
    }
    return {begin, static_cast<std::size_t>(end - begin)};
}

// The texts "1:", "2:", ... as words, so that a line which lists every feature in order needs one
// comparison for an index instead of a digit loop.
class IndexTexts {
  public:
    static constexpr int kTogether = 8;

    IndexTexts(std::int64_t first_index, std::int64_t n_features) {
        constexpr std::int64_t most = 4096;
        n_ = static_cast<std::size_t>(std::min(n_features, most));
        // Behind the last one are some that match nothing.
        words_.resize(n_ + kTogether, 1);
        masks_.resize(n_ + kTogether, 0);
        lengths_.resize(n_ + kTogether, 0);
        for (std::size_t i = 0; i < n_; ++i) {
            const std::string text =
                std::to_string(first_index + static_cast<std::int64_t>(i)) + ":";
            lengths_[i] = static_cast<std::uint32_t>(text.size());
            words_[i] = 0;
            std::memcpy(&words_[i], text.data(), text.size());
            masks_[i] = (std::uint64_t(1) << (8 * text.size())) - 1;
        }
    }
    // Length of the text of feature `column` if p starts with it, else 0.
    int match(const char* p, std::int64_t column) const {
        const std::size_t i = place(column);
        return differs(p, i) ? 0 : static_cast<int>(lengths_[i]);
    }

    // Do kTogether tokens, given by places in the text, begin with the texts of features from
    // `column` on? If so, what is behind those begins at `begins`.
    bool match_together(const char* text, const std::uint32_t* tokens, std::int64_t column,
                        std::uint32_t* begins) const {
        const std::size_t first = place(column);
        std::uint64_t difference = differs(text + tokens[0], first);
        if (difference) return false;  // of sparse rows
        for (int i = 1; i < kTogether; ++i) difference |= differs(text + tokens[i], first + i);
        for (int i = 0; i < kTogether; ++i) begins[i] = tokens[i] + lengths_[first + i];
        return difference == 0;
    }

    // Reads entries "index:value " as long as they are plain and list every feature from `column`
    // on, into out; returns how many, and moves p behind them. This is nearly all of a dense file,
    // and has nothing to do but find digits.
    template <class Float>
    std::int64_t read_run(const char*& p, std::int64_t column, Float* out) const {
        std::size_t i = place(column);
        Float* const begin = out;
        const char* here = p;
        for (; !differs(here, i); ++i) {
            const char* next = read_plain(here + lengths_[i], *out);
            if (!next) break;
            here = next;
            ++out;
        }
        p = here;
        return out - begin;
    }

  private:
    std::size_t place(std::int64_t column) const {
        return std::min(static_cast<std::size_t>(column), n_);
    }
    std::uint64_t differs(const char* p, std::size_t i) const {
        return (load8(p) & masks_[i]) ^ words_[i];
    }

    std::size_t n_;
    std::vector<std::uint64_t> words_, masks_;
    std::vector<std::uint32_t> lengths_;
};

}  // namespace letor

}  // namespace rankwright
