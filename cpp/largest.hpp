// The largest size of numbers, in one pass: whether they are finite, and whether they can be
// multiplied.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "wide.hpp"

namespace rankwright {

// max |x|; NaN if there is one, unless they are skipped; 0 if there is nothing.
template <class Float>
Float largest_size(std::span<const Float> values, bool skip_nan) {
    // Without the sign, numbers order like their bits, and behind infinity comes NaN.
    using Int = std::conditional_t<sizeof(Float) == 4, std::int32_t, std::int64_t>;
    constexpr Int size = std::numeric_limits<Int>::max();
    const Int most = skip_nan ? std::bit_cast<Int>(std::numeric_limits<Float>::infinity()) : size;
    Int largest = 0;
    wide([&]() RANKWRIGHT_INLINE {
        Int found = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const Int bits = std::bit_cast<Int>(values[i]) & size;
            found = std::max(found, bits <= most ? bits : Int(0));
        }
        largest = found;
    });
    return std::bit_cast<Float>(largest);
}

}  // namespace rankwright
