#include "novelty.hpp"
#include "python.hpp"
#include "rank_metrics.hpp"
#include "ranking.hpp"

namespace rankwright {

namespace {

Ties parse_ties(std::string_view ties) {
    if (ties == "average") return Ties::average;
    if (ties == "order") return Ties::order;
    if (ties == "worst") return Ties::worst;
    require(ties == "best", "ties must be 'average', 'order', 'worst' or 'best'");
    return Ties::best;
}

// What all metrics take besides their own parameters.
struct Rule {
    Ties ties;
    double empty;
    int n_threads;
};

template <class MakeMetric>
Result<double> per_query(const Ranking& ranking, const Rule& rule, const MakeMetric& make_metric) {
    return make_array<double>(ranking.indptr.size() - 1, [&](double* out) {
        each_query(ranking, rule.ties, rule.empty, rule.n_threads, out, make_metric);
    });
}

// A metric without scratch space.
template <class Metric>
Result<double> per_query_of(const Ranking& ranking, const Rule& rule, const Metric& metric) {
    return per_query(ranking, rule, [&] { return metric; });
}

void require_discounts(const Ranking& ranking, std::size_t k, const In<double>& discount) {
    std::int64_t longest = 0;
    for (std::size_t q = 0; q + 1 < ranking.indptr.size(); ++q) {
        longest = std::max(longest, ranking.indptr[q + 1] - ranking.indptr[q]);
    }
    require(discount.size() >= depth_of(k, longest), "discount must cover every rank that counts");
}

void require_queries(const Ranking& ranking, const In<double>& counts) {
    require(counts.size() + 1 == ranking.indptr.size(), "there must be one count per query");
    const auto all = view(counts);
    require(std::all_of(all.begin(), all.end(), [](double n) { return n >= 0 && n < 1e15; }),
            "counts must not be negative");
}

void require_offsets(const In<std::int64_t>& indptr, std::size_t n) {
    const auto all = view(indptr);
    require(!all.empty() && all.front() == 0 && std::is_sorted(all.begin(), all.end()) &&
                static_cast<std::size_t>(all.back()) == n,
            "offsets must go from 0 to the number of entries");
}

}  // namespace

void bind_metrics(nb::module_& m) {
    m.def(
        "novelty_gains",
        [](In<std::int64_t> begin, In<std::int64_t> size, In<std::int64_t> covering,
           In<std::int64_t> before, In<double> discount, double alpha) {
            const std::size_t n = begin.size();
            require(size.size() == n && covering.size() == n && before.size() == n,
                    "all must have one entry per block");
            for (std::size_t i = 0; i < n; ++i) {
                require(begin.data()[i] >= 0 && before.data()[i] >= 0 && covering.data()[i] > 0 &&
                            covering.data()[i] <= size.data()[i],
                        "blocks must hold the documents that cover a subtopic");
            }
            require(alpha >= 0 && alpha <= 1, "alpha must lie between 0 and 1");
            return make_array<double>(n, [&](double* out) {
                NoveltyGain gain(view(discount), alpha);
                for (std::size_t i = 0; i < n; ++i) {
                    out[i] =
                        gain(begin.data()[i], size.data()[i], covering.data()[i], before.data()[i]);
                }
            });
        },
        "begin"_a, "size"_a, "covering"_a, "before"_a, "discount"_a, "alpha"_a,
        "Gain of a subtopic in each block of tied documents that has some that cover it.");
    m.def(
        "greedy_gains",
        [](In<std::int64_t> documents, In<std::int64_t> subtopics, In<std::int64_t> indptr,
           In<double> discount, double alpha, bool by_row) {
            require(documents.size() > 0, "documents must be offsets");
            require_offsets(documents, subtopics.size());
            require_offsets(indptr, documents.size() - 1);
            const auto all = view(subtopics);
            require(std::all_of(all.begin(), all.end(), [](std::int64_t t) { return t >= 0; }),
                    "subtopics must not be negative");
            require(alpha >= 0 && alpha <= 1, "alpha must lie between 0 and 1");
            return make_array<double>(indptr.size() - 1, [&](double* out) {
                greedy_gains(view(documents), all, view(indptr), view(discount), alpha, by_row,
                             out);
            });
        },
        "documents"_a, "subtopics"_a, "indptr"_a, "discount"_a, "alpha"_a, "by_row"_a,
        "Gain of each query's documents in the order that takes the best next one.");
    nb::class_<Rule>(m, "Rule", "Tie rule, value of undefined queries, threads.")
        .def(
            "__init__",
            [](Rule* self, std::string_view ties, double empty, int n_threads) {
                new (self) Rule{parse_ties(ties), empty, n_threads};
            },
            "ties"_a, "empty"_a, "n_threads"_a);

    nb::class_<Ranking>(m, "Ranking", "Labels in the order of decreasing score, query by query.")
        .def(
            "__init__",
            [](Ranking* self, In<double> y, In<double> scores, In<std::int64_t> indptr,
               std::size_t depth, int n_threads) {
                const std::size_t n = y.size();
                require(scores.size() == n, "y and scores must have the same length");
                require(indptr.size() > 0 && indptr.data()[0] == 0, "indptr must start with 0");
                require(std::is_sorted(indptr.data(), indptr.data() + indptr.size()),
                        "indptr must not decrease");
                require(static_cast<std::size_t>(indptr.data()[indptr.size() - 1]) == n,
                        "indptr must end with n");
                require(depth > 0, "depth must be positive");
                WithoutGil others_run;
                new (self) Ranking(view(y), view(scores), view(indptr), depth, n_threads);
            },
            "y"_a.noconvert(), "scores"_a.noconvert(), "indptr"_a.noconvert(), "depth"_a,
            "n_threads"_a)
        .def_ro("bad_score", &Ranking::bad_score)
        .def_ro("bad_label", &Ranking::bad_label)
        .def_ro("lowest_label", &Ranking::lowest_label)
        .def_ro("highest_label", &Ranking::highest_label)
        .def(
            "dcg",
            [](const Ranking& ranking, std::size_t k, bool exponential, In<double> discount,
               const Rule& rule) {
                require_discounts(ranking, k, discount);
                const Gain gain(exponential);
                return per_query_of(ranking, rule,
                                    [&, d = view(discount)](const RankedQuery& query) {
                                        return discounted_gain(query, k, d, gain);
                                    });
            },
            "k"_a, "exponential"_a, "discount"_a, "rule"_a)
        .def(
            "ndcg",
            [](const Ranking& ranking, std::size_t k, bool exponential, In<double> discount,
               bool short_is_zero, const Rule& rule) {
                require_discounts(ranking, k, discount);
                const Gain gain(exponential);
                return per_query(ranking, rule, [&, d = view(discount)] {
                    return [&, d, ideal = IdealGain()](const RankedQuery& query) mutable {
                        if (short_is_zero && query.size() < k) return 0.0;
                        const double best = ideal(query.labels, k, d, gain);
                        return best > 0 ? discounted_gain(query, k, d, gain) / best : kUndefined;
                    };
                });
            },
            "k"_a, "exponential"_a, "discount"_a, "short_is_zero"_a, "rule"_a)
        .def(
            "relevant_gain",
            [](const Ranking& ranking, std::size_t k, double threshold, In<double> discount,
               std::string_view divide_by, const Rule& rule) {
                require_discounts(ranking, k, discount);
                const bool by_relevant = divide_by == "relevant",
                           by_documents = divide_by == "documents";
                const bool by_cutoff = divide_by == "cutoff";
                require(by_relevant || by_documents || by_cutoff || divide_by == "one",
                        "unknown divide_by");
                return per_query_of(
                    ranking, rule, [=, d = view(discount)](const RankedQuery& query) {
                        const std::size_t n_relevant = count_relevant(query.labels, threshold);
                        if (n_relevant == 0) return kUndefined;
                        const std::size_t depth = depth_of(k, query.size());
                        std::size_t divisor = 1;
                        if (by_relevant) divisor = n_relevant;
                        if (by_documents) divisor = depth;
                        if (by_cutoff) divisor = k == 0 ? depth : k;
                        const auto relevance = [=](double y) { return y >= threshold ? 1.0 : 0.0; };
                        return discounted_gain(query, k, d, relevance) /
                               static_cast<double>(divisor);
                    });
            },
            "k"_a, "threshold"_a, "discount"_a, "divide_by"_a, "rule"_a)
        .def(
            "average_precision",
            [](const Ranking& ranking, std::size_t k, double threshold,
               std::string_view denominator, const Rule& rule) {
                const bool by_cutoff = denominator == "cutoff";
                require(by_cutoff || denominator == "relevant", "unknown denominator");
                return per_query(ranking, rule, [=] {
                    return [=, reciprocals = Reciprocals()](const RankedQuery& query) mutable {
                        return average_precision(query, k, threshold, by_cutoff, reciprocals);
                    };
                });
            },
            "k"_a, "threshold"_a, "denominator"_a, "rule"_a)
        .def(
            "reciprocal_rank",
            [](const Ranking& ranking, std::size_t k, double threshold, const Rule& rule) {
                return per_query_of(ranking, rule, [=](const RankedQuery& query) {
                    return first_relevant(query, k, threshold,
                                          [](std::size_t r) { return 1.0 / double(r); });
                });
            },
            "k"_a, "threshold"_a, "rule"_a)
        .def(
            "hit_rate",
            [](const Ranking& ranking, std::size_t k, double threshold, const Rule& rule) {
                return per_query_of(ranking, rule, [=](const RankedQuery& query) {
                    return first_relevant(query, k, threshold, [](std::size_t) { return 1.0; });
                });
            },
            "k"_a, "threshold"_a, "rule"_a)
        .def(
            "r_precision",
            [](const Ranking& ranking, double threshold, In<double> n_relevant, const Rule& rule) {
                require_queries(ranking, n_relevant);
                return per_query_of(
                    ranking, rule, [=, all = view(n_relevant)](const RankedQuery& query) {
                        const double r = all[query.index];
                        if (r == 0) return kUndefined;
                        return relevant_up_to(query, static_cast<std::size_t>(r), threshold) / r;
                    });
            },
            "threshold"_a, "n_relevant"_a, "rule"_a)
        .def(
            "bpref",
            [](const Ranking& ranking, double threshold, In<double> n_relevant,
               In<double> n_irrelevant, const Rule& rule) {
                require_queries(ranking, n_relevant);
                require_queries(ranking, n_irrelevant);
                return per_query_of(ranking, rule,
                                    [=, good = view(n_relevant),
                                     bad = view(n_irrelevant)](const RankedQuery& query) {
                                        return binary_preference(
                                            query, threshold, good[query.index], bad[query.index]);
                                    });
            },
            "threshold"_a, "n_relevant"_a, "n_irrelevant"_a, "rule"_a)
        .def(
            "err",
            [](const Ranking& ranking, std::size_t k, double max_grade, const Rule& rule) {
                const Gain gain(true);
                return per_query(ranking, rule, [&] {
                    return [&, err = ExpectedReciprocalRank(k, max_grade)](
                               const RankedQuery& query) mutable { return err(query, gain); };
                });
            },
            "k"_a, "max_grade"_a, "rule"_a)
        .def(
            "pairwise_error",
            [](const Ranking& ranking, const Rule& rule) {
                return per_query(ranking, rule, [] {
                    return [count = PairCounter()](const RankedQuery& query) mutable {
                        return pairwise_error(count(query));
                    };
                });
            },
            "rule"_a)
        .def(
            "kendall_tau",
            [](const Ranking& ranking, bool corrected, const Rule& rule) {
                return per_query(ranking, rule, [=] {
                    return [corrected, count = PairCounter()](const RankedQuery& query) mutable {
                        return kendall_tau(count(query), corrected);
                    };
                });
            },
            "corrected"_a, "rule"_a)
        .def(
            "domination_error",
            [](const Ranking& ranking, const Rule& rule) {
                return per_query_of(ranking, rule, domination_error);
            },
            "rule"_a)
        .def(
            "dominated_error",
            [](const Ranking& ranking, const Rule& rule) {
                return per_query_of(ranking, rule, dominated_error);
            },
            "rule"_a);
}

}  // namespace rankwright
