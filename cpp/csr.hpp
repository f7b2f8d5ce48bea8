// Whether the arrays of a CSR matrix are one. Its maker is not believed: whoever reads data[i] and
// w[indices[i]] afterwards does not look again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace rankwright {

struct CsrCheck {
    std::int64_t bad_row = -1;  // the first one that leads out of the arrays; -1 if none does
    bool canonical = true;      // columns increase within each row
};

template <class Index>
CsrCheck check_csr(std::span<const Index> indices, std::span<const Index> indptr,
                   std::uint64_t n_columns) {
    using Unsigned = std::make_unsigned_t<Index>;  // in which negative numbers are large
    const auto inside = [=](Index j) { return static_cast<Unsigned>(j) < n_columns; };
    CsrCheck result;
    Index begin = 0;
    for (std::size_t row = 0; row + 1 < indptr.size(); ++row) {
        const Index end = indptr[row + 1];
        bool good =
            indptr[row] == begin && begin <= end && static_cast<Unsigned>(end) <= indices.size();
        if (good && begin < end) {
            const Index *j = indices.data() + begin, n = end - begin;
            Index falls = 0;  // counted, not stopped at: the compiler makes vectors of it
            for (Index i = 1; i < n; ++i) falls += j[i - 1] >= j[i];
            result.canonical &= falls == 0;
            good = falls == 0 ? inside(j[0]) && inside(j[n - 1]) : std::all_of(j, j + n, inside);
        }
        if (!good) {
            result.bad_row = static_cast<std::int64_t>(row);
            return result;
        }
        begin = end;
    }
    return result;
}

}  // namespace rankwright
