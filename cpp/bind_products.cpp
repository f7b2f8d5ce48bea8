#include "products.hpp"
#include "python.hpp"

namespace rankwright {

namespace {

template <class Rows>
auto times(const Rows& X, In<double> w, int threads) {
    require(w.size() == X.n_features, "w must have one entry for each feature");
    return make_array<double>(X.n_rows, [&](double* out) { multiply(X, w.data(), out, threads); });
}

template <class Rows>
auto transposed_times(const Rows& X, In<double> g, int threads) {
    require(g.size() == X.n_rows, "g must have one entry for each row");
    return make_array<double>(X.n_features,
                              [&](double* out) { multiply_transposed(X, g.data(), out, threads); });
}

template <class Float>
DenseRows<Float> dense_rows(InMatrix<Float> X) {
    return {X.data(), X.shape(0), X.shape(1)};
}

template <class Float, class Index>
SparseRows<Float, Index> sparse_rows(In<Float> data, In<Index> indices, In<Index> indptr,
                                     std::size_t n_features) {
    require(indptr.size() > 0 && data.size() == indices.size(), "not a CSR matrix");
    return {data.data(), indices.data(), indptr.data(), indptr.size() - 1, n_features};
}

template <class Float>
void bind_dense(nb::module_& m) {
    m.def(
        "multiply",
        [](InMatrix<Float> X, In<double> w, int threads) {
            return times(dense_rows<Float>(X), w, threads);
        },
        "X"_a.noconvert(), "w"_a.noconvert(), "threads"_a);
    m.def(
        "multiply_transposed",
        [](InMatrix<Float> X, In<double> g, int threads) {
            return transposed_times(dense_rows<Float>(X), g, threads);
        },
        "X"_a.noconvert(), "g"_a.noconvert(), "threads"_a);
}

template <class Float, class Index>
void bind_sparse(nb::module_& m) {
    m.def(
        "multiply_sparse",
        [](In<Float> data, In<Index> indices, In<Index> indptr, In<double> w, int threads) {
            return times(sparse_rows<Float, Index>(data, indices, indptr, w.size()), w, threads);
        },
        "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "w"_a.noconvert(),
        "threads"_a);
    m.def(
        "multiply_transposed_sparse",
        [](In<Float> data, In<Index> indices, In<Index> indptr, std::size_t n_features,
           In<double> g, int threads) {
            return transposed_times(sparse_rows<Float, Index>(data, indices, indptr, n_features), g,
                                    threads);
        },
        "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_features"_a,
        "g"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_products(nb::module_& m) {
    bind_dense<float>(m);
    bind_dense<double>(m);
    bind_sparse<float, std::int32_t>(m);
    bind_sparse<float, std::int64_t>(m);
    bind_sparse<double, std::int32_t>(m);
    bind_sparse<double, std::int64_t>(m);
}

}  // namespace rankwright
