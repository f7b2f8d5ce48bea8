// The only file that knows Python: arrays in, arrays out, GIL released in between.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <chrono>
#include <optional>
#include <tuple>

#include "letor_parser.hpp"
#include "letor_writer.hpp"
#include "rank_metrics.hpp"
#include "ranking.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rankwright;

namespace {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;

template <class T>
std::span<const T> view(const In<T>& array) {
    return {array.data(), array.size()};
}

// The kernels trust their callers; these keep a wrong call from the Python side out of memory.
void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

template <class T, class Fill>
Result<T> make_array(std::size_t size, Fill&& fill) {
    auto* data = new T[size];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    {
        nb::gil_scoped_release release;
        fill(data);
    }
    return Result<T>(data, {size}, owner);
}

// Ctrl-C: looks at pending signals about ten times a second.
void check_signals() {
    using clock = std::chrono::steady_clock;
    static thread_local clock::time_point last = clock::now();
    const auto now = clock::now();
    if (now - last < std::chrono::milliseconds(100)) return;
    last = now;
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// ---- LETOR ----

constexpr const char* fault_name(LetorFault fault) {
    switch (fault) {
        case LetorFault::label: return "label";
        case LetorFault::label_finite: return "label_finite";
        case LetorFault::entry: return "entry";
        case LetorFault::index_large: return "index_large";
        case LetorFault::index_zero: return "index_zero";
        case LetorFault::value: return "value";
        case LetorFault::value_finite: return "value_finite";
        case LetorFault::value_overflow: return "value_overflow";
        case LetorFault::duplicate: return "duplicate";
        case LetorFault::qid_missing: return "qid_missing";
        case LetorFault::rescan: return "rescan";
        default: return "none";
    }
}

// (fault, line, feature index, offending text)
using Fault = std::tuple<const char*, std::int64_t, std::int64_t, nb::bytes>;

std::optional<Fault> as_fault(const LetorError& error) {
    if (error.fault == LetorFault::none) return std::nullopt;
    return Fault{fault_name(error.fault), error.line, error.index,
                 nb::bytes(error.text.data(), error.text.size())};
}

template <class Float>
std::optional<Fault> parse_dense(LetorText& text, OutMatrix<Float> X, Out<double> y,
                                 Out<std::int64_t> qid, std::int64_t first_index, bool fixed_width,
                                 bool allow_nan) {
    const auto n = static_cast<std::size_t>(text.n_rows);
    require(X.shape(0) == n && y.size() == n && qid.size() == n, "arrays must have n_rows rows");
    const LetorOptions options{first_index, static_cast<std::int64_t>(X.shape(1)), fixed_width,
                               allow_nan};
    LetorError error;
    {
        nb::gil_scoped_release release;
        error = text.parse_dense<Float>(options, X.data(), y.data(), qid.data());
    }
    return as_fault(error);
}

template <class Float, class Index>
std::optional<Fault> parse_sparse(LetorText& text, Out<Float> data, Out<Index> indices,
                                  Out<Index> indptr, Out<double> y, Out<std::int64_t> qid,
                                  std::int64_t n_features, std::int64_t first_index,
                                  bool fixed_width, bool allow_nan) {
    const auto n = static_cast<std::size_t>(text.n_rows),
               e = static_cast<std::size_t>(text.n_entries);
    require(y.size() == n && qid.size() == n && indptr.size() == n + 1,
            "arrays must have n_rows rows");
    require(data.size() == e && indices.size() == e, "arrays must have n_entries entries");
    const LetorOptions options{first_index, n_features, fixed_width, allow_nan};
    LetorError error;
    {
        nb::gil_scoped_release release;
        const letor::SparseArrays<Float, Index> out{data.data(), indices.data(), indptr.data()};
        error = text.parse_sparse<Float, Index>(options, out, y.data(), qid.data());
    }
    return as_fault(error);
}

// begin, end, begin, end, ...
template <class Fill>
Result<std::int64_t> make_spans(const LetorText& text, Fill&& fill) {
    static_assert(sizeof(Span) == 2 * sizeof(std::int64_t));
    return make_array<std::int64_t>(2 * text.n_rows,
                                    [&](std::int64_t* out) { fill(reinterpret_cast<Span*>(out)); });
}

template <class Rows>
nb::bytes format_rows(const Rows& X, std::size_t n_rows, In<std::int64_t> rows, In<double> y,
                      In<std::int64_t> query, nb::bytes qid_text, In<std::int64_t> qid_offsets,
                      std::optional<nb::bytes> comment_text, In<std::int64_t> comment_offsets,
                      std::int64_t first_index, int n_threads) {
    require(y.size() == n_rows && query.size() == n_rows,
            "y and query must have a value for each row");
    require(!comment_text || comment_offsets.size() == n_rows + 1,
            "comments need one offset more than rows");
    LetorLines lines{rows.data(),  static_cast<std::int64_t>(rows.size()), y.data(),
                     query.data(), {qid_text.c_str(), qid_offsets.data()}, {},
                     first_index};
    if (comment_text) lines.comments = {comment_text->c_str(), comment_offsets.data()};
    std::string text;
    {
        nb::gil_scoped_release release;
        text = format_letor(lines, X, n_threads);
    }
    return nb::bytes(text.data(), text.size());
}

template <class Float>
nb::bytes format_dense(InMatrix<Float> X, In<std::int64_t> rows, In<double> y,
                       In<std::int64_t> query, nb::bytes qid_text, In<std::int64_t> qid_offsets,
                       std::optional<nb::bytes> comment_text, In<std::int64_t> comment_offsets,
                       std::int64_t first_index, int n_threads) {
    const DenseRows<Float> matrix{X.data(), static_cast<std::int64_t>(X.shape(1))};
    return format_rows(matrix, X.shape(0), rows, y, query, qid_text, qid_offsets, comment_text,
                       comment_offsets, first_index, n_threads);
}

template <class Float, class Index>
nb::bytes format_sparse(In<Float> data, In<Index> indices, In<Index> indptr, In<std::int64_t> rows,
                        In<double> y, In<std::int64_t> query, nb::bytes qid_text,
                        In<std::int64_t> qid_offsets, std::optional<nb::bytes> comment_text,
                        In<std::int64_t> comment_offsets, std::int64_t first_index, int n_threads) {
    const SparseRows<Float, Index> matrix{data.data(), indices.data(), indptr.data()};
    return format_rows(matrix, indptr.size() - 1, rows, y, query, qid_text, qid_offsets,
                       comment_text, comment_offsets, first_index, n_threads);
}

#define RANKWRIGHT_ROWS                                                                 \
    "rows"_a, "y"_a, "query"_a, "qid_text"_a, "qid_offsets"_a, "comment_text"_a.none(), \
        "comment_offsets"_a, "first_index"_a, "n_threads"_a

template <class Float, class Index>
void bind_sparse(nb::module_& m, nb::class_<LetorText>& text) {
    text.def("parse_sparse", &parse_sparse<Float, Index>, "data"_a.noconvert(),
             "indices"_a.noconvert(), "indptr"_a.noconvert(), "y"_a.noconvert(),
             "qid"_a.noconvert(), "n_features"_a, "first_index"_a, "fixed_width"_a, "allow_nan"_a);
    m.def("format_sparse", &format_sparse<Float, Index>, "data"_a.noconvert(),
          "indices"_a.noconvert(), "indptr"_a.noconvert(), RANKWRIGHT_ROWS);
}

template <class Float>
void bind_dense(nb::module_& m, nb::class_<LetorText>& text) {
    text.def("parse_dense", &parse_dense<Float>, "X"_a.noconvert(), "y"_a.noconvert(),
             "qid"_a.noconvert(), "first_index"_a, "fixed_width"_a, "allow_nan"_a);
    m.def("format_dense", &format_dense<Float>, "X"_a.noconvert(), RANKWRIGHT_ROWS);
}

void bind_letor(nb::module_& m) {
    nb::class_<LetorText> text(m, "LetorText", "LETOR text after the first pass.");
    text.def(
            "__init__",
            [](LetorText* self, In<std::uint8_t> buffer, int n_threads, std::size_t chunk_bytes) {
                const auto* begin = reinterpret_cast<const char*>(buffer.data());
                nb::gil_scoped_release release;
                new (self)
                    LetorText(std::string_view(begin, buffer.size()), n_threads, chunk_bytes);
            },
            "buffer"_a.noconvert(), "n_threads"_a, "chunk_bytes"_a = std::size_t(1) << 20,
            nb::keep_alive<1, 2>())
        .def_ro("n_rows", &LetorText::n_rows)
        .def_ro("n_entries", &LetorText::n_entries)
        .def_ro("min_index", &LetorText::min_index)
        .def_ro("max_index", &LetorText::max_index)
        .def_prop_ro("has_qid", &LetorText::has_qid)
        .def_prop_ro("qid_is_integer", &LetorText::qid_is_integer)
        .def("scan_all_indices", &LetorText::scan_all_indices,
             nb::call_guard<nb::gil_scoped_release>())
        .def("qid_spans",
             [](const LetorText& t) { return make_spans(t, [&](Span* out) { t.qid_spans(out); }); })
        .def("doc_id_spans", [](const LetorText& t) {
            return make_spans(t, [&](Span* out) { t.doc_id_spans(out); });
        });
    bind_dense<float>(m, text);
    bind_dense<double>(m, text);
    bind_sparse<float, std::int32_t>(m, text);
    bind_sparse<float, std::int64_t>(m, text);
    bind_sparse<double, std::int32_t>(m, text);
    bind_sparse<double, std::int64_t>(m, text);
}

// ---- metrics ----

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

void bind_metrics(nb::module_& m) {
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
                nb::gil_scoped_release release;
                new (self) Ranking(view(y), view(scores), view(indptr), depth, n_threads);
            },
            "y"_a.noconvert(), "scores"_a.noconvert(), "indptr"_a.noconvert(), "depth"_a,
            "n_threads"_a)
        .def_ro("bad_row", &Ranking::bad_row)
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
                return per_query_of(ranking, rule, [=](const RankedQuery& query) {
                    return average_precision(query, k, threshold, by_cutoff);
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

}  // namespace

NB_MODULE(_kernels, m) {
    m.doc() = "Native kernels. Arguments are checked for shape only; see the Python callers.";
    checkpoint = check_signals;
    bind_letor(m);
    bind_metrics(m);
}
