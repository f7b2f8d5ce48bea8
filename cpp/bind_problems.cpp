#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cmath>
#include <optional>

#include "predtron.hpp"
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

Mode parse_mode(std::string_view mode) {
    if (mode == "augmented") return Mode::augmented;
    if (mode == "predicted") return Mode::predicted;
    require(mode == "loss_driven", "mode must be 'augmented', 'predicted' or 'loss_driven'");
    return Mode::loss_driven;
}

Norm parse_norm(std::string_view norm) {
    if (norm == "l2") return Norm::l2;
    if (norm == "l1") return Norm::entries;
    if (norm == "group") return Norm::columns;
    require(norm == "trace", "norm must be 'l2', 'l1', 'group' or 'trace'");
    return Norm::singular;
}

void check_stream(const Problem& problem, const Stream& stream, std::size_t n_labels,
                  std::size_t d) {
    const auto* ranking = dynamic_cast<const RankingProblem*>(&problem);
    const std::size_t n_rows = stream.rows.n_rows;
    const bool queries = !stream.indptr.empty();
    require(n_labels == n_rows * stream.label_width, "labels must have a row for each row");
    const std::size_t n_rounds = queries ? stream.indptr.size() - 1 : n_rows;
    for (const auto r : stream.order)
        require(r >= 0 && static_cast<std::size_t>(r) < n_rounds, "no such round");
    if (queries) {
        require(ranking && d == 1 && stream.label_width == 1, "only rankings have queries");
        require(
            stream.indptr.front() == 0 && static_cast<std::size_t>(stream.indptr.back()) == n_rows,
            "indptr must begin with 0 and end with the number of rows");
        for (std::size_t q = 0; q < n_rounds; ++q) {
            require(stream.indptr[q] <= stream.indptr[q + 1] &&
                        static_cast<std::size_t>(stream.indptr[q + 1] - stream.indptr[q]) <=
                            ranking->most(),
                    "indptr must not decrease, and the tables must have a value for each rank");
        }
        return;
    }
    require(stream.label_width == (ranking ? d : problem.n_labels()) &&
                (ranking ? d <= ranking->most() : d == problem.n_scores()),
            "labels and weights must fit the problem");
    if (ranking || stream.label_width > 1 || problem.n_codes() != 1) return;
    const double end = d == 1 ? 2 : static_cast<double>(d);
    for (std::size_t i = 0; i < n_rows; ++i)
        require(stream.labels[i] >= 0 && stream.labels[i] < end, "a label is no class");
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
            [](ClassProblem* self, InMatrix<double> loss, In<double> reject, bool by_surrogate) {
                const std::size_t n = loss.shape(0);
                require(n > 1 && loss.shape(1) == n,
                        "loss must be square, for two classes or more");
                require(reject.size() == 0 || reject.size() == n, "reject must have n costs");
                new (self) ClassProblem(n, {loss.data(), n * n}, view(reject), by_surrogate);
            },
            "loss"_a.noconvert(), "reject"_a.noconvert(), "by_surrogate"_a);
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
    nb::class_<LinkedWeights>(m, "LinkedWeights", "Weights behind a link.")
        .def(
            "__init__",
            [](LinkedWeights* self, std::string_view norm, double q, OutMatrix<double> theta,
               bool intercept) {
                require(!intercept || theta.shape(0) > 0, "an intercept needs a row of theta");
                const Norm kind = parse_norm(norm);
                WithoutGil others_run;
                new (self)
                    LinkedWeights(kind, q, theta.data(), theta.shape(0), theta.shape(1), intercept);
            },
            "norm"_a, "q"_a, "theta"_a.noconvert(), "intercept"_a, nb::keep_alive<1, 4>())
        .def(
            "write",
            [](const LinkedWeights& weights, Out<double> W) {
                require(W.size() == weights.n_features() * weights.d(), "W has a wrong size");
                weights.write(W.data());
            },
            "W"_a.noconvert())
        .def(
            "scores",
            [](const LinkedWeights& weights, const Rows& rows, std::size_t first, std::size_t n) {
                require(first + n <= rows.n_rows, "no such rows");
                const std::size_t d = weights.d();
                return make_array<double>(n * d, [&](double* out) {
                    std::vector<double> scratch(d);
                    for (std::size_t i = 0; i < n; ++i)
                        weights.scores(rows, first + i, out + i * d, scratch.data());
                });
            },
            "rows"_a, "first"_a, "n"_a)
        .def(
            "update",
            [](LinkedWeights& weights, const Rows& rows, std::size_t first, std::size_t n,
               In<double> g, double eta, Iterate& iterate, std::int64_t round) {
                require(first + n <= rows.n_rows && g.size() == n * weights.d(), "no such rows");
                require(iterate.w.size() == weights.n_features() * weights.d(),
                        "the iterate must fit the weights");
                iterate.round = round;
                apply_update(rows, first, n, g.data(), eta, weights, iterate);
            },
            "rows"_a, "first"_a, "n"_a, "g"_a.noconvert(), "eta"_a, "iterate"_a, "round"_a);
    m.def(
        "predict_all",
        [](const Problem& problem, InMatrix<double> scores, OutMatrix<std::int32_t> out) {
            const std::size_t n = scores.shape(0), d = scores.shape(1);
            const std::size_t n_codes = problem.n_codes() ? problem.n_codes() : d;
            require(problem.n_scores() == 0 || problem.n_scores() == d, "wrong number of scores");
            require(out.shape(0) == n && out.shape(1) == n_codes, "out has a wrong shape");
            WithoutGil others_run;
            for (std::size_t i = 0; i < n; ++i)
                problem.predict({scores.data() + i * d, d}, nullptr,
                                {out.data() + i * n_codes, n_codes});
        },
        "problem"_a, "scores"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "predtron_round",
        [](const Problem& problem, std::string_view mode, In<double> t, In<double> y,
           In<double> comparator, Out<double> direction) {
            check_scores(problem, t);
            check_label(problem, y);
            require(t.size() == n_scores_of(problem, y.size()) && direction.size() == t.size() &&
                        (comparator.size() == 0 || comparator.size() == t.size()),
                    "lengths differ");
            const double* u = comparator.size() ? comparator.data() : nullptr;
            const RoundResult result =
                Round(problem, parse_mode(mode))(view(t), y.data(), u, direction.data());
            return std::pair(result.loss, result.comparator);
        },
        "problem"_a, "mode"_a, "scores"_a.noconvert(), "y"_a.noconvert(),
        "comparator"_a.noconvert(), "direction"_a.noconvert());
    m.def(
        "predtron",
        [](const Problem& problem, std::string_view mode, double eta, const Rows& rows,
           In<std::int64_t> indptr, In<std::int64_t> order, InMatrix<double> labels,
           In<double> comparator, LinkedWeights& weights, Iterate& iterate, Out<double> losses,
           Out<double> charges) {
            const Stream stream{
                rows,          view(indptr),    view(order),
                labels.data(), labels.shape(1), comparator.size() ? comparator.data() : nullptr};
            check_stream(problem, stream, labels.size(), weights.d());
            require(rows.n_features + weights.has_intercept() == weights.n_features(),
                    "rows must fit the weights");
            require(iterate.w.size() == weights.n_features() * weights.d(),
                    "the iterate must fit the weights");
            require(comparator.size() == 0 || comparator.size() == rows.n_rows * weights.d(),
                    "comparator must have scores for each row");
            require(losses.size() == order.size() && charges.size() == order.size(),
                    "losses and charges must have a value for each round");
            const Mode kind = parse_mode(mode);
            WithoutGil others_run;
            return predtron(problem, kind, eta, stream, weights, iterate, losses.data(),
                            charges.data());
        },
        "problem"_a, "mode"_a, "eta"_a, "rows"_a, "indptr"_a.noconvert(), "order"_a.noconvert(),
        "labels"_a.noconvert(), "comparator"_a.noconvert(), "weights"_a, "iterate"_a,
        "losses"_a.noconvert(), "charges"_a.noconvert());
}

}  // namespace rankwright
