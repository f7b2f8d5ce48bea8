// Decimal text to the nearest float or double, and back in the fewest digits that read back the
// same.
//
// Reading: up to eight digits are converted at once inside a 64-bit word. A decimal with mantissa
// M < 2^53 and |exponent| <= 22 is M * 10^e or M / 10^-e with both operands exact, hence correctly
// rounded (Clinger's fast path); everything else goes to std::from_chars. Rounding that double once
// more to float would be wrong only if it were the midpoint of two floats and the decimal were not;
// but with at most 7 + 8 digits, e = floor(log2 x), a decimal that is no midpoint is at least
// 2^(e-51) from one, and the double at most 2^(e-53) from the decimal.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#if !defined(__cpp_lib_to_chars)
#include <cstdio>
#include <cstdlib>
#include <string>
#endif

namespace rankwright {

static_assert(std::endian::native == std::endian::little, "digit words are read little-endian");

// Bytes that must be readable behind the end of any text given to these functions.
inline constexpr std::size_t kPadding = 16;

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline std::uint64_t load8(const char* p) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
}

// Number of leading digits among the eight characters of `word`.
inline int count_digits(std::uint64_t word) {
    const std::uint64_t t = word ^ 0x3030303030303030u;
    const std::uint64_t other = ((t + 0x7676767676767676u) | t) & 0x8080808080808080u;
    return other ? std::countr_zero(other) >> 3 : 8;
}

// Value of the first n digits of `word`, 1 <= n <= 8.
inline std::uint64_t digits_value(std::uint64_t word, int n) {
    std::uint64_t t = (word ^ 0x3030303030303030u) << (64 - 8 * n);
    t = t * 10 + (t >> 8);
    constexpr std::uint64_t mask = 0x000000FF000000FFu;
    return ((t & mask) * 0x000F424000000064u + ((t >> 16) & mask) * 0x0000271000000001u) >> 32;
}

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline constexpr std::uint64_t kIntegerPowers[] = {1,      10,      100,      1000,     10000,
                                                   100000, 1000000, 10000000, 100000000};

// Power of ten of the leading digit of a decimal, saturated; tells overflow from underflow.
inline long decimal_magnitude(const char* p, const char* end) {
    constexpr long limit = 1000000;
    long magnitude = 0, exponent = 0;
    bool point = false, lead = false;
    for (; p < end && *p != 'e' && *p != 'E'; ++p) {
        if (*p == '.') point = true;
        if (!is_digit(*p)) continue;
        lead = lead || *p != '0';
        if (lead && !point) ++magnitude;
        if (!lead && point) --magnitude;
    }
    if (p < end) {
        const bool negative = *++p == '-';
        for (; p < end; ++p) {
            if (is_digit(*p) && exponent < limit) exponent = 10 * exponent + (*p - '0');
        }
        if (negative) exponent = -exponent;
    }
    return magnitude + exponent;
}

// Exact reading of a whole token that is known to look like a number (no leading '+'). Too large
// becomes infinity, too small becomes 0, as IEEE rounding has it.
template <class Float>
Float from_token(const char* begin, const char* end) {
    Float value = 0;
#if defined(__cpp_lib_to_chars)
    if (std::from_chars(begin, end, value).ec == std::errc::result_out_of_range) {
        value = decimal_magnitude(begin, end) > 0 ? std::numeric_limits<Float>::infinity() : 0;
        if (*begin == '-') value = -value;
    }
#else
    const std::string token(begin, end);
    value = std::is_same_v<Float, float> ? static_cast<Float>(std::strtof(token.c_str(), nullptr))
                                         : static_cast<Float>(std::strtod(token.c_str(), nullptr));
#endif
    return value;
}

inline const char* skip_digits(const char* p) {
    while (is_digit(*p)) ++p;
    return p;
}

// End of the number that starts at p (sign already passed), or nullptr if there is none.
inline const char* number_end(const char* p) {
    const char* digits = p;
    p = skip_digits(p);
    std::ptrdiff_t n_digits = p - digits;
    if (*p == '.') {
        const char* fraction = ++p;
        p = skip_digits(p);
        n_digits += p - fraction;
    }
    if (n_digits == 0) return nullptr;
    if (*p == 'e' || *p == 'E') {
        const char* exponent = p + 1;
        if (*exponent == '+' || *exponent == '-') ++exponent;
        if (is_digit(*exponent)) p = skip_digits(exponent);
    }
    return p;
}

inline const char* match_word(const char* p, const char* word) {
    for (; *word; ++word, ++p) {
        if ((*p | 0x20) != *word) return nullptr;
    }
    return p;
}

// "nan", "inf" or "infinity" in any case.
template <class Float>
const char* read_special(const char* p, Float& value) {
    const char* end = match_word(p, "nan");
    value = end ? std::numeric_limits<Float>::quiet_NaN() : std::numeric_limits<Float>::infinity();
    if (!end) end = match_word(p, "infinity");
    if (!end) end = match_word(p, "inf");
    return end;
}

// mantissa / 10^n, correctly rounded, for mantissa < 10^15 and n <= 8.
template <class Float>
inline Float scale_down(std::uint64_t mantissa, int n) {
    if constexpr (std::is_same_v<Float, float>) {
        // A product is sooner there than a quotient. It may be off by two units of the last place
        // of a double, which matters for a float only near the midpoint of two of them: there,
        // divide.
        constexpr double powers[] = {1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8};
        const double product = static_cast<double>(mantissa) * powers[n];
        const auto dropped = std::bit_cast<std::uint64_t>(product) & 0x1FFFFFFFu;
        if (dropped - (0x10000000u - 4) > 8) [[likely]]
            return static_cast<float>(product);
    }
    return static_cast<Float>(static_cast<double>(mantissa) / kPowersOfTen[n]);
}

// Reads "[-]digits[.digits] " with at most 7 and 8 digits and a blank behind; returns the position
// behind the blank, or nullptr if the text is anything else.
template <class Float>
inline const char* read_plain(const char* p, Float& value) {
    // One digit is the most frequent number of all, and a jump that is easy to foresee.
    if (is_digit(*p) && p[1] == ' ') {
        value = static_cast<Float>(*p - '0');
        return p + 2;
    }
    const bool negative = *p == '-';
    p += negative;
    // The whole part is short and costs least digit by digit; the fraction is long.
    const char* begin = p;
    std::uint64_t mantissa = 0;
    for (unsigned digit; (digit = static_cast<unsigned char>(*p - '0')) < 10; ++p) {
        mantissa = 10 * mantissa + digit;
    }
    if (p == begin || p - begin > 7) return nullptr;
    if (*p == ' ') {
        const auto whole = static_cast<Float>(static_cast<std::int64_t>(mantissa));
        value = negative ? -whole : whole;
        return p + 1;
    }
    if (*p != '.') return nullptr;
    const std::uint64_t word = load8(++p);
    const int n = count_digits(word);
    if (n == 0 || p[n] != ' ') return nullptr;
    mantissa = mantissa * kIntegerPowers[n] + digits_value(word, n);
    const Float scaled = scale_down<Float>(mantissa, n);
    value = negative ? -scaled : scaled;
    return p + n + 1;
}

// Reads one number at p into value; returns its end, or nullptr if there is no number.
// At least kPadding bytes behind the text must be readable, and the text must end in a non-digit.
template <class Float>
inline const char* read_number(const char* p, Float& value) {
    const bool negative = *p == '-';
    const char* sign = p;
    p += negative || *p == '+';
    const char* begin = p;

    const int n_whole = count_digits(load8(p));
    if (n_whole > 0 && n_whole < 8) [[likely]] {
        std::uint64_t mantissa = digits_value(load8(p), n_whole);
        p += n_whole;
        int n_fraction = 0;
        if (*p == '.') {
            const std::uint64_t word = load8(++p);
            n_fraction = count_digits(word);
            if (n_fraction > 0) {
                mantissa = mantissa * kIntegerPowers[n_fraction] + digits_value(word, n_fraction);
            }
            p += n_fraction;
        }
        if (!is_digit(*p) && (*p | 0x20) != 'e') [[likely]] {
            value = scale_down<Float>(mantissa, n_fraction);
            if (negative) value = -value;
            return p;
        }
    }

    const char* end = number_end(begin);
    if (end) {
        value = from_token<Float>(negative ? sign : begin, end);
        return end;
    }
    end = read_special(begin, value);
    if (negative) value = -value;
    return end;
}

// Longest text that write_number produces.
inline constexpr std::size_t kMaxNumberLength = 32;

// Writes the shortest text that reads back to the same number; returns its end.
template <class Float>
inline char* write_number(char* p, Float value) {
#if defined(__cpp_lib_to_chars)
    return std::to_chars(p, p + kMaxNumberLength, value).ptr;
#else
    // 9 and 17 digits always suffice; fewer often do.
    constexpr int most = std::is_same_v<Float, float> ? 9 : 17;
    for (int precision = most - 3;; ++precision) {
        const int length = std::snprintf(p, kMaxNumberLength, "%.*g", precision, double(value));
        if (precision == most || from_token<Float>(p, p + length) == value) return p + length;
    }
#endif
}

// Writes a double as Python's repr does: the fewest digits that read back the same, with an
// exponent below 1e-4 and from 1e16 on; returns the end.
inline char* write_repr(char* p, double value) {
    if (!std::isfinite(value)) {
        const char* word = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
        const std::size_t length = std::strlen(word);
        std::memcpy(p, word, length);
        return p + length;
    }
    char text[kMaxNumberLength];
#if defined(__cpp_lib_to_chars)
    char* end =
        std::to_chars(text, text + kMaxNumberLength, value, std::chars_format::scientific).ptr;
#else
    char* end = text;
    for (int precision = 0; precision < 17; ++precision) {
        end = text + std::snprintf(text, kMaxNumberLength, "%.*e", precision, value);
        if (from_token<double>(text, end) == value) break;
    }
#endif
    // text is [-]d[.ddd]e(+|-)dd: take it apart.
    const char* from = text;
    if (*from == '-') *p++ = *from++;
    const char* mark = end;
    while (*--mark != 'e') {
    }
    char digits[kMaxNumberLength];
    int n = 0, exponent = 0;
    for (const char* c = from; c < mark; ++c) {
        if (*c != '.') digits[n++] = *c;
    }
    for (const char* c = mark + 2; c < end; ++c) exponent = 10 * exponent + (*c - '0');
    if (mark[1] == '-') exponent = -exponent;
    if (exponent < -4 || exponent >= 16) {
        std::memcpy(p, from, end - from);
        return p + (end - from);
    }
    const int before = std::max(exponent + 1, 0);  // digits before the point
    if (before == 0) *p++ = '0';
    for (int i = 0; i < before; ++i) *p++ = i < n ? digits[i] : '0';
    *p++ = '.';
    for (int i = exponent + 1; i < 0; ++i) *p++ = '0';
    for (int i = before; i < n; ++i) *p++ = digits[i];
    if (n <= before) *p++ = '0';
    return p;
}

}  // namespace rankwright
