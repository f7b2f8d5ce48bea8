#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "csr.hpp"
#include "largest.hpp"
#include "products.hpp"
#include "python.hpp"

namespace rankwright {

namespace {

template <class Float>
std::unique_ptr<Rows> dense_rows(InMatrix<Float> X) {
    return std::make_unique<DenseRows<Float>>(X.data(), X.shape(0), X.shape(1));
}

template <class Float, class Index>
std::unique_ptr<Rows> sparse_rows(In<Float> data, In<Index> indices, In<Index> indptr,
                                  std::size_t n_features) {
    require(indptr.size() > 0 && data.size() == indices.size() &&
                static_cast<std::size_t>(indptr.data()[indptr.size() - 1]) <= data.size(),
            "not a CSR matrix");
    return std::make_unique<SparseRows<Float, Index>>(data.data(), indices.data(), indptr.data(),
                                                      indptr.size() - 1, n_features);
}

template <class Index>
std::pair<std::int64_t, bool> look_at_csr(In<Index> indices, In<Index> indptr,
                                          std::uint64_t n_columns) {
    WithoutGil others_run;
    const CsrCheck result = check_csr(view(indices), view(indptr), n_columns);
    return {result.bad_row, result.canonical};
}

// The arrays are looked at, not copied: keep_alive ties them to the rows.
void bind_rows(nb::module_& m) {
    nb::class_<Rows>(m, "Rows", "The rows of a feature matrix.")
        .def_ro("n_rows", &Rows::n_rows)
        .def_ro("n_features", &Rows::n_features)
        .def(
            "scores",
            [](const Rows& rows, std::size_t begin, std::size_t end, In<double> w) {
                require(begin <= end && end <= rows.n_rows, "no such rows");
                require(w.size() == rows.n_features, "w must have a value for each feature");
                return make_array<double>(
                    end - begin, [&](double* out) { rows.scores(begin, end, w.data(), out); });
            },
            "begin"_a, "end"_a, "w"_a.noconvert());
    m.def("dense_rows", &dense_rows<float>, "X"_a.noconvert(), nb::keep_alive<0, 1>());
    m.def("dense_rows", &dense_rows<double>, "X"_a.noconvert(), nb::keep_alive<0, 1>());
    const auto bind = [&m](auto function) {
        m.def("sparse_rows", function, "data"_a.noconvert(), "indices"_a.noconvert(),
              "indptr"_a.noconvert(), "n_features"_a, nb::keep_alive<0, 1>(),
              nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
    };
    bind(&sparse_rows<float, std::int32_t>);
    bind(&sparse_rows<float, std::int64_t>);
    bind(&sparse_rows<double, std::int32_t>);
    bind(&sparse_rows<double, std::int64_t>);
}

template <class Float>
void bind_largest(nb::module_& m) {
    m.def(
        "largest_size",
        [](nb::ndarray<const Float, nb::c_contig, nb::device::cpu> values, bool skip_nan) {
            WithoutGil others_run;
            return static_cast<double>(
                largest_size<Float>({values.data(), values.size()}, skip_nan));
        },
        "values"_a.noconvert(), "skip_nan"_a = false);
}

using Weights = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Scores = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

// out = X W' + b, row by row; whether all are finite: if so, all features are, since a weight of 0
// hides neither NaN nor infinity.
bool linear_scores(const Rows& X, Weights W, In<double> b, Scores out, int threads) {
    const std::size_t k = W.ndim() == 2 ? W.shape(0) : 1;
    require(W.size() == k * X.n_features, "W must have an entry for each score and feature");
    require(b.size() == 0 || b.size() == k, "b must have an entry for each score");
    require(out.size() == X.n_rows * k, "out must have an entry for each row and score");
    WithoutGil others_run;
    multiply(X, W.data(), k, b.size() > 0 ? b.data() : nullptr, out.data(), threads);
    return std::isfinite(largest_size<double>({out.data(), out.size()}, false));
}

// An array as it is: for the scores of one query, rows of it would take a while to make.
template <class Float>
bool array_scores(InMatrix<Float> X, Weights W, In<double> b, Scores out, int threads) {
    return linear_scores(DenseRows<Float>(X.data(), X.shape(0), X.shape(1)), W, b, out, threads);
}

}  // namespace

void bind_products(nb::module_& m) {
    bind_rows(m);
    bind_largest<float>(m);
    bind_largest<double>(m);
    const auto bind_scores = [&m](auto function) {
        m.def("linear_scores", function, "X"_a.noconvert(), "W"_a.noconvert(), "b"_a.noconvert(),
              "out"_a.noconvert(), "threads"_a);
    };
    bind_scores(&linear_scores);
    bind_scores(&array_scores<float>);
    bind_scores(&array_scores<double>);
    m.def(
        "use_avx2", [](bool use) { use_avx2 = use && runs_here(InstructionSet::avx2); }, "use"_a,
        "For tests: whether kernels take the vector instructions that the machine has.");
    m.def("check_csr", &look_at_csr<std::int32_t>, "indices"_a.noconvert(), "indptr"_a.noconvert(),
          "n_columns"_a);
    m.def("check_csr", &look_at_csr<std::int64_t>, "indices"_a.noconvert(), "indptr"_a.noconvert(),
          "n_columns"_a);
    m.def(
        "multiply",
        [](const Rows& X, In<double> w, int threads) {
            require(w.size() == X.n_features, "w must have one entry for each feature");
            return make_array<double>(
                X.n_rows, [&](double* out) { multiply(X, w.data(), 1, nullptr, out, threads); });
        },
        "X"_a, "w"_a.noconvert(), "threads"_a);
    // Sums over rows: so many for each feature, or a matrix.
    const auto bind_sums = [&m](const char* name, auto size, auto product) {
        m.def(
            name,
            [size, product](const Rows& X, In<double> g, int threads) {
                require(g.size() == X.n_rows, "g must have one entry for each row");
                return make_array<double>(size(X.n_features),
                                          [&](double* out) { product(X, g.data(), out, threads); });
            },
            "X"_a, "g"_a.noconvert(), "threads"_a);
    };
    bind_sums("multiply_transposed", [](std::size_t d) { return d; }, &multiply_transposed);
    bind_sums("moments", [](std::size_t d) { return 2 * d; }, &moments);
    bind_sums("gram", [](std::size_t d) { return d * d; }, &gram);
    m.def(
        "group_sums",
        [](const Rows& X, In<std::int64_t> rows, In<std::int64_t> begin, In<double> g,
           int threads) {
            const auto n = static_cast<std::int64_t>(X.n_rows);
            const auto in_order = view(begin);
            require(g.size() == X.n_rows && rows.size() == X.n_rows && begin.size() > 0 &&
                        in_order.front() >= 0 && in_order.back() <= n &&
                        std::is_sorted(in_order.begin(), in_order.end()),
                    "group_sums: groups must be ranges of the rows");
            for (const auto row : view(rows)) require(row >= 0 && row < n, "no such row");
            return make_array<double>((begin.size() - 1) * X.n_features, [&](double* out) {
                group_sums(X, view(rows), in_order, g.data(), out, threads);
            });
        },
        "X"_a, "rows"_a.noconvert(), "begin"_a.noconvert(), "g"_a.noconvert(), "threads"_a);
}

}  // namespace rankwright
