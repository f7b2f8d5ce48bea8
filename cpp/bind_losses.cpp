#include <nanobind/stl/pair.h>

#include <limits>

#include "domination.hpp"
#include "exact_sums.hpp"
#include "hashing.hpp"
#include "lambdarank.hpp"
#include "layers.hpp"
#include "metric_weights.hpp"
#include "pairs.hpp"
#include "python.hpp"
#include "slam.hpp"
#include "softmax.hpp"

namespace rankwright {

namespace {

using ValuesAndGrad = std::pair<Result<double>, Result<double>>;

template <class T>
Result<T> copy_of(const std::vector<T>& values) {
    return make_array<T>(values.size(),
                         [&](T* out) { std::copy(values.begin(), values.end(), out); });
}

// Values by query and the gradient by row; `make_loss(grad)` returns the loss of one query.
template <class MakeLoss>
ValuesAndGrad evaluate(std::span<const std::int64_t> indptr, int n_threads,
                       const MakeLoss& make_loss) {
    const std::size_t n_queries = indptr.size() - 1, n_rows = indptr.back();
    auto grad = make_array<double>(n_rows, [](double*) {});
    auto values = make_array<double>(n_queries, [&](double* out) {
        each_query_loss(indptr, n_threads, out, [&] { return make_loss(grad.data()); });
    });
    return {values, grad};
}

// The same for losses that weigh their rows; `make_loss(weights, grad)` has weights, or ones.
template <class MakeLoss>
ValuesAndGrad evaluate_weighted(const Layers& layers, const In<double>& weights, int n_threads,
                                const MakeLoss& make_loss) {
    return with_weights(weights, layers.rows.size(), [&](auto given) {
        return evaluate(layers.indptr, n_threads,
                        [&](double* grad) { return make_loss(given, grad); });
    });
}

std::span<const std::int64_t> check_indptr(const In<std::int64_t>& indptr, std::size_t n_rows) {
    const auto offsets = view(indptr);
    require(!offsets.empty() && offsets.front() == 0, "indptr must start with 0");
    require(std::is_sorted(offsets.begin(), offsets.end()), "indptr must not decrease");
    require(static_cast<std::size_t>(offsets.back()) == n_rows,
            "indptr must end with the number of rows");
    return offsets;
}

LayerMargins check_margins(const Layers& layers, double constant, const InMatrix<double>& between,
                           const In<std::int64_t>& level) {
    LayerMargins pairs;
    pairs.constant = constant;
    if (between.size() == 0) return pairs;
    const std::size_t n = between.shape(0);
    require(between.shape(1) == n, "between must be square");
    require(level.size() == layers.labels.size(), "level must have a value for each layer");
    for (const auto l : view(level)) {
        require(l >= 0 && static_cast<std::size_t>(l) < n, "level out of range");
    }
    return {0, {between.data(), n * n}, n, view(level)};
}

// Gradients and hessians by row; `make_terms()` returns a function of (query, grad, hess) for
// queries that have documents.
template <class MakeTerms>
ValuesAndGrad second_order(std::span<const std::int64_t> indptr, int n_threads,
                           const MakeTerms& make_terms) {
    const std::size_t n_rows = indptr.back();
    auto hess = make_array<double>(n_rows, [](double*) {});
    std::vector<double> unused(indptr.size() - 1);
    auto grad = make_array<double>(n_rows, [&](double* out) {
        each_query_loss(indptr, n_threads, unused.data(), [&] {
            return [&, terms = make_terms()](std::size_t q) mutable {
                if (indptr[q] < indptr[q + 1]) {
                    terms(q, out + indptr[q], hess.data() + indptr[q]);
                }
                return 0.0;
            };
        });
    });
    return {grad, hess};
}

}  // namespace

void bind_losses(nb::module_& m) {
    nb::class_<Layers>(m, "Layers", "Documents of each query by increasing label.")
        .def(
            "__init__",
            [](Layers* self, In<double> y, In<std::int64_t> indptr, int n_threads) {
                const auto offsets = check_indptr(indptr, y.size());
                WithoutGil others_run;
                new (self) Layers(view(y), offsets, n_threads);
            },
            "y"_a.noconvert(), "indptr"_a.noconvert(), "n_threads"_a)
        .def_prop_ro("n_layers", [](const Layers& layers) { return layers.labels.size(); })
        .def_prop_ro(
            "rows", [](const Layers& layers) { return copy_of(layers.rows); }, nb::rv_policy::move)
        .def_prop_ro(
            "begin", [](const Layers& layers) { return copy_of(layers.begin); },
            nb::rv_policy::move)
        .def_prop_ro(
            "first_layer", [](const Layers& layers) { return copy_of(layers.first_layer); },
            nb::rv_policy::move)
        .def_prop_ro(
            "labels", [](const Layers& layers) { return copy_of(layers.labels); },
            nb::rv_policy::move)
        .def(
            "ndcg_weights",
            [](const Layers& layers, std::size_t k, In<double> discount, bool shared) {
                for (std::size_t q = 0; q < layers.n_queries(); ++q) {
                    require(layers.indptr[q + 1] - layers.indptr[q] <=
                                static_cast<std::int64_t>(discount.size()),
                            "discount must have a value for each rank");
                }
                return make_array<double>(layers.rows.size(), [&](double* v) {
                    ndcg_weights(layers, k, view(discount), shared, v);
                });
            },
            "k"_a, "discount"_a.noconvert(), "shared"_a)
        .def(
            "map_weights",
            [](const Layers& layers, double threshold, bool shared) {
                return make_array<double>(layers.rows.size(), [&](double* v) {
                    map_weights(layers, threshold, shared, v);
                });
            },
            "threshold"_a, "shared"_a)
        .def(
            "slam",
            [](const Layers& layers, In<double> scores, In<double> v, double margin,
               int n_threads) {
                require(scores.size() == layers.rows.size() && v.size() == scores.size(),
                        "scores and v must have a value for each row");
                return evaluate(layers.indptr, n_threads, [&](double* grad) {
                    return [&, grad, best = BestBelow()](std::size_t q) mutable {
                        return slam(layers, q, view(scores), view(v), margin, best, grad);
                    };
                });
            },
            "scores"_a.noconvert(), "v"_a.noconvert(), "margin"_a, "n_threads"_a)
        .def(
            "domination",
            [](const Layers& layers, In<double> margins, double constant, InMatrix<double> between,
               In<std::int64_t> level, In<double> weights, int n_threads, Out<double> hess) {
                const std::size_t n_rows = layers.rows.size();
                require(margins.size() == n_rows, "margins must have a value for each row");
                require(hess.size() == 0 || hess.size() == n_rows,
                        "hess must have a value for each row, or none");
                const LayerMargins pairs = check_margins(layers, constant, between, level);
                return evaluate_weighted(layers, weights, n_threads, [&](auto a, double* grad) {
                    DominationLoss loss(layers, view(margins), pairs, a, grad);
                    if (hess.size() > 0) loss.write_curvatures(hess.data());
                    return loss;
                });
            },
            "margins"_a.noconvert(), "constant"_a, "between"_a.noconvert(), "level"_a.noconvert(),
            "weights"_a.noconvert(), "n_threads"_a, "hess"_a.noconvert())
        .def(
            "rank_hinge",
            [](const Layers& layers, In<double> scores, In<double> weights, int n_threads) {
                require(scores.size() == layers.rows.size(),
                        "scores must have a value for each row");
                return evaluate_weighted(layers, weights, n_threads, [&](auto a, double* grad) {
                    return RankHinge(layers, view(scores), a, grad);
                });
            },
            "scores"_a.noconvert(), "weights"_a.noconvert(), "n_threads"_a)
        .def(
            "rank_logistic",
            [](const Layers& layers, In<double> scores, In<double> weights, int n_threads) {
                require(scores.size() == layers.rows.size(),
                        "scores must have a value for each row");
                return evaluate_weighted(layers, weights, n_threads, [&](auto a, double* grad) {
                    return [&, a, grad](std::size_t q) {
                        return rank_logistic(layers, q, view(scores), a, grad);
                    };
                });
            },
            "scores"_a.noconvert(), "weights"_a.noconvert(), "n_threads"_a)
        .def("pairs", [](const Layers& layers) {
            return make_array<double>(layers.n_queries(), [&](double* out) {
                for (std::size_t q = 0; q < layers.n_queries(); ++q)
                    out[q] = count_pairs(layers, q);
            });
        });

    m.def(
        "softmax_cross_entropy",
        [](In<double> scores, In<double> phi, In<double> weights, double eps,
           In<std::int64_t> indptr, int n_threads) {
            const auto offsets = check_indptr(indptr, scores.size());
            require(phi.size() == scores.size(), "phi must have a value for each row");
            require(weights.size() == offsets.size() - 1,
                    "weights must have a value for each query");
            return evaluate(offsets, n_threads, [&](double* grad) {
                return [&, grad](std::size_t q) {
                    const std::size_t begin = offsets[q], n = offsets[q + 1] - begin;
                    return softmax_cross_entropy(view(scores).subspan(begin, n),
                                                 view(phi).subspan(begin, n), weights.data()[q],
                                                 eps, grad + begin);
                };
            });
        },
        "scores"_a.noconvert(), "phi"_a.noconvert(), "weights"_a.noconvert(), "eps"_a,
        "indptr"_a.noconvert(), "n_threads"_a);
    m.def(
        "softmax",
        [](In<double> scores, double eps, In<std::int64_t> indptr, int n_threads) {
            const auto offsets = check_indptr(indptr, scores.size());
            return make_array<double>(scores.size(), [&](double* out) {
                std::vector<double> unused(offsets.size() - 1);
                each_query_loss(offsets, n_threads, unused.data(), [&] {
                    return [&](std::size_t q) {
                        const std::size_t begin = offsets[q], n = offsets[q + 1] - begin;
                        return n == 0 ? 0.0
                                      : softmax(view(scores).subspan(begin, n), eps, out + begin);
                    };
                });
            });
        },
        "scores"_a.noconvert(), "eps"_a, "indptr"_a.noconvert(), "n_threads"_a);
    m.def(
        "xendcg_targets",
        [](In<double> powers, In<double> gamma, In<std::uint64_t> keys, In<std::int64_t> indptr,
           int n_threads) {
            const auto offsets = check_indptr(indptr, powers.size());
            const bool drawn = gamma.size() == 0;
            require(drawn || gamma.size() == powers.size(), "gamma must have a value for each row");
            require(!drawn || keys.size() == offsets.size() - 1,
                    "keys must have a value for each query");
            auto phi = make_array<double>(powers.size(), [](double*) {});
            auto totals = make_array<double>(offsets.size() - 1, [&](double* out) {
                each_query_loss(offsets, n_threads, out, [&] {
                    return [&](std::size_t q) {
                        const std::size_t begin = offsets[q], n = offsets[q + 1] - begin;
                        const std::span<double> part(phi.data() + begin, n);
                        std::copy_n(powers.data() + begin, n, part.begin());
                        if (!drawn) {
                            const double* given = gamma.data() + begin;
                            return xendcg_targets(part, [=](std::size_t i) { return given[i]; });
                        }
                        const std::uint64_t key = keys.data()[q];
                        return xendcg_targets(part, [=](std::size_t i) { return uniform(key, i); });
                    };
                });
            });
            return ValuesAndGrad{phi, totals};
        },
        "powers"_a.noconvert(), "gamma"_a.noconvert(), "keys"_a.noconvert(), "indptr"_a.noconvert(),
        "n_threads"_a);
    m.def(
        "softmax_terms",
        [](In<double> scores, In<double> phi, In<double> weights, double eps,
           std::string_view newton, In<std::int64_t> indptr, int n_threads) {
            const auto offsets = check_indptr(indptr, scores.size());
            require(phi.size() == scores.size(), "phi must have a value for each row");
            require(weights.size() == offsets.size() - 1,
                    "weights must have a value for each query");
            const bool neumann = newton == "neumann", exact = newton == "exact";
            return second_order(offsets, n_threads, [&] {
                return
                    [&, terms = NeumannTerms()](std::size_t q, double* grad, double* hess) mutable {
                        const std::size_t begin = offsets[q], n = offsets[q + 1] - begin;
                        const auto target = view(phi).subspan(begin, n);
                        const auto query = view(scores).subspan(begin, n);
                        double weight = weights.data()[q];
                        if (std::ranges::all_of(target, [](double p) { return p == 0; }))
                            weight = 0;
                        if (weight == 0) {
                            std::fill_n(grad, n, 0.0);
                            std::fill_n(hess, n, 0.0);
                            return;
                        }
                        if (neumann) {
                            terms(query, target, eps, grad, hess);
                        } else {
                            first_order_terms(query, target, eps, exact, grad, hess);
                        }
                        if (weight == 1) return;
                        for (std::size_t i = 0; i < n; ++i) {
                            grad[i] *= weight;
                            hess[i] *= weight;
                        }
                    };
            });
        },
        "scores"_a.noconvert(), "phi"_a.noconvert(), "weights"_a.noconvert(), "eps"_a, "newton"_a,
        "indptr"_a.noconvert(), "n_threads"_a);
    m.def(
        "lambdarank",
        [](In<double> scores, In<double> gains, In<double> best, double sigma, std::size_t k,
           bool norm, In<std::uint64_t> keys, double noise, In<std::int64_t> indptr,
           int n_threads) {
            const auto offsets = check_indptr(indptr, scores.size());
            const std::size_t n_queries = offsets.size() - 1;
            require(gains.size() == scores.size(), "gains must have a value for each row");
            require(best.size() == n_queries, "best must have a value for each query");
            require(n_queries == 0 ? keys.size() == 0 : keys.size() % n_queries == 0,
                    "keys must have a value for each query and draw");
            const std::size_t n_draws = n_queries == 0 ? 0 : keys.size() / n_queries;
            return second_order(offsets, n_threads, [&] {
                return [&, terms = LambdaRank(sigma, k, norm), noisy = std::vector<double>()](
                           std::size_t q, double* grad, double* hess) mutable {
                    const std::size_t begin = offsets[q], n = offsets[q + 1] - begin;
                    const auto query = view(scores).subspan(begin, n);
                    const auto add = [&](std::span<const double> ranked_by, double share) {
                        terms(query, ranked_by, view(gains).subspan(begin, n), best.data()[q],
                              share, grad, hess);
                    };
                    std::fill_n(grad, n, 0.0);
                    std::fill_n(hess, n, 0.0);
                    if (n_draws == 0) add(query, 1.0);
                    noisy.resize(n);
                    for (std::size_t d = 0; d < n_draws; ++d) {
                        const std::uint64_t key = keys.data()[d * n_queries + q];
                        for (std::size_t i = 0; i < n; ++i) {
                            noisy[i] = query[i] + noise * gumbel_of(uniform(key, i));
                        }
                        add(noisy, 1.0 / static_cast<double>(n_draws));
                    }
                };
            });
        },
        "scores"_a.noconvert(), "gains"_a.noconvert(), "best"_a.noconvert(), "sigma"_a, "k"_a,
        "norm"_a, "keys"_a.noconvert(), "noise"_a, "indptr"_a.noconvert(), "n_threads"_a);
    m.def(
        "largest_weighted",
        [](In<double> values, In<double> weights, int n_threads) {
            require(weights.size() == 0 || weights.size() == values.size(),
                    "weights must have a value for each row");
            WithoutGil others_run;
            return largest_weighted(view(values), view(weights), n_threads);
        },
        "values"_a.noconvert(), "weights"_a.noconvert(), "n_threads"_a);
    m.def(
        "round_to_grid",
        [](In<double> values, In<double> weights, double largest, double count, int n_threads) {
            require(weights.size() == 0 || weights.size() == values.size(),
                    "weights must have a value for each row");
            require(largest >= 0 && largest <= std::numeric_limits<float>::max() && count >= 0,
                    "largest and count must be finite");
            return make_array<float>(values.size(), [&](float* out) {
                round_to_grid(view(values), view(weights), largest, count, out, n_threads);
            });
        },
        "values"_a.noconvert(), "weights"_a.noconvert(), "largest"_a, "count"_a, "n_threads"_a);
}

}  // namespace rankwright
