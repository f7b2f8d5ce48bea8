#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "problems.hpp"
#include "python.hpp"

namespace rankwright {

namespace {

std::size_t n_scores_of(const Problem& problem, std::size_t n_labels) {
    return problem.n_scores() ? problem.n_scores() : n_labels;
}

void check_label(const Problem& problem, const In<double>& y) {
    const auto* ranking = dynamic_cast<const RankingProblem*>(&problem);
    if (ranking) {
        require(y.size() <= ranking->most(), "more documents than positions in the tables");
    } else {
        require(y.size() == problem.n_labels(), "y has a wrong number of values");
    }
    const double most = problem.n_scores() == 1 ? 2 : static_cast<double>(problem.n_scores());
    if (!ranking && problem.n_labels() == 1) {
        require(y.data()[0] >= 0 && y.data()[0] < most, "y must be a class");
    }
}

void check_scores(const Problem& problem, const In<double>& t) {
    const auto* ranking = dynamic_cast<const RankingProblem*>(&problem);
    if (ranking) {
        require(t.size() <= ranking->most(), "more documents than positions in the tables");
    } else {
        require(t.size() == problem.n_scores(), "scores have a wrong number of values");
    }
}

template <class Fill>
Result<std::int32_t> prediction(const Problem& problem, std::size_t n_scores, const Fill& fill) {
    const std::size_t n = problem.n_codes() ? problem.n_codes() : n_scores;
    return make_array<std::int32_t>(n, [&](std::int32_t* out) { fill(Prediction(out, n)); });
}

void check_prediction(const Problem& problem, const In<std::int32_t>& sigma) {
    const bool ranking = problem.n_codes() == 0;
    require(ranking || sigma.size() == problem.n_codes(), "a prediction has a wrong length");
    const std::size_t end = ranking                   ? sigma.size()
                            : problem.n_codes() > 1   ? 2
                            : problem.n_scores() == 1 ? 2
                                                      : problem.n_scores() + 1;
    for (const auto code : view(sigma)) {
        require(code >= 0 && static_cast<std::size_t>(code) < end, "a prediction is out of range");
    }
}

}  // namespace

void bind_problems(nb::module_& m) {
    nb::class_<Problem>(m, "Problem", "A prediction task; see rankwright.problems.")
        .def(
            "predict",
            [](const Problem& problem, In<double> t, std::optional<In<double>> y) {
                check_scores(problem, t);
                if (y) check_label(problem, *y);
                return prediction(problem, t.size(), [&](Prediction sigma) {
                    problem.predict(view(t), y ? y->data() : nullptr, sigma);
                });
            },
            "scores"_a.noconvert(), "y"_a = nb::none())
        .def(
            "loss",
            [](const Problem& problem, In<std::int32_t> sigma, In<double> y) {
                check_label(problem, y);
                check_prediction(problem, sigma);
                require(problem.n_codes() || sigma.size() == y.size(), "lengths differ");
                return problem.loss(view(sigma), y.data());
            },
            "prediction"_a.noconvert(), "y"_a.noconvert())
        .def(
            "correct",
            [](const Problem& problem, In<double> y, std::optional<In<double>> t) {
                check_label(problem, y);
                if (t) require(t->size() == n_scores_of(problem, y.size()), "lengths differ");
                return prediction(problem, y.size(), [&](Prediction sigma) {
                    problem.correct(y.data(), t ? t->data() : nullptr, sigma);
                });
            },
            "y"_a.noconvert(), "scores"_a = nb::none())
        .def(
            "augmented",
            [](const Problem& problem, In<double> t, In<double> y) {
                check_scores(problem, t);
                check_label(problem, y);
                require(t.size() == n_scores_of(problem, y.size()), "lengths differ");
                return prediction(problem, t.size(), [&](Prediction sigma) {
                    problem.augmented(view(t), y.data(), sigma);
                });
            },
            "scores"_a.noconvert(), "y"_a.noconvert())
        .def(
            "represent",
            [](const Problem& problem, In<std::int32_t> sigma) {
                check_prediction(problem, sigma);
                const auto* ranking = dynamic_cast<const RankingProblem*>(&problem);
                require(!ranking || sigma.size() <= ranking->most(),
                        "more documents than positions in the tables");
                return make_array<double>(n_scores_of(problem, sigma.size()), [&](double* out) {
                    problem.represent(view(sigma), out);
                });
            },
            "prediction"_a.noconvert());
    nb::class_<BinaryProblem, Problem>(m, "BinaryProblem")
        .def(nb::init<double, double>(), "alpha0"_a, "alpha1"_a);
    nb::class_<ClassProblem, Problem>(m, "ClassProblem")
        .def(
            "__init__",
            [](ClassProblem* self, InMatrix<double> loss, In<double> reject) {
                const std::size_t n = loss.shape(0);
                require(n > 1 && loss.shape(1) == n,
                        "loss must be square, for two classes or more");
                require(reject.size() == 0 || reject.size() == n, "reject must have n costs");
                new (self) ClassProblem(n, {loss.data(), n * n}, view(reject));
            },
            "loss"_a.noconvert(), "reject"_a.noconvert());
    nb::class_<LabelsProblem, Problem>(m, "LabelsProblem")
        .def(
            "__init__",
            [](LabelsProblem* self, std::size_t m, std::string_view loss) {
                require(m > 0, "there must be a label");
                require(loss == "hamming" || loss == "subset" || loss == "error_set",
                        "loss must be 'hamming', 'subset' or 'error_set'");
                new (self) LabelsProblem(m, loss == "hamming"  ? SubsetLoss::hamming
                                            : loss == "subset" ? SubsetLoss::subset
                                                               : SubsetLoss::error_set);
            },
            "m"_a, "loss"_a);
    nb::class_<RankingProblem, Problem>(m, "RankingProblem")
        .def(
            "__init__",
            [](RankingProblem* self, In<double> f, In<double> discount) {
                require(f.size() > 0 && f.size() == discount.size(),
                        "f and discount must have a value for each position");
                new (self) RankingProblem(view(f), view(discount));
            },
            "f"_a.noconvert(), "discount"_a.noconvert())
        .def_prop_ro("most", &RankingProblem::most)
        .def(
            "augmented_by",
            [](const RankingProblem& problem, In<double> t, In<double> gains,
               std::string_view route) {
                require(t.size() == gains.size() && t.size() <= problem.most(), "lengths differ");
                return prediction(problem, t.size(), [&](Prediction sigma) {
                    problem.argmax(view(t), gains.data(), sigma.data()).run(parse_route(route));
                });
            },
            "scores"_a.noconvert(), "gains"_a.noconvert(), "route"_a)
        .def(
            "route",
            [](const RankingProblem& problem, In<double> gains) {
                require(gains.size() <= problem.most(), "more documents than positions");
                const std::vector<double> t(gains.size(), 0.0);
                std::vector<std::int32_t> unused(gains.size());
                return route_name(problem.argmax(t, gains.data(), unused.data()).chosen());
            },
            "gains"_a.noconvert());
    m.def(
        "assign",
        [](InMatrix<double> cost) {
            require(cost.shape(0) == cost.shape(1), "cost must be square");
            return make_array<std::int32_t>(cost.shape(0), [&](std::int32_t* out) {
                assign(cost.data(), cost.shape(0), std::vector<double>(cost.shape(0), 0.0), out);
            });
        },
        "cost"_a.noconvert());
}

}  // namespace rankwright
