// Columns of a feature matrix, dense or sparse, and their entries query by query.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rankwright {

template <class Float, class Index>
struct SparseColumns {
    const Float* data;
    const Index* indices;
    const Index* indptr;

    std::size_t size(std::size_t r) const { return indptr[r + 1] - indptr[r]; }
    std::int64_t row(std::size_t r, std::size_t i) const { return indices[indptr[r] + i]; }
    double value(std::size_t r, std::size_t i) const { return data[indptr[r] + i]; }
};

template <class Float>
struct DenseColumns {
    const Float* data;  // column-major
    std::size_t n_rows;

    std::size_t size(std::size_t) const { return n_rows; }
    std::int64_t row(std::size_t, std::size_t i) const { return static_cast<std::int64_t>(i); }
    double value(std::size_t r, std::size_t i) const { return data[r * n_rows + i]; }
};

// Calls f(query, begin, end) for each run of a column's entries that belong to one query.
template <class Columns, class F>
void each_run(const Columns& X, std::size_t r, const std::vector<std::int32_t>& query, F&& f) {
    const std::size_t n = X.size(r);
    for (std::size_t begin = 0, end; begin < n; begin = end) {
        const std::int32_t q = query[X.row(r, begin)];
        for (end = begin + 1; end < n && query[X.row(r, end)] == q;) ++end;
        f(static_cast<std::size_t>(q), begin, end);
    }
}

// The smallest and the largest value of a feature in a query of `n_rows` documents, from its run of
// entries; those it does not have are 0.
struct Range {
    double low, high;
    double width() const { return high - low; }
};

template <class Columns>
Range range_of_run(const Columns& X, std::size_t r, std::size_t begin, std::size_t end,
                   std::size_t n_rows) {
    const bool all = end - begin == n_rows;
    Range range{all ? std::numeric_limits<double>::infinity() : 0.0, 0.0};
    range.high = -range.low;
    for (std::size_t i = begin; i < end; ++i) {
        const double x = X.value(r, i);
        range.low = std::min(range.low, x);
        range.high = std::max(range.high, x);
    }
    return range;
}

}  // namespace rankwright
