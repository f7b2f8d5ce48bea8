#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>

#include "coordinate_descent.hpp"
#include "python.hpp"
#include "quadratic_descent.hpp"

namespace rankwright {

namespace {

StepRule parse_step(std::string_view step) {
    if (step == "newton") return StepRule::newton;
    if (step == "range") return StepRule::range;
    require(step == "thesis", "step must be 'newton', 'range' or 'thesis'");
    return StepRule::thesis;
}

// What a model is made of; the arrays it looks at are kept alive by the Python caller.
struct SoftmaxSpec {
    In<std::int64_t> indptr;
    In<double> phi, weights;

    template <class Use>
    auto with_model(const Use& use) const {
        return use(SoftmaxModel(view(indptr), view(phi), view(weights)));
    }
};
struct DominationSpec {
    const Layers& layers;
    In<double> weights;
    double constant;
    InMatrix<double> between;
    In<std::int64_t> level;
    In<double> document;  // weights by row, or none

    template <class Use>
    auto with_model(const Use& use) const {
        const LayerMargins margins{
            constant, {between.data(), between.size()}, between.shape(0), view(level)};
        return with_weights(document, layers.rows.size(), [&](auto given) {
            return use(DominationModel(layers, view(weights), given, margins));
        });
    }
};

template <class Model, class Columns>
std::unique_ptr<Descent> make(Model model, Columns X, std::size_t n_features,
                              std::string_view step) {
    WithoutGil others_run;
    return std::make_unique<DescentOf<Model, Columns>>(std::move(model), X, n_features,
                                                       parse_step(step));
}

template <class Spec, class Float>
std::unique_ptr<Descent> dense(const Spec& spec, InMatrix<Float> columns, std::string_view step) {
    const DenseColumns<Float> X{columns.data(), columns.shape(1)};
    return spec.with_model(
        [&](auto model) { return make(std::move(model), X, columns.shape(0), step); });
}

template <class Spec, class Float, class Index>
std::unique_ptr<Descent> sparse(const Spec& spec, In<Float> data, In<Index> indices,
                                In<Index> indptr, std::string_view step) {
    require(indptr.size() > 0 && data.size() == indices.size(), "not a CSC matrix");
    const SparseColumns<Float, Index> X{data.data(), indices.data(), indptr.data()};
    return spec.with_model(
        [&](auto model) { return make(std::move(model), X, indptr.size() - 1, step); });
}

// The arrays are looked at, not copied: keep_alive ties them to the descent.
template <class Spec>
void bind_descents(nb::module_& m) {
    m.def("dense_descent", &dense<Spec, float>, "spec"_a, "columns"_a.noconvert(), "step"_a,
          nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>());
    m.def("dense_descent", &dense<Spec, double>, "spec"_a, "columns"_a.noconvert(), "step"_a,
          nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>());
    const auto bind = [&m](auto function) {
        m.def("sparse_descent", function, "spec"_a, "data"_a.noconvert(), "indices"_a.noconvert(),
              "indptr"_a.noconvert(), "step"_a, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(),
              nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>());
    };
    bind(&sparse<Spec, float, std::int32_t>);
    bind(&sparse<Spec, float, std::int64_t>);
    bind(&sparse<Spec, double, std::int32_t>);
    bind(&sparse<Spec, double, std::int64_t>);
}

}  // namespace

void bind_solvers(nb::module_& m) {
    nb::class_<SoftmaxSpec>(m, "SoftmaxSpec", "Targets and weights of a softmax cross entropy.")
        .def(nb::init<In<std::int64_t>, In<double>, In<double>>(), "indptr"_a.noconvert(),
             "phi"_a.noconvert(), "weights"_a.noconvert());
    nb::class_<DominationSpec>(m, "DominationSpec",
                               "Layers, weights and margins of a domination loss.")
        .def(nb::init<const Layers&, In<double>, double, InMatrix<double>, In<std::int64_t>,
                      In<double>>(),
             "layers"_a, "weights"_a.noconvert(), "constant"_a, "between"_a.noconvert(),
             "level"_a.noconvert(), "document"_a.noconvert(), nb::keep_alive<1, 2>());
    nb::class_<Descent>(m, "Descent", "Coordinate descent on one loss and matrix.")
        .def(
            "start",
            [](Descent& descent, In<double> scores) {
                WithoutGil others_run;
                descent.start(view(scores));
            },
            "scores"_a.noconvert())
        .def("scores",
             [](const Descent& descent) {
                 return make_array<double>(descent.scores().size(), [&](double* out) {
                     std::copy(descent.scores().begin(), descent.scores().end(), out);
                 });
             })
        .def(
            "sweep",
            [](Descent& descent, In<std::int64_t> coordinates, double a1, double a2,
               Out<double> w) {
                WithoutGil others_run;
                const SweepResult result = descent.sweep(view(coordinates), a1, a2, w.data());
                return std::pair(result.violation, result.n_moved);
            },
            "coordinates"_a.noconvert(), "a1"_a, "a2"_a, "w"_a.noconvert())
        .def(
            "slopes",
            [](const Descent& descent, In<std::int64_t> coordinates) {
                return make_array<double>(coordinates.size(), [&](double* out) {
                    descent.slopes(view(coordinates), out);
                });
            },
            "coordinates"_a.noconvert())
        .def(
            "promises",
            [](const Descent& descent, In<std::int64_t> coordinates, double a1, double a2,
               In<double> w, Out<double> decrease, Out<double> violation) {
                require(
                    decrease.size() == coordinates.size() && violation.size() == coordinates.size(),
                    "one decrease and one violation for each coordinate");
                WithoutGil others_run;
                descent.promises(view(coordinates), a1, a2, w.data(), decrease.data(),
                                 violation.data());
            },
            "coordinates"_a.noconvert(), "a1"_a, "a2"_a, "w"_a.noconvert(),
            "decrease"_a.noconvert(), "violation"_a.noconvert());
    m.def(
        "quadratic_descent",
        [](InMatrix<double> B, In<double> slope, In<double> w, double a1, std::size_t most,
           double enough) {
            const std::size_t n = w.size();
            require(B.shape(0) == n && B.shape(1) == n && slope.size() == n,
                    "B must be a square matrix, with a slope and a weight for each row");
            return make_array<double>(n, [&](double* d) {
                quadratic_descent(B.data(), slope.data(), w.data(), n, a1, most, enough, d);
            });
        },
        "B"_a.noconvert(), "slope"_a.noconvert(), "w"_a.noconvert(), "a1"_a, "most"_a, "enough"_a);
    bind_descents<SoftmaxSpec>(m);
    bind_descents<DominationSpec>(m);
}

}  // namespace rankwright
