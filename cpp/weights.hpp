// What the terms of a loss are multiplied by, for each row: a span of numbers, or ones, which cost
// nothing.
#pragma once

#include <cstddef>

namespace rankwright {

struct Unweighted {
    constexpr double operator[](std::size_t) const { return 1.0; }
};

}  // namespace rankwright
