#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>

#include "gradient_descent.hpp"
#include "multiclass_perceptron.hpp"
#include "pamir.hpp"
#include "prank.hpp"
#include "python.hpp"
#include "slam_perceptron.hpp"
#include "softmax.hpp"
#include "widrow_hoff.hpp"

namespace rankwright {

namespace {

Mean parse_mean(std::string_view mean) {
    if (mean == "last") return Mean::none;
    if (mean == "averaged") return Mean::averaged;
    require(mean == "voted", "mean must be 'last', 'averaged' or 'voted'");
    return Mean::voted;
}

SlamLoss parse_slam_loss(std::string_view loss) {
    if (loss == "ndcg") return SlamLoss::ndcg;
    if (loss == "ap") return SlamLoss::ap;
    require(loss == "weights", "loss must be 'ndcg', 'ap' or 'weights'");
    return SlamLoss::weights;
}

// Rounds are queries of `rows`.
void check_queries(const Rows& rows, const In<std::int64_t>& indptr, const In<std::int64_t>& order,
                   const Iterate& iterate, std::size_t n_losses) {
    const auto offsets = view(indptr);
    require(!offsets.empty() && offsets.front() == 0 && std::ranges::is_sorted(offsets) &&
                static_cast<std::size_t>(offsets.back()) == rows.n_rows &&
                rows.n_features == iterate.w.size(),
            "rows must fit the queries and the weights");
    for (const auto q : view(order)) {
        require(q >= 0 && static_cast<std::size_t>(q) + 1 < offsets.size(), "no such query");
    }
    require(n_losses == order.size(), "losses must have a value for each round");
}

// The weights, their sum and [rounds, since] live in arrays of the Python caller.
void bind_iterate(nb::module_& m) {
    nb::class_<Iterate>(m, "Iterate", "Weights of an online learner and their mean.")
        .def(
            "__init__",
            [](Iterate* self, Out<double> w, Out<double> sum, std::string_view mean,
               std::int64_t round, std::int64_t since) {
                const Mean kind = parse_mean(mean);
                require(kind == Mean::none || sum.size() == w.size(),
                        "sum must have a value for each weight");
                new (self)
                    Iterate{{w.data(), w.size()}, {sum.data(), sum.size()}, kind, round, since};
            },
            "w"_a.noconvert(), "sum"_a.noconvert(), "mean"_a, "round"_a, "since"_a,
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def(
            "step",
            [](Iterate& iterate, const Rows& rows, std::size_t begin, In<double> coef) {
                require(begin + coef.size() <= rows.n_rows && rows.n_features == iterate.w.size(),
                        "no such rows");
                WithoutGil others_run;
                ++iterate.round;
                iterate.begin_update();
                std::vector<double> given(coef.data(), coef.data() + coef.size());
                iterate.add_rows(rows, begin, given);
            },
            "rows"_a, "begin"_a, "coef"_a.noconvert(),
            "One round: w += sum_i coef_i x_{begin + i}.")
        .def(
            "skip", [](Iterate& iterate) { ++iterate.round; }, "One round without an update.")
        .def_ro("round", &Iterate::round)
        .def_ro("since", &Iterate::since);
}

void bind_slam(nb::module_& m) {
    nb::class_<SlamRounds>(m, "SlamRounds", "Queries as the SLAM perceptron sees them.")
        .def(
            "__init__",
            [](SlamRounds* self, const Layers& layers, In<double> v, std::string_view loss,
               std::size_t k, bool misordered_only, In<double> discount) {
                std::int64_t longest = 0;
                for (std::size_t q = 0; q < layers.n_queries(); ++q) {
                    longest = std::max(longest, layers.indptr[q + 1] - layers.indptr[q]);
                }
                require(v.size() == layers.rows.size(), "v must have a value for each row");
                require(discount.size() >= static_cast<std::size_t>(longest),
                        "discount must have a value for each rank");
                new (self) SlamRounds(layers, view(v), parse_slam_loss(loss), k, misordered_only,
                                      view(discount));
            },
            "layers"_a, "v"_a.noconvert(), "loss"_a, "k"_a, "misordered_only"_a,
            "discount"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
            nb::keep_alive<1, 7>())
        .def(
            "round",
            [](SlamRounds& rounds, std::size_t q, In<double> scores, In<double> comparator,
               Out<double> z) {
                const auto& indptr = rounds.layers().indptr;
                require(q + 1 < indptr.size(), "no such query");
                const std::size_t size = indptr[q + 1] - indptr[q];
                require(scores.size() == size && z.size() == size &&
                            (comparator.size() == 0 || comparator.size() == size),
                        "scores, comparator and z must have a value for each document");
                const double* u = comparator.size() == 0 ? nullptr : comparator.data();
                const SlamRound round = rounds(q, scores.data(), u, z.data());
                return std::pair(round.loss, round.comparator);
            },
            "q"_a, "scores"_a.noconvert(), "comparator"_a.noconvert(), "z"_a.noconvert())
        .def(
            "learn",
            [](SlamRounds& rounds, const Rows& rows, In<std::int64_t> order, double eta,
               In<double> comparator, Iterate& iterate, Out<double> losses,
               Out<double> surrogates) {
                const auto& indptr = rounds.layers().indptr;
                require(rows.n_rows == static_cast<std::size_t>(indptr.back()) &&
                            rows.n_features == iterate.w.size(),
                        "rows must fit the queries and the weights");
                for (const auto q : view(order)) {
                    require(q >= 0 && static_cast<std::size_t>(q) + 1 < indptr.size(),
                            "no such query");
                }
                require(losses.size() == order.size() && surrogates.size() == order.size(),
                        "losses and surrogates must have a value for each round");
                require(comparator.size() == 0 || comparator.size() == rows.n_rows,
                        "comparator must have a score for each row");
                WithoutGil others_run;
                return slam_perceptron(rounds, rows, view(order), eta, view(comparator), iterate,
                                       losses.data(), surrogates.data());
            },
            "rows"_a, "order"_a.noconvert(), "eta"_a, "comparator"_a.noconvert(), "iterate"_a,
            "losses"_a.noconvert(), "surrogates"_a.noconvert());
}

Schedule parse_schedule(std::string_view schedule) {
    if (schedule == "constant") return Schedule::constant;
    if (schedule == "sqrt") return Schedule::sqrt;
    require(schedule == "inverse", "schedule must be 'constant', 'sqrt' or 'inverse'");
    return Schedule::inverse;
}

// A loss that only Python knows: f(scores, q, draw) returns value and gradient.
class PythonLoss final : public QueryLoss {
    nb::callable f_;

  public:
    explicit PythonLoss(nb::callable f) : f_(std::move(f)) {}

    double operator()(std::size_t q, std::uint64_t draw, std::span<const double> scores,
                      double* grad) override {
        WithGil python;
        const auto own =
            make_array<double>(scores.size(), [&](double* out) { std::ranges::copy(scores, out); });
        const auto [value, found] = nb::cast<std::pair<double, In<double>>>(f_(own, q, draw));
        require(found.size() == scores.size(), "the gradient must have a value for each document");
        std::copy_n(found.data(), found.size(), grad);
        return value;
    }
};

void bind_descent(nb::module_& m) {
    nb::class_<QueryLoss>(m, "QueryLoss", "A loss on given labels, query by query.");
    m.def(
        "loss_by_query",
        [](nb::callable f) -> std::unique_ptr<QueryLoss> {
            return std::make_unique<PythonLoss>(std::move(f));
        },
        "f"_a,
        nb::sig("def loss_by_query(f: collections.abc.Callable[..., tuple[float, object]]) -> "
                "QueryLoss"),
        "What f(scores, q, draw) says: the value and the gradient of query q.");
    m.def(
        "cross_entropies",
        [](In<std::int64_t> indptr, In<double> targets, In<double> weights, double eps,
           In<std::uint64_t> keys, std::uint64_t seed,
           In<double> row_weights) -> std::unique_ptr<QueryLoss> {
            require(indptr.size() > 0 && weights.size() + 1 == indptr.size() &&
                        (keys.size() == 0 || keys.size() == weights.size()),
                    "weights and keys must have a value for each query");
            require(targets.size() == static_cast<std::size_t>(indptr.data()[weights.size()]) &&
                        (row_weights.size() == 0 || row_weights.size() == targets.size()),
                    "targets and row_weights must have a value for each row");
            return std::make_unique<CrossEntropies>(view(indptr), view(targets), view(weights), eps,
                                                    view(keys), seed, view(row_weights));
        },
        "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "eps"_a,
        "keys"_a.noconvert(), "seed"_a, "row_weights"_a.noconvert(), nb::keep_alive<0, 1>(),
        nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 5>(),
        nb::keep_alive<0, 7>());
    m.def(
        "gradient_descent",
        [](const Rows& rows, In<std::int64_t> indptr, In<std::int64_t> order, QueryLoss& loss,
           double eta, std::string_view schedule, In<double> u, Iterate& iterate,
           Out<double> losses, OutMatrix<double> terms) {
            check_queries(rows, indptr, order, iterate, losses.size());
            require(u.size() == 0 || u.size() == iterate.w.size(),
                    "u must have a weight for each feature");
            require(u.size() == 0 || (terms.shape(0) == 3 && terms.shape(1) == order.size()),
                    "terms must have three rows, with a value for each round");
            const Step step{eta, parse_schedule(schedule)};
            double* first = terms.data();
            const std::size_t n = order.size();
            const DescentTerms found{view(u), first, first + n, first + 2 * n};
            WithoutGil others_run;
            return gradient_descent(rows, view(indptr), view(order), loss, step, found, iterate,
                                    losses.data());
        },
        "rows"_a, "indptr"_a.noconvert(), "order"_a.noconvert(), "loss"_a, "eta"_a, "schedule"_a,
        "u"_a.noconvert(), "iterate"_a, "losses"_a.noconvert(), "terms"_a.noconvert(),
        "Terms by round: the comparator's loss, by how much the distance to it shrank, the step.");
}

void bind_pamir(nb::module_& m) {
    m.def(
        "pamir",
        [](const Rows& rows, const Layers& layers, In<std::int64_t> queries, In<std::uint64_t> keys,
           std::uint64_t seed, double C, In<double> weights, Iterate& iterate, Out<double> losses) {
            require(rows.n_rows == layers.rows.size() && rows.n_features == iterate.w.size(),
                    "rows must fit the queries and the weights");
            require(queries.size() == keys.size() && queries.size() > 0 &&
                        queries.size() < (1u << 31) && rows.n_rows < (1u << 31),
                    "there must be queries, and a key for each");
            for (const auto q : view(queries)) {
                require(q >= 0 && static_cast<std::size_t>(q) < layers.n_queries() &&
                            layers.first_layer[q + 1] - layers.first_layer[q] > 1,
                        "queries must have a pair");
            }
            return with_weights(weights, rows.n_rows, [&](auto given) {
                WithoutGil others_run;
                return pamir(rows, layers, view(queries), view(keys), seed, C, given, iterate,
                             {losses.data(), losses.size()});
            });
        },
        "rows"_a, "layers"_a, "queries"_a.noconvert(), "keys"_a.noconvert(), "seed"_a, "C"_a,
        "weights"_a.noconvert(), "iterate"_a, "losses"_a.noconvert());
}

// Rounds are rows of `rows`, with labels 0..k-1.
void check_label_rounds(const Rows& rows, const In<std::int64_t>& y, std::size_t k,
                        const In<std::int64_t>& order, std::size_t n_losses) {
    require(y.size() == rows.n_rows, "y must have a label for each row");
    for (const auto label : view(y)) {
        require(label >= 0 && static_cast<std::size_t>(label) < k, "no such label");
    }
    for (const auto row : view(order)) {
        require(row >= 0 && static_cast<std::size_t>(row) < rows.n_rows, "no such row");
    }
    require(n_losses == order.size(), "losses must have a value for each round");
}

void bind_labels(nb::module_& m) {
    m.def(
        "prank",
        [](const Rows& rows, In<std::int64_t> y, In<std::int64_t> order, double step,
           Iterate& iterate, Out<double> losses, OutMatrix<std::int8_t> taus) {
            require(step > 0, "step must be positive");
            require(iterate.w.size() >= rows.n_features, "w must have the weights and thresholds");
            const std::size_t n = iterate.w.size() - rows.n_features;
            check_label_rounds(rows, y, n + 1, order, losses.size());
            require(taus.shape(0) == order.size() && taus.shape(1) == n,
                    "taus must have a row for each round and a column for each threshold");
            WithoutGil others_run;
            return prank(rows, view(y), view(order), step, iterate, losses.data(), taus.data());
        },
        "rows"_a, "y"_a.noconvert(), "order"_a.noconvert(), "step"_a, "iterate"_a,
        "losses"_a.noconvert(), "taus"_a.noconvert());
    m.def(
        "prank_step",
        [](double score, std::int64_t y, In<double> thresholds, Out<std::int8_t> tau) {
            require(tau.size() == thresholds.size(), "tau must have a value for each threshold");
            return prank_step(score, y, view(thresholds), tau.data());
        },
        "score"_a, "y"_a, "thresholds"_a.noconvert(), "tau"_a.noconvert());
    m.def(
        "widrow_hoff",
        [](const Rows& rows, In<std::int64_t> y, std::size_t k, In<std::int64_t> order, double eta,
           double squared_radius, Iterate& iterate, Out<double> losses, Out<double> errors) {
            require(iterate.w.size() == rows.n_features, "w must have a value for each feature");
            check_label_rounds(rows, y, k, order, losses.size());
            require(errors.size() == order.size(), "errors must have a value for each round");
            WithoutGil others_run;
            const auto n_updates = widrow_hoff(rows, view(y), k, view(order), eta, squared_radius,
                                               iterate, losses.data(), errors.data());
            return std::pair(n_updates, squared_radius);
        },
        "rows"_a, "y"_a.noconvert(), "k"_a, "order"_a.noconvert(), "eta"_a, "squared_radius"_a,
        "iterate"_a, "losses"_a.noconvert(), "errors"_a.noconvert());
    m.def(
        "multiclass_perceptron",
        [](const Rows& rows, In<std::int64_t> y, std::size_t k, In<std::int64_t> order,
           bool uniform, Iterate& iterate, Out<double> losses) {
            require(k >= 2 && iterate.w.size() == k * rows.n_features,
                    "w must have a value for each label and feature");
            check_label_rounds(rows, y, k, order, losses.size());
            WithoutGil others_run;
            return multiclass_perceptron(rows, view(y), k, view(order), uniform, iterate,
                                         losses.data());
        },
        "rows"_a, "y"_a.noconvert(), "k"_a, "order"_a.noconvert(), "uniform"_a, "iterate"_a,
        "losses"_a.noconvert());
    m.def(
        "multiclass_step",
        [](In<double> scores, std::int64_t y, bool uniform, Out<double> coef) {
            require(scores.size() >= 2 && coef.size() == scores.size() && y >= 0 &&
                        static_cast<std::size_t>(y) < scores.size(),
                    "scores and coef must have a value for each label");
            return multiclass_step(view(scores), y, uniform, coef.data());
        },
        "scores"_a.noconvert(), "y"_a, "uniform"_a, "coef"_a.noconvert());
}

}  // namespace

void bind_online(nb::module_& m) {
    bind_iterate(m);
    bind_slam(m);
    bind_descent(m);
    bind_labels(m);
    bind_pamir(m);
}

}  // namespace rankwright
